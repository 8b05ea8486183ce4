"""Triton versions of the operations of `nscma_kernels`, imported only when used."""
