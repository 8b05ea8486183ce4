"""LangMem: what its manager proposes is done, by a model and by the trained reader."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from eval.systems.documents import default_chunker, passages_of
from eval.systems.langmem import LangMem, LangMemOptions
from eval.systems.language import Language
from nscma_torch.core.records import Extraction, FactOperation, Message, Statement, ToldFact, Unit
from nscma_torch.llm.engines.contract import Request
from nscma_torch.text.embedders.hash_embedder import HashEmbedder
from tests.eval.systems.rig import ASKED, BEGUN, SAID, Scripted, ShowingReader, conversation, places, reading, shared


def managed(language: Language, messages: Sequence[Message]) -> LangMem:
    embedder = HashEmbedder()
    found = LangMem(language, embedder, LangMemOptions(lines=1))
    found.keep(passages_of(messages, default_chunker(embedder)))
    return found


def test_a_manager_inserts_updates_deletes_and_patches() -> None:
    proposed: list[list[dict[str, Any]]] = [
        [
            {"operation": "insert", "content": "Rita has a sister, Ana."},
            {"operation": "profile", "person": "Rita", "field": "lives_in", "value": "Lisbon"},
        ],
        [{"operation": "insert", "content": "Rita's dog is called Biscuit."}],
        [{"operation": "insert", "content": "The kiln is set to 900 degrees."}],
        [],
        [{"operation": "profile", "person": "Rita", "field": "lives_in", "value": "Porto"}],
        [
            {"operation": "update", "number": "kiln", "content": "The kiln is set to 1100 degrees."},
            {"operation": "delete", "number": "dog"},
        ],
    ]
    seen: list[dict[str, Any]] = []

    def write(request: Request) -> str:
        data = json.loads(request.turns[-1].content.split("\n", 1)[1])
        seen.append(data)
        operations = [dict(one) for one in proposed[len(seen) - 1]]
        for one in operations:
            if "number" in one:
                one["number"] = next(int(n) for n, text in data["memories"].items() if one["number"] in text)
        return json.dumps({"operations": operations})

    engine = Scripted(write)
    own = managed(Language(shared(engine=engine), engine), conversation())
    texts = {node.text: node.leaves for node in own.memories.values()}
    assert texts == {
        "Rita has a sister, Ana.": (0,),
        "The kiln is set to 1100 degrees.": (2, 5),
        "Profile of Rita\nlives in: Porto": (4,),
    }
    assert seen[4]["profiles"] == {"Rita": {"lives_in": "Lisbon"}} and len(seen[5]["memories"]) == 3
    (first, *_) = own.find("To how many degrees is the kiln set?", ASKED).passages
    assert first.text == "The kiln is set to 1100 degrees." and first.place == 5


class Reads:
    """Language tasks that find in each text one sentence, its own, and where somebody lives."""

    def extract(self, units: Sequence[Unit], **_: Any) -> list[Extraction]:
        found = []
        for unit in units:
            town = next((town for town in ("Lisbon", "Porto") if town in unit.text), "")
            lives = (Statement("Rita", "lives_in", town, negated="left" in unit.text),) if town else ()
            found.append(Extraction((f"Rita: {unit.text}",), lives))
        return found

    def operate(self, new: Sequence[tuple[ToldFact, Sequence[ToldFact]]]) -> list[FactOperation]:
        made = []
        for one, known in new:
            about = [fact.id for fact in known if "kiln" in fact.text and "kiln" in one.text]
            verb = "DELETE" if "sold" in one.text else "UPDATE"
            changes = about and "also" not in one.text
            made.append(FactOperation(verb, tuple(about)) if changes else FactOperation("ADD"))
        return made


def test_without_a_model_the_change_head_operates(monkeypatch: pytest.MonkeyPatch) -> None:
    language = Language(shared(), None)
    monkeypatch.setattr(language, "tasks", Reads())
    own = managed(language, conversation())
    texts = {node.text: node.leaves for node in own.memories.values()}
    assert texts["Rita: The kiln is now set to 1100 degrees."] == (2, 5) and len(texts) == 6
    assert texts["Profile of Rita\nlives in: Porto"] == (4,)
    sold = replace(conversation()[5], content="I sold the kiln and left Porto.")
    own = managed(language, [*conversation(), sold])
    texts = {node.text: node.leaves for node in own.memories.values()}
    assert texts["Rita: I sold the kiln and left Porto."] == (6,) and len(texts) == 5, "without kiln and profile"
    kilns = ("The kiln is hot.", "The kiln is also old.", "The kiln is repaired.")
    own = managed(language, conversation(kilns))
    assert [(node.text, node.leaves) for node in own.memories.values()] == [(f"Rita: {kilns[2]}", (0, 1, 2))]


def test_the_trained_reader_manages_and_asking_leaves_no_trace(tmp_path: Path) -> None:
    run = shared()
    said = [SAID[0], SAID[1], SAID[4]]
    with reading({"kind": "langmem"}, run, tmp_path, conversation(said)) as session:
        first, second = (session.ask("Where does Rita live?", options=(), now=ASKED).evidence for _ in range(2))
        early = session.ask("Where does Rita live?", options=(), now=BEGUN)
    assert first == second and isinstance(run.reader, ShowingReader) and set(places(early)) <= {0}
    assert any("lives in: Porto" in passage.text for passage in run.reader.handed[0])
    with reading({"kind": "langmem"}, run, tmp_path / "none", []) as session:
        assert session.ask("Which dog?", options=(), now=ASKED).abstained
