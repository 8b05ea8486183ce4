"""Notes: whole sentences stored as statements, so the curator can maintain them like other facts (mem0's memories).

A note is a statement that uses the open relation and has no predicate: its subject is the speaker, and its object is
the sentence.
"""

from __future__ import annotations

from nscma_torch.core.records import Statement, Unit
from nscma_torch.reading.first_person import author
from nscma_torch.reading.relations import Schema, open_relation


def note(sentence: str, unit: Unit, start: int, end: int, schema: Schema) -> Statement:
    """Build the note for a sentence read in a unit, at the given position in the episode.

    Raises `ConfigError` if the schema has no open relation.
    """
    return Statement(author(unit), open_relation(schema).name, sentence, start=start, end=end)


def is_note(relation: str, topic: str, schema: Schema) -> bool:
    """Return True if a statement with this relation and topic is a note."""
    return not topic and relation in schema and schema[relation].open
