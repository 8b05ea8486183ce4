"""Accuracy against tokens of context: contexts keep to their budgets, a run goes on, and the tables' numbers."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from eval.experiments.model import context_curve
from eval.experiments.model.context_curve import CurveRun, raw, read_lines
from eval.experiments.model.curve_samples import CurveQuestion, CurveSample, samples, scored
from eval.experiments.model.curve_table import (
    CurveLine,
    cost_table,
    curves_of,
    difference_table,
    plot,
    score_table,
)
from nscma_torch.core.errors import ReplyError
from nscma_torch.core.records import Message
from nscma_torch.demo.short_answers import Gold
from nscma_torch.llm.prompts.quoting import quoted_lines
from tests.eval.systems.rig import ASKED, SAID, conversation, shared
from tests.llm.scripted import ScriptedEngine, answering

SYSTEMS = ["plain RAG", "full context"]
DOG = CurveQuestion("single", "What is my dog called?", Gold(((("Biscuit",),),)))
CAR = CurveQuestion("unanswerable", "What is my car called?", Gold())
SAMPLE = CurveSample("dialogues", "rita", "Rita", conversation(), (DOG, CAR), ASKED)
LINE = CurveLine(
    *("m", "dialogues", "c", "single", "q", "g", "NSCMA full", 100, 90, 3, "", "a", 0.9, "short", None, 2, 400, 1.0),
    *(False, ""),
)


def shown(engine: ScriptedEngine) -> list[list[str]]:
    """The messages of each request for an answer."""
    found: list[list[str]] = []

    def kept(data: dict[str, Any]) -> Any:
        if "contain" not in data["task"]:
            found.append(data["messages"])
        return answering("Biscuit")(data)

    engine.reply = kept
    return found


def lines_of(engine: ScriptedEngine, budgets: Sequence[int], sample: CurveSample = SAMPLE) -> list[CurveLine]:
    return list(CurveRun(engine, shared(), []).lines([sample], SYSTEMS, budgets))


def test_a_context_keeps_to_its_tokens_and_has_the_best_memories() -> None:
    engine = ScriptedEngine(answering(""))
    contexts = shown(engine)
    found = lines_of(engine, [20, 40, 60], replace(SAMPLE, questions=(DOG,)))
    assert [(line.system, line.tokens) for line in found] == [(s, n) for s in SYSTEMS for n in (20, 40, 60)]
    for line, context in zip(found, contexts, strict=True):
        assert line.used == len(quoted_lines(context)) // 4 <= line.tokens
        assert len(context) == line.memories
    rag, full = contexts[:3], contexts[3:]
    assert all(any("Biscuit" in text for text in context) for context in rag)
    assert [len(context) for context in full] == [1, 2, 3]
    assert all(said[:10] in text for text, said in zip(full[-1], SAID[-3:], strict=True))


def test_a_best_memory_that_is_too_long_is_cut_between_words() -> None:
    engine = ScriptedEngine(answering(""))
    contexts = shown(engine)
    long = [Message("user", "Biscuit barks " * 40 + "daily.", conversation()[0].timestamp, name="Rita")]
    found = lines_of(engine, [30], replace(SAMPLE, messages=long, questions=(DOG,)))
    assert [line.memories for line in found] == [1, 1] and found[1].reused
    ((text,),) = contexts
    assert text.endswith(("Biscuit", "barks")) and 25 < found[0].used <= 30


def test_equal_contexts_are_answered_once() -> None:
    engine = ScriptedEngine(answering("Biscuit"))
    found = lines_of(engine, [1000, 2000])
    assert [line.reused for line in found] == [False, True, True, True] * 2
    assert sum(map(len, engine.batches)) == 4
    assert {(line.type, line.verdict) for line in found} == {("single", "short"), ("unanswerable", "invented")}
    assert {line.calls for line in found} == {2}


def test_a_run_goes_on_where_it_stopped() -> None:
    first, second = ScriptedEngine(answering("Biscuit")), ScriptedEngine(answering("Biscuit"))
    begun = list(islice(CurveRun(first, shared(), []).lines([SAMPLE], SYSTEMS, [30, 1000]), 2))
    rest = list(CurveRun(second, shared(), begun).lines([SAMPLE], SYSTEMS, [30, 1000]))
    assert [(line.question, line.system, line.tokens) for line in begun + rest] == [
        (question.text, system, tokens) for question in (DOG, CAR) for system in SYSTEMS for tokens in (30, 1000)
    ]
    assert [line.reused for line in rest[:2]] == [False, True]  # all messages were read before, in the first run
    assert not list(CurveRun(second, shared(), begun + rest).lines([SAMPLE], SYSTEMS, [30, 1000]))


def test_a_reply_that_cannot_be_used_is_an_error_of_the_line() -> None:
    engine = ScriptedEngine(lambda _: ReplyError("no JSON"))
    found = lines_of(engine, [1000], replace(SAMPLE, questions=(DOG,)))
    assert [line.verdict for line in found] == ["silent", "silent"] and "no JSON" in found[0].error
    assert "1 unusable" in cells(cost_table(curves_of(found)[0]), "1,000")[0]


def cells(table: Any, column: str) -> list[str]:
    """Of a column of a table."""
    return [str(cell) for own in table.columns if own.header == column for cell in own.cells]


def test_the_numbers_of_the_tables(tmp_path: Path) -> None:
    verdicts = {"NSCMA full": ("short", "short", "stale", "invented"), "RAG": ("short", "wrong", "wrong", "abstained")}
    verdicts["full context"] = ("wrong",) * 3 + ("invented",)
    found = [
        replace(
            LINE,
            system=system,
            question=f"q{number}",
            verdict=verdict,
            known=0.4 if number == 1 else 0.9,
            type="unanswerable" if number == 3 else "single",
        )
        for system, own in verdicts.items()
        for number, verdict in enumerate(own)
    ]
    (curve,) = curves_of([*found, replace(LINE, question="asked of one")])
    assert (curve.questions, curve.left_out) == (4, 1)
    always, nscma = cells(score_table(curve, 0.0), "100"), cells(score_table(curve, 0.5), "100")[0]
    assert [cell.split()[0] for cell in always] == ["0.667", "0.333", "0.000"]
    assert "stale 0.33, silent 0.00, invented 1.00" in always[0] and "invented 0.00" in always[1]
    assert nscma.startswith("0.333 [") and "silent 0.33" in nscma
    (apart,) = cells(difference_table(curve, "NSCMA full", 0.0), "100")
    assert apart.startswith("0.333 [") and apart.endswith("\nRAG")
    assert cells(cost_table(curve), "100")[0] == "90; 2.0, 1.0 s; 0.00"
    plot([curve], 0.0, tmp_path / "curve.png")
    assert (tmp_path / "curve.png").stat().st_size > 1000


def test_f1_of_what_is_not_given_is_zero() -> None:
    (curve,) = curves_of([replace(LINE, source="LoCoMo", f1=0.5), replace(LINE, source="LoCoMo", question="p", f1=1.0)])
    assert "F1 0.750" in cells(score_table(curve, 0.0), "100")[0]
    assert "F1 0.000" in cells(score_table(curve, 0.95), "100")[0]


def test_locomo_is_scored_by_f1_and_by_what_a_short_answer_contains() -> None:
    gold = Gold(((("red kayak",),),))
    asked = CurveQuestion("4", "What did Joe buy?", gold, 4, "The red kayak")
    assert scored(asked, "a red, kayak") == ("short", 1.0)
    assert scored(asked, "") == ("silent", 0.0)
    assert scored(replace(asked, gold=Gold(), answer=""), "a kayak") == ("invented", None)


def test_every_nth_question_of_a_type_is_counted_over_all_conversations(tmp_path: Path) -> None:
    for name, asked in (("a", "12"), ("b", "345")):
        questions = "".join(
            f"? single Who is {number}? | Joe | 1\n? past Is {number} Joe? | Joe | 1\n" for number in asked
        )
        text = f"== {name} | friends\n-- 2025-03-09 10:05\n1 Ana: I am with Joe.\n{questions}"
        (tmp_path / f"{name}.txt").write_text(text, encoding="utf-8")
    chosen = samples([tmp_path], None, 3)
    assert [question.text for sample in chosen for question in sample.questions] == [
        "Who is 1?", "Is 1 Joe?", "Who is 4?", "Is 4 Joe?",
    ]  # fmt: skip
    assert chosen[0].user == "Ana"


def test_raw_lines_are_read_back_and_the_table_needs_no_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "lines.jsonl"
    found = [LINE, replace(LINE, system="RAPTOR", answer="two\u2028lines")]
    out.write_text("".join(f"{raw(line)}\n" for line in found), encoding="utf-8")
    assert read_lines(out) == found
    monkeypatch.setattr(sys, "argv", ["context_curve", "--table", "--out", str(out), "--systems", "RAPTOR"])
    context_curve.main()
    printed = capsys.readouterr().out
    assert "RAPTOR" in printed and "NSCMA" not in printed
    with out.open("a", encoding="utf-8") as file:
        file.write(f"{raw(replace(LINE, tokens=250, question='p'))}\n")
    monkeypatch.setattr(sys, "argv", ["context_curve", "--table", "--out", str(out)])
    context_curve.main()
    assert "no question was asked of all" in capsys.readouterr().out


def test_only_unanswerable_questions_have_no_difference() -> None:
    found = [replace(LINE, type="unanswerable", verdict="abstained", system=name) for name in ("NSCMA full", "RAG")]
    assert cells(difference_table(curves_of(found)[0], "NSCMA full", 0.0), "100") == ["–\nRAG"]
