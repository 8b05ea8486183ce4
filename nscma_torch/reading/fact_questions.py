"""Build questions about a relation: for any object, or for the subject that has a given object.

A question is the relation's plain sentence, with a question word replacing the requested part, followed by the
relation's meaning.
"""

from __future__ import annotations

from nscma_torch.reading.relations import Relation


def object_question(relation: Relation) -> str:
    """Return the question for an object in this relation, used as the relation's representation in words."""
    if relation.open:
        return open_object_question("did")
    return _asked(relation, _someone(relation), "what", "something")


def subject_question(relation: Relation, value: str, topic: str = "something") -> str:
    """Return the question for the subject of the fact with this object."""
    if relation.open:
        return open_subject_question(topic, value)
    return _asked(relation, "who" if _of_person(relation) else "what", value, "something")


def has_topic(relation: Relation) -> bool:
    """Return True if facts in a relation have a topic, which distinguishes several facts about one subject."""
    return "{topic}" in relation.en.template


def open_object_question(predicate: str) -> str:
    """Return the question for the object of a free-form predicate."""
    return f"someone {predicate} what?"


def open_subject_question(predicate: str, value: str) -> str:
    """Return the question for the subject of a free-form predicate."""
    return f"who {predicate} {value}?"


def _asked(relation: Relation, subject: str, value: str, topic: str) -> str:
    plain = relation.en.template.format(subject=subject, object=value, topic=topic, relation=relation.name)
    return f"{plain}? {relation.meaning}"


def _someone(relation: Relation) -> str:
    return "someone" if _of_person(relation) else "something"


def _of_person(relation: Relation) -> bool:
    return relation.subject in ("person", "any")
