"""Quality of language tasks on labelled inputs: measures of each task with a scripted engine, and a continued run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from eval.experiments.model.evidence_hits import EvidenceHits
from eval.experiments.model.labelled_cases import Case, read_cases, read_replies
from eval.experiments.model.labelled_tasks import TASKS
from eval.experiments.model.recording_engine import RecordingEngine
from eval.experiments.model.task_quality import TaskQuality
from nscma_torch import load_config
from nscma_torch.core.errors import EngineUnavailableError, InvalidInputError, MalformedInputError
from nscma_torch.llm.prompted import PromptedTasks
from nscma_torch.reading.embedded_tasks import EmbeddedTasks
from tests.conftest import LIGHT
from tests.llm.scripted import Said, ScriptedEngine

BAD = ["no JSON", "no JSON"]  # the request and its retry
DIALOGUE = """== two-flats | friends
-- 2025-03-09 10:05
1 Ana: I live in Porto since May.
2 Ben: nice, I stay in Linz
3 Ana: my cello teacher is called Ilse
? single Where do I live? | Porto | 1
? single Who teaches me the cello? | Ilse | 3
? unanswerable Who cut my hair? | - | -
"""


def _said(text: str, by: str = "Ana") -> dict[str, str]:
    return {"by": by, "day": "2025-03-09", "text": text}


def _told(fact: str) -> dict[str, Any]:
    return {"fact": fact, "said": _said(fact)}


def _measured(task: str, cases: Sequence[Case], said: Sequence[Said]) -> dict[str, tuple[float, int]]:
    """Measures by name, of cases that are numbered; every scripted reply must be used."""
    left = list(said)
    engine = RecordingEngine(ScriptedEngine(lambda _: left.pop(0)))
    quality = TaskQuality(PromptedTasks(engine), "scripted", engine, None)
    found = quality.replies("dev", task, {str(i): {"id": str(i), **case} for i, case in enumerate(cases)})
    assert not left
    return {one.name: (round(one.value, 3), one.n) for one in TASKS[task].measures(found)}


def test_operations_need_the_right_facts_too() -> None:
    known = [_told("Ana has a dog"), _told("Ana lives in Porto")]
    of: dict[str, Any] = {"new": _told("Ana lives in Linz"), "known": known}
    cases = [
        {**of, "operation": "UPDATE", "facts": [2]},
        {**of, "operation": "UPDATE", "facts": [1, 2]},
        {**of, "operation": "ADD", "facts": []},
    ]
    update = {"operation": "UPDATE", "facts": [2]}
    assert _measured("operations", cases, [update, update, *BAD]) == {
        "right operation": (0.667, 3),
        "right operation and facts": (0.333, 3),
        "always the most frequent operation": (0.667, 3),
        "right operation, ADD": (0.0, 1),
        "right operation, UPDATE": (1.0, 2),
    }


def test_an_adjudication_left_open_is_neither_right_nor_the_wrong_side() -> None:
    sides = [[_said("I live in Porto")], [_said("Ana lives in Linz", "Ben")]]
    cases = [{"sides": sides, "right": right} for right in (1, 2, 1, 1, 0, 0)]
    said = [{"right": 1}, {"right": 1}, {"right": 0}, *BAD, {"right": 0}, {"right": 2}]
    assert _measured("adjudications", cases, said) == {
        "decidable: right side": (0.25, 4),
        "decidable: wrong side": (0.25, 4),
        "undecidable: left open": (0.5, 2),
    }


def test_a_next_question_names_what_the_hits_lack() -> None:
    enough = {"question": "Where do I live?", "hits": [_said("I live in Porto")], "enough": True, "names": []}
    lacking = {**enough, "question": "Where does my teacher live?", "enough": False, "names": ["Ilse", "Quist"]}
    contained, missing = {"contain_answer": True}, {"contain_answer": False}
    said: list[Said] = [contained]
    for question in ("Who lives in Porto?", "where does QUIST live?", "Where is Porto?"):
        said += [missing, {"question": question}]
    cases = [enough, enough, lacking, lacking, enough, lacking]
    assert _measured("refinements", cases, [*said, *BAD, missing, *BAD]) == {
        "hits suffice: no question": (0.333, 3),
        "hits lack something: asks about the name": (0.333, 3),
    }


def test_equal_ratings_are_counted_apart() -> None:
    cases = [{"more": _said(f"my mother died {i}"), "less": _said(f"had soup {i}")} for i in range(4)]
    rated = [9, 2, 5, 5, 3, 4, 8]  # the last request of the last pair fails
    said = [{"importance": value} for value in rated]
    assert _measured("importance", cases, [*said, *BAD]) == {
        "more important one rated higher": (0.25, 4),
        "rated the same": (0.25, 4),
    }


def test_a_summary_is_checked_for_contents_length_and_support() -> None:
    case = {
        "messages": [_said("the gearbox is broken, parts from Richmond cost 1650", "Wim"), _said("approved")],
        "must": ["gearbox", "1650"],
        "false": ["The parts cost 2100.", "The gearbox is fine."],
    }
    good = {"summary": "The GEARBOX is broken. Parts come from Richmond. The parts cost 900."}
    endless = "The parts cost 1650 dollars. " * 100
    looping = {"summary": endless[:800]}  # the limit for 100 words
    assert _measured("summaries", [case, case, case], [good, looping, *BAD]) == {
        "required strings contained": (0.333, 6),
        "words": (8.5, 2),  # 12, and 5, since a repetition is dropped
        "whole: within the form's limit": (0.333, 3),  # not the one that ends at the limit
        "whole: a sentence repeated": (0.333, 3),
        "sentences supported by names": (0.75, 4),  # all but "900"
        "false statements rejected by names": (0.5, 6),  # the one with a number
        "sentences supported by words": (0.25, 4),  # the first of the good one
        "false statements rejected by words": (1.0, 6),
    }


def test_ranks_of_the_evidence_before_and_after_reranking() -> None:
    hits = [{**_said(text), "score": 1.0} for text in ("a cat", "a dog", "a bird", "a fish")]
    cases = [
        {"question": "Who swims?", "hits": hits, "relevant": [False, False, False, True]},
        {"question": "Who barks?", "hits": hits, "relevant": [False, True, False, False]},
        {"question": "Who purrs?", "hits": hits, "relevant": [True, False, False, False]},
        {"question": "Who knits?", "hits": hits, "relevant": [False] * 4},
    ]

    def said(*contain: bool) -> list[Said]:
        return [{"contain_answer": one} for one in contain]

    first = said(False, False, False, True)
    even = said(False, False, False, False)
    unusable = [*even[:3], *BAD]  # the last of four
    assert _measured("rerank", cases, [*first, *first, *unusable, *even]) == {
        "evidence among the hits": (0.75, 4),
        "before: evidence hit@1": (0.25, 4),
        "before: evidence hit@3": (0.5, 4),
        "before: MRR": (0.438, 4),
        "after: evidence hit@1": (0.25, 4),
        "after: evidence hit@3": (0.5, 4),
        "after: MRR": (0.333, 4),
        "all hits scored the same": (0.25, 4),
    }
    chosen = said(True, False, False, True)
    assert _measured("select", cases, [*chosen, *chosen, *unusable, *chosen]) == {
        "precision": (0.167, 6),
        "recall": (0.333, 3),
        "precision if all hits are selected": (0.188, 16),
    }


def test_a_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    out = tmp_path / "replies.jsonl"
    cases = {name: {"id": name, "more": _said(f"{name} 1"), "less": _said(f"{name} 2")} for name in "abc"}

    def quality(said: list[Said], system: str = "one") -> TaskQuality:
        engine = RecordingEngine(ScriptedEngine(lambda _: said.pop(0)))
        return TaskQuality(PromptedTasks(engine), system, engine, out)

    two = [{"importance": 7}, {"importance": 2}]
    away: list[Said] = [EngineUnavailableError("connection refused")] * 2
    with pytest.raises(EngineUnavailableError):
        quality([*two, "no JSON\u2028", *two[:1], "no JSON", *away]).replies("dev", "importance", cases)
    found = quality([*two]).replies("dev", "importance", cases)
    assert [one.reply for one in found] == [[7, 2], None, [7, 2]]
    assert "cannot be used" in found[1].error
    assert [len(one.requests) for one in found] == [2, 3, 2]
    assert list(read_replies(out)) == quality([]).replies("dev", "importance", cases) == found
    assert quality([*two], "other").replies("dev", "importance", {"a": cases["a"]})[0].system == "other"

    with out.open("a", encoding="utf-8") as file:
        file.write('{"system": "one"')
    with pytest.raises(MalformedInputError, match="line 5: this is no reply"):
        quality([])


def test_cases_are_in_a_file_and_have_an_id_each(tmp_path: Path) -> None:
    file = tmp_path / "importance.jsonl"
    with pytest.raises(InvalidInputError, match="no labelled cases"):
        read_cases(file)
    file.write_text('{"id": "a"}\n{"id": "b"}\n', encoding="utf-8")
    assert list(read_cases(file)) == ["a", "b"]
    file.write_text('{"id": "a"}\n{"id": "a"}\n', encoding="utf-8")
    with pytest.raises(InvalidInputError, match="twice"):
        read_cases(file)


def test_hits_of_a_search_are_labelled_and_judged_without_a_model(tmp_path: Path) -> None:
    (tmp_path / "talk.txt").write_text(DIALOGUE, encoding="utf-8")
    cases: Mapping[str, Case] = EvidenceHits(tmp_path, 5, load_config(LIGHT))
    assert list(cases) == ["two-flats: Where do I live?", "two-flats: Who teaches me the cello?"]
    for case, right in zip(cases.values(), ("Porto", "Ilse"), strict=True):
        assert len(case["hits"]) >= 2
        assert case["relevant"] == [right in hit["text"] for hit in case["hits"]]
        assert {hit["by"] for hit in case["hits"]} <= {"Ana", "Ben"}
    assert list(EvidenceHits(tmp_path, 1, load_config(LIGHT))) == ["two-flats: Where do I live?"]

    quality = TaskQuality(EmbeddedTasks(), "embedded", None, None)
    for task in ("rerank", "select"):
        found = quality.replies("dev", task, cases)
        assert [len(one.reply) for one in found] == [len(case["hits"]) for case in cases.values()]
        assert all(one.n for one in TASKS[task].measures(found))
