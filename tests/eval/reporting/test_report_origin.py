"""Which commands, at which commits, the head of a report says that its lines come from."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from eval.report import load, write
from tests.eval.raw import line, question, run

FIRST, SECOND = "a" * 40, "b" * 40


def told(
    tmp_path: Path, commits: Mapping[str, Sequence[str | None]], earlier: Sequence[Mapping[str, Any]] = (), **more: Any
) -> str:
    """The report of a run whose lines of each task are of these commits; its last attempt is at abc1234."""
    lines = [
        line(task, "full", i, [question(accuracy=1.0)], **({} if commit is None else {"commit": commit}))
        for task, own in commits.items()
        for i, commit in enumerate(own)
    ]
    folder = run(tmp_path / "run", lines, tasks=[{"kind": "t", "name": task} for task in commits])
    record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    (folder / "run.json").write_text(json.dumps({**record, "earlier": earlier, **more}), encoding="utf-8")
    return write(load(folder), tmp_path / "to").read_text(encoding="utf-8")


def attempt(command: str | None, commit: str, day: str = "2026-11-18") -> dict[str, Any]:
    return {"command": command, "commit": commit, "machine": "a machine", "started": f"{day}T10:00:00+00:00"}


def test_a_task_says_how_many_lines_each_commit_made(tmp_path: Path) -> None:
    earlier = [attempt("eval.run --limit 2", FIRST), attempt("eval.run --limit 9", SECOND), attempt(None, FIRST)]
    text = told(tmp_path, {"Talks": [FIRST, SECOND, SECOND], "Books": [f"{FIRST}+"]}, earlier)
    assert text.splitlines()[0] == "3 commands at 3 commits, a machine, 2026-11-18 to 2026-11-20"
    assert "- Talks: bbbbbbb 2, aaaaaaa 1\n- Books: aaaaaaa+ 1\n" in text
    commands = "```\neval.run --limit 2\neval.run --limit 9\npython -m eval.run --config x.toml\n```"
    assert commands in text, "each once, those of attempts that recorded one"
    assert "abc1234" not in text, "the last attempt made no line"


def test_the_commit_is_that_of_the_lines(tmp_path: Path) -> None:
    text = told(tmp_path, {"Talks": [FIRST, FIRST]}, [attempt("python -m eval.run --config x.toml", FIRST)])
    head = f"`python -m eval.run --config x.toml` at commit {FIRST}, a machine, 2026-11-18 to 2026-11-20"
    assert text.splitlines()[0] == head
    assert "**Of several commits.**" not in text and "**By several commands**" not in text


def test_a_run_that_was_scored_again_says_by_what(tmp_path: Path) -> None:
    text = told(tmp_path, {"Talks": [FIRST]}, rescored=attempt("eval.rescore OUT --to NEW", SECOND))
    assert text.splitlines()[0].endswith("; scores by `eval.rescore OUT --to NEW` at commit bbbbbbb")
