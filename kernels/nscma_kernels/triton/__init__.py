"""Triton versions of the operations in `nscma_kernels`, imported only when used."""
