"""The leaderboard: best first, each against the reference, failures named, and nothing that is run or loaded."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from eval.leaderboard import write
from eval.reporting import costs
from eval.reporting.board import Run, boards
from eval.reporting.results import load
from nscma_torch.core.errors import InvalidInputError
from tests.eval.raw import failed, line, question, run

EVIL = '<script>alert(1)</script> & "co"'


class Cells(HTMLParser):
    """Texts of the cells of each row of a page, and the attributes of all elements."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.tags: list[str] = []
        self.links: list[str] = []
        self._open = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for key, value in attrs if key in ("href", "src")]
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
            self._open = True

    def handle_endtag(self, tag: str) -> None:
        self._open = self._open and tag not in ("td", "th")

    def handle_data(self, data: str) -> None:
        if self._open:
            self.rows[-1][-1] += data

    def row(self, system: str) -> dict[str, str]:
        """The cells of a system by their headings."""
        (found,) = [row for row in self.rows if row[1] == system]
        return dict(zip(self.rows[0], found, strict=True))


def lines(system: str, accuracies: list[float], **more: Any) -> list[dict[str, Any]]:
    """A question a sample, of eight messages each."""
    scores: list[dict[str, Any]] = [{"accuracy": own, "recall@5": own / 2} for own in accuracies]
    return [line("Talks", system, i, [question(**own)], messages=8, **more) for i, own in enumerate(scores)]


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Three systems on twelve samples: one right on the even half, one on the odd half, one that fails."""
    made = [*lines("plain", [1.0, 0.0] * 6), *lines(EVIL, [0.0, 1.0] * 6, commit="a" * 40 + "+")]
    made += [failed("Talks", "broken", i, "accuracy", "recall@5") for i in range(12)]
    return run(
        tmp_path / "first",
        made,
        memory={"embedder": {"model": "mini"}},
        systems=[{"name": "plain"}, {"name": EVIL}, {"name": "broken"}],
    )


def test_systems_are_sorted_by_the_odd_half_and_held_against_the_reference(out: Path, tmp_path: Path) -> None:
    page = Cells(write([out], tmp_path / "to").read_text(encoding="utf-8"))
    assert [row[1] for row in page.rows[1:]] == [EVIL, "plain", "broken"]
    best = page.row(EVIL)
    assert best["accuracy, odd"].startswith("1.000[") and best["accuracy, all"].startswith("0.500[")
    assert (best["difference, odd"][:5], best["difference, all"][:5]) == ("1.000", "0.000")
    assert best["recall@5, odd"].startswith("0.500")
    assert (page.row("plain")["difference, odd"], page.row("plain")["shown"]) == ("–", "reference")
    told = {
        key: best[key] for key in ("read, s a message", "ask, s p50 / p95", "LLM calls a sample", "commit", "embedder")
    }
    assert list(told.values()) == ["0.5", "0.5 / 0.5", "3.0", "aaaaaaa+", "mini"]
    assert (best["tokens a sample, in / out"], best["samples"], best["questions"]) == ("100 / 10", "12", "12")
    assert (page.row("broken")["accuracy, odd"], page.row("broken")["failed"]) == ("failed", "12")


def test_failures_are_named_and_nothing_is_run_or_loaded(out: Path, tmp_path: Path) -> None:
    text = write([out], tmp_path / "to", title=EVIL).read_text(encoding="utf-8")
    assert "broken: 12 of 12 samples failed (StoreFullError 12)" in text
    page = Cells(text)
    assert not {"script", "link", "img", "iframe", "b", "strong"} & set(page.tags)
    assert all(link.startswith("#") for link in page.links) and "url(" not in text and "@import" not in text
    assert "&lt;script&gt;" in text and "<script" not in text
    assert "prefers-color-scheme: dark" in text and page.tags.count("svg") == 3


def test_runs_that_asked_the_same_stand_in_one_table(out: Path, tmp_path: Path) -> None:
    again = run(
        tmp_path / "second",
        [*lines("plain", [1.0] * 12), *lines("other", [0.0] * 4)],
        systems=[{"name": "plain"}, {"name": "other"}],
    )
    runs = [Run(folder.name, load(folder)) for folder in (out, again)]
    (board,) = boards(runs, "other")
    assert [row.entry.label for row in board.rows] == ["plain (second)", EVIL, "plain (first)", "other", "broken"]
    assert board.reference.label == "other"
    assert board.rows[0].apart["odd"].samples == 2, "those that both have"
    changed = [
        {**one, "questions": [{**one["questions"][0], "question": "Where?"}]} for one in lines("plain", [1.0] * 12)
    ]
    third = run(tmp_path / "third", changed, systems=[{"name": "plain"}])
    apart = boards([runs[0], Run("third", load(third))])
    assert [board.title for board in apart] == ["Talks (first)", "Talks (third)"]
    with pytest.raises(InvalidInputError, match="'nobody' to compare with"):
        boards(runs, "nobody")


def test_seconds_of_a_message_and_percentiles_of_a_question(out: Path) -> None:
    asked = [
        {**question(f"q{i}", accuracy=1.0), "cost": {"seconds": {"ask": float(i), "cached": 1.0}}} for i in range(101)
    ]
    folder = run(out.parent / "timed", [line("T", "s", 0, asked, messages=2)], systems=[{"name": "s"}])
    own = load(folder).lines["T", "s"]
    assert (costs.read_per_message(own), costs.ask_percentiles(own)) == (2.0, (51.0, 96.0))
    assert (costs.read_per_message([]), costs.ask_percentiles([])) == (None, None)


def test_the_committed_results_make_a_page(tmp_path: Path) -> None:
    folder = Path(__file__).parents[3] / "eval" / "results" / "vllm"
    text = write([folder], tmp_path / "to").read_text(encoding="utf-8")
    assert re.search("ACC-L by .*, prompt", text) and "BABILong 0k" in text
