"""The questions for a relation: for what stands in it, by whose words it is known, and for whom an object is said of.

A question is the relation's plain sentence with a question word in place of what is asked for, and its meaning.
"""

from __future__ import annotations

from nscma_torch.reading.relations import Relation


def object_question(relation: Relation) -> str:
    """The question for what anybody or anything has this relation to, by whose words the relation is known."""
    if relation.open:
        return open_object_question("did")
    return _asked(relation, _someone(relation), "what", "something")


def subject_question(relation: Relation, value: str, topic: str = "something") -> str:
    """The question for whom or what a fact with this object is about."""
    if relation.open:
        return open_subject_question(topic, value)
    return _asked(relation, "who" if _of_person(relation) else "what", value, "something")


def has_topic(relation: Relation) -> bool:
    """Return True if facts of a relation have a topic, which separates several facts of one subject."""
    return "{topic}" in relation.en.template


def open_object_question(predicate: str) -> str:
    """The question for the object of a predicate in its own words."""
    return f"someone {predicate} what?"


def open_subject_question(predicate: str, value: str) -> str:
    """The question for the subject of a predicate in its own words."""
    return f"who {predicate} {value}?"


def _asked(relation: Relation, subject: str, value: str, topic: str) -> str:
    plain = relation.en.template.format(subject=subject, object=value, topic=topic, relation=relation.name)
    return f"{plain}? {relation.meaning}"


def _someone(relation: Relation) -> str:
    return "someone" if _of_person(relation) else "something"


def _of_person(relation: Relation) -> bool:
    return relation.subject in ("person", "any")
