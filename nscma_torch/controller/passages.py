"""Passages of messages, limited in words and characters, for prompts and answers."""

from __future__ import annotations

from collections.abc import Iterable

from nscma_torch.core.records import Episode, Fact, Hit
from nscma_torch.core.skill import Skill
from nscma_torch.curator.store.derived_texts import DerivedText
from nscma_torch.reading.passage import best_passage, term_weights
from nscma_torch.text.calendar.timestamps import format_day, format_time

_UNSPACED = 0x2E80  # from here on scripts are written without spaces
_CHARACTERS = 12  # of a word, at most: base64 is one word of any length


def clipped(text: str, words: int) -> str:
    """Return the beginning of a text, marked if cut."""
    end = _end(text[: words * _CHARACTERS], words)
    return text if end == len(text) else f"{text[:end].rstrip()} […]"


def _end(text: str, words: int) -> int:
    """Return the end of the first `words` words; two characters of a script without spaces count as one."""
    halves, inside = 2 * words, False
    for i, character in enumerate(text):
        if character.isspace():
            inside = False
        elif ord(character) >= _UNSPACED:
            halves -= 1
        elif not inside:
            halves, inside = halves - 2, True
        if halves < 0:
            return i
    return len(text)


def passage(query: str, hit: Hit, words: int) -> str:
    """Return the part of a hit that best answers a query, with at most `words` words."""
    if len(hit.text) <= words * _CHARACTERS:
        return clipped(hit.text, words)
    return clipped(best_passage(hit.text, term_weights(query, [hit.text]), words).text, words)


def shown_turn(episode: Episode, words: int) -> dict[str, str]:
    """Format a turn in the active context."""
    who = episode.name or episode.role
    return {"who": who, "day": format_day(episode.occurred_at.date()), "text": clipped(episode.text, words)}


def shown_hit(query: str, hit: Hit, words: int) -> dict[str, str]:
    """Format a retrieved memory, with its source."""
    unit = hit.unit
    who = unit.source or unit.name or unit.role
    return {"who": who, "day": format_time(unit.occurred_at), "text": passage(query, hit, words)}


def shown_fact(fact: Fact) -> dict[str, str]:
    """Format a fact in words, with its start date."""
    begun = fact.valid_from or fact.recorded_at
    return {"who": "facts", "day": format_day(begun.date()), "text": fact_in_words(fact)}


def fact_in_words(fact: Fact) -> str:
    """Return a fact as a short sentence, with its end, its status, and why it is in doubt."""
    topic = f" ({fact.topic})" if fact.topic else ""
    doubt = "" if fact.status == "active" else f" [{fact.status}]"
    until = "" if fact.valid_to is None else f", until {format_day(fact.valid_to.date())}"
    reason = f" [{fact.in_doubt}]" if fact.in_doubt else ""
    said = f"{fact.subject} {fact.relation.replace('_', ' ')}{topic} {fact.object}{until}{doubt}"
    return clipped(said, 60) + reason


def shown_text(text: DerivedText, words: int) -> dict[str, str | int]:
    """Format a derived text for a prompt, with the day of its last message and its confidence."""
    until = format_day(text.until.date())
    return {"until": until, "confidence": round(100 * text.confidence), "text": clipped(text.text, words)}


def shown_skill(skill: Skill) -> dict[str, str | list[str]]:
    """Format a skill for a prompt."""
    steps = [clipped(step, 40) for step in skill.steps[:8]]
    return {"name": clipped(skill.name, 20), "when": clipped(skill.trigger, 60), "steps": steps}


def sources(hits: Iterable[Hit]) -> tuple[str, ...]:
    """Return the ids of the messages that the hits come from, without duplicates."""
    return tuple(dict.fromkeys(source for hit in hits for source in hit.unit.episode_ids))
