"""Predict a stream's next byte from its own text, by counting which bytes followed the last 0 to 4 bytes before.

The model has no weights and has read nothing but the stream. So repeated text is cheap and new text expensive, even if
it is common elsewhere: this is surprise relative to memory. The counts for each order are blended with those for the
next lower order by Witten and Bell's estimate (1991, method C of PPM; Moffat 1990),

    P_o(b) = (c_o(b) + d_o P_{o-1}(b)) / (n_o + d_o),    P_{-1} = 1/256,

where n_o is the number of earlier places with the same last o bytes, c_o(b) the number of these followed by b, and d_o
the number of different bytes that follow them. Everything is counted from the text on demand, so nothing needs to be
stored or erased.

Shape legend: N bytes, T requested positions, U distinct contexts.
"""

from __future__ import annotations

import torch
from torch import Tensor

from nscma_torch.surprise.byte_model.byte_context import places

ORDERS = 4  # bytes of the longest context
LEVELS = ORDERS + 1  # longest context that occurred before: none, 1, .. bytes
REACH = 1 << 15  # bytes of history that are counted, as many as DEFLATE refers to


def counted(seen: Tensor, first: int) -> tuple[Tensor, Tensor]:
    """Return the probabilities of the bytes from `first` on, from counts over the bytes before `first`.

    Bytes before the start of `seen` count as zero. The counts don't change within the requested text.

    Args:
        seen: [N] bytes of any integer dtype, the history followed by the requested text.
        first: 1 <= first <= 2^15, number of bytes of history.

    Returns:
        P [T, 256] fp32, each row positive with sum 1, for T = N - first; level [T] int64, 0..ORDERS.
    """
    padded = torch.cat([seen.new_zeros(ORDERS), seen]).int()  # byte i of `seen` at i + ORDERS
    before, text = padded[: first + ORDERS], padded[first:]
    follower, known = before[ORDERS:], before[ORDERS - 1 : -1]
    even = torch.full((1, 256), 1 / 256, device=seen.device)
    chance, level = _blended(torch.bincount(follower, minlength=256)[None], even, follower.new_full((1,), -1))
    # from contexts asked for, each a row, and the places of the history in them, to those a byte longer
    context, own = torch.unique(text[ORDERS - 1 : -1], return_inverse=True)
    known = _rows(context, 256).index_select(0, known)
    chance, level = _blended(_followers(known, follower, len(context)), chance, level)
    place: Tensor | None = None  # of the history, where its context is asked for
    for order in range(2, LEVELS):
        context, own = torch.unique(own * 256 + text[ORDERS - order : -order], return_inverse=True)
        further = before[ORDERS - order : -order] if place is None else before.index_select(0, place - order)
        known = _rows(context, 256 * (len(chance) + 1)).index_select(0, known * 256 + further)
        kept = places(known < len(context))
        known, follower = known.index_select(0, kept), follower.index_select(0, kept)
        place = kept + ORDERS if place is None else place.index_select(0, kept)
        lower = context >> 8
        counts = _followers(known, follower, len(context))
        chance, level = _blended(counts, chance.index_select(0, lower), level.index_select(0, lower))
    return chance.index_select(0, own), level.index_select(0, own).long()


def stream_nats(text: bytes, history: bytes) -> float:
    """Return the nats that `text` costs a model that has read only the last 32 KB of `history`.

    In a text longer than 4,096 bytes, counts are updated after each block.
    """
    total = 0.0
    for at in range(0, len(text), 4096):
        block, before = text[at : at + 4096], (b"\n" + history + text[:at])[-REACH:]
        seen = torch.frombuffer(bytearray(before + block), dtype=torch.uint8)
        chance, _ = counted(seen, len(before))
        total -= float(chance.gather(1, seen[len(before) :, None].long()).double().log().sum())
    return total


def _rows(context: Tensor, size: int) -> Tensor:
    """Return the row for each of `size` keys, [size] int32: its position in `context` [U], or U if it is absent."""
    rows = torch.full((size,), len(context), dtype=torch.int32, device=context.device)
    rows[context.long()] = torch.arange(len(context), dtype=torch.int32, device=context.device)
    return rows


def _followers(known: Tensor, follower: Tensor, rows: int) -> Tensor:
    """Count how often each byte follows each context; return [rows, 256]."""
    counts = torch.bincount(known * 256 + follower, minlength=256 * rows)
    return counts[: 256 * rows].view(rows, 256)  # after them, the keys in no row


def _blended(counts: Tensor, lower: Tensor, level: Tensor) -> tuple[Tensor, Tensor]:
    """Return P_o and its level from the counts [.., 256] for order o, P_{o-1} [.., 256] and the level [..] of P_{o-1}.

    Where there are no counts, both are unchanged.
    """
    counts = counts.float()
    size = counts.sum(-1, keepdim=True)
    kinds = counts.sign().sum(-1, keepdim=True).clamp(min=1)
    return torch.addcmul(counts, kinds, lower).div_(size + kinds), level + (size[..., 0] > 0)
