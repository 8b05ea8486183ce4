"""What a stream's own text says about its next byte: counts of what followed the last 0 to 4 bytes before.

A model without weights that has read nothing but the stream, so that whatever was said there is cheap and whatever was
not is dear, however common it is elsewhere: surprise relative to memory. Counts of each order are blended with those of
the order below by Witten and Bell's estimate (1991, method C of PPM; Moffat 1990),

    P_o(b) = (c_o(b) + d_o P_{o-1}(b)) / (n_o + d_o),    P_{-1} = 1/256,

where of the n_o earlier places with the same last o bytes c_o(b) were followed by b, and by d_o different bytes.
Everything is counted from the text at the time it is needed: there is nothing to store, and nothing to erase.

Shape legend: N bytes, T positions asked for, U distinct contexts.
"""

from __future__ import annotations

import torch
from torch import Tensor

from nscma_torch.buffer.byte_context import in_order

ORDERS = 4  # bytes of the longest context
LEVELS = ORDERS + 1  # longest context that occurred before: none, 1, .. bytes
REACH = 1 << 15  # bytes of history that are counted, as many as DEFLATE refers to

_PLACE = 16  # bits of a position


def counted(seen: Tensor, first: int) -> tuple[Tensor, Tensor]:
    """Probabilities of the bytes at `first`.. from counts over the bytes before `first`.

    What lies before `seen` counts as zero bytes. The counts do not move within the text asked for.

    Args:
        seen: [N] int64 bytes, the history and then the text asked for.
        first: 1 <= first <= 2^15, number of bytes of history.

    Returns:
        P [T, 256] fp32, each row positive with sum 1, for T = N - first; level [T] int64, 0..ORDERS.
    """
    contexts = _contexts(seen)
    places = torch.arange(first, device=seen.device)
    ordered = in_order(contexts[:first] << _PLACE | places)
    known, follower = ordered >> _PLACE, seen[ordered & ((1 << _PLACE) - 1)]
    size = torch.tensor(first, device=seen.device)
    counts = torch.bincount(follower, minlength=256).float()
    chance = _blended(counts[None], size[None], torch.full((1, 256), 1 / 256, device=seen.device))
    chance = chance.expand(len(seen) - first, 256)
    level = torch.zeros(len(seen) - first, dtype=torch.int64, device=seen.device)
    for order in range(1, LEVELS):
        below = 8 * (ORDERS - order)  # bits that this order does not look at
        context, row = torch.unique(contexts[first:] >> below, return_inverse=True)
        start = torch.searchsorted(known, context << below)
        size = torch.searchsorted(known, (context + 1) << below) - start
        owner = torch.repeat_interleave(size)
        within = torch.arange(len(owner), device=seen.device) - (size.cumsum(0) - size)[owner]
        counts = torch.bincount(owner * 256 + follower[start[owner] + within], minlength=256 * len(context))
        chance = _blended(counts.view(-1, 256).float()[row], size[row], chance)
        level += size[row] > 0
    return chance, level


def stream_nats(text: bytes, history: bytes) -> float:
    """Nats that `text` costs who has read nothing but `history`, of which the last 32 KB count.

    Counts of a text longer than 4,096 bytes go on from block to block.
    """
    total = 0.0
    for at in range(0, len(text), 4096):
        block, before = text[at : at + 4096], (b"\n" + history + text[:at])[-REACH:]
        seen = torch.frombuffer(bytearray(before + block), dtype=torch.uint8).long()
        chance, _ = counted(seen, len(before))
        total -= float(chance.gather(1, seen[len(before) :, None]).double().log().sum())
    return total


def _contexts(seen: Tensor) -> Tensor:
    """The `ORDERS` bytes before each position in one integer, the nearest one in the highest bits."""
    key = torch.zeros_like(seen)
    for back in range(1, min(LEVELS, len(seen))):
        key[back:] |= seen[:-back] << 8 * (ORDERS - back)
    return key


def _blended(counts: Tensor, size: Tensor, lower: Tensor) -> Tensor:
    """P_o from its counts [.., 256], their sums [..] and P_{o-1} [.., 256]; without a count, P_{o-1} itself."""
    kinds = torch.where(size > 0, (counts > 0).sum(-1), 1)[..., None]
    return torch.addcmul(counts, kinds.float(), lower) / (size[..., None] + kinds)
