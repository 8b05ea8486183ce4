"""A task and a system that take milliseconds, for tests of `eval.run`; as a program it is one rank of it."""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
from rich.console import Console

from eval.harness.contract import Cost, Question, Reply, Sample, Shared
from eval.run import Options, run
from nscma_torch.core.errors import EngineUnavailableError, JobError
from nscma_torch.core.records import Message

NOW = datetime(2026, 5, 14, tzinfo=UTC)


class TinyTask:
    """Samples of two messages and two questions."""

    metrics: tuple[str, ...] = ("accuracy", "draw")

    def __init__(self, section: Mapping[str, Any]) -> None:
        self.name: str = section["name"]
        self._samples: int = section["samples"]
        self._lost: str = section.get("lost", "")

    def ids(self) -> Sequence[str]:
        return [f"s{i}" for i in range(self._samples)]

    def sample(self, id: str) -> Sample:
        if id == self._lost:
            raise FileNotFoundError(f"{id} is not there")
        said = (Message("user", f"The parcel of {id} is in the {self.name}."), Message("user", "So it is 世界."))
        asked = [Question(f"q{i}", f"Where is the parcel of {id}, {i}?", (self.name,), evidence=(0,)) for i in range(2)]
        return Sample(id, said, asked, NOW)

    def score(self, question: Question, reply: Reply) -> Mapping[str, float]:
        return {"accuracy": float(reply.text in question.answers), "draw": reply.confidence or 0.0}


class TinySession:
    """Embeds, scores and draws; goes down, fails or waits where its section names the sample."""

    def __init__(self, section: Mapping[str, Any], shared: Shared) -> None:
        self._section = section
        self._shared = shared
        self._texts: list[str] = []
        self._state = b""

    def read(self, messages: Sequence[Message]) -> Cost:
        began = time.perf_counter()
        self._texts = [message.content for message in messages]
        self._waits_or_fails()
        self._vectors = self._shared.embedder.embed(self._texts)
        self._state = self._shared.surprise_model.score([self._texts], [None])[0].state
        return Cost(seconds={"ingest": time.perf_counter() - began})

    def ask(self, question: str, *, options: Sequence[str], now: datetime) -> Reply:
        assert now == NOW and not options
        best = int((self._vectors @ self._shared.embedder.embed_query(question)).argmax())
        drawn = random.random() + float(torch.rand(())) + len(self._state)
        text = self._texts[best].rstrip(".").split()[-1]
        return Reply(text, evidence=(best,), confidence=drawn, cost=Cost(1, 2, 3, {"ask": 0.0}))

    def store_bytes(self) -> int:
        return len(self._state)

    def _waits_or_fails(self) -> None:
        def named(key: str) -> bool:
            return f"of {self._section.get(key)} is" in self._texts[0]

        gate = Path(self._section["gate"]) if "gate" in self._section else None
        if named("waits") and gate is not None and not gate.exists():
            gate.with_suffix(".pid").write_text(str(os.getpid()))
            while not gate.exists():
                time.sleep(0.01)
        if named("poisoned"):
            raise ValueError("a poisoned sample \ud800")
        if named("down"):
            raise EngineUnavailableError("no engine is there")
        if named("job_down"):
            raise JobError("background work failed: EngineUnavailableError: no engine is there")


class TinySystem:
    def __init__(self, section: Mapping[str, Any], shared: Shared) -> None:
        self.name: str = section["name"]
        self._section = section
        self._shared = shared

    @contextmanager
    def open(self, folder: Path) -> Iterator[TinySession]:
        assert not any(folder.iterdir())
        yield TinySession(self._section, self._shared)


def make_task(section: Mapping[str, Any], data: Path) -> TinyTask:
    return TinyTask(section)


def started(config: str, out: str, **more: Any) -> int:
    """One rank, or all of a run without torchrun; its exit status."""
    torch.set_num_threads(1)
    options = Options(Path(config), Path(), Path(out), **more)
    return run(options, make_task, TinySystem, Console(file=sys.stdout, width=120))


if __name__ == "__main__":
    sys.exit(started(*sys.argv[1:]))
