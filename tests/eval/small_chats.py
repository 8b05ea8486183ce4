"""Chats of four messages with a question each, for runs of all systems; as a program it is one rank of such a run."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import torch
from rich.console import Console

from eval.harness.contract import Cost, Question, Reply, Sample, Shared
from eval.run import Options, run
from eval.systems.catalogue import make_system
from eval.tasks.catalogue import make_task
from nscma_torch.core.config import read_toml
from nscma_torch.core.records import Message

SYSTEMS = Path(__file__).parents[2] / "configs" / "eval" / "systems.toml"
BEGINS = datetime(2026, 5, 14, 9, tzinfo=UTC)
PLACES = ("Porto", "Bergen", "Kyoto")
HEAD = """
seed = 3
[memory]
device = "cpu"
[memory.embedder]
model = "hash"
[[tasks]]
kind = "tests.eval.small_chats:SmallChats"
name = "chats"
samples = {samples}
"""


class SmallChats:
    """Two people about where one of them lives and what her cat is called; the cat is asked for."""

    metrics: tuple[str, ...] = ("accuracy",)

    def __init__(self, section: Mapping[str, Any], _: Path) -> None:
        self.name: str = section["name"]
        self._samples: int = section["samples"]

    def ids(self) -> Sequence[str]:
        return [f"chat-{i}" for i in range(self._samples)]

    def sample(self, id: str) -> Sample:
        place = PLACES[int(id.split("-")[1]) % len(PLACES)]
        said = (
            ("Ana", f"I moved to {place} last week."),
            ("Leo", f"How do you like {place}, Ana?"),
            ("Ana", "I love it. My cat Miso sleeps on the balcony."),
            ("Leo", "I work at the harbour on Tuesdays."),
        )
        messages = tuple(
            Message("user", text, name=name, timestamp=BEGINS + timedelta(hours=i), session="s1")
            for i, (name, text) in enumerate(said)
        )
        questions = (Question("cat", "What is the name of Ana's cat?", ("Miso",), evidence=(2,)),)
        return Sample(id, messages, questions, BEGINS + timedelta(days=1))

    def score(self, question: Question, reply: Reply) -> Mapping[str, float]:
        return {"accuracy": float(question.answers[0] in reply.text)}


class Raising:
    """A system that reads no sample."""

    def __init__(self, section: Mapping[str, Any], _: Shared) -> None:
        self.name: str = section["name"]

    @contextmanager
    def open(self, _: Path) -> Iterator[Raising]:
        yield self

    def read(self, _: Sequence[Message]) -> Cost:
        raise ValueError("this system reads nothing")


def systems() -> list[dict[str, Any]]:
    """All of configs/eval/systems.toml. RAPTOR does not cluster four messages, and so needs no umap-learn."""
    every: list[dict[str, Any]] = read_toml(SYSTEMS)["systems"]
    return every


def write(path: Path, *more: Mapping[str, Any], samples: int) -> Path:
    """A configuration of all systems on so many chats; `more` are systems that stand in their middle."""
    own = systems()
    own[len(own) // 2 : len(own) // 2] = [dict(section) for section in more]
    lines = [HEAD.format(samples=samples)]
    for section in own:
        lines += ["[[systems]]", *(f"{key} = {json.dumps(value)}" for key, value in section.items())]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def started(config: str, out: str) -> int:
    """One rank, or all of a run without torchrun; its exit status."""
    torch.set_num_threads(1)
    return run(Options(Path(config), Path(), Path(out)), make_task, make_system, Console(file=sys.stdout, width=120))


if __name__ == "__main__":
    sys.exit(started(*sys.argv[1:]))
