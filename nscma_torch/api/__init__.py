"""The public interface: Memory, AsyncMemory and the parts they are assembled from."""
