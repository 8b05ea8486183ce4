"""mem0's operations by the trained reader: what its change head is given, and what is made of what it says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
import torch
from torch import Tensor

from nscma_torch.core.errors import ConfigError
from nscma_torch.core.records import FactOperation, ToldFact
from nscma_torch.reading.embedded_tasks import EmbeddedTasks
from nscma_torch.reading.fact_changes import FactChanges
from nscma_torch.reading.reader import Reader
from nscma_torch.reading.reader_input import InputPassage
from nscma_torch.reading.reader_model import CHANGES
from tests.llm.scripted import unit


class ScriptedReader:
    """Gives each pair the likelihoods that `plan` has for the earlier text; else none changes."""

    def __init__(self, **plan: dict[str, float]) -> None:
        self.plan = plan
        self.asked: list[tuple[str, str]] = []

    def changes(self, earlier: Sequence[str], later: Sequence[Sequence[InputPassage]]) -> Tensor:
        self.asked += [(text, f"{own[-1].speaker}: {own[-1].text}") for text, own in zip(earlier, later, strict=True)]
        rows = [next((p for word, p in self.plan.items() if word in text), {"none": 1.0}) for text in earlier]
        return torch.tensor([[row.get(kind, 0.0) for kind in CHANGES] for row in rows])


def fact(text: str, said: str, id_: str, *, days: int = 0) -> ToldFact:
    told = unit(said, "Ben", id_)
    return ToldFact(f"f{id_}", text, replace(told, occurred_at=told.occurred_at + timedelta(days=days)))


NEW = fact("Ben is vegetarian", "I've gone vegetarian.", "9", days=9)
STEAK, JAZZ = fact("Ben likes steak", "I love steak.", "1"), fact("Ben likes jazz", "I love jazz.", "2")


def operation(reader: ScriptedReader, *known: ToldFact, new: ToldFact = NEW) -> FactOperation:
    (found,) = FactChanges(lambda: reader, 0.5).operate([(new, known)])  # type: ignore[arg-type,return-value]
    return found


def test_the_kind_of_change_is_the_operation() -> None:
    for kind, action in (("replaces", "UPDATE"), ("corrects", "UPDATE"), ("ends", "DELETE"), ("cancels", "DELETE")):
        reader = ScriptedReader(steak={"none": 0.4, kind: 0.6})
        assert operation(reader, STEAK, JAZZ) == FactOperation(action, ("f1",))  # type: ignore[arg-type]
    assert reader.asked[0] == ("Ben: I love steak.", "Ben: I've gone vegetarian.")


def test_kinds_of_change_add_up_to_the_threshold() -> None:
    assert operation(ScriptedReader(steak={"none": 0.4, "ends": 0.35, "replaces": 0.25}), STEAK) == FactOperation(
        "DELETE", ("f1",)
    )
    assert operation(ScriptedReader(steak={"none": 0.6, "ends": 0.25, "replaces": 0.15}), STEAK) == FactOperation("ADD")


def test_what_is_confirmed_or_known_word_for_word_is_nothing_new() -> None:
    assert operation(ScriptedReader(steak={"confirms": 0.8}), STEAK, JAZZ) == FactOperation("NOOP", ("f1",))
    same = replace(STEAK, id="again")
    assert operation(ScriptedReader(steak={"replaces": 1.0}), STEAK, new=same) == FactOperation("NOOP", ("f1",))
    assert operation(ScriptedReader(), STEAK, JAZZ) == FactOperation("ADD")


def test_facts_of_one_sentence_are_told_apart_by_their_own_words() -> None:
    said = "I love steak and live in Rome."
    steak, rome = fact("Ben likes steak", said, "1"), fact("Ben lives in Rome", said, "1")
    reader = ScriptedReader(steak={"replaces": 1.0})
    operation(reader, steak, replace(rome, id="f2"))
    assert [text for text, _ in reader.asked] == ["Ben: Ben likes steak", "Ben: Ben lives in Rome"]


def test_of_a_late_statement_the_newer_fact_is_the_later_message() -> None:
    reader = ScriptedReader(vegetarian={"ends": 0.9})
    newer = fact("Ben likes steak", "Steak again for me.", "3", days=20)
    assert operation(reader, newer) == FactOperation("DELETE", ("f3",))
    assert reader.asked == [("Ben: I've gone vegetarian.", "Ben: Steak again for me.")]


def test_batches_keep_their_facts_apart() -> None:
    reader = ScriptedReader(jazz={"ends": 1.0})
    found = FactChanges(lambda: reader, 0.5).operate([(NEW, [STEAK]), (NEW, []), (NEW, [STEAK, JAZZ])])  # type: ignore[arg-type,return-value]
    assert found == [FactOperation("ADD"), FactOperation("ADD"), FactOperation("DELETE", ("f2",))]


def test_the_bundled_reader_finds_a_plain_change_and_lets_other_matters_be() -> None:
    yoga = fact("Ben goes to yoga on Tuesdays", "I go to yoga on Tuesdays.", "1")
    new = fact("Ben goes to yoga on Thursdays", "Yoga is on Thursdays now.", "9", days=9)
    (found,) = FactChanges(Reader.from_pretrained, 0.5).operate([(new, [yoga, JAZZ])])
    assert found == FactOperation("UPDATE", ("f1",))


def test_without_a_reader_it_says_what_to_configure() -> None:
    with pytest.raises(ConfigError, match=r"reading\.model"):
        EmbeddedTasks().operate([(NEW, [JAZZ])])
