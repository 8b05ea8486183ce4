"""Run your own memory system and task in the evaluation harness, next to a bundled system.

    python -m nscma_torch.examples.evaluate_your_system

The harness isn't installed with the package, so run this in the root of a checkout. `run` takes any function that
creates a task or a system from its configuration section, so nothing has to be registered. It prints:

    BM25 garden [{'recall': 0.0}]
    BM25 kitchen [{'recall': 0.0}]
    yours garden [{'recall': 1.0}]
    yours kitchen [{'recall': 1.0}]
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from eval.harness.contract import Cost, Question, Reply, Sample
from eval.run import Options, run
from eval.systems.catalogue import make_system
from nscma_torch import Message

CONFIG = """
memory = { device = "cpu", embedder = { model = "hash" } }
tasks = [{ kind = "parcels", name = "parcels" }]
systems = [{ kind = "yours", name = "yours" }, { kind = "bm25", name = "BM25", top_k = 1 }]
"""
NOW = datetime(2026, 5, 14, tzinfo=UTC)


class Parcels:
    """A task: samples of messages with a question and the position of its evidence, and a score for each reply."""

    name = "parcels"
    metrics: tuple[str, ...] = ("recall",)

    def ids(self) -> Sequence[str]:
        return ["kitchen", "garden"]

    def sample(self, id: str) -> Sample:
        said = ("The parcel is now at the post office.", "Thanks!", f"I took the parcel to the {id}.", "See you.")
        question = Question("q", "Where is the parcel now?", (id,), evidence=(2,))
        return Sample(id, [Message("user", text, NOW) for text in said], [question], NOW)

    def score(self, question: Question, reply: Reply) -> Mapping[str, float]:
        return {"recall": float((reply.evidence or ())[:1] == question.evidence)}


class LastMention:
    """Your system and its session for one sample; answers with the last message that shares a long word."""

    name = "yours"

    def open(self, folder: Path) -> AbstractContextManager[LastMention]:  # noqa: ARG002 - the store's folder
        return nullcontext(LastMention())

    def read(self, messages: Sequence[Message]) -> Cost:
        self._texts = [message.content for message in messages]
        return Cost()

    def ask(self, question: str, *, options: Sequence[str], now: datetime) -> Reply:  # noqa: ARG002
        words = {word for word in question.split() if len(word) > 5}
        places = [place for place, text in enumerate(self._texts) if words & set(text.split())]
        return Reply(self._texts[places[-1]], evidence=(places[-1],)) if places else Reply("", abstained=True)

    def store_bytes(self) -> int:
        return sum(len(text.encode()) for text in self._texts)


def main() -> None:
    """Run both systems on the task, and print the scores for each question."""
    with tempfile.TemporaryDirectory() as folder:
        options = Options(Path(folder) / "parcels.toml", data=Path(folder), out=Path(folder) / "out")
        options.config.write_text(CONFIG, encoding="utf-8")
        run(
            options,
            lambda section, data: Parcels(),  # noqa: ARG005
            lambda section, shared: LastMention() if section["kind"] == "yours" else make_system(section, shared),
            Console(quiet=True),
        )
        for line in map(json.loads, (options.out / "results.jsonl").read_text(encoding="utf-8").splitlines()):
            print(line["system"], line["sample"], [asked["scores"] for asked in line["questions"]])


if __name__ == "__main__":
    main()
