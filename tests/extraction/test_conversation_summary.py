"""`facts.context = "summary"`: the running summary of a conversation, beside which its messages are read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.errors import EngineRefusedError
from nscma_torch.core.records import Extraction, Unit
from nscma_torch.llm.prompted import PromptedTasks
from tests.helpers.noting import NotedTasks, day, opener, tell
from tests.llm.scripted import ScriptedEngine, data_of, extraction, statement, unit

Open = Callable[..., Memory]
M = 3
SUMMED: dict[str, Any] = {"facts": {"context": "summary", "context_messages": M}}


class Reading(NotedTasks):
    """Sums up by the numbers in what it is given, and keeps what each message was read with."""

    def __init__(self) -> None:
        self.read: dict[str, tuple[str, list[str]]] = {}
        self.summed: list[list[str]] = []

    def extract(
        self, units: Sequence[Unit], *, listeners: Sequence[str], before: Sequence[Sequence[Unit]] = ()
    ) -> list[Extraction]:
        for one, own in zip(units, before, strict=True):
            summary = [other.text for other in own if other.kind == "summary"]
            assert len(summary) <= 1 and summary == [other.text for other in own[: len(summary)]]
            self.read[one.text] = (*summary, "")[0], [other.text for other in own if other.kind != "summary"]
        return super().extract(units, listeners=listeners, before=before)

    def summarize(self, groups: Sequence[Sequence[Unit]]) -> list[str]:
        self.summed += [[one.text for one in group] for group in groups]
        return ["+".join(one.text.removeprefix("note ") for one in group) for group in groups]


class Resolving(Reading):
    """Writes all that a message is read with into its sentence, as a language model does that resolves pronouns."""

    def extract(
        self, units: Sequence[Unit], *, listeners: Sequence[str], before: Sequence[Sequence[Unit]] = ()
    ) -> list[Extraction]:
        super().extract(units, listeners=listeners, before=before)
        return [
            Extraction((" ".join(other.text for other in (one, *own)),)) for one, own in zip(units, before, strict=True)
        ]


@pytest.fixture
def noted(open_memory: Open, light_surprise: Any) -> Open:
    return opener(open_memory, light_surprise)


def literal(said: Sequence[str]) -> dict[str, tuple[str, list[str]]]:
    """S of all messages up to the last whole block of M, and the M messages before."""
    expected = {}
    for i, text in enumerate(said):
        covered = said[: i - i % M]
        expected[text] = "+".join(one.removeprefix("note ") for one in covered), list(said[max(0, i - M) : i])
    return expected


def test_a_message_is_read_with_the_summary_and_the_messages_before(noted: Open) -> None:
    said = [f"note {i}" for i in range(11)]
    one, other = Reading(), Reading()
    memory = noted("one.db", SUMMED, tasks=one)
    for i, text in enumerate(said):
        tell(memory, text, i + 1)
        if i % 2:
            memory.flush()
    memory.flush()
    assert one.read == literal(said)
    assert one.summed == [
        ["note 0", "note 1", "note 2"],
        ["0+1+2", "note 3", "note 4", "note 5"],
        ["0+1+2+3+4+5", "note 6", "note 7", "note 8"],
    ], "each is made of the one before and of what is new, once"
    late = noted("other.db", SUMMED, tasks=other)
    for i, text in enumerate(said):
        tell(late, text, i + 1)
    late.flush()
    assert other.read == one.read and late.digest() == memory.digest(), "whenever it is read"
    assert memory.verify() == [] and not memory.stats().failures


def test_what_is_hidden_or_erased_is_in_no_summary_any_more(noted: Open) -> None:
    tasks = Reading()
    memory = noted("hidden.db", SUMMED, tasks=tasks)
    said = [f"note {i}" for i in range(8)]
    ids = [tell(memory, text, i + 1) for i, text in enumerate(said)]
    memory.flush()
    assert tasks.read == literal(said)
    tasks.read.clear()
    memory.delete(ids[1], user_id="ada", now=day(9))
    memory.flush()
    left = [text for text in said if text != "note 1"]
    assert tasks.read == {text: own for text, own in literal(left).items() if text not in ("note 0",)}
    assert memory.erase(user_id="ada", memory_id=ids[4]).found == 0
    tasks.read.clear()
    memory.flush()
    left.remove("note 4")
    assert tasks.read == {text: literal(left)[text] for text in ("note 5", "note 6", "note 7")}
    assert memory.verify() == [] and not memory.stats().failures


@pytest.mark.parametrize("moved", [False, True], ids=["opened again", "imported"])
def test_erasing_reaches_what_was_read_with_a_summary_under_an_earlier_configuration(noted: Open, moved: bool) -> None:
    units = {"units": ["atomic_fact"]}
    memory = noted("summed.db", {"facts": {**SUMMED["facts"], **units}}, tasks=Resolving())
    said = ["zanzibar", *(f"note {i}" for i in range(1, 11))]
    ids = [tell(memory, text, i + 1) for i, text in enumerate(said)]
    lines = list(memory.export())
    assert sum("zanzibar" in line for line in lines) > len(said), "every later message repeats it"
    memory.close()
    tasks = Resolving()
    memory = noted("imported.db" if moved else "summed.db", {"facts": units}, tasks=tasks)
    if moved:
        memory.import_(lines)
    assert memory.erase(user_id="ada", memory_id=ids[0]).found == 0
    assert not any("zanzibar" in line for line in memory.export())
    memory.flush()
    assert tasks.read.keys() == set(said[1:])
    tasks.read.clear()
    memory.update(ids[1], "note 1 anew", user_id="ada", now=day(20))
    memory.flush()
    assert tasks.read.keys() == {"note 1 anew", *said[2:]}, "an edit reaches as far"
    assert memory.verify() == [] and not memory.stats().failures


def test_by_default_there_is_none(noted: Open) -> None:
    tasks = Reading()
    memory = noted("plain.db", {}, tasks=tasks)
    for i in range(5):
        tell(memory, f"note {i}", 1)
    memory.flush()
    assert tasks.summed == [] and tasks.read["note 4"] == ("", ["note 2", "note 3"])
    tasks.read.clear()
    memory.update(memory.get_all(user_id="ada", now=day(2))[0].id, "note 0 anew", user_id="ada", now=day(2))
    memory.flush()
    assert tasks.read.keys() == {"note 0 anew", "note 1", "note 2"}, "an edit reaches no further than what is read"


def read(
    text: str, reply: dict[str, Any], context: Sequence[Unit], room: int = 8192
) -> tuple[Extraction, ScriptedEngine]:
    engine = ScriptedEngine(lambda _: reply, context=room)
    tasks = PromptedTasks(engine, in_context=True, max_tokens=100)
    (found,) = tasks.extract([unit(text, "Ludger", "9")], listeners=[""], before=[context])
    return found, engine


SUMMARY = Unit("s", unit("x").scope, "summary", "Ludger's sister Ana is a nurse.", (), unit("x").occurred_at)


def test_a_pronoun_may_mean_who_is_named_in_the_context() -> None:
    reply = extraction(statement("Ana", "lives_in", "Porto"), notes=[(1, "Ana lives in Porto now")])
    found, engine = read("She lives in Porto now.", reply, [SUMMARY, unit("How is she?", "Mo")])
    assert [(one.subject, one.object) for one in found.statements] == [("Ana", "Porto")]
    assert found.sentences == ("Ludger: Ana lives in Porto now",)
    shown = data_of(engine.batches[0][0].turns)["context"]
    assert shown["summary"] == SUMMARY.text and [one["text"] for one in shown["before"]] == ["How is she?"]


@pytest.mark.parametrize(
    ("text", "context"),
    [("She lives in Porto now.", ()), ("I live in Porto now.", (SUMMARY,)), ("She lives there now.", (SUMMARY,))],
    ids=["nobody is named", "no pronoun", "only the context has the object"],
)
def test_nothing_else_is_taken_from_the_context(text: str, context: tuple[Unit, ...]) -> None:
    found, _ = read(text, extraction(statement("Ana", "lives_in", "Porto" if "Porto" in text else "nurse")), context)
    assert found.statements == ()


def test_a_context_that_does_not_fit_is_cut_at_its_oldest_messages() -> None:
    turns = [unit(f"word{i} " * 100) for i in range(40)]
    bare = read("She lives in Porto.", extraction(), [])[1].batches[0][0].turns
    room = sum(len(turn.content) for turn in bare) // 4 + 700
    _, engine = read("She lives in Porto.", extraction(), [SUMMARY, *turns], room + 300)
    shown = data_of(engine.batches[0][0].turns)["context"]
    texts = [one["text"].split()[0] for one in shown["before"]]
    assert shown["summary"] == SUMMARY.text
    assert 0 < len(texts) < 40 and texts == [f"word{i}" for i in range(40 - len(texts), 40)]


def test_a_message_that_fits_alone_is_read_without_a_context_that_does_not_fit() -> None:
    def fits(room: int) -> bool:
        try:
            return bool(read("I live in Porto.", extraction(), [], room)[1])
        except EngineRefusedError:
            return False

    room = next(room for room in range(400, 8192, 20) if fits(room))
    _, engine = read("I live in Porto.", extraction(), [unit("very " * 100 + "long", "Mo")], room)
    assert data_of(engine.batches[0][0].turns).get("context", {}).get("before", []) == []
