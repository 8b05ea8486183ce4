"""Resolve "I" in a unit: its speaker, the user in the user's own notes, and nobody known in other documents.

A Markdown file holds notes (Obsidian, basic-memory), which the user writes about their own life. A novel, a letter or
somebody's CV uses "I" for a person unknown here.
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
    """Return the name that "I" means in a unit, "" if unknown; a document's `name` is its headings, not a person."""
    if unit.role != "document":
        return unit.name or unit.role
    return USER if is_own_note(unit) else ""


def author(unit: Unit) -> str:
    """Return the name shown for a unit: the person that "I" means, or the headings of a document by an
    unknown author.
    """
    return first_person(unit) or unit.name or unit.role
