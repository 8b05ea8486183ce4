"""Store a model as its difference from another one, in low rank.

A model that was trained further for one task differs from where it began by matrices of low rank (Hu et al. 2021,
"LoRA", section 4.1), here found afterwards by a singular value decomposition. So two tasks that would spoil each other
in one model take little more room than one.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from nscma_torch.core.int8_tensors import quantized

LEFT, RIGHT = ".left", ".right"  # after the name of a matrix: the factors of its difference
_OVERSAMPLED = 16  # more dimensions for a better approximation (Halko et al. 2011, section 4.2)
_LEAST = 1 << 12  # elements of the smallest factor that is stored in int8


def difference(base: Mapping[str, Tensor], tuned: Mapping[str, Tensor], rank: int) -> dict[str, Tensor]:
    """Return what `with_difference` needs to restore `tuned` from `base`, for storage.

    Matrices of more than four times the rank in both dimensions become two factors, [n, r] and [r, d], in int8; other
    tensors that differ are kept whole.
    """
    torch.manual_seed(0)  # the decomposition starts from random vectors
    found: dict[str, Tensor] = {}
    for name, value in tuned.items():
        change = value.float() - base[name].float()
        if not change.any():
            continue
        if change.dim() == 2 and min(change.shape) > 4 * rank:
            u, s, v = torch.svd_lowrank(change, q=rank + _OVERSAMPLED, niter=4)
            scale = s[:rank].sqrt()
            found[name + LEFT] = (u[:, :rank] * scale).contiguous()
            found[name + RIGHT] = (v[:, :rank] * scale).T.contiguous()
        else:
            found[name] = value.contiguous()
    return quantized(found, least=_LEAST)


def with_difference(base: Mapping[str, Tensor], found: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the tuned tensors, given the stored difference with int8 tensors as float32."""
    tuned = dict(base)
    for name, value in found.items():
        if name.endswith(LEFT):
            own = name.removesuffix(LEFT)
            tuned[own] = base[own].float() + value @ found[own + RIGHT]
        elif not name.endswith(RIGHT):
            tuned[name] = value
    return tuned
