"""Names from the context of a message: they may stand for its pronouns, in every language of the pronoun table."""

from __future__ import annotations

import pytest

from nscma_torch.llm.prompts.tasks import ExtractionForm, StatementForm
from nscma_torch.llm.verified_extraction import UnitReading
from nscma_torch.reading.relations import load_relations
from nscma_torch.text.pronouns import refers_back
from tests.llm.scripted import unit


@pytest.mark.parametrize(
    ("text", "name", "place", "kept"),
    [
        ("He lives in Rome.", "Ben", "Rome", True),
        ("Somebody lives in Rome.", "Ben", "Rome", False),
        ("他住在罗马。", "王伟", "罗马", True),
        ("我听说她现在住在罗马了。", "王伟", "罗马", True),
        ("其他人住在罗马。", "王伟", "罗马", False),
        ("有人住在罗马。", "王伟", "罗马", False),
    ],
)
def test_who_spoke_before_is_whom_a_pronoun_may_mean(text: str, name: str, place: str, kept: bool) -> None:
    reading = UnitReading(unit(text), "", context=(unit("?", name=name),))
    told = StatementForm(
        sentence=1, subject=name, relation="lives_in", topic="", object=place, state="holds", replaces=""
    )
    found = reading.extraction(ExtractionForm(statements=[told], notes=[]), load_relations()).statements
    assert [(one.subject, one.object) for one in found] == ([(name, place)] if kept else [])
    assert reading.dropped == (not kept)


@pytest.mark.parametrize(
    ("text", "refers"),
    [
        ("Is THIS theirs?", True),
        ("I like tea.", False),
        ("那个很好", True),
        ("吉他很好", False),
        ("我在家", False),
    ],
)
def test_pronouns_that_refer_back(text: str, refers: bool) -> None:
    assert refers_back(text) is refers
