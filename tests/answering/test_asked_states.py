"""A question by yes or no that states a known fact in the words of its relation."""

from __future__ import annotations

import pytest

from nscma_torch.answering.fact_answer import answer_query
from nscma_torch.answering.literal_questions import state_asked
from nscma_torch.reading.relations import load_relations
from nscma_torch.semantic.graph.fact_graph import FactGraph
from tests.helpers.fact_making import fact

SCHEMA = load_relations()


def verdict(question: str, subject: str, relation: str, value: str) -> str:
    graph = FactGraph([fact(subject, relation, value, 1)], SCHEMA)
    query = state_asked(question, graph, "user")
    answer = query and answer_query(query, graph)
    return answer.verdict if answer else ""


@pytest.mark.parametrize(
    ("question", "relation", "value"),
    [
        ("Do I have coeliac disease?", "has_condition", "coeliac disease"),
        ("Am I allergic to wasps?", "allergic_to", "wasps"),
        ("Do I take warfarin?", "takes_medication", "warfarin"),
        ("Do I speak Hungarian?", "speaks", "Hungarian"),
    ],
)
def test_a_stored_fact_is_a_yes(question: str, relation: str, value: str) -> None:
    assert verdict(question, "user", relation, value) == "yes"


@pytest.mark.parametrize(
    ("question", "subject", "relation", "value"),
    [
        ("Do I have asthma?", "user's mother", "has_condition", "asthma"),
        ("Do I have tea?", "user", "likes", "tea"),
        ("Am I gout?", "user", "has_condition", "gout"),
        ("Do I have severe asthma?", "user", "has_condition", "asthma"),
        ("Why do I have asthma?", "user", "has_condition", "asthma"),
    ],
)
def test_what_states_no_fact_is_none(question: str, subject: str, relation: str, value: str) -> None:
    assert verdict(question, subject, relation, value) == ""
