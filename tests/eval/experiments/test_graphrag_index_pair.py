"""GraphRAG's whole run beside ours: what the scripts answer, and how what is kept and shown becomes comparable."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from eval.experiments.systems.authors_code import interpreter
from eval.experiments.systems.comparison import Comparison, Outcome, as_json, rows, same_order
from eval.experiments.systems.graphrag_index_pair import community_item, ours, relationship_item, their_run
from eval.experiments.systems.graphrag_script import HELPING, OurScript, TheirScript, points_on, report_on
from eval.experiments.systems.scripted_conversation import QUERIES, SPOKEN, fact_of, said
from eval.experiments.systems.scripted_server import scripted_server
from eval.systems.community_reports import ReportForm
from nscma_torch.errors import ConfigError
from nscma_torch.llm.engines.contract import Request, Turn
from nscma_torch.llm.engines.openai_http import OpenAIEngine
from nscma_torch.text.hash_embedder import HashEmbedder

ALL = " ".join(fact.text for one in SPOKEN for fact in one.told)


def asked(script: TheirScript | OurScript, *turns: str, form: str = "") -> Any:
    wanted = {"response_format": {"type": "json_schema", "json_schema": {"name": form, "schema": {}}}} if form else {}
    roles = ("user", "assistant", "user")
    told = [{"role": role, "content": text} for role, text in zip(roles, turns, strict=False)]
    return script({"messages": told, **wanted})


def extraction(place: int) -> str:
    return f"Text:\nAn example.\n-Real Data-\nText: {said(SPOKEN[place])}\n######################\nOutput:"


def test_every_query_is_helped_by_facts_of_the_conversation() -> None:
    assert list(HELPING) == list(QUERIES) and all(fact_of(text) for own in HELPING.values() for text in own)


def test_a_passage_is_read_as_tuples_and_the_rest_is_gleaned() -> None:
    script = TheirScript()
    first = asked(script, extraction(0))
    assert first == (
        '("entity"<|>RITA<|>PERSON<|>Rita lives in Lisbon.)\n##\n("entity"<|>LISBON<|>THING<|>Rita lives in Lisbon.)\n'
        '##\n("relationship"<|>RITA<|>LISBON<|>Rita lives in Lisbon.<|>7)\n<|COMPLETE|>'
    )
    missed = asked(script, extraction(0), first, "MANY entities were missed")
    assert missed.startswith('("entity"<|>HARBOUR MUSEUM<|>') and missed.count("RITA") == 1
    assert asked(script, extraction(2), "", "MANY entities were missed") == "\n<|COMPLETE|>", "one fact, all told"
    assert asked(TheirScript("\n##\n"), extraction(0), first, "MANY entities").startswith('\n##\n("entity"')
    assert script.decisions == {"reading": 1, "gleaning": 2}


def test_descriptions_and_reports_hold_what_is_shown() -> None:
    script = TheirScript()
    told = ["Rita's dog is called Biscuit.", "Rita has a dog called Biscuit."]
    summary = asked(script, f"Description List: {json.dumps(told)}\n#######\nOutput:")
    assert summary == "Rita has a dog called Biscuit. Rita's dog is called Biscuit."
    prompt = f"Text:\nAn example.\nText:\n0,BISCUIT,{summary}\nThe report should include"
    report = asked(script, prompt, form="CommunityReportResponse")
    assert report["rating"] == 2 and [one["summary"] for one in report["findings"]] == sorted(told)
    assert script.decisions == {"description": 1, "report": 1}


def test_the_longest_report_fits_our_form_and_loses_no_fact() -> None:
    text = ReportForm.model_validate(report_on(ALL)).text
    assert all(fact.text in text for one in SPOKEN for fact in one.told)


def test_points_of_the_map_reach_the_reduce_step_as_it_is_shown_them() -> None:
    script, query = TheirScript(), QUERIES[0]
    tables = f"---Data tables---\n{ALL}\n---Goal---"
    points = asked(script, f'"points"\n{tables}', "", query)["points"]
    assert [one["score"] for one in points] == [100, 90, 0] and points[0]["description"] == "Rita moved to Sintra."
    shown = "----Analyst 1----\nImportance Score: 90\nOne.\n\n----Analyst 2----\nImportance Score: 80\nTwo.\n\n"
    assert asked(script, f"---Analyst Reports---\n\n{shown}---Goal---", "", query)
    assert script.reduced == {query: ["90: One.", "80: Two."]}
    assert asked(script, tables, "", query)
    assert script.decisions == {"map": 1, "reduce": 1, "local answer": 1}
    with pytest.raises(ValueError, match="no reply"):
        asked(script, "Hello?")


def test_a_point_is_of_what_is_shown_alone() -> None:
    assert points_on(QUERIES[0], "Rita lives in Lisbon.") == [("Rita lives in Lisbon.", 90)]
    assert points_on(QUERIES[0], "Tom lives in Porto.") == [("Tom lives in Porto.", 0)]


def test_our_forms_are_answered_with_the_same_facts() -> None:
    script = OurScript()
    read = asked(script, f"DATA:\n{json.dumps({'passage': said(SPOKEN[0])})}", form="ElementsForm")
    assert [one["name"] for one in read["entities"]] == ["Rita", "Lisbon"]
    data = {"passage": said(SPOKEN[0]), "found": {}}
    (missed,) = asked(script, f"DATA:\n{json.dumps(data)}", form="ElementsForm")["entities"]
    assert missed["name"] == "harbour museum"
    reports = {"1": "Rita lives in Lisbon.", "2": "Rita moved to Sintra. Rita lives in Lisbon."}
    data = {"question": QUERIES[0], "reports": reports}
    points = asked(script, f"DATA:\n{json.dumps(data)}", form="PointsOnReports")["points"]
    assert [(one["score"], one["reports"]) for one in points] == [(100, [2]), (90, [1, 2])]
    assert script.scores == {(QUERIES[0], one["text"]): one["score"] for one in points}


def test_our_run_keeps_every_fact_and_drops_points_of_score_0() -> None:
    outcome = ours(HashEmbedder())
    relationships = [one for one in outcome.items if one.startswith("relationship ")]
    assert all(any(fact.text in one for one in relationships) for own in SPOKEN for fact in own.told)
    assert outcome.decisions["reading"] == outcome.decisions["gleaning"] == len(SPOKEN)
    assert outcome.calls == sum(outcome.decisions.values()), "the local search asked no model"
    points = outcome.parts["points of global search"]
    assert points == [[f"{100 - 10 * place}: {text}" for place, text in enumerate(HELPING[query])] for query in QUERIES]
    assert all(len(own) == 10 for own in outcome.parts["entities"]) and all(outcome.parts["reports"])
    asked_for = [own[:2] for own in outcome.parts["entities"][:4]]
    assert asked_for == [
        ["LISBON", "RITA"],
        ["AQUARIUM", "HARBOUR MUSEUM"],
        ["BISCUIT", "RITA"],
        ["900 DEGREES", "1100 DEGREES"],
    ]
    assert all(text in {one.text for one in SPOKEN} for own in outcome.ranked for text in own)


def test_items_are_the_same_from_both_ends_and_in_any_case() -> None:
    assert relationship_item("Tom", "Ana", "Kin.", 2) == relationship_item("ANA", "TOM", "Kin.", 2.0)
    assert community_item(1, ["Tom", "Ana"], None) == "community of level 1, ANA, TOM, no report"


def test_a_part_is_a_row_of_the_table() -> None:
    theirs = Outcome("theirs 1.0", ["a"], [["a"], ["b"]], parts={"entities": [["a", "x", "b"], ["b", "a"]]})
    own = Outcome("ours", ["a"], [["a"], ["b"]], parts={"entities": [["a", "b"], ["a", "b"]]})
    found = Comparison("system", theirs, own)
    assert rows(found)[2] == ("", "  entities", "", "", "1 of 2 in one order", "0.83", "1 of 2", "")
    assert as_json(found)["ours"]["parts"] == own.parts
    assert same_order([["a", "b"]], [["b", "a"]]) == 0


def test_a_text_is_streamed_where_that_is_asked_for() -> None:
    with scripted_server(lambda _: "So it is.", HashEmbedder()) as server:
        engine = OpenAIEngine(server.url, server="other", model="scripted", context=9000)
        told = "".join(one.text for one in engine.stream(Request((Turn("user", "Is it?"),))))
        engine.close()
    assert told == "So it is."


def test_a_pair_may_run_in_the_environment_of_another() -> None:
    for pair, package in (("graphrag-index", "graphrag"), ("hipporag-unfiltered", "hipporag"), ("mem0", "mem0")):
        assert interpreter(Path("/e"), pair) == Path(f"/e/.venv-{package}/bin/python")


def test_an_interpreter_without_the_package_is_an_error_that_says_so() -> None:
    with pytest.raises(ConfigError, match="No module named"):
        their_run(Path(sys.executable), HashEmbedder(), {})
