"""Numerical operations for NSCMA, each with a plain torch implementation. Usable alone; never imports `nscma_torch`."""

from nscma_kernels.ego_split import PersonaGraph, ego_split, update_split
from nscma_kernels.knn_graph import knn_graph
from nscma_kernels.label_propagation import label_propagation
from nscma_kernels.memory_scan import flush_memory, memory_scan
from nscma_kernels.memory_state import MemoryState
from nscma_kernels.personalized_pagerank import personalized_pagerank
from nscma_kernels.precision import native_dtype
from nscma_kernels.rolling_stats import RollingStats, rolling_stats
from nscma_kernels.row_filter import Filter
from nscma_kernels.scored_topk import scored_topk
from nscma_kernels.token_nll import token_nll

__all__ = [
    "Filter",
    "MemoryState",
    "PersonaGraph",
    "RollingStats",
    "ego_split",
    "flush_memory",
    "knn_graph",
    "label_propagation",
    "memory_scan",
    "native_dtype",
    "personalized_pagerank",
    "rolling_stats",
    "scored_topk",
    "token_nll",
    "update_split",
]
