"""Questions of what no longer holds, was deleted or was never told: how they are read, asked and judged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eval.experiments.reading.conversations import Models
from eval.experiments.state.histories import load
from eval.experiments.state.state_questions import outcomes, table, verdict
from eval.experiments.state.state_rivals import some
from nscma_torch import load_config
from nscma_torch.core.errors import InvalidInputError
from nscma_torch.core.records import Answer, Usage
from nscma_torch.demo.short_answers import Gold


def message(content: str, day: int) -> dict[str, str]:
    return {"role": "user", "name": "Ana", "content": content, "timestamp": f"2026-03-{day:02}T09:00:00Z"}


def question(text: str, kind: str, answer: list[str] | None, void: list[str], **more: Any) -> dict[str, Any]:
    asked = {"question": text, "type": kind, "asked_at": "2026-04-01T09:00:00Z", "answer": answer, "void": void}
    return asked | {"evidence": [1]} | more


HISTORY: dict[str, Any] = {
    "domain": "home",
    "messages": [
        message("The gate code is 4471.", 1),
        message("I live in Porto.", 2),
        message("I moved from Porto to Leeds.", 9),
        message("The bakery was shut again.", 10),
    ],
    "deletions": [{"after": 2, "message": 1}],
    "questions": [
        question("What is the gate code?", "deletion", None, ["4471"]),
        question("Where do I live?", "update", ["Leeds"], ["Porto"]),
        question("Where do I live?", "control", ["Porto"], [], like="update", asked_at="2026-03-05T09:00:00Z"),
    ],
}


def written(folder: Path, history: dict[str, Any]) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "history-01.json").write_text(json.dumps(history), encoding="utf-8")
    return folder


def test_questions_are_asked_at_their_own_time_of_what_was_not_deleted(tmp_path: Path) -> None:
    (history,) = load([written(tmp_path / "ana", HISTORY)])
    assert (history.author, history.user, history.questions[2].like) == ("ana", "Ana", "update")
    found = list(outcomes(history, Models(load_config(None))))
    assert [(one.right, one.void) for one in found] == [(True, False)] * 3, found
    assert table(found).row_count == 3, "deletion, update beside its control, and all controls"


def test_where_nobody_can_know_only_silence_is_right() -> None:
    unknowable = Gold((), ("tram 7",))

    def told(text: str, *, abstained: bool = False) -> Answer:
        return Answer(text, abstained, 0.5, (), (), Usage())

    assert verdict(unknowable, told("I don't know", abstained=True)) == (True, False, False)
    assert verdict(unknowable, told("Tram 7")) == (False, True, False)
    assert verdict(unknowable, told("bus 3")) == (False, False, False)
    known = Gold(((("bus 3",),),), ("tram 7",))
    assert verdict(known, told("bus 3")) == (True, False, False)
    assert verdict(known, told("I don't know", abstained=True)) == (False, False, True)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"deletions": [{"after": 1, "message": 2}]}, "in their order"),
        ({"questions": [question("Who?", "riddle", None, [])]}, "'riddle' is not a type of question"),
        ({"messages": [{"role": "user"}]}, "KeyError"),
    ],
)
def test_a_wrong_history_is_refused_by_name(tmp_path: Path, change: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidInputError, match=named):
        load([written(tmp_path, HISTORY | change)])
    with pytest.raises(InvalidInputError, match="does not follow the form"):
        load([tmp_path / "none"])


def test_each_nth_question_is_counted_by_type(tmp_path: Path) -> None:
    questions = [question(f"{kind} {n}?", kind, None, []) for n in range(3) for kind in ("absence", "cascade")]
    history = {"domain": "home", "messages": [message("Hello.", 1)], "deletions": [], "questions": questions}
    histories = load([written(tmp_path / "1", history), written(tmp_path / "2", history)])
    asked = [[one.text for one in chosen.questions] for chosen in some(histories, 2)]
    assert asked == [["absence 0?", "cascade 0?", "absence 2?", "cascade 2?"], ["absence 1?", "cascade 1?"]]
