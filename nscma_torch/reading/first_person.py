"""Resolve "I" in a unit: the speaker in a message, the user in the user's own notes, and nobody in other documents.

A Markdown file contains notes (Obsidian, basic-memory) that users write about their own lives. In a novel, a letter or
somebody's CV, "I" is an unknown person.
"""

from __future__ import annotations

from pathlib import PurePath

from nscma_torch.core.records import Unit

NOTES = (".md", ".markdown")
USER = "user"


def is_own_note(unit: Unit) -> bool:
    """Return True if a unit is a section of a Markdown file, according to its source."""
    return unit.role == "document" and PurePath(unit.source or "").suffix.lower() in NOTES


def first_person(unit: Unit) -> str:
    """Return the name that "I" refers to in a unit, or "" if unknown.

    A document's `name` contains its headings, not a person.
    """
    if unit.role != "document":
        return unit.name or unit.role
    return USER if is_own_note(unit) else ""


def is_from_elsewhere(unit: Unit) -> bool:
    """Return True for a text of which the user is no party: a document other than a note of one's own, a tool's result,
    a system prompt.
    """
    return unit.role in ("document", "tool", "system") and not is_own_note(unit)


def author(unit: Unit) -> str:
    """Return the author name shown for a unit.

    It is the person that "I" refers to, or a document's headings if its author is unknown.
    """
    return first_person(unit) or unit.name or unit.role
