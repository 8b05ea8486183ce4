"""Numerical operations of NSCMA, usable alone, in plain torch first. Never imports `nscma_torch`."""

from nscma_kernels.precision import native_dtype
from nscma_kernels.scored_topk import scored_topk

__all__ = ["native_dtype", "scored_topk"]
