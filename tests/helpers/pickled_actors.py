"""What stands in for Ray's actors: work and results go through pickle, and those of different items come mixed."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import Any


class PickledActors:
    """Two of them, each with work of its own, that hand on one result after the other in turns."""

    def __init__(self) -> None:
        self.results = 0

    def each(self, make: Callable[[], Callable[[Any], Iterator[Any]]], items: Sequence[Any]) -> Iterator[Any]:
        actors = [pickle.loads(pickle.dumps(make))() for _ in range(2)]
        going = [iter(()), iter(())]
        waiting = [pickle.dumps(item) for item in items]
        while True:
            ended = 0
            for number, work in enumerate(actors):
                while (result := next(going[number], None)) is None and waiting:
                    going[number] = work(pickle.loads(waiting.pop(0)))
                if result is None:
                    ended += 1
                    continue
                self.results += 1
                yield pickle.loads(pickle.dumps(result))
            if ended == len(actors):
                return
