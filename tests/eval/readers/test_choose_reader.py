"""Reading with a model in the evaluations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from eval.experiments.facts.statements_quality import load, score, unit_of
from eval.readers.choose_reader import Reader, reader_of
from nscma_torch.llm.prompted import PromptedTasks
from nscma_torch.reading.chinese_statements import chinese_reader
from nscma_torch.reading.relations import load_relations
from tests.llm.scripted import ScriptedEngine, extraction, statement

SCHEMA = load_relations()


def test_a_faultless_model_is_scored_as_one() -> None:
    messages = [one for one in load("dev") if one["lang"] == "en" and len(one["facts"]) == 1][:100]
    labels = {"".join(one["text"].split()): one["facts"][0] for one in messages}

    def reply(data: dict[str, Any]) -> dict[str, Any]:
        label = labels["".join("".join(data["sentences"].values()).split())]
        state = "not" if label["negated"] else "past" if label["past"] else "holds"
        return extraction(
            statement(label["subject"], label["relation"], label["object"], topic=label["topic"] or "", state=state)
        )

    reader = Reader(PromptedTasks(ScriptedEngine(reply), relations=SCHEMA))
    found = reader.read([unit_of(message) for message in messages], [one["listener"] or "" for one in messages])
    result, _ = score(messages, found, SCHEMA)
    assert result.precision == 1.0
    assert result.recall > 0.9, "what a label words otherwise than its text is dropped"
    assert f"requests {len(messages)}" in reader.work()


def test_without_a_model_or_weights_only_chinese_is_read(tmp_path: Path) -> None:
    (tmp_path / "nothing.toml").write_text('[reading]\nfacts = "none"\n')
    with reader_of(SCHEMA, tmp_path / "nothing.toml") as reader:
        messages = [one for one in load("dev") if one["lang"] == "en"][:10]
        messages += [one for one in load("dev") if one["lang"] == "zh"][:10]
        units = [unit_of(message) for message in messages]
        found = reader.read(units, [""] * 20)
    assert found == [chinese_reader(SCHEMA).read(unit, "") for unit in units]
    assert not any(found[:10]) and any(found[10:])
    assert reader.work() == ""
