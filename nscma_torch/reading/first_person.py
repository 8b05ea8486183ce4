"""Tells whom "I" means in a unit: its speaker, the user in the user's own notes, and nobody known in other documents.

A Markdown file holds notes (Obsidian, basic-memory): the user writes them about their own life. A novel, a letter or
somebody's CV says "I" of a person that nobody here knows.
"""

from __future__ import annotations

from pathlib import PurePath

from nscma_torch.core.records import Unit

NOTES = (".md", ".markdown")
USER = "user"


def is_own_note(unit: Unit) -> bool:
    """Return True for a section of a Markdown file, which its source names."""
    return unit.role == "document" and PurePath(unit.source or "").suffix.lower() in NOTES


def first_person(unit: Unit) -> str:
    """The name that "I" means in a unit, "" if nobody knows; a document's `name` is its headings, and no person."""
    if unit.role != "document":
        return unit.name or unit.role
    return USER if is_own_note(unit) else ""


def author(unit: Unit) -> str:
    """The name under which a unit is shown: whom "I" means in it, the headings of a document by an unknown writer."""
    return first_person(unit) or unit.name or unit.role
