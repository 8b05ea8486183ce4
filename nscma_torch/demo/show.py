"""Run the demo: store the conversation, show the gate's decisions, and count right answers and evidence shown."""

from __future__ import annotations

import json
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.progress import track
from rich.text import Text

from nscma_torch.api.memory import Memory
from nscma_torch.core.database import store_path
from nscma_torch.core.errors import InvalidInputError
from nscma_torch.core.records import Answer, Episode
from nscma_torch.demo.short_answers import LONGEST, AnswerVerdict, Gold, judge
from nscma_torch.text.calendar.timestamps import format_day
from nscma_torch.text.files.file_readers import read_messages

_BARS = "▁▂▃▄▅▆▇█"
_ASKED = datetime(2026, 9, 5, 12, tzinfo=UTC)  # the day after the conversation ends
_USER = "ines"


def run_demo(store: Path | None, config: Path | None, *, quiet: bool = False) -> dict[str, Any]:
    """Run the demo in a separate store, which is temporary unless `store` names a new file; return the counts."""
    if store is not None and store_path.exists(store):
        raise InvalidInputError(f"{store} exists already; name a new file for the demo, or omit --store")
    console = Console(quiet=quiet, highlight=False)
    with _folder(store) as path, Memory(path, config=config) as memory:
        begin = time.perf_counter()
        written = _remember(memory, console)
        _show_strip(memory.log(user_id=_USER), console)
        _show_reasons(memory.log(user_id=_USER), console)
        counts = _answer_all(memory, console)
        seconds = time.perf_counter() - begin
        console.print(
            f"\n[bold]{counts['right']} of {counts['questions']} answered right[/], {counts['wrong']} wrong; "
            f"evidence shown for {counts['evidence_shown']} of {counts['answerable']}. {seconds:.0f} s in all."
        )
        console.print(
            f"An answer is right by its own words, at most {LONGEST}, or by saying that nothing is known; the passages "
            "quoted below it count as evidence alone.",
            style="dim",
        )
        if store is not None:
            console.print(f"The store is in {store}: nscma log --store {store} --user {_USER}")
        console.print('The same with your own file: [bold]nscma add FILE[/] and [bold]nscma ask "…"[/]')
    return {**written, **counts, "seconds": seconds}


@contextmanager
def _folder(store: Path | None) -> Iterator[Path]:
    folder = tempfile.TemporaryDirectory() if store is None else nullcontext(None)
    with folder as name:
        yield store if name is None else Path(name) / "demo.db"  # type: ignore[misc]


def _remember(memory: Memory, console: Console) -> dict[str, int]:
    with resources.as_file(resources.files("nscma_torch.demo") / "conversation.jsonl") as path:
        messages = list(read_messages(path))
    sessions = len({message.session for message in messages})
    console.print(f"[bold]Remembering[/] {len(messages)} messages of {sessions} sessions …")
    stream = track(messages, description="", console=console, transient=True, disable=console.quiet)
    counts = Counter(bool(item.decision and item.decision.write) for item in memory.add_many(stream, user_id=_USER))
    memory.flush()
    facts = memory.stats(user_id=_USER).facts.get("active", 0)
    console.print(
        f"[green]{counts[True]} written[/] ({facts} facts hold now), [yellow]{counts[False]} deferred[/]: "
        "kept in the log and found by search, but no extraction is spent on them."
    )
    return {"messages": len(messages), "sessions": sessions, "written": counts[True], "deferred": counts[False]}


def _show_strip(log: list[Episode], console: Console) -> None:
    """Show one bar per message; its height is the relative score, and its colour the decision."""
    console.print("\n[bold]Surprise strip[/]: a bar per message, [green]written[/] or [yellow]deferred[/]")
    scores = sorted(episode.decision.score for episode in log if episode.decision)
    low, high = scores[len(scores) // 50], scores[-1 - len(scores) // 50]
    for session in dict.fromkeys(episode.session for episode in log):
        own = [episode for episode in log if episode.session == session]
        line = Text(f"  {session}  {own[0].occurred_at:%Y-%m-%d}  ")
        for episode in own:
            if episode.decision is not None:
                height = (episode.decision.score - low) / (high - low or 1.0)
                bar = _BARS[min(len(_BARS) - 1, max(0, int(height * len(_BARS))))]
                line.append(bar, style="green" if episode.decision.write else "yellow")
        console.print(line)


def _show_reasons(log: list[Episode], console: Console) -> None:
    """Show the messages with the highest and lowest scores, and the reasons for the gate's decisions."""
    decided = sorted((e for e in log if e.decision), key=lambda e: e.decision.score if e.decision else 0.0)
    console.print("\n[bold]What was written, what was not, and why[/]")
    for episode in [*decided[-4:][::-1], *decided[:4]]:
        assert episode.decision is not None
        text = Text("  write  ", "green") if episode.decision.write else Text("  defer  ", "yellow")
        console.print(text + Text(_short(episode.text, 90), "default"))
        console.print(Text(f"         {episode.decision.reason}", "dim"))


def _answer_all(memory: Memory, console: Console) -> dict[str, int]:
    lines = (resources.files("nscma_torch.demo") / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    questions = [json.loads(line) for line in lines]
    console.print(f"\n[bold]Asking[/] {len(questions)} questions, on {format_day(_ASKED.date())}")
    verdicts = []
    for item in questions:
        answer = memory.ask(item["question"], user_id=_USER, now=_ASKED)
        verdicts.append(judge(Gold(((tuple(item["expected"]),),) if item["expected"] else ()), answer))
        _show_answer(item, answer, verdicts[-1], console)
    right = sum(verdict.right for verdict in verdicts)
    return {
        "questions": len(questions),
        "answerable": sum(verdict.answerable for verdict in verdicts),
        "right": right,
        "wrong": len(questions) - right,
        "evidence_shown": sum(verdict.evidence_shown for verdict in verdicts),
    }


def _show_answer(item: dict[str, Any], answer: Answer, verdict: AnswerVerdict, console: Console) -> None:
    """Show the question marked right or wrong, the answer, its evidence, and the expected answer if the answer is
    wrong.
    """
    mark = Text("✓ ", "bold green") if verdict.right else Text("✗ ", "bold red")
    console.print(mark + Text(item["question"], "bold"))
    said = answer.short.count("\n") + 1
    for place, line in enumerate(answer.text.split("\n")):
        console.print(Padding(Text(_short(line, 240), "dim" if place >= said else ""), (0, 0, 0, 4)))
    if not verdict.right:
        wanted = " or ".join(item["expected"][:2]) or "to say that it does not know"
        shown = "; the evidence shown has it" if verdict.evidence_shown else ""
        console.print(Text(f"    expected: {wanted}{shown}", "red"))


def _short(text: str, width: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= width else line[: width - 1] + "…"
