"""Find the components of small ego-nets on a GPU, with one program per ego that keeps adjacency and labels in
registers.

Legend: `lanes` is a power of two and at least the degree of the ego; v_i is the ego's i-th neighbour.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator,type-arg"
from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

LARGEST_DEGREE = 128
WARPS = {16: 1, 32: 2, 64: 4, 128: 16}  # lanes: warps of a program


@triton.jit
def component_kernel(
    nodes,  # [m] int64, the egos
    rowptr,  # [n + 1] int64
    col,  # [E] int64, ascending within a row
    parent,  # [E] int64, out: the smallest half-edge of the same component of the same ego
    lanes: tl.constexpr,
):
    node = tl.load(nodes + tl.program_id(0))
    begin = tl.load(rowptr + node)
    lane = tl.arange(0, lanes)
    inside = lane < tl.load(rowptr + node + 1) - begin
    neighbour = tl.load(col + begin + lane, mask=inside, other=-1)
    row = tl.load(rowptr + neighbour, mask=inside, other=0)
    size = (tl.load(rowptr + neighbour + 1, mask=inside, other=0) - row).to(tl.int32)
    # is v_j a neighbour of v_i? bisection of row v_i, all pairs at once
    low = tl.zeros([lanes, lanes], tl.int32)
    high = tl.broadcast_to(size[:, None], [lanes, lanes])
    span = tl.max(size, axis=0)
    while span > 0:
        middle = (low + high) // 2
        unsettled = low < high
        smaller = tl.load(col + row[:, None] + middle, mask=unsettled, other=0) < neighbour[None, :]
        low = tl.where(unsettled & smaller, middle + 1, low)
        high = tl.where(unsettled & (smaller == 0), middle, high)
        span = span // 2
    found = tl.load(col + row[:, None] + low, mask=low < size[:, None], other=-2)
    adjacent = found == neighbour[None, :]
    # every lane takes the smallest label around it until none moves
    label = lane
    moving = 1
    while moving > 0:
        nearest = tl.minimum(label, tl.min(tl.where(adjacent, label[:, None], lanes), axis=0))
        moving = tl.sum((nearest < label).to(tl.int32), axis=0)
        label = nearest
    tl.store(parent + begin + lane, begin + label, mask=inside)


def components(nodes: Tensor, rowptr: Tensor, col: Tensor, parent: Tensor) -> None:
    """Write the component of each half-edge into `parent`, for the egos of `nodes`.

    A component is named by its smallest half-edge. Nodes must have at most `LARGEST_DEGREE` neighbours.
    """
    degree = rowptr[nodes + 1] - rowptr[nodes]
    smaller = 1
    for lanes, warps in WARPS.items():
        chosen = nodes[(degree >= smaller) & (degree <= lanes)]
        if len(chosen):
            with torch.cuda.device_of(parent):
                component_kernel[(len(chosen),)](chosen, rowptr, col, parent, lanes=lanes, num_warps=warps)
        smaller = lanes + 1
