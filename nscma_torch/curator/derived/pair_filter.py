"""Quality filter for mined question-answer pairs: they must be grounded, answerable from the memory, and new.

Round-trip consistency (Alberti et al. 2019): a pair is kept if a reader who is asked its question finds its answer.
Here the memory itself is asked, in its state as of the sitting's last message and without the messages that ask the
question.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from nscma_torch.core.config import QuestionPairsConfig
from nscma_torch.core.errors import JobError
from nscma_torch.core.protocols import Embedder, ReadBack
from nscma_torch.core.records import Evidence, QAPair, SourcedLine, Unit
from nscma_torch.llm.grounding import holds
from nscma_torch.reading.resolved_dates import resolved
from nscma_torch.text.calendar.timestamps import format_day
from nscma_torch.text.embedders.query_vector import query_vector
from nscma_torch.text.terms import terms


class Known(NamedTuple):
    """The id and the vector [d] of a pair from another group."""

    id: str
    vector: Tensor


class Checked(NamedTuple):
    """A line that passed the filter, its vector [d], and the id of a near duplicate from another group, or ""."""

    line: SourcedLine
    vector: Tensor
    said_by: str


class PairFilter:
    """Decides which pairs to keep.

    Args:
        read_back: asks the memory a question.
        embedder: returns the embedder; called when the first pair is compared.
    """

    def __init__(self, read_back: ReadBack, embedder: Callable[[], Embedder], settings: QuestionPairsConfig) -> None:
        self._read_back = read_back
        self._embedder = embedder
        self._settings = settings

    def checked(self, group: Sequence[Unit], pairs: Sequence[QAPair], known: Sequence[Known]) -> list[Checked]:
        """Return a group's valid pairs in order, without repetitions within the group.

        Raises `JobError` if a pair has a source outside the group.
        """
        found: list[Checked] = []
        for pair in pairs:
            if not all(0 <= place < len(group) for place in (*pair.sources, *pair.asking)):
                raise JobError(f"pairs returned a pair with a source outside its {len(group)} messages: {pair!r}")
            cited = [group[place] for place in pair.sources]
            if not grounded(pair, cited):
                continue
            read = self._read(pair, group, cited)
            if read is None:
                continue
            vector = query_vector(self._embedder(), pair.text).cpu()
            if self._nearest(vector, [one.vector for one in found if not one.said_by]) is not None:
                continue
            nearest = self._nearest(vector, [one.vector for one in known])
            line = SourcedLine(pair.text, pair.sources, read.score)
            found.append(Checked(line, vector, "" if nearest is None else known[nearest].id))
        return found

    def _read(self, pair: QAPair, group: Sequence[Unit], cited: Sequence[Unit]) -> Evidence | None:
        """Ask the memory the pair's question; return the evidence if the answer matches and comes from a cited
        message.
        """
        asking = [group[place].id for place in pair.asking]
        now = max(unit.occurred_at for unit in group)
        read = self._read_back(pair.query, asker=pair.asker, scope=group[0].scope, now=now, without=asking)
        if read is None or read.score < self._settings.sure or not agrees(read, pair, cited):
            return None
        return read

    def _nearest(self, vector: Tensor, others: Sequence[Tensor]) -> int | None:
        """Return the index of the most similar vector, if similar enough to be a repetition."""
        if not others:
            return None
        cosines = torch.stack(list(others)) @ vector
        best = int(cosines.argmax())
        return best if float(cosines[best]) >= self._settings.similar else None


def grounded(pair: QAPair, cited: Sequence[Unit]) -> bool:
    """Return True if the cited messages contain every content word of the answer, or if the answer is their author or
    date.
    """
    texts = (part for unit in cited for part in (resolved(unit.text, unit.occurred_at), unit.name or unit.role))
    return holds(pair.answer, *texts, *(format_day(unit.occurred_at.date()) for unit in cited))


def agrees(read: Evidence, pair: QAPair, cited: Sequence[Unit]) -> bool:
    """Return True if a short answer agrees with a pair: it comes from a cited message, and one of the two answers
    contains all words of the other.
    """
    if {unit.id for unit in cited}.isdisjoint(read.hit.unit.episode_ids):
        return False
    one, other = set(terms(read.text)), set(terms(pair.answer))
    return bool(one) and (one <= other or other <= one)
