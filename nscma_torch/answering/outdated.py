"""Decide whether what a passage says still holds at the time of a question.

It doesn't if its own words limit it to a time that is over, or if its message is past or in doubt because of later
messages (`nscma_torch/standing`). An effect on a message with several sentences is checked against the sentence that
answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from nscma_torch.answering.current_value import CHANGED
from nscma_torch.core.database.clock import to_micros
from nscma_torch.core.records import Answer, Evidence, Hit, Unit
from nscma_torch.episodic.index.units import unit_of
from nscma_torch.episodic.log import episodes
from nscma_torch.reading.embedded_tasks import quoted_line
from nscma_torch.reading.reader import Reader
from nscma_torch.reading.reader_input import InputPassage
from nscma_torch.reading.reader_model import probability_of_effect
from nscma_torch.standing import effects
from nscma_torch.standing.standings import Standing
from nscma_torch.text.calendar.time_limits import time_limit
from nscma_torch.text.calendar.timestamps import format_day
from nscma_torch.text.sentences import split_sentences

UNSURE = 0.4  # highest confidence of an answer against which something speaks


@dataclass(frozen=True, slots=True)
class Outdated:
    """The reason that a value doesn't hold: `why` follows the value in a sentence.

    `by` is the message behind it, if there is one. `replaced` is True if that message gives another value.
    """

    why: str
    by: Unit | None = None
    replaced: bool = False


def outdated(
    connection: Connection, reader: Reader, user_id: str, unit: Unit, value: str, now: datetime
) -> Outdated | None:
    """Return why a value from a unit's text doesn't hold at `now`, or None if it does."""
    sentence = sentence_of(unit.text, value)
    last = time_limit(sentence, unit.occurred_at)
    if last is not None and last < now.astimezone(unit.occurred_at.tzinfo).date():
        return Outdated(f"held until {format_day(last)}")
    sources = episodes.seqs_of(connection, user_id, unit.episode_ids)
    standings = effects.of_messages(connection, sources, to_micros(now))
    if not sources or len(standings) < len(sources):  # another source still holds
        return None
    standing = standings[max(sources)]
    assert standing.by is not None
    later = unit_of(episodes.by_seqs(connection, user_id, [standing.by])[standing.by])
    if sentence != unit.text and not standing.through and not _concerns(reader, unit, sentence, later):
        return None
    return _described(standing, later)


def sentence_of(text: str, value: str) -> str:
    """Return the sentence that contains a value, with the next one if that limits it ("It's only for this month")."""
    at = max(0, text.find(value))
    spans = split_sentences(text)
    place = next((i for i, one in enumerate(spans) if one.start <= at < one.end), None)
    if place is None:
        return text
    last = place
    if place + 1 < len(spans) and "only" in text[spans[place + 1].start : spans[place + 1].end].lower().split():
        last += 1
    return text[spans[place].start : spans[last].end]


def _concerns(reader: Reader, unit: Unit, sentence: str, later: Unit) -> bool:
    """Return True if a later message also bears on this sentence alone."""
    passage = InputPassage(later.text, later.name or later.role, later.occurred_at)
    likely = probability_of_effect(reader.changes([f"{unit.name or unit.role}: {sentence}"], [[passage]]))
    return likely.item() >= CHANGED


def _described(standing: Standing, later: Unit) -> Outdated:
    day = format_day(later.occurred_at.date())
    if standing.state == "past":
        return Outdated(f"held until {day}", later, replaced=standing.kind in ("replaces", "corrects"))
    return Outdated(f"is in doubt since {day}", later)


def unknown_now(value: str, why: Outdated, hit: Hit) -> Answer:
    """Say that the current value isn't known, and quote what held before with the message that changed it."""
    hits = [hit] if why.by is None else [hit, Hit(why.by, hit.score)]
    evidence = tuple(Evidence(one, one.text, 0, len(one.text), UNSURE) for one in hits)
    told = f'"{value}" {why.why}'
    lines = [f"I don't know: {told}", *(quoted_line(item, chinese=False) for item in evidence)]
    return Answer("\n".join(lines), True, UNSURE, evidence, (told,), quotes=len(evidence))
