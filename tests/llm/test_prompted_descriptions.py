"""Records by a model: closed choices, entities that stand in the message, and only turns that were shown."""

from __future__ import annotations

from typing import Any

import pytest

from nscma_torch.core.errors import ReplyError
from nscma_torch.core.records import Description, Extraction, Unit
from nscma_torch.llm.engines.structured import schema_of
from nscma_torch.llm.prompted import PromptedTasks
from nscma_torch.llm.prompts.descriptions import DescriptionForm, description_form
from tests.llm.scripted import ScriptedEngine, data_of, unit

PLAIN: dict[str, Any] = {"type": "problem", "entities": [], "sentiment": "negative", "settled": False}


def described(
    text: str, reply: dict[str, Any], *before: Unit, listener: str = "Bo"
) -> tuple[Description | None, dict[str, Any], int]:
    """What comes of a model's reply, what it was asked, and how much of the reply was dropped."""
    engine = ScriptedEngine(lambda _: {**PLAIN, **reply})
    tasks = PromptedTasks(engine)
    (found,) = tasks.describe([unit(text)], extractions=[Extraction()], listeners=[listener], before=[before])
    ((request,),) = engine.batches
    return found, data_of(request.turns), tasks.tally["ungrounded"]


def test_a_first_message_settles_nothing() -> None:
    assert description_form(0) is DescriptionForm and "settles" not in schema_of(DescriptionForm)["properties"]


def test_what_the_model_says_is_the_description() -> None:
    said = {"entities": ["camera app", "Pixel 9"], "settled": True, "settles": [2, 1]}
    turns = unit("Is it an old one?", "Bo"), unit("x" * 700 + " Did you restart it?", "Bo")
    found, asked, dropped = described("The camera app of my Pixel 9 froze, works now.", said, *turns)
    assert found == Description("problem", ("camera app", "Pixel 9"), "negative", True, (0, 1))
    assert dropped == 0 and asked["listener"] == "Bo"
    assert asked["message"]["text"].startswith("The camera app") and asked["message"]["by"] == "Ludger"
    assert asked["before"]["1"]["text"] == "Is it an old one?"
    assert len(asked["before"]["2"]["text"]) == 600 and asked["before"]["2"]["text"].endswith("restart it?")


def test_entities_that_the_message_lacks_are_dropped_and_those_who_talk_left_out() -> None:
    found, asked, dropped = described(
        "Ludger told Bo of the café in Oslo.", {"entities": ["Oslo", "Rome", "Bo", "Ludger"]}
    )
    assert found is not None and found.entities == ("Oslo",) and dropped == 1
    assert "before" not in asked


@pytest.mark.parametrize(
    "reply",
    [{"type": "whim"}, {"sentiment": "glad"}, {"settles": [3]}, {"settles": [0]}, {"entities": [""]}, {"settled": 2}],
)
def test_a_reply_beyond_the_form_fails(reply: dict[str, Any]) -> None:
    with pytest.raises(ReplyError):
        described("It froze.", {"settles": [], **reply}, unit("Why?", "Bo"), unit("How?", "Bo"))
