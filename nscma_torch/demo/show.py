"""The demo: remember the conversation, show what the gate made of it, and count right and wrong answers honestly."""

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

from nscma_torch.errors import InvalidInputError
from nscma_torch.memory import Memory
from nscma_torch.records import Answer, Episode
from nscma_torch.storage import store_path
from nscma_torch.text.file_readers import read_messages
from nscma_torch.text.timestamps import format_day

_BARS = "▁▂▃▄▅▆▇█"
_ASKED = datetime(2026, 9, 5, 12, tzinfo=UTC)  # the day after the conversation ends
_USER = "ines"


def run_demo(store: Path | None, config: Path | None, *, quiet: bool = False) -> dict[str, Any]:
    """Run the demo in a store of its own, temporary unless `store` names a new file; returns what it counted."""
    if store is not None and store_path.exists(store):
        raise InvalidInputError(f"{store} exists already; name a new file for the demo, or leave --store out")
    console = Console(quiet=quiet, highlight=False)
    with _folder(store) as path, Memory(path, config=config) as memory:
        begin = time.perf_counter()
        written = _remember(memory, console)
        _show_strip(memory.log(user_id=_USER), console)
        _show_reasons(memory.log(user_id=_USER), console)
        right = _answer_all(memory, console)
        seconds = time.perf_counter() - begin
        console.print(
            f"\n[bold]{right['right']} of {right['questions']} right[/], {right['wrong']} wrong; "
            f"{right['first']} already by the first passage shown. {seconds:.0f} s in all."
        )
        if store is not None:
            console.print(f"The store is in {store}: nscma log --store {store} --user {_USER}")
        console.print('The same with your own file: [bold]nscma add FILE[/] and [bold]nscma ask "…"[/]')
    return {**written, **right, "seconds": seconds}


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
    """One bar per message: its height is the score relative to the conversation, its colour the decision."""
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
    """The messages with the highest and the lowest scores, and why they were decided so."""
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
    right = first = 0
    for item in questions:
        answer = memory.ask(item["question"], user_id=_USER, now=_ASKED)
        correct = _is_right(answer, answer.text, item["expected"])
        right += correct
        first += correct and _is_right(answer, answer.text.split("\n")[0], item["expected"])
        mark = Text("✓ ", "bold green") if correct else Text("✗ ", "bold red")
        console.print(mark + Text(item["question"], "bold"))
        for line in answer.text.split("\n"):
            console.print(Padding(Text(_short(line, 240), "" if correct else "dim"), (0, 0, 0, 4)))
        if not correct:
            wanted = " or ".join(item["expected"][:2]) or "to say that it does not know"
            console.print(Text(f"    expected: {wanted}", "red"))
    return {"questions": len(questions), "right": right, "wrong": len(questions) - right, "first": first}


def _is_right(answer: Answer, text: str, expected: list[str]) -> bool:
    """An answer is right when it contains an expected string; where nothing can be known, when it says so."""
    if not expected:
        return answer.abstained
    return not answer.abstained and any(item.casefold() in text.casefold() for item in expected)


def _short(text: str, width: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= width else line[: width - 1] + "…"
