"""Contexts of a byte: causal, the same with history as a prefix, and matches against brute force."""

from __future__ import annotations

import random

import pytest
import torch
from torch import Tensor

from nscma_torch.surprise.byte_model.byte_context import HASHED_CONTEXTS, MATCH_ORDERS, byte_context, matches

BITS, REACH = 13, 300


def as_tensor(text: bytes) -> Tensor:
    return torch.tensor(list(text))


def sample(seed: int, size: int) -> bytes:
    rng = random.Random(seed)
    words = [bytes(rng.choices(b"abcde", k=rng.randint(1, 5))) for _ in range(20)] + ["花生".encode(), b"A1", b"it's"]
    text = b""
    while len(text) < size:
        text += rng.choice(words) + rng.choice([b" ", b", ", b"\n"])
    return text[:size]


@pytest.mark.parametrize("size", [1, 2, 41, 401, 1271])
def test_contexts_are_causal(size: int) -> None:
    text = sample(size, size)
    cut = size // 2
    other = text[:cut] + bytes((byte + 1) % 256 for byte in text[cut:])
    for ours, theirs in zip(
        byte_context(as_tensor(text), BITS, REACH), byte_context(as_tensor(other), BITS, REACH), strict=True
    ):
        assert torch.equal(ours[:cut], theirs[:cut])


@pytest.mark.parametrize(
    "text", [sample(3, 900), bytes(random.Random(4).choices(b"\0a", k=300))], ids=["words", "zeros"]
)
def test_matches_equal_brute_force(text: bytes) -> None:
    expected, level = matches(as_tensor(text), REACH)
    for column, order in enumerate(MATCH_ORDERS):
        for here in range(len(text)):
            key = text[here - order + 1 : here + 1]
            ends = [end for end in range(max(order - 1, here - REACH), here) if text[end - order + 1 : end + 1] == key]
            found = here >= order - 1 and bool(ends)
            assert (int(level[here, column]) > 0) == found
            if found:
                assert int(expected[here, column]) == text[ends[-1] + 1]


def test_longest_match_grows_more_certain_with_its_length() -> None:
    line = bytes(random.Random(1).choices(range(97, 123), k=60))
    _, level = matches(as_tensor(line + b"\n" + line), REACH)
    repeated = level[-60:, -1].tolist()
    assert repeated[:6] == [0] * 6
    assert repeated[6:] == sorted(repeated[6:]) and repeated[6] < repeated[-1]


@pytest.mark.parametrize("first", [0, 1, 63, 64, 65, 500])
def test_history_only_prefix_gives_the_same_matches(first: int) -> None:
    text = as_tensor(sample(5, 800))
    whole, part = byte_context(text, BITS, REACH), byte_context(text, BITS, REACH, first)
    assert torch.equal(whole.level[first:], part.level) and torch.equal(whole.expected[first:], part.expected)
    assert part.hashed.shape == (800 - first, HASHED_CONTEXTS)
    assert int(part.hashed.min()) >= 0 and int(part.hashed.max()) < 1 << BITS


def test_a_word_hash_ignores_case_and_what_stands_before_the_word_before() -> None:
    one, two = (byte_context(as_tensor(text), BITS, REACH).hashed[-1] for text in (b"xx Red apple", b"yy red APPLE"))
    assert torch.equal(one[-2:], two[-2:]) and not torch.equal(one[0], two[0])


def test_table_rows_are_those_that_the_bundled_weights_were_trained_with() -> None:
    rows = byte_context(as_tensor(b"Two red apples"), BITS, REACH).hashed[-1]
    assert rows.tolist() == [4255, 2180, 2422, 4153, 6812, 1898]


@pytest.mark.parametrize("first", [1, 31, 32, 33, 200, 1000, 1400])
def test_positions_of_a_history_that_share_nothing_are_left_out_without_a_trace(first: int) -> None:
    """Runs that began before the positions asked for, matches at the edge of the reach, and no match at all."""
    rng = random.Random(first)
    line = bytes(rng.choices(b"ab", k=300))
    text = as_tensor(sample(2, 500) + line + bytes(rng.choices(range(97, 123), k=120)) + line + b"abc" * 100)
    whole, part = matches(text, REACH), matches(text, REACH, first)
    assert all(torch.equal(a[first:], b) for a, b in zip(whole, part, strict=True))
