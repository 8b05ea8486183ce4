"""Memory inside a network: modules with weights that learn while reading. Independent of stores and language models."""

from nscma_torch.neural.attach import AttachedMemory, attach_memory
from nscma_torch.neural.nearest import Recalled
from nscma_torch.neural.neural_memory import NeuralMemory
from nscma_torch.neural.retrieval_memory import RetrievalMemory
from nscma_torch.neural.state import NeuralMemoryState

__all__ = ["AttachedMemory", "NeuralMemory", "NeuralMemoryState", "Recalled", "RetrievalMemory", "attach_memory"]
