"""What the reader is asked to find the facts of a relation: for its objects, then for the subject and topic of each.

A question is the relation's plain sentence with a question word in place of what is asked for, and its meaning.
"""

from __future__ import annotations

from nscma_torch.relations import Relation


def object_question(relation: Relation) -> str:
    """The question for what anybody or anything has this relation to; the relation is picked by it, too."""
    return _asked(relation, _someone(relation), "what", "something")


def subject_question(relation: Relation, value: str) -> str:
    """The question for whom or what a fact with this object is about."""
    return _asked(relation, "who" if _of_person(relation) else "what", value, "something")


def topic_question(relation: Relation, subject: str, value: str) -> str:
    """The question for the topic of a fact."""
    return _asked(relation, subject, value, "what")


def has_topic(relation: Relation) -> bool:
    """Whether facts of a relation have a topic, which tells apart what a subject has one of each."""
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
