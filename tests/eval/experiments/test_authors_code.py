"""The authors' packages beside ours: what the table counts, what the scripts answer; a real run needs AUTHORS_CODE."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from eval.experiments.systems import authors_code, graphiti_pair, graphrag_pair, langmem_pair, mem0_pair
from eval.experiments.systems.comparison import Comparison, Outcome, as_json, overlap, rows
from eval.experiments.systems.package_run import conversation, run_package
from eval.experiments.systems.scripted_conversation import QUERIES, SPOKEN, decided, fact_of, told_in
from eval.experiments.systems.scripted_server import form_of, scripted_server
from nscma_torch.errors import ConfigError, EngineError
from nscma_torch.llm.engines.contract import Request, Turn
from nscma_torch.llm.engines.openai_http import OpenAIEngine
from nscma_torch.text.hash_embedder import HashEmbedder


def test_a_comparison_counts_what_both_keep_and_find() -> None:
    theirs = Outcome("theirs 1.0", ["a", "b", "b"], [["a", "b"], [], ["b"]], {"ADD": 3}, 7)
    ours = Outcome("ours", ["b", "c"], [["b", "c"], [], ["b", "a"]], {"ADD": 2, "NOOP": 1}, 4)
    found = Comparison("system", theirs, ours)
    assert (found.common, found.only_theirs, found.only_ours) == (1, ["a", "b"], ["c"])
    assert found.overlap == pytest.approx((1 / 2 + 1 + 1 / 2) / 3) and found.same_first == 2
    assert rows(found) == [
        ("system", "theirs 1.0", "3", "", "3 ADD", "", "", "7"),
        ("", "ours", "2", "1", "2 ADD, 1 NOOP", "0.67", "2 of 3", "4"),
    ]
    assert json.loads(json.dumps(as_json(found)))["ours"]["items"] == ["b", "c"]


def test_overlap_is_of_the_longer_ranking() -> None:
    assert overlap(["a", "b", "c"], ["c", "a"]) == pytest.approx(2 / 3)
    assert overlap(["a"], []) == 0 and overlap([], []) == 1


def test_the_conversation_agrees_with_itself() -> None:
    """What a fact is about was kept before, by an ADD; no text of a message is part of another."""
    kept: set[str] = set()
    for one in SPOKEN:
        for fact in one.told:
            assert (fact.action == "ADD") == (not fact.old) and (fact.action == "UPDATE") == bool(fact.new)
            assert fact.old in kept or fact.action == "ADD", fact
            kept.add(fact.text)
    assert [fact for one in SPOKEN for fact in told_in(one.text)] == [fact for one in SPOKEN for fact in one.told]


def test_a_model_changes_only_what_it_is_shown() -> None:
    fact = next(fact for one in SPOKEN for fact in one.told if fact.action == "UPDATE")
    assert decided(fact, ["something", fact.old]) == ("UPDATE", 1)
    assert decided(fact, ["something"]) == ("ADD", -1)


def test_mem0_is_answered_by_the_script() -> None:
    script = mem0_pair.TheirScript()
    assert asked(script, f"Input:\nuser: {SPOKEN[2].text}") == {"facts": [SPOKEN[2].told[0].text]}
    new, old = SPOKEN[11].told[0], SPOKEN[5].told[0]
    memories = [{"id": "0", "text": "Something else."}, {"id": "1", "text": old.text}]
    prompt = (
        f"Example: ``` ``` Below:\n```\n{memories}\n```\nThe new retrieved facts are mentioned\n```\n{[new.text]}\n```"
    )
    (operation,) = asked(script, prompt)["memory"]
    assert operation["event"] == "DELETE" and operation["id"] == "1" and script.decisions == {"DELETE": 1}
    (operation,) = asked(
        script, f"Current memory is empty. The new retrieved facts are mentioned\n```\n{[new.text]}\n```"
    )["memory"]
    assert operation["event"] == "ADD" and operation["text"] == new.text


def test_langmem_is_answered_with_calls_of_its_tools() -> None:
    new, old = SPOKEN[14].told[0], SPOKEN[4].told[0]
    existing = f'<instance id=m1 schema_type="Memory">\n{ {"content": old.text} }\n</instance>'
    script = langmem_pair.TheirScript()
    session = f"<session_1>\nRita: {SPOKEN[14].text}\nTom: {SPOKEN[15].text}\n</session_1>"
    patch, insert = asked(script, f"{existing}\n{session}")
    assert patch.name == "PatchDoc" and patch.arguments["json_doc_id"] == "m1"
    assert patch.arguments["patches"][0]["value"] == new.new and insert.name == "Memory"
    assert [call.name for call in asked(script, session)] == ["Memory", "Memory"], "not shown, not patched"


def test_graphiti_is_answered_by_the_form_of_the_reply() -> None:
    script = graphiti_pair.TheirScript()
    message = f"<CURRENT MESSAGE>\nTom: {SPOKEN[11].text}\n</CURRENT MESSAGE>"
    named = asked(script, message, form="ExtractedEntities")["extracted_entities"]
    assert [one["name"] for one in named] == ["Tom", "ten kilometres"]
    new, old = SPOKEN[11].told[0], SPOKEN[5].told[0]
    prompt = (
        "<EXISTING FACTS>\n[{'idx': 0, 'fact': 'Tom walks.'}]\n</EXISTING FACTS>\n"
        f"<FACT INVALIDATION CANDIDATES>\n[{{'idx': 1, 'fact': {old.text!r}}}]\n</FACT INVALIDATION CANDIDATES>\n"
        f"<NEW FACT>\n{new.text}\n</NEW FACT>"
    )
    assert asked(script, prompt, form="EdgeDuplicate") == {"duplicate_facts": [], "contradicted_facts": [1]}
    assert script.decisions == {"fact ends another": 1}
    with pytest.raises(ValueError, match="no reply"):
        asked(script, prompt, form="Unheard")


def test_a_fact_that_was_said_before_repeats_only_one_of_its_own_entities() -> None:
    fact = SPOKEN[10].told[0]
    assert graphiti_pair.judged(fact, [fact.old], []) == ([0], [])
    assert graphiti_pair.judged(fact, [], [fact.old]) == ([], [])


def test_communities_of_the_first_level_hold_every_character_once() -> None:
    items = graphrag_pair.ours(HashEmbedder()).items
    first = [name for item in items if item.startswith("level 0: ") for name in item[9:].split(", ")]
    assert sorted(first) == sorted({name for a, b, _ in graphrag_pair.edges() for name in (a, b)})


def asked(script: Any, prompt: str, form: str = "") -> Any:
    wanted = {"response_format": {"type": "json_schema", "json_schema": {"name": form, "schema": {}}}} if form else {}
    return script({"messages": [{"role": "user", "content": prompt}], **wanted})


def test_our_mem0_is_answered_by_the_script() -> None:
    script = mem0_pair.OurScript()
    new, old = SPOKEN[12].told[0], SPOKEN[0].told[1]
    data = {"fact": new.text, "memories": {"1": "Something else.", "2": old.text}}
    assert asked(script, f"DATA:\n{json.dumps(data)}") == {"call": {"tool": "UPDATE", "number": 2, "text": new.new}}
    data = {"exchange": [f"Rita: {SPOKEN[12].text}"], "before": [f"Rita: {SPOKEN[0].text}"]}
    assert asked(script, f"DATA:\n{json.dumps(data)}") == {"facts": [new.text]}, "of the exchange alone"


def test_a_run_of_ours_ends_with_memories_of_the_script() -> None:
    outcome = langmem_pair.ours(HashEmbedder())
    told = {text for one in SPOKEN for fact in one.told for text in (fact.text, fact.new)}
    assert set(outcome.items) <= told and len(outcome.ranked) == len(QUERIES)
    assert outcome.calls == len(SPOKEN) / 2 and sum(outcome.decisions.values()) == len(told - {""}) - 4


def test_a_prompt_without_an_answer_fails_the_run() -> None:
    with (
        pytest.raises(EngineError, match="KeyError"),
        scripted_server(lambda body: fact_of(body["model"]).text, HashEmbedder()) as server,
    ):
        engine = OpenAIEngine(server.url, server="other", model="scripted", context=9000)
        engine.generate([Request((Turn("user", "Hello?"),))])
        engine.close()


def test_the_form_of_a_request_is_named() -> None:
    schema = {"name": "reply", "schema": {"title": "FactsForm"}}
    assert form_of({"response_format": {"type": "json_schema", "json_schema": schema}}) == "FactsForm"
    assert form_of({"response_format": {"type": "json_object"}}) == "" == form_of({})


def test_an_interpreter_without_the_package_is_an_error_that_says_so() -> None:
    with pytest.raises(ConfigError, match="No module named"):
        run_package(Path(sys.executable), "mem0_package.py", conversation("http://127.0.0.1:9/v1"))


def test_a_package_without_an_environment_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(authors_code, "load_embedder", lambda *_: HashEmbedder())
    monkeypatch.setattr(sys, "argv", ["authors_code", "--environments", str(tmp_path), "--only", "mem0"])
    authors_code.main()
    assert "mem0: left out" in capsys.readouterr().out


@pytest.mark.skipif("AUTHORS_CODE" not in os.environ, reason="needs AUTHORS_CODE, a folder of .venv-mem0-1 and others")
@pytest.mark.parametrize("name", authors_code.PAIRS)
def test_a_real_package_runs_beside_ours(name: str) -> None:
    python = authors_code.python_of(Path(os.environ["AUTHORS_CODE"]), name)
    if not python.exists():
        pytest.skip(f"{python} is not there")
    found = authors_code.compared(name, python, HashEmbedder())
    assert found.theirs.items and found.ours.items and found.common
