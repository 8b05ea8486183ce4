"""Who and what is asked for by a noun is answered only where it was called so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.reading.embedded_tasks import EmbeddedTasks
from tests.helpers.noting import day
from tests.helpers.plain_sentences import PlainSentences

Open = Callable[..., Memory]


@pytest.fixture
def told(noted: Open) -> Callable[..., Memory]:
    """A memory that was told some sentences, and reads them."""

    def tell(*sentences: str) -> Memory:
        memory = noted(tasks=EmbeddedTasks(read_facts=PlainSentences))
        for i, sentence in enumerate(sentences):
            memory.add(sentence, user_id="ada", timestamp=day(i), now=day(i))
        memory.flush()
        return memory

    return tell


@pytest.mark.parametrize(
    ("said", "wrong", "right", "answer"),
    [
        ("My mother Ruth lives in Exeter.", "Where does my father live?", "Where does my mum live?", "Exeter"),
        ("I have a brother called Dan.", "What is my sister called?", "What is my brother called?", "Dan"),
        ("My husband Tom works at Airbus.", "Where does my wife work?", "Where does my husband work?", "Airbus"),
        ("My son Max is 5.", "What is my daughter called?", "What is my son called?", "Max"),
        ("My aunt Ruth lives in Exeter.", "Where does my uncle live?", "Where does my aunt live?", "Exeter"),
        ("I have a cat called Miso.", "What is my dog called?", "What is my cat called?", "Miso"),
        ("I have a cat called Miso.", "Do I have a dog?", "Do I have a cat?", "yes, Miso"),
        ("I bought a laptop.", "What phone do I have?", "What laptop do I have?", "laptop"),
        ("我姐姐小红住在北京。", "我哥哥住在哪里？", "我姐姐住在哪里？", "北京"),
    ],
)
def test_one_noun_is_not_another(said: str, wrong: str, right: str, answer: str, told: Any) -> None:
    memory = told(said)
    assert not memory.ask(wrong, user_id="ada", now=day(9)).facts
    found = memory.ask(right, user_id="ada", now=day(9))
    assert (found.text, bool(found.facts)) == (answer, True)


def test_two_parents_are_told_apart(told: Any) -> None:
    memory = told("My father Paul works at BMW.", "My mother Ruth works at Audi.")
    for question, answer in (
        ("Where does my mother work?", "Audi"),
        ("What is my mother called?", "Ruth"),
        ("What is my dad called?", "Paul"),
        ("Who are my parents?", "Paul, Ruth"),
    ):
        assert memory.ask(question, user_id="ada", now=day(9)).text == answer


@pytest.mark.parametrize(
    "said",
    [
        "I am getting married to Pia in June.",
        "My friend Joe is getting married to Pia next year.",
        "My brother Daniel is getting married to Chloe on 5 September.",
    ],
)
def test_a_wedding_to_come_is_no_marriage(said: str, told: Any) -> None:
    assert "married_to" not in {fact.relation for fact in told(said).facts(user_id="ada")}
