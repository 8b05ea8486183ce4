"""The acceptance run with a model: its counts of requests, and its verdict on errors, with a scripted engine."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from eval.experiments.model.acceptance import CHAT, MEMORY, Acceptance
from eval.experiments.model.answer_table import answer_table
from eval.experiments.model.recording_engine import RecordingEngine
from eval.experiments.model.served_model import served_model
from eval.experiments.model.task_table import task_rows
from eval.experiments.reading.conversation_files import load
from nscma_torch import load_config
from nscma_torch.core.errors import ConfigError, EngineError, EngineUnavailableError
from nscma_torch.llm.engines.contract import Reply, Request
from tests.conftest import LIGHT
from tests.llm.scripted import ScriptedEngine, tokens_of

_RETRIED = "could not be used"


class FillingEngine(ScriptedEngine):
    """Fills every form with the least that its schema allows, except those of `bad` tasks.

    `bad` maps a reply form to "first" (the first reply is no JSON), "always", or an error.
    """

    def __init__(self, bad: Mapping[str, str | EngineError]) -> None:
        super().__init__(lambda _: "", context=32768)
        self.bad = bad

    def _one(self, request: Request) -> Reply | EngineError:
        assert request.schema is not None
        bad = self.bad.get(request.schema["title"])
        if isinstance(bad, EngineError):
            return bad
        again = _RETRIED in request.turns[-1].content
        spoilt = bad == "always" or (bad == "first" and not again)
        text = "no JSON" if spoilt else json.dumps(_least(request.schema, request.schema.get("$defs", {})))
        return Reply(text, tokens_of(request.turns), 7, finished=True)


def _least(schema: Mapping[str, Any], parts: Mapping[str, Any]) -> Any:
    if "$ref" in schema:
        return _least(parts[schema["$ref"].removeprefix("#/$defs/")], parts)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][0]
    if "anyOf" in schema:  # the last action of the controller is the answer
        return _least(schema["anyOf"][-1], parts)
    match schema["type"]:
        case "object":
            return {name: _least(schema["properties"][name], parts) for name in schema.get("required", ())}
        case "array":
            return [_least(schema["items"], parts)] * schema.get("minItems", 0)
        case "string":
            return "x" * schema.get("minLength", 0)
        case "integer":
            return schema["minimum"]
        case "boolean":
            return False
    raise AssertionError(schema)


def test_counts_requests_of_each_reply_form_and_reports_errors(tmp_path: Path) -> None:
    out = tmp_path / "requests.jsonl"
    away = EngineUnavailableError("connection refused")
    bad: dict[str, str | EngineError] = {"QuestionForm": "first", "RatingForm": "always", "VerdictOnSides": away}
    engine = RecordingEngine(FillingEngine(bad), out)
    (conversation,) = load([CHAT])
    run = Acceptance(engine, load_config({**LIGHT, **MEMORY}), conversation, extracted=5)
    run.run(tmp_path / "store.db")
    rows = {row.task: row for row in task_rows(engine.records)}

    def counts(task: str) -> tuple[int, int, int, int]:
        return rows[task].requests, rows[task].valid, rows[task].retries, rows[task].failed

    assert counts("ExtractionOfSchema") == (5, 5, 0, 0)  # of 60 messages
    assert counts("QuestionForm") == (2, 0, 2, 0)
    assert counts("RatingForm") == (2, 0, 2, 2)
    assert counts("VerdictOnSides") == (2, 0, 0, 2)
    assert (rows["RatingForm"].tokens_out, rows["VerdictOnSides"].tokens_out) == (7, 0)
    assert {"DraftForm", "Act", "ContainedForm", "OperationOnFacts"} <= rows.keys()
    assert {"PairsFromMessages", "DescriptionForm", "DescriptionAfterTurns"} <= rows.keys()

    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(lines) == sum(row.requests + row.retries for row in rows.values())
    rating = [(line["retry"], line["valid"], line["final"]) for line in lines if line["task"] == "RatingForm"]
    assert rating == [(False, False, False)] * 2 + [(True, False, True)] * 2

    assert [error.split(": ")[:2] for error in run.faults.errors] == [["adjudicate", "EngineUnavailableError"]]
    assert not run.faults.lost
    assert [len(found) for found in run.columns.values()] == [20, 20]
    assert answer_table(run.columns).row_count == 4 + 7 + 3  # scores, types of question, sources


def test_an_address_without_a_server_is_one_clear_error() -> None:
    with pytest.raises(ConfigError, match=r"no OpenAI-compatible server responds at http://127.0.0.1:9"):
        served_model("http://127.0.0.1:9", None)
