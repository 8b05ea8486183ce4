"""Notes: whole sentences as statements, so the curator can maintain them like other facts (mem0's memories).

A note is a statement of the open relation without a predicate: its subject is the speaker, its object the sentence.
"""

from __future__ import annotations

from nscma_torch.core.records import Statement, Unit
from nscma_torch.reading.first_person import author
from nscma_torch.reading.relations import Schema, open_relation


def note(sentence: str, unit: Unit, start: int, end: int, schema: Schema) -> Statement:
    """Build the note of a sentence read in a unit, at this place in the episode.

    Raises `ConfigError` if the schema has no open relation.
    """
    return Statement(author(unit), open_relation(schema).name, sentence, start=start, end=end)


def is_note(relation: str, topic: str, schema: Schema) -> bool:
    """Return True for the relation and topic of a note."""
    return not topic and relation in schema and schema[relation].open
