"""Make structured records for messages with the language tasks; see `memory_records`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import get_args

from nscma_torch.core.errors import JobError
from nscma_torch.core.protocols import RecordTasks
from nscma_torch.core.records import Description, Extraction, MemoryType, Sentiment, Unit
from nscma_torch.features.records.memory_records import NewRecord
from nscma_torch.reading.cues import salience
from nscma_torch.text.names import name_key


class Describer:
    """Has the language tasks describe each chunk of a message, and makes one record per message."""

    def __init__(self, tasks: RecordTasks) -> None:
        self._tasks = tasks

    def records(
        self,
        chunks: Sequence[tuple[int, Unit]],
        extracted: Sequence[Extraction],
        listeners: Mapping[int, str],
        before: Mapping[int, Sequence[Unit]],
    ) -> dict[int, NewRecord]:
        """Return the record for each message that can be described, by row number.

        `chunks` contains pairs of a message's row number and one of its chunks, and `extracted` the statements for each
        chunk; `listeners` and `before` give each message's addressee and the turns before it.

        Raises `JobError` if the language tasks return invalid results.
        """
        described = self._tasks.describe(
            [unit for _, unit in chunks],
            extractions=extracted,
            listeners=[listeners[seq] for seq, _ in chunks],
            before=[before[seq] for seq, _ in chunks],
        )
        if len(described) != len(chunks):
            raise JobError(f"describe was given {len(chunks)} texts and returned {len(described)} results; correct it")
        parts: dict[int, list[tuple[Unit, Description]]] = {}
        for (seq, unit), said in zip(chunks, described, strict=True):
            if said is not None:
                parts.setdefault(seq, []).append((unit, _checked(said, len(before[seq]))))
        return {seq: _record(own, before[seq]) for seq, own in parts.items()}


def _record(parts: Sequence[tuple[Unit, Description]], before: Sequence[Unit]) -> NewRecord:
    """Build one record from a message's chunks, with the attributes of the most salient chunk and the entities of all
    chunks.
    """
    main, said = max(parts, key=lambda part: salience(part[0].text))
    own = [said, *(other for unit, other in parts if unit is not main)]
    entities = tuple(dict.fromkeys(name for one in own for name in one.entities))
    settles = sorted({place for one in own for place in one.settles})
    ids = tuple(episode_id for place in settles for episode_id in before[place].episode_ids)
    return NewRecord(Description(said.type, entities, said.sentiment, said.settled), ids)


def _checked(said: Description, before: int) -> Description:
    known = said.type in get_args(MemoryType) and said.sentiment in (*get_args(Sentiment), None)
    if not known or not all(0 <= place < before for place in said.settles):
        raise JobError(
            f"describe returned {said!r}; its type or sentiment is unknown, or it settles a turn outside the "
            f"{before} before it; correct it"
        )
    if not all(isinstance(name, str) and name_key(name) for name in said.entities):
        raise JobError(f"describe returned an entity without a name: {said.entities!r}; correct it")
    return said
