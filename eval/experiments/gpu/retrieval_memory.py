"""`RetrievalMemory` on the device: after updates and deletions it recalls what a plain search of the rest does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import torch
from torch import Tensor

from eval.experiments.gpu.clock import milliseconds
from eval.experiments.gpu.part import Row, expect
from nscma_torch.neural.retrieval_memory import RetrievalMemory

_D, _E, _K, _Q = 128, 128, 16, 64
_BLOCK = 100_000  # keys that the reference scores at once, in float64


def retrieval_memory(device: torch.device, quick: bool) -> Iterator[Row]:
    """A hundredth of the items is changed, another deleted; then ids against float64, and gradients of the queries."""
    n = 2000 if quick else 1_000_000
    generator = torch.Generator(device).manual_seed(0)
    draw = partial(torch.randn, device=device, generator=generator)
    keys, values, queries = draw(n, _D), draw(n, _E), draw(_Q, _D).requires_grad_()
    memory = RetrievalMemory(_D, _E).to(device)
    runs: dict[str, Callable[[], object]] = {"write": partial(_written, keys, values, device)}
    took = milliseconds(runs, device, 1 if quick else 3)
    ids = memory.write(keys, values)
    changed, gone = ids[::100], ids[1::100]
    keys[::100] = draw(len(changed), _D)
    memory.update(changed, keys=keys[::100])
    memory.delete(gone)
    held = torch.ones(n, dtype=torch.bool, device=device)
    held[1::100] = False
    found = memory(queries, k=_K)
    starts = range(0, n, _BLOCK)
    with torch.no_grad():
        exact = torch.cat([queries.double() @ keys[at : at + _BLOCK].double().T for at in starts], dim=1)
        best = exact.masked_fill(~held, -torch.inf).topk(_K).values
        apart = float((exact.gather(1, found.ids) - best).abs().max())
    expect(bool(held[found.ids].all()), "an item that was deleted is recalled")
    expect(apart < 1e-3, f"the items recalled score {apart:.1e} less than the best in float64")
    (gradient,) = torch.autograd.grad(found.mixed.sum(), queries)
    expect(bool(gradient.isfinite().all()) and bool(gradient.any()), "the queries have no gradient")
    runs = {
        "forward": partial(_recalled, memory, queries),
        "update": partial(memory.update, changed, keys=keys[::100]),
    }
    took |= milliseconds(runs, device, 1 if quick else 10)
    shape = f"{n:,} items, D={_D} E={_E} Q={_Q} k={_K}"
    yield Row("RetrievalMemory", shape, "float32", {f"{name} ms": spent for name, spent in took.items()})


def _written(keys: Tensor, values: Tensor, device: torch.device) -> None:
    RetrievalMemory(_D, _E).to(device).write(keys, values)


@torch.no_grad()
def _recalled(memory: RetrievalMemory, queries: Tensor) -> Tensor:
    mixed: Tensor = memory(queries, k=_K).mixed
    return mixed
