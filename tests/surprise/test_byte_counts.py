"""Counts over a stream's text: equal to brute force, causal, bounded in cost, and cheap for what was said before."""

from __future__ import annotations

import math
import random

import pytest
import torch
from torch import Tensor

from nscma_torch.surprise.byte_model.byte_counts import LEVELS, ORDERS, REACH, counted, stream_nats


def sample(seed: int, size: int) -> bytes:
    rng = random.Random(seed)
    words = [bytes(rng.choices(b"abcd", k=rng.randint(1, 4))) for _ in range(12)] + ["花生".encode(), b"\0\0", b"\xff"]
    return b" ".join(rng.choices(words, k=size))[:size]


def brute_force(seen: bytes, first: int) -> tuple[Tensor, Tensor]:
    """The docstring's formula, one context at a time."""
    padded = bytes(ORDERS) + seen  # byte i of `seen` at i + ORDERS
    rows, levels = [], []
    for here in range(first, len(seen)):
        chance, level = [1 / 256] * 256, 0
        for order in range(ORDERS + 1):
            context = padded[here + ORDERS - order : here + ORDERS]
            after = [
                seen[place] for place in range(first) if padded[place + ORDERS - order : place + ORDERS] == context
            ]
            kinds = len(set(after))
            if after:
                level = order
                chance = [(after.count(b) + kinds * chance[b]) / (len(after) + kinds) for b in range(256)]
        rows.append(chance)
        levels.append(level)
    return torch.tensor(rows), torch.tensor(levels)


def plain(seen: Tensor, first: int) -> tuple[Tensor, Tensor]:
    """The same as simple as it gets with tensors: contexts sorted once, and each order blended for every position."""
    contexts = torch.zeros_like(seen)
    for back in range(1, min(LEVELS, len(seen))):
        contexts[back:] |= seen[:-back] << 8 * (ORDERS - back)
    known, ordered = contexts[:first].sort(stable=True)
    follower = seen[ordered]
    chance = torch.full((len(seen) - first, 256), 1 / 256)
    level = torch.zeros(len(seen) - first, dtype=torch.int64)
    for order in range(LEVELS):
        below = 8 * (ORDERS - order)
        context, row = torch.unique(contexts[first:] >> below, return_inverse=True)
        start, end = torch.searchsorted(known, torch.stack([context << below, (context + 1) << below]))
        places = zip(start.tolist(), end.tolist(), strict=True)
        counts = torch.stack([torch.bincount(follower[a:b], minlength=256) for a, b in places])[row]
        size, kinds = counts.sum(1, keepdim=True), (counts > 0).sum(1, keepdim=True).clamp(min=1)
        chance = torch.addcmul(counts.float(), kinds.float(), chance) / (size + kinds)
        level += (size[:, 0] > 0) & (order > 0)
    return chance, level


@pytest.mark.parametrize(("size", "first"), [(2, 1), (5, 2), (60, 59), (700, 600), (4500, 404), (REACH + 300, REACH)])
def test_equals_the_plain_version_bit_for_bit(size: int, first: int) -> None:
    words = list(sample(size, size // 2) + bytes(range(256)) + random.Random(size).randbytes(size // 8))
    text = torch.tensor((words * 3)[-size:])
    for ours, expected in zip(counted(text, first), plain(text, first), strict=True):
        assert torch.equal(ours, expected) and ours.dtype == expected.dtype


@pytest.mark.parametrize(("size", "first"), [(2, 1), (41, 40), (41, 3), (120, 90)])
def test_equals_brute_force(size: int, first: int) -> None:
    text = sample(size, size)
    chance, level = counted(torch.tensor(list(text)), first)
    expected, expected_level = brute_force(text, first)
    torch.testing.assert_close(chance, expected, rtol=1e-5, atol=1e-8)
    assert torch.equal(level, expected_level)


def test_rows_are_distributions_that_give_every_byte_a_chance() -> None:
    chance, _ = counted(torch.tensor(list(sample(1, 3000))), 2500)
    torch.testing.assert_close(chance.sum(1), torch.ones(500))
    assert float(chance.min()) > 0


def test_what_comes_later_changes_nothing() -> None:
    text = sample(2, 400)
    other = text[:350] + bytes((byte + 1) % 256 for byte in text[350:])
    ours, theirs = (counted(torch.tensor(list(whole)), 300) for whole in (text, other))
    assert torch.equal(ours[0][:51], theirs[0][:51]) and torch.equal(ours[1][:51], theirs[1][:51])


def test_one_byte_over_and_over_is_certain() -> None:
    chance, level = counted(torch.zeros(REACH + 50, dtype=torch.int64), REACH)
    assert torch.equal(level, torch.full((50,), ORDERS)) and float(chance[:, 0].min()) > 0.999


def test_known_text_costs_little_and_new_text_much() -> None:
    history = "".join(f"{i}: we talked about the weather in Lisbon and the long drive.\n" for i in range(40)).encode()
    known, new = b"we talked about the weather in Lisbon", b"my sister Zoe plays viola at Fort Quux"
    assert stream_nats(known, history) < 0.2 * stream_nats(new, history)
    assert stream_nats(new, b"") == pytest.approx(len(new) * math.log(2 * 256), rel=0.01)


def test_only_the_last_bytes_of_history_count_and_long_texts_learn_from_themselves() -> None:
    line, filler = b"the safe opens with 99-31-07", sample(3, REACH)
    assert stream_nats(line, line + filler) == stream_nats(line, bytes(reversed(line)) + filler)
    half = random.Random(4).randbytes(4096)
    assert stream_nats(half + half, b"") < 1.5 * stream_nats(half, b"")
