"""Choose mem0's operations on facts with the trained reader.

The reader's change head compares a new statement with each known fact.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from nscma_torch.core.records import FactOperation, Operation, ToldFact, Unit
from nscma_torch.reading.reader import Reader
from nscma_torch.reading.reader_input import InputPassage
from nscma_torch.reading.reader_model import CHANGES

_ENDS: dict[str, Operation] = {"replaces": "UPDATE", "corrects": "UPDATE", "ends": "DELETE", "cancels": "DELETE"}


class FactChanges:
    """Chooses an operation for each new statement.

    The reader gets the earlier sentence as the known fact and the later one as the message that may change it, even if
    the new statement is the earlier one. If one sentence states several known facts, it doesn't show which of them
    changes, so each of these facts is phrased separately ("Ana lives in Oslo").

    Args:
        reader: returns the reader; called on first use.
        change: minimum probability for the reader's verdict that a fact is changed or repeated.
    """

    def __init__(self, reader: Callable[[], Reader], change: float) -> None:
        self._reader = reader
        self._change = change

    def operate(self, new: Sequence[tuple[ToldFact, Sequence[ToldFact]]]) -> list[FactOperation]:
        """Choose an operation for each new statement.

        UPDATE is for replaced or corrected facts, DELETE for ended or cancelled ones, NOOP for known ones, and ADD for
        all others.
        """
        pairs = [(one, fact, _is_alone(fact, known)) for one, known in new for fact in known]
        read = [_read(one, fact, alone=alone) for one, fact, alone in pairs]
        found = self._reader().changes(*map(list, zip(*read, strict=True))).tolist() if read else []
        likely = iter([dict(zip(CHANGES, own, strict=True)) for own in found])
        return [self._chosen(one, [(fact, next(likely)) for fact in known]) for one, known in new]

    def _chosen(self, new: ToldFact, found: Sequence[tuple[ToldFact, dict[str, float]]]) -> FactOperation:
        same = tuple(fact.id for fact, _ in found if fact.text == new.text)
        if same:
            return FactOperation("NOOP", same)
        changing = [(sum(likely[kind] for kind in _ENDS), fact, likely) for fact, likely in found]
        changing = [one for one in changing if one[0] >= self._change]
        if changing:
            _, _, most = max(changing, key=lambda one: one[0])
            kind = max(_ENDS, key=lambda kind: most[kind])
            return FactOperation(_ENDS[kind], tuple(fact.id for _, fact, _ in changing))
        repeated = tuple(fact.id for fact, likely in found if likely["confirms"] >= self._change)
        return FactOperation("NOOP", repeated) if repeated else FactOperation("ADD")


def _is_alone(fact: ToldFact, known: Sequence[ToldFact]) -> bool:
    """Return True if the known fact's sentence states none of the other known facts."""
    return Counter(_place(one.said) for one in known)[_place(fact.said)] == 1


def _place(unit: Unit) -> tuple[tuple[str, ...], int]:
    return unit.episode_ids, unit.start


def _read(new: ToldFact, known: ToldFact, *, alone: bool) -> tuple[str, list[InputPassage]]:
    """Return the earlier text and the later message."""
    text = known.said.text if alone else known.text
    if known.said.occurred_at > new.said.occurred_at:
        return f"{_speaker(new.said)}: {new.said.text}", [
            InputPassage(text, _speaker(known.said), known.said.occurred_at)
        ]
    return f"{_speaker(known.said)}: {text}", [InputPassage(new.said.text, _speaker(new.said), new.said.occurred_at)]


def _speaker(unit: Unit) -> str:
    return unit.name or unit.role
