"""Units made when a message is read: sentences, triples and summaries, with their statements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection

from nscma_torch.core.errors import JobError
from nscma_torch.core.records import Extraction, Statement, Unit
from nscma_torch.episodic.index import units
from nscma_torch.episodic.index.units import NewUnit
from nscma_torch.ingest.indexer import IndexedChunk
from nscma_torch.semantic.store import fact_units


class MadeText(NamedTuple):
    """A unit to make: its episode's row number, its kind and text, and its statements."""

    seq: int
    kind: str
    text: str
    says: tuple[Statement, ...]


def atomic_facts(seq: int, unit: Unit, own: Extraction, placed: Sequence[Statement]) -> list[MadeText]:
    """Return the sentences in an extraction, each with the statements at its position, if known.

    The positions in `placed` refer to the episode's text.
    """
    spans = spans_of(own)
    if not spans:
        return [MadeText(seq, "atomic_fact", text, ()) for text in own.sentences]
    return [
        MadeText(seq, "atomic_fact", text, _said_in(text, own.sentences, spans, place, unit.start, placed))
        for text, place in zip(own.sentences, spans, strict=True)
    ]


def spans_of(own: Extraction) -> Sequence[tuple[int, int]]:
    """Return the position of each sentence in the unit; empty if unknown."""
    if own.spans and len(own.spans) != len(own.sentences):
        raise JobError(f"extract returned {len(own.sentences)} sentences and {len(own.spans)} spans; correct it")
    return own.spans


def _said_in(
    text: str,
    sentences: Sequence[str],
    spans: Sequence[tuple[int, int]],
    place: tuple[int, int],
    first: int,
    placed: Sequence[Statement],
) -> tuple[Statement, ...]:
    """Return the statements within a sentence's span in the unit; the unit begins at offset `first` in the episode.

    If several sentences have the same span, a statement belongs to the sentences that name its object, if there are
    any.
    """
    start, end = place
    here = [s for s in placed if first + start <= s.start and s.end <= first + end]
    beside = [other for other, span in zip(sentences, spans, strict=True) if span == place]
    return tuple(s for s in here if _names(text, s.object) or not any(_names(other, s.object) for other in beside))


def _names(text: str, thing: str) -> bool:
    return bool(thing) and thing.casefold() in text.casefold()


def store(
    connection: Connection,
    user_id: str,
    made: Sequence[tuple[MadeText, IndexedChunk]],
    origins: Mapping[int, Mapping[Any, Any]],
    numbers: Mapping[tuple[int, Statement], int],
) -> None:
    """Store units, each with its statements; `numbers` contains the statements' row numbers by episode and
    statement.
    """
    new: list[NewUnit] = []
    says: dict[tuple[int, str, str], list[int]] = {}
    for text, item in made:
        own = item.chunk.text
        new.append(NewUnit(text.kind, own, origins[text.seq], 0, len(own), item.terms, item.packed))
        known = [numbers[text.seq, one] for one in text.says if (text.seq, one) in numbers]
        says.setdefault((text.seq, text.kind, own), []).extend(known)
    distinct = _distinct(new)
    stored = zip(distinct, units.insert(connection, distinct), strict=True)
    linked = [(seq, number) for unit, seq in stored for number in says[unit.origin["seq"], unit.kind, unit.text]]
    fact_units.link(connection, user_id, linked)
    fact_units.follow(connection, [number for _, number in linked])


def origins_of(connection: Connection, rows: Mapping[int, Mapping[Any, Any]]) -> dict[int, Mapping[Any, Any]]:
    """Return the attributes that new units inherit from their episodes; if an episode faded from search, its units are
    archived too.
    """
    shown = units.active_chunks(connection, list(rows))
    faded = [seq for seq, row in rows.items() if row["status"] == "active" and seq not in shown]
    return {**rows, **{seq: {**rows[seq], "status": "archived"} for seq in faded}}


def _distinct(new: Sequence[NewUnit]) -> list[NewUnit]:
    """Remove units that repeat the wording of another unit from the same message."""
    seen = {(unit.origin["seq"], unit.kind, unit.text): unit for unit in reversed(new)}
    return list(reversed(seen.values()))
