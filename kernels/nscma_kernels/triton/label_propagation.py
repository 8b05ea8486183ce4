"""Run rounds of chase-gated label propagation on a GPU, with three kernels per tile and one synchronisation per round.

`desire` writes the wanted label and priority of each frontier node, `gate` moves the nodes that no neighbour blocks,
and `mark` sets the next frontier. The labels of up to `PAIRWISE` neighbours are compared pairwise in registers, without
hashing, atomics or sorting; torch sorts longer lists. All sums are of integers, so the result equals that of plain
torch, bit for bit.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"
from __future__ import annotations

from itertools import count
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from nscma_kernels.label_propagation import CODE, LAST, PAIRWISE, Tile, desire, priority, salt

LABELS = tl.constexpr(CODE)
NEVER = tl.constexpr(LAST)


@triton.jit
def mix(x):
    """Triton version of `nscma_kernels.label_propagation.mix`."""
    x = (x ^ ((x >> 30) & 0x3FFFFFFFF)) * -0x40A7B892E31B1A47
    x = (x ^ ((x >> 27) & 0x1FFFFFFFFF)) * -0x6B2FB644ECCEEE15
    return x ^ ((x >> 31) & 0x1FFFFFFFF)


@triton.jit(do_not_specialize=["salt"])
def desire_kernel(
    neighbours_ptr,  # [D, SIZE] int32
    weight_ptr,  # [D, SIZE] int32 or int64, unused unless weighted
    hashes_ptr,  # [SIZE] int64
    look_ptr,  # [SIZE] int8
    state_ptr,  # [n + pads] int32
    want_ptr,  # [n + pads] int32, out
    rank_ptr,  # [n + pads] int64, out
    first,
    size,
    n,
    salt,
    wide: tl.constexpr,  # D
    places: tl.constexpr,  # the power of two from D
    nodes: tl.constexpr,
    weighted: tl.constexpr,
):
    node = tl.program_id(0) * nodes + tl.arange(0, nodes)
    here = node < size
    own = tl.load(state_ptr + first + node, here, other=0)
    hashes = tl.load(hashes_ptr + node, here, other=0)
    new = own
    looks = tl.load(look_ptr + node, here, other=0) != 0
    if tl.max(looks.to(tl.int32), 0) > 0:
        place = tl.arange(0, places)
        inside = looks[:, None] & (place < wide)[None, :]
        slot = place[None, :].to(tl.int64) * size + node[:, None]
        near = tl.load(neighbours_ptr + slot, inside, other=0)
        label = tl.load(state_ptr + near, inside, other=-1)
        weight = tl.load(weight_ptr + slot, inside, other=0) if weighted else (inside & (near < n)).to(tl.int32)
        odd = (hashes & 0x7FFFFFFF).to(tl.int32) | 1
        key = ((label - own[:, None]) * odd[:, None]) & LABELS  # each node renumbers the labels, its own as 0
        total = tl.sum(tl.where(label[:, :, None] == label[:, None, :], weight[:, None, :], 0), axis=2)
        heaviest = total == tl.max(total, axis=1)[:, None]
        best = tl.min(tl.where(heaviest, key, 0x7FFFFFFF), axis=1)
        inverse = odd
        for _ in tl.static_range(4):
            inverse = inverse * (2 - odd * inverse)
        new = tl.where(looks, (own + best * inverse) & LABELS, own)
    tl.store(want_ptr + first + node, new, here)
    tl.store(rank_ptr + first + node, tl.where(new != own, mix(hashes + salt), NEVER), here)


@triton.jit
def gate_kernel(
    neighbours_ptr,  # [D, SIZE] int32
    state_ptr,  # [n + pads] int32
    want_ptr,  # [n + pads] int32
    rank_ptr,  # [n + pads] int64
    after_ptr,  # [n + pads] int32, out: the labels after this round
    again_ptr,  # [n + pads] int8, out: nodes that want to move but were blocked
    first,
    size,
    wide,  # D
    places: tl.constexpr,
    nodes: tl.constexpr,
):
    node = tl.program_id(0) * nodes + tl.arange(0, nodes)
    here = node < size
    own = tl.load(state_ptr + first + node, here, other=0)
    new = tl.load(want_ptr + first + node, here, other=0)
    stopped = tl.zeros([nodes], tl.int32)
    moves = own != new
    if tl.max(moves.to(tl.int32), 0) > 0:
        rank = tl.load(rank_ptr + first + node, here, other=0)
        for begin in range(0, wide, places):
            place = begin + tl.arange(0, places)
            inside = moves[:, None] & (place < wide)[None, :]
            near = tl.load(neighbours_ptr + place[None, :].to(tl.int64) * size + node[:, None], inside, other=0)
            chase = tl.load(state_ptr + near, inside, other=-1) == new[:, None]
            chase |= tl.load(want_ptr + near, inside, other=-1) == own[:, None]
            chase &= tl.load(rank_ptr + near, inside, other=NEVER) > rank[:, None]
            stopped = tl.maximum(stopped, tl.max(chase.to(tl.int32), axis=1))
    tl.store(after_ptr + first + node, tl.where(stopped > 0, own, new), here)
    tl.store(again_ptr + first + node, stopped.to(tl.int8), here)


@triton.jit
def mark_kernel(
    neighbours_ptr,  # [D, SIZE] int32
    state_ptr,  # [n + pads] int32
    after_ptr,  # [n + pads] int32
    again_ptr,  # [n + pads] int8, in and out
    first,
    size,
    wide,  # D
    places: tl.constexpr,
    nodes: tl.constexpr,
):
    node = tl.program_id(0) * nodes + tl.arange(0, nodes)
    here = node < size
    new = tl.load(after_ptr + first + node, here, other=0)
    moved = tl.load(state_ptr + first + node, here, other=0) != new
    if tl.max(moved.to(tl.int32), 0) > 0:
        for begin in range(0, wide, places):
            place = begin + tl.arange(0, places)
            inside = moved[:, None] & (place < wide)[None, :]
            near = tl.load(neighbours_ptr + place[None, :].to(tl.int64) * size + node[:, None], inside, other=0)
            differ = inside & (tl.load(after_ptr + near, inside, other=0) != new[:, None])
            tl.store(again_ptr + near, tl.full([nodes, places], 1, tl.int8), differ)


def propagate(tiles: list[Tile], codes: Tensor, hashes: Tensor, look: Tensor, max_rounds: int | None) -> Tensor:
    """Triton version of `nscma_kernels.label_propagation.propagate`."""
    n, device = len(codes), codes.device
    pads = max((len(tile.neighbours) for tile in tiles), default=0)
    state = torch.cat([codes, torch.arange(n + 1, n + 1 + pads, dtype=torch.int32, device=device)])
    after, want = state.clone(), state.clone()
    rank = torch.full_like(state, LAST, dtype=torch.int64)
    look = torch.cat([look.to(torch.int8), torch.zeros(pads, dtype=torch.int8, device=device)])
    look[: tiles[0].first if tiles else n] = 0
    with torch.cuda.device_of(codes):
        for turn in count() if max_rounds is None else range(max_rounds):
            if not bool(look[:n].any()):
                break
            for tile in tiles:
                _desire(tile, hashes, look, state, want, rank, turn)
            for tile in tiles:
                _launch(gate_kernel, tile, state, want, rank, after, look)
            for tile in tiles:
                _launch(mark_kernel, tile, state, after, look)
            state, after = after, state
    return state[:n]


def _desire(tile: Tile, hashes: Tensor, look: Tensor, state: Tensor, want: Tensor, rank: Tensor, turn: int) -> None:
    wide, size = tile.neighbours.shape
    run = slice(tile.first, tile.first + size)
    if wide <= PAIRWISE:
        places = triton.next_power_of_2(wide)
        nodes = max(1, 4096 // places**2)
        desire_kernel[(triton.cdiv(size, nodes),)](
            tile.neighbours,
            tile.neighbours if tile.weight is None else tile.weight,
            hashes[run],
            look[run],
            state,
            want,
            rank,
            tile.first,
            size,
            len(hashes),
            int(salt(turn)),
            wide=wide,
            places=places,
            nodes=nodes,
            weighted=tile.weight is not None,
            num_warps=8 if places == PAIRWISE else 4,
        )
        return
    want[run], rank[run] = state[run], LAST
    at = look[run].nonzero().squeeze(1)
    step = max(1, (1 << 24) // wide)
    for begin in range(0, len(at), step):
        part = at[begin : begin + step]
        label = state[tile.neighbours[:, part]]
        weight = None if tile.weight is None else tile.weight[:, part]
        want[tile.first + part] = desire(
            label, weight, state[tile.first + part], hashes[tile.first + part], len(hashes)
        )
    rank[run] = torch.where(want[run] != state[run], priority(hashes[run], turn), LAST)


def _launch(kernel: Any, tile: Tile, *arrays: Tensor) -> None:
    wide, size = tile.neighbours.shape
    places = min(PAIRWISE, triton.next_power_of_2(wide))
    nodes = 1024 // places
    grid = (triton.cdiv(size, nodes),)
    kernel[grid](tile.neighbours, *arrays, tile.first, size, wide, places=places, nodes=nodes)
