"""A memory inside a network: modules whose weights learn while they read. Stands alone: no store, no language model."""

from nscma_torch.neural.neural_memory import NeuralMemory
from nscma_torch.neural.state import NeuralMemoryState

__all__ = ["NeuralMemory", "NeuralMemoryState"]
