"""mem0: what is extracted from an exchange, and what each tool call does to the store."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from eval.systems.documents import default_chunker, passages_of
from eval.systems.language import Language
from eval.systems.mem0_operations import Mem0, Mem0Options
from nscma_torch.core.records import Extraction, FactOperation, Operation, ToldFact, Unit
from nscma_torch.llm.engines.contract import Request
from nscma_torch.text.embedders.hash_embedder import HashEmbedder
from tests.eval.systems.rig import ASKED, SAID, Scripted, conversation, shared

FACTS: Mapping[str, str] = {
    SAID[0]: "Rita lives in Lisbon.",
    SAID[1]: "Rita's dog is called Biscuit.",
    SAID[2]: "The kiln of Rita is set to 900 degrees.",
    SAID[3]: "Rita's dog is called Biscuit, as she said.",
    SAID[4]: "Rita does not live in Lisbon any more.",
    SAID[5]: "The kiln of Rita is set to 1100 degrees.",
}


def data_of(request: Request) -> dict[str, Any]:
    """What a prompt shows."""
    found: dict[str, Any] = json.loads(request.turns[-1].content.split("\n", 1)[1])
    return found


def tool(fact: str, memories: Mapping[str, str]) -> dict[str, Any]:
    """The call on a fact."""
    number = {word: int(n) for n, text in memories.items() for word in ("dog", "kiln", "Lisbon") if word in text}
    if "as she said" in fact:
        return {"tool": "NOOP"}
    if "not" in fact:
        return {"tool": "DELETE", "number": number["Lisbon"]}
    if "kiln" in fact and "kiln" in number:
        return {"tool": "UPDATE", "number": number["kiln"], "text": "The kiln was set to 900, now to 1100 degrees."}
    return {"tool": "ADD"}


def scribe(request: Request) -> str:
    """Writes the fact of each message in the exchange, calls the tool on it, and summarises by counting."""
    data = data_of(request)
    if "texts" in data:
        return f"Summary of {len(data['texts'])}."
    if "fact" in data:
        return json.dumps({"call": tool(data["fact"], data["memories"])})
    return json.dumps({"facts": [FACTS[text.removeprefix("Rita: ")] for text in data["exchange"]]})


def test_each_tool_does_what_the_algorithm_says() -> None:
    engine = Scripted(scribe)
    embedder = HashEmbedder()
    own = Mem0(Language(shared(engine=engine), engine), embedder, Mem0Options(renewed=2, recent=3))
    own.keep(passages_of(conversation(), default_chunker(embedder)))
    kept = {node.text: node.leaves for node in own.store.memories.values()}
    assert kept == {
        "Rita's dog is called Biscuit.": (0, 1),
        "The kiln was set to 900, now to 1100 degrees.": (2, 3, 4, 5),
    }, "NOOP and DELETE store nothing, UPDATE rests on both exchanges"
    shown = [data_of(request) for request in engine.asked]
    extracted = [data for data in shown if "exchange" in data]
    assert [len(data["before"]) for data in extracted] == [0, 2, 3], "the last m messages"
    assert extracted[2]["before"] == [f"Rita: {text}" for text in SAID[1:4]], "in the order they were said"
    assert [data["summary"] for data in extracted] == ["", "", "Summary of 4."]
    assert own.summary == "Summary of 3.", "of the last one and two messages"
    assert sum("fact" in data for data in shown) == 5, "the first fact meets an empty store"
    (first, *_) = own.find("To how many degrees is the kiln set?", ASKED).passages
    assert first.text == "The kiln was set to 900, now to 1100 degrees." and first.place == 5


def test_what_does_not_fit_the_context_is_left_out() -> None:
    """The oldest messages and the memories least like the fact."""

    class Small(Scripted):
        context = 1800

    engine = Small(scribe)
    embedder = HashEmbedder()
    own = Mem0(Language(shared(engine=engine), engine), embedder, Mem0Options(lines=1, renewed=9, recent=50))
    said = [f"{SAID[0]} {'Well, then. ' * 12}" for _ in range(20)]
    own._passages = passages_of(conversation(said), default_chunker(embedder))
    texts = [f"Rita: {text}" for text in said]
    before = own._shown(texts, range(19, 20))["before"]
    assert 1 <= len(before) < 19 and before == texts[19 - len(before) : 19]
    for number in range(9):
        own.store.insert(f"Rita keeps bees, {number}. {'Well, then. ' * 30}"[:400], (number,))
    own._call("Rita keeps bees, 3.", (9,))
    memories = data_of(engine.asked[-1])["memories"]
    assert 1 <= len(memories) < 9
    assert all(engine.count_tokens([request.turns])[0] + request.max_tokens <= 1800 for request in engine.asked)


class Reads:
    """Language tasks that find each text to state a fact, and make the call by its words."""

    def extract(self, units: Sequence[Unit], **_: Any) -> list[Extraction]:
        return [Extraction((f"Rita: {unit.text}",)) for unit in units]

    def operate(self, new: Sequence[tuple[ToldFact, Sequence[ToldFact]]]) -> list[FactOperation]:
        ((one, known),) = new
        said = {word for word in ("kiln", "Lisbon") if word in one.text}
        same = tuple(fact.id for fact in known if any(word in fact.text for word in said))
        verb: Operation = "DELETE" if "left" in one.text else "NOOP" if "900" in one.text else "UPDATE"
        return [FactOperation(verb, same) if same else FactOperation("ADD")]


def test_without_a_model_the_change_head_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    language = Language(shared(), None)
    monkeypatch.setattr(language, "tasks", Reads())
    embedder = HashEmbedder()
    own = Mem0(language, embedder, Mem0Options())
    said = [*SAID, "I left Lisbon.", "The kiln stays at 900 or less."]
    own.keep(passages_of(conversation(said), default_chunker(embedder)))
    kept = {node.text: node.leaves for node in own.store.memories.values()}
    assert kept == {
        f"Rita: {SAID[1]}": (1,),
        f"Rita: {SAID[5]}": (2, 5),
        f"Rita: {SAID[3]}": (3,),
        f"Rita: {SAID[4]}": (4,),
    }
    assert own.summary == ""
