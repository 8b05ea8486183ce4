"""What a part of the GPU check is: what it needs, how long it may take, and the rows that it measures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import torch


@dataclass(frozen=True, slots=True)
class Row:
    """One measurement.

    Attributes:
        what: was measured.
        shape: sizes of the operands.
        dtype: of the operands.
        values: by name, with the unit in the name where there is one.
    """

    what: str
    shape: str
    dtype: str
    values: Mapping[str, float | int | str]


Measure = Callable[[torch.device, bool], Iterator[Row]]  # device, whether shapes are to be tiny


@dataclass(frozen=True, slots=True)
class Part:
    """Something that is checked in a process of its own, so that a crash of the device ends no other part.

    Attributes:
        load: imports what measures, which raises `WrongResultError`, or any other error, where something is wrong.
        needs: packages without which the part is skipped.
        seconds: of the clock after which it is ended.
        timed: whether it measures time, and so runs by itself.
        quick: whether it has tiny shapes; a part without them is left out of a quick run.
        interpreted: whether Triton's interpreter runs its kernels where there is no GPU.
    """

    name: str
    load: Callable[[], Measure]
    needs: tuple[str, ...]
    seconds: float
    timed: bool = True
    quick: bool = True
    interpreted: bool = False


class WrongResultError(Exception):
    """A result is not what the reference gives."""


def expect(holds: bool, said: str) -> None:
    """Raise `WrongResultError` where something does not hold."""
    if not holds:
        raise WrongResultError(said)
