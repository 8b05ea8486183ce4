"""The public interface: `Memory`, `AsyncMemory` and the parts from which they are assembled."""
