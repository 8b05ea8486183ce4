"""`memory_scan` is the recurrence of Titans, literally; its state carries everything; its gradients are right."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.profiler import ProfilerActivity, profile

from nscma_kernels import MemoryState, flush_memory, memory_scan
from tests.kernels.memory_tokens import Given, drawn, literal

WIDTHS = [((5, 3), False), ((5, 11, 3), False), ((5, 7, 9, 5), False), ((5, 11, 5), True)]  # layers, norm


def near(one: Tensor, other: Tensor, most: float) -> None:
    assert one.shape == other.shape
    assert (one - other).abs().max() <= most


def tensors(state: MemoryState) -> list[Tensor]:
    return [*state.weights, *state.momentum, *state.base, *state.pending[:5]]


@pytest.mark.parametrize(("widths", "norm"), WIDTHS)
def test_a_segment_of_one_is_the_recurrence_of_the_paper(widths: tuple[int, ...], norm: bool) -> None:
    given, state = drawn(3, 37, widths, norm)
    out, after, surprise = memory_scan(*given, state, segment=1)
    expected, weights, losses = literal(given, state, 1, 1)
    near(out, expected, 1e-9)
    near(surprise, losses, 1e-9)
    for one, other in zip(after.weights, weights, strict=True):
        near(one, other, 1e-9)


@pytest.mark.parametrize(("chunk", "segment"), [(1, 5), (4, 4), (4, 12), (4, None), (64, 64), (1, None)])
@pytest.mark.parametrize(("widths", "norm"), WIDTHS)
def test_chunks_and_segments(widths: tuple[int, ...], norm: bool, chunk: int, segment: int | None) -> None:
    given, state = drawn(2, 41, widths, norm)
    out, after, surprise = memory_scan(*given, state, segment=segment, chunk=chunk)
    expected, weights, losses = literal(given, state, chunk, segment)
    near(out, expected, 1e-9)
    near(surprise, losses, 1e-9)
    for one, other in zip(after.weights, weights, strict=True):
        near(one, other, 1e-9)
    assert after.pending.k.shape[1] == 41 % chunk


@pytest.mark.parametrize(("chunk", "segment"), [(1, 1), (1, 4), (4, 4), (4, 12), (8, None)])
def test_any_split_is_the_whole(chunk: int, segment: int | None) -> None:
    given, state = drawn(2, 29, (5, 11, 5), True)
    mask = torch.rand(2, 29, generator=torch.Generator().manual_seed(0)) < 0.7
    for masked in (False, True):
        out, whole, surprise = memory_scan(
            *given, state, segment=segment, chunk=chunk, store_mask=mask if masked else None
        )
        for cuts in [(0, i, 29) for i in (0, 1, 3, 4, 7, 8, 13, 29)] + [
            (0, 3, 4, 11, 12, 13, 24, 29),
            tuple(range(30)),
        ]:
            outs, surprises, at = [], [], state
            for begin, end in itertools.pairwise(cuts):
                stored = mask[:, begin:end] if masked else None
                one, at, loss = memory_scan(
                    *given.part(begin, end), at, segment=segment, chunk=chunk, store_mask=stored
                )
                outs.append(one)
                surprises.append(loss)
            near(torch.cat(outs, 1), out, 1e-12)
            near(torch.cat(surprises, 1), surprise, 1e-12)
            assert at.position == whole.position
            for one, other in zip(tensors(at), tensors(whole), strict=True):
                near(one, other, 1e-12) if one.numel() else None
            if masked and whole.pending.k.shape[1]:
                assert at.pending.stored is not None and whole.pending.stored is not None
                assert torch.equal(at.pending.stored, whole.pending.stored)


def test_token_by_token_weights_are_the_same_bits() -> None:
    """With a segment of one chunk every product has the same operands however the sequence is cut."""
    given, state = drawn(2, 24, (8, 16, 8), True, torch.float32)
    _, whole, _ = memory_scan(*given, state, segment=4)
    at = state
    for t in range(24):
        _, at, _ = memory_scan(*given.part(t, t + 1), at, segment=4)
    for one, other in zip(tensors(at), tensors(whole), strict=True):
        assert torch.equal(one, other)


def test_pending_tokens_wait_for_the_chunk_or_the_flush() -> None:
    given, state = drawn(2, 5, (4, 6, 4))
    _, after, _ = memory_scan(*given, state, segment=16, chunk=8)
    assert all(torch.equal(one, other) for one, other in zip(after.weights, state.weights, strict=True))
    flushed = flush_memory(after, segment=16, chunk=8)
    _, weights, _ = literal(given, state, 5, 5)
    for one, other, before in zip(flushed.weights, weights, state.weights, strict=True):
        near(one, other, 1e-12)
        assert not torch.equal(one, before)
    assert flushed.pending.k.shape[1] == 0
    assert flushed.position == 8
    assert all(torch.equal(one, other) for one, other in zip(flushed.base, state.weights, strict=True))
    again = flush_memory(flushed, segment=16, chunk=8)
    assert again is flushed
    _, later, _ = memory_scan(*given, again, segment=16, chunk=8)
    later = flush_memory(later, segment=16, chunk=8)
    assert later.position == 0
    assert later.base is later.weights or all(map(torch.equal, later.base, later.weights))


@pytest.mark.parametrize("held", [9.0, torch.nan, torch.inf])
@pytest.mark.parametrize(("chunk", "segment"), [(1, 1), (4, 8)])
def test_what_is_masked_is_only_read(chunk: int, segment: int, held: float) -> None:
    given, state = drawn(3, 16, (4, 6, 4))
    mask = torch.ones(3, 16, dtype=torch.bool)
    mask[0] = False
    mask[1, 4:8] = False
    mask[1, 9] = False
    out, after, _ = memory_scan(*given, state, segment=segment, chunk=chunk, store_mask=mask)
    for one, before in zip((*after.weights, *after.momentum), (*state.weights, *state.momentum), strict=True):
        assert torch.equal(one[0], before[0])
        assert not torch.equal(one[1], before[1])
    other = Given(given.q, *(torch.where(mask.view(3, 16, *(1,) * (x.ndim - 2)), x, held) for x in given[1:]))
    same, unchanged, _ = memory_scan(*other, state, segment=segment, chunk=chunk, store_mask=mask)
    assert torch.equal(out, same)
    for one, two in zip(after.weights, unchanged.weights, strict=True):
        assert torch.equal(one, two)
    everything, _, _ = memory_scan(*given, state, segment=segment, chunk=chunk, store_mask=torch.ones_like(mask))
    near(everything, memory_scan(*given, state, segment=segment, chunk=chunk)[0], 1e-12)


def test_streams_do_not_meet() -> None:
    given, state = drawn(3, 13, (4, 6, 4), True)
    out, _, _ = memory_scan(*given, state, segment=4)
    for i in range(3):
        alone = state.map(lambda tensor, i=i: tensor[i : i + 1])  # type: ignore[misc]
        near(memory_scan(*(x[i : i + 1] for x in given), alone, segment=4)[0], out[i : i + 1], 1e-12)


def test_gates_of_zero_and_one() -> None:
    """-inf logits: no momentum, nothing forgotten; a step size of zero writes nothing."""
    given, state = drawn(2, 8, (4, 6, 4))
    off = torch.full_like(given.eta, -torch.inf)
    _, after, _ = memory_scan(
        *given._replace(theta=torch.zeros_like(off), eta=off, alpha=off), state, segment=4, store_mask=off < 0
    )
    assert all(torch.equal(one, other) for one, other in zip(after.weights, state.weights, strict=True))
    _, after, _ = memory_scan(*given._replace(theta=torch.zeros_like(off), alpha=-off), state, segment=4)
    assert all(not weight.any() for weight in after.weights)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize(
    ("chunk", "segment", "widths", "norm"),
    [(1, 1, (3, 2), False), (2, 4, (3, 4, 3), True), (3, None, (3, 4, 2), False), (3, 6, (3, 4, 2), False),
     (2, 2, (3, 4, 3), True)],
)  # fmt: skip
def test_gradients(chunk: int, segment: int | None, widths: tuple[int, ...], norm: bool, masked: bool) -> None:
    """Of outputs, surprise and state, with respect to inputs and state, that is in the middle of a segment."""
    given, state = drawn(2, 9, widths, norm)
    mask = torch.rand(2, 9, generator=torch.Generator().manual_seed(1)) < 0.6 if masked else None
    if mask is not None:
        mask[0, :6] = False
    depth = len(state.weights)
    inside = chunk if segment is not None and chunk < segment else 0

    def run(*leaves: Tensor) -> tuple[Tensor, ...]:
        parts = [tuple(leaves[6 + i * depth : 6 + (i + 1) * depth]) for i in range(3)]
        begin = dataclasses.replace(
            state, weights=parts[0], momentum=parts[1], base=parts[2] if inside else parts[0], position=inside
        )
        out, after, surprise = memory_scan(*leaves[:6], begin, segment=segment, chunk=chunk, store_mask=mask)
        after = flush_memory(after, segment=segment, chunk=chunk)
        return (out, surprise, *after.weights, *after.momentum, *after.base)

    generator = torch.Generator().manual_seed(2)
    momentum, base = (
        [torch.randn(weight.shape, generator=generator, dtype=weight.dtype) for weight in state.weights]
        for _ in range(2)
    )
    leaves = [leaf.clone().requires_grad_() for leaf in (*given, *state.weights, *momentum, *base)]
    unused = [] if inside else leaves[-depth:]
    assert torch.autograd.gradcheck(run, leaves, fast_mode=True)
    loss = sum(part.square().sum() for part in run(*leaves))
    assert isinstance(loss, Tensor)
    for leaf, grad in zip(leaves, torch.autograd.grad(loss, leaves, allow_unused=True), strict=True):
        if not any(leaf is other for other in unused):
            assert grad is not None and grad.any()


def test_gradients_over_many_chunks_equal_plain_autograd() -> None:
    """Blocks of several chunks and pieces, against autograd through the recurrence without recomputation."""
    given, state = drawn(1, 203, (8, 16, 8), True)
    for chunk, segment in ((2, 6), (2, None), (2, 2)):
        leaves = [leaf.clone().requires_grad_() for leaf in (*given, *state.weights)]
        fresh = MemoryState.fresh(tuple(leaves[6:]), norm=True)
        out, after, surprise = memory_scan(*leaves[:6], fresh, segment=segment, chunk=chunk)
        expected, weights, losses = plain(leaves, chunk, segment)
        seeds = [torch.randn(x.shape, dtype=x.dtype) for x in (out, surprise, *after.weights)]
        ours = torch.autograd.grad([out, surprise, *after.weights], leaves, seeds)
        theirs = torch.autograd.grad([expected, losses, *weights], leaves, seeds)
        for one, other in zip(ours, theirs, strict=True):
            near(one, other, 1e-9 * max(1.0, float(other.abs().max())))


def plain(leaves: list[Tensor], chunk: int, segment: int | None) -> tuple[Tensor, list[Tensor], Tensor]:
    from nscma_kernels.memory_layers import gradients, recall

    q, k, v, theta, eta, alpha, *weights = leaves
    base, momentum = weights, [torch.zeros_like(weight) for weight in weights]
    outputs, losses = [recall(q[:, : chunk - 1], weights, True)], []
    for begin in range(0, q.shape[1], chunk):
        part = slice(begin, begin + chunk)
        if segment is not None and begin % segment == 0:
            base = weights
        found = gradients(k[:, part], v[:, part], theta[:, part], base, True)
        losses.append(found.loss)
        if begin + chunk > q.shape[1]:
            break
        e, a = (gate[:, part].mean(1).sigmoid()[:, None, None] for gate in (eta, alpha))
        momentum = [e * s - x.mT @ delta for s, x, delta in zip(momentum, found.inputs, found.delta, strict=True)]
        weights = [(1 - a) * w + s for w, s in zip(weights, momentum, strict=True)]
        outputs.append(recall(q[:, begin + chunk - 1 : begin + 2 * chunk - 1], weights, True))
    return torch.cat(outputs, 1), weights, torch.cat(losses, 1)


def peak(run: Callable[[], object]) -> int:
    """The most bytes that were held beside what was there before."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        kept = run()
    events = [event for event in profiler.profiler.kineto_results.events() if event.name() == "[memory]"]  # type: ignore[union-attr]
    total = most = 0
    for event in sorted(events, key=lambda event: event.start_ns()):
        total += event.nbytes()
        most = max(most, total)
    del kept
    return most


def test_memory_does_not_grow_with_the_number_of_chunks() -> None:
    """Not while it runs forward, nor in what is kept for the gradient; backward it grows with the square root."""
    given, state = drawn(1, 256, (32, 128, 32), dtype=torch.float32)
    weights = sum(weight.nbytes for weight in state.weights)

    def forward(segment: int | None, chunk: int) -> object:
        return memory_scan(*given, state, segment=segment, chunk=chunk)

    for segment in (64, None):
        few, many = peak(partial(forward, segment, 64)), peak(partial(forward, segment, 1))
        assert many < few + 2 * weights  # 256 chunks and 4
    leaves = [tensor.requires_grad_() for tensor in given]
    saved = []
    for chunk in (64, 1):
        kept: dict[int, int] = {}

        def pack(tensor: Tensor, kept: dict[int, int] = kept) -> Tensor:
            kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            out = memory_scan(*leaves, state, segment=64, chunk=chunk)
        saved.append(sum(kept.values()))
        del out
    assert saved[1] < saved[0] + 2 * weights

    def backward(chunk: int) -> object:
        out, _, _ = memory_scan(*leaves, state, segment=64, chunk=chunk)
        return torch.autograd.grad(out.sum(), leaves)

    few, many = peak(partial(backward, 64)), peak(partial(backward, 1))
    assert many - few < 6 * (16 - 2) * weights  # 2 sqrt(N) pairs of W and S, for some time with copies


def test_finite_however_long_and_repetitive() -> None:
    given, state = drawn(1, 4096, (16, 64, 16), True, torch.float32)
    same = Given(*(tensor[:, :1].expand_as(tensor) for tensor in given))
    for tokens in (given, same):
        bold = tokens._replace(theta=torch.ones_like(tokens.theta), alpha=torch.full_like(tokens.alpha, -torch.inf))
        out, after, surprise = memory_scan(*bold, state, segment=64)
        assert all(tensor.isfinite().all() for tensor in (out, surprise, *after.weights, *after.momentum))


def test_on_bfloat16_tokens_under_autocast_the_memory_is_float32() -> None:
    given, state = drawn(2, 24, (16, 32, 16), dtype=torch.float32)
    low = Given(*(tensor.bfloat16() for tensor in given))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out, after, _ = memory_scan(*low, state, segment=8)
    expected, weights, _ = memory_scan(*(tensor.float() for tensor in low), state, segment=8)
    assert out.dtype == after.weights[0].dtype == torch.float32
    assert torch.equal(out, expected)
    assert all(map(torch.equal, after.weights, weights.weights))


def test_state_moves_and_detaches() -> None:
    given, state = drawn(2, 9, (4, 6, 4))
    leaves = [tensor.requires_grad_() for tensor in given]
    _, after, _ = memory_scan(*leaves, state, segment=4)
    assert after.weights[0].requires_grad and after.pending.k.requires_grad
    cut = after.detach()
    assert not any(tensor.requires_grad for tensor in tensors(cut))
    assert cut.base[0] is not cut.weights[0] or after.base[0] is after.weights[0]
    there = cut.to("meta")
    assert all(tensor.is_meta for tensor in tensors(there))
    assert there.position == cut.position


def test_bad_input_is_one_clear_error() -> None:
    given, state = drawn(2, 9, (4, 6, 4))

    def scan(state: MemoryState = state, segment: int | None = 4, chunk: int | None = None, **changed: Any) -> None:
        mask = changed.pop("store_mask", None)
        impl = changed.pop("impl", "auto")
        memory_scan(*given._replace(**changed), state, segment=segment, chunk=chunk, store_mask=mask, impl=impl)

    wrong: list[tuple[str, dict[str, Any]]] = [
        ("needs a chunk", {"segment": None}),
        ("multiple of chunk", {"segment": 4, "chunk": 3}),
        ("multiple of chunk", {"segment": 0}),
        (r"q and k must be \[2, T, 4\]", {"q": given.q[:, :8]}),
        (r"q and k must be \[2, T, 4\]", {"q": given.q[0], "k": given.k[0]}),
        (r"v must be \[2, 9, 4\]", {"v": given.v[..., :3]}),
        (r"theta must be \[2, 9\]", {"theta": given.theta[:, :1]}),
        ("store_mask must be", {"store_mask": torch.ones(2, 9)}),
        ("impl must be", {"impl": "cuda"}),
        ("one device", {"q": given.q.to("meta")}),
    ]
    for message, options in wrong:
        with pytest.raises(ValueError, match=message):
            scan(**options)
    _, after, _ = memory_scan(*given, state, segment=8)
    with pytest.raises(ValueError, match="produced with a different chunk or segment"):
        scan(after, 1)
    _, after, _ = memory_scan(*given.part(0, 8), state, segment=16, chunk=8)
    with pytest.raises(ValueError, match="produced with a different chunk or segment"):
        scan(after, 12)
    for weights, norm, message in (
        ((), False, "one or more"),
        ((torch.ones(2, 3),), False, "one or more"),
        ((torch.ones(2, 3, 4), torch.ones(2, 5, 3)), False, "must take the previous"),
        ((torch.ones(2, 3, 4), torch.ones(2, 4, 5)), True, "the same width"),
        ((torch.ones(2, 3, 4).bfloat16(),), False, "float32"),
    ):
        with pytest.raises(ValueError, match=message):
            MemoryState.fresh(weights, norm=norm)


def test_empty_input_changes_nothing() -> None:
    given, state = drawn(2, 6, (4, 6, 4))
    _, after, _ = memory_scan(*given, state, segment=4)
    out, same, surprise = memory_scan(*given.part(0, 0), after, segment=4)
    assert out.shape == (2, 0, 4)
    assert surprise.shape == (2, 0)
    assert all(map(torch.equal, tensors(same), tensors(after)))
