"""The event whose time is asked for by what happens."""

from __future__ import annotations

import pytest

from nscma_torch.answering.asked_events import event_asked
from nscma_torch.reading.relations import load_relations
from nscma_torch.semantic.graph.fact_graph import FactGraph
from tests.helpers.fact_making import fact

SCHEMA = load_relations()


def asked(question: str, *events: str) -> str | None:
    graph = FactGraph([fact(event, "scheduled_for", f"{i} June", 1) for i, event in enumerate(events, 1)], SCHEMA)
    query = event_asked(question, graph, "user")
    return query and query.subject


@pytest.mark.parametrize(
    ("question", "event"),
    [
        ("When do we go to Lisbon?", "trip to Lisbon"),
        ("When are we flying to Rome?", "Rome flight"),
        ("When do we travel to New York?", "user's trip to New York"),
        ("When is the trip to Lisbon?", "Lisbon trip"),
        ("When do I go to the dentist?", "user's dentist appointment"),
        ("When do we meet?", "meeting"),
        ("When will I meet Dana?", "meeting with Dana"),
        ("When are we training?", "training"),
        ("When does the meeting with Dana take place?", "meeting with Dana"),
        ("When is Tom's meeting?", "Tom's meeting"),
    ],
)
def test_a_question_by_when_names_an_event_in_words_of_its_own(question: str, event: str) -> None:
    assert asked(question, event, "deadline of the report") == event


@pytest.mark.parametrize(
    ("question", "events"),
    [
        ("When did we go to Lisbon?", ["trip to Lisbon"]),
        ("When did we meet?", ["meeting"]),
        ("When do we go to Lisbon?", ["trip to Rome", "meeting in Lisbon"]),
        ("When do we go to Lisbon?", ["trip to Lisbon and Porto"]),
        ("When do we go?", ["trip to Lisbon"]),
        ("When do we meet?", ["meeting with Dana", "meeting with Tom"]),
        ("When do we meet Dana?", ["meeting"]),
        ("When do we meet?", ["Tom's meeting"]),
        ("When is the review?", ["review meeting"]),
        ("When do I eat?", ["meeting"]),
        ("Where do we meet?", ["meeting"]),
    ],
)
def test_what_names_no_event_or_several_asks_for_none(question: str, events: list[str]) -> None:
    assert asked(question, *events) is None
