"""The context of each byte for a byte-level model, computed for a whole text at once.

There are three kinds of context. Each is a function of the bytes up to and including position t that helps to predict
byte t + 1:

- hashed n-grams (the last 2, 3, 4, 6 bytes),
- hashed words (the letters of the current word so far; the same letters together with the word before),
- matches: where the last 3, 5 or 7 bytes occurred before, and which byte followed there. This is the match model
  used in context-mixing compressors. It makes repetition cheap at once, even if the text was never seen in training.

Shape legend: T positions, G hashed contexts, M match orders.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

NGRAM_ORDERS = (2, 3, 4, 6)  # bytes
HASHED_CONTEXTS = len(NGRAM_ORDERS) + 2  # the n-grams, the word, the word with the word before
MATCH_ORDERS = (3, 5, 7)  # bytes
LONGEST_RUN = 32  # bytes that a match has held, beyond which it is not looked at
RUN_LEVELS = 4  # how long the longest match has held: under 4, 16, 32 bytes, or longer
MATCH_LEVELS = len(MATCH_ORDERS) - 1 + RUN_LEVELS
HASH_REACH = 64  # bytes of earlier text that hashed contexts look at
MAX_TEXT = 1 << 15  # bytes that one call of `matches` can take: positions are packed into 15 bits

_WORD_REACH = 12  # letters of a word that its hash covers
_POWERS = torch.tensor([((0x1000193**i + (1 << 63)) % (1 << 64)) - (1 << 63) for i in range(_WORD_REACH)])
_MIX = 0x9E3779B97F4A7C15 - (1 << 64)  # 2^64 / golden ratio, as a signed 64-bit integer
_MIX_3 = 0x9E3779B1
_MIX_2 = 0xC2B2AE3D27D4EB4F - (1 << 64)


class ByteContext(NamedTuple):
    """Integer inputs to the byte model for T positions."""

    byte: Tensor  # [T] int64, 0..255
    hashed: Tensor  # [T, G] int64 row of each hashed-context table
    expected: Tensor  # [T, M] int64 byte that followed the match, 0 if none
    level: Tensor  # [T, M] int64, 0 = no match, else 1 + an index below MATCH_LEVELS


def _mixed(key: Tensor, bits: int) -> Tensor:
    """Return the top `bits` bits of a 64-bit hash of `key`."""
    key = (key ^ (key >> 31)) * _MIX
    key = (key ^ (key >> 29)) * _MIX_2
    return (key >> (64 - bits)) & ((1 << bits) - 1)


def _shifted(x: Tensor, by: int) -> Tensor:
    """Shift `x` by `by` positions and fill with zeros."""
    return torch.cat([x.new_zeros(min(by, len(x))), x[: max(len(x) - by, 0)]])


def _packed(text: Tensor, orders: tuple[int, ...]) -> list[Tensor]:
    """Pack the last bytes at every position into one integer, for each order (ascending, at most 7 bytes)."""
    keys, key, back = [], text, 1
    for order in orders:
        for back in range(back, order):  # noqa: B020 - goes on where the shorter order stopped
            key = key | (_shifted(text, back) << (8 * back))
        back = order
        keys.append(key)
    return keys


def _packed_at(text: Tensor, place: Tensor, orders: tuple[int, ...]) -> list[Tensor]:
    """Apply `_packed` to some positions only."""
    near = torch.cat([text.new_zeros(max(orders) - 1), text])  # position i at i + max(orders) - 1
    keys, key = [], text.new_zeros(len(place))
    for back in range(max(orders)):
        key = key | (near.index_select(0, place + (max(orders) - 1 - back)) << (8 * back))
        if back + 1 in orders:
            keys.append(key)
    return keys


def _words(text: Tensor) -> tuple[Tensor, Tensor]:
    """Hash the letters of the current word, and the word before it, at each position."""
    lower = torch.where((text >= 65) & (text <= 90), text + 32, text)
    letter = ((lower >= 97) & (lower <= 122)) | (lower >= 128) | ((lower >= 48) & (lower <= 57))
    recent = torch.where(letter, lower + 1, 0)
    recent = torch.cat([recent.new_zeros(_WORD_REACH - 1), recent]).unfold(0, _WORD_REACH, 1).flip(-1)  # [T, reach]
    inside = (recent > 0).long().cumprod(-1)
    exponent = (inside.sum(-1, keepdim=True) - 1 - torch.arange(_WORD_REACH, device=text.device)).clamp_min(0)
    word = (recent * inside * _POWERS.to(text.device)[exponent]).sum(-1)
    here = torch.arange(len(text), device=text.device)
    last_gap = torch.where(letter, -1, here).cummax(0).values  # newest position that is no letter
    last_end = torch.where(letter & ~torch.cat([letter[1:], letter.new_zeros(1)]), here, -1).cummax(0).values
    before = torch.where(last_gap >= 0, last_end[last_gap.clamp_min(0)], -1)
    return word, torch.where(before >= 0, word[before.clamp_min(0)], 0)


def hashed_contexts(text: Tensor, bits: int) -> Tensor:
    """Return the table rows for the hashed contexts.

    Args:
        text: [T] int64 bytes.
        bits: log2 of the number of rows in a table.

    Returns:
        [T, HASHED_CONTEXTS] int64 in 0..2^bits - 1.
    """
    keys = [key * 8 + i for i, key in enumerate(_packed(text, NGRAM_ORDERS))]
    word, before = _words(text)
    keys += [word * 8 + 5, (word * 31 + before * _MIX_2) * 8 + 6]
    return _mixed(torch.stack(keys, dim=-1), bits)


def places(mask: Tensor) -> Tensor:
    """Return the positions where `mask` [N] is true. On a CPU, this uses numpy, which is seven times as fast here as
    torch.
    """
    if mask.device.type != "cpu":
        return mask.nonzero()[:, 0]
    return torch.from_numpy(mask.numpy().nonzero()[0])


def in_order(keys: Tensor) -> Tensor:
    """Return the indexes that sort the keys. On a CPU, this uses numpy's vectorised sort, ten times as fast here as
    torch's.
    """
    if keys.device.type != "cpu":
        return keys.sort(dim=-1).values
    keys.numpy().sort(axis=-1)
    return keys


def matches(text: Tensor, reach: int, first: int = 0) -> tuple[Tensor, Tensor]:
    """Find the newest earlier occurrence of the last n bytes, for each n in MATCH_ORDERS, and the byte that followed
    it.

    Args:
        text: [T] int64 bytes, T < 2^15.
        reach: maximum distance of an occurrence in bytes.
        first: first requested position.

    Returns:
        expected and level, both [T - first, M], as in `ByteContext`.
    """
    size, asked = len(text), max(first - LONGEST_RUN, 0)
    place = _occurring(text, asked)
    keys = torch.stack(_packed_at(text, place, MATCH_ORDERS))
    keys = (_mixed(keys, 48) << 15) | place  # [M, N]
    ordered = in_order(keys)
    position = ordered & (MAX_TEXT - 1)
    key = ordered >> 15
    newest = torch.where(key[:, 1:] == key[:, :-1], position[:, :-1], -1)
    source = text.new_full((len(MATCH_ORDERS), size), -1).scatter_(1, position[:, 1:], newest)[:, asked:]
    here = place[len(place) - (size - asked) :]
    gap = here - source[-1]
    held = here - torch.where(gap != _shifted(gap, 1), here, 0).cummax(0).values  # positions that the gap is unchanged
    source, here, held = (field[..., first - asked :] for field in (source, here, held))
    rank = torch.arange(len(MATCH_ORDERS), device=text.device)[:, None]
    valid = (source >= torch.tensor(MATCH_ORDERS, device=text.device)[:, None] - 1) & (here - source <= reach)
    expected = torch.where(valid, text[(source + 1).clamp(0, size - 1)], 0)
    level = torch.where(valid, 1 + rank, 0)
    level[-1] += torch.where(valid[-1], (held >= 4).long() + (held >= 16).long() + (held >= LONGEST_RUN).long(), 0)
    return expected.T, level.T


def _occurring(text: Tensor, asked: int) -> Tensor:
    """Return the positions from `asked` on, and the earlier positions that may end in the same 3 bytes as
    one of them.
    """
    here = torch.arange(len(text), device=text.device)
    if not asked:
        return here
    low = text | (_shifted(text, 1) << 8) | (_shifted(text, 2) << 16)
    low = (low * _MIX_3 >> 16) & 0xFFFF
    wanted = torch.zeros(1 << 16, dtype=torch.bool, device=text.device)
    wanted[low[asked:]] = True
    return torch.cat([places(wanted[low[:asked]]), here[asked:]])


def byte_context(text: Tensor, bits: int, reach: int, first: int = 0) -> ByteContext:
    """Return the context at the positions of `text` from `first` on. Earlier bytes serve only as history.

    Args:
        text: [T] int64 bytes, T < 2^15.
        bits: log2 of the number of rows in a hashed-context table.
        reach: maximum distance of a match in bytes.
        first: first requested position.

    Returns:
        `ByteContext` for T - first positions.
    """
    near = max(first - HASH_REACH, 0)
    hashed = hashed_contexts(text[near:], bits)[first - near :]
    expected, level = matches(text, reach, first)
    return ByteContext(text[first:], hashed, expected, level)
