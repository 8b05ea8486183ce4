"""What a year of sleep forgets on LoCoMo: recall of evidence before and after, and that nothing is destroyed.

    python -m eval.experiments.facts.forgetting_recall --data DIR [--cache DIR] [--initial-strength DAYS …]

Each conversation is a store with the default settings; after its last session the memory sleeps once a month for a
year. In the row "idle" nobody asks anything in that year. In the other rows the questions with an even index are
searched every month, which strengthens what they find; "asked" is recall on these, "not asked" on the others. All
recalls are of searches at the end of the year, "before" that of a memory that did not sleep; it is a copy, since a
search counts as a recall. "undone" is recall after every decision of forgetting is undone. Destroyed counts messages
that are missing in the log, or that `get` does not return in their wording.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table

from eval.caches.embedding_cache import CachedEmbedder
from eval.metrics.retrieval_metrics import mean, recall_at
from eval.tasks.locomo import Conversation, Question, load
from nscma_torch import Config, Memory, load_config
from nscma_torch.device import torch_device
from nscma_torch.protocols import Embedder
from nscma_torch.text.embedder import load_embedder

K = 10
USER = "reader"
YEAR = [timedelta(days=round(365 * month / 12)) for month in range(1, 13)]
HALVES = ("even", "odd", "all")
_FORGOTTEN = "retention is below"  # in the reason of a decision of forgetting


@dataclass
class Tally:
    """Recalls of questions by when they were asked, and what became of messages and facts."""

    before: list[float] = field(default_factory=list)
    after: list[float] = field(default_factory=list)
    undone: list[float] = field(default_factory=list)
    messages: int = 0
    messages_archived: int = 0
    facts: int = 0
    facts_archived: int = 0
    destroyed: int = 0

    def __iadd__(self, other: Tally) -> Tally:
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)
        return self


class Year:
    """One conversation in a store, which can be slept through in several ways.

    Args:
        folder: where its stores are kept.
        config: with which it is read; a year may change the curator's settings.
    """

    def __init__(self, conversation: Conversation, folder: Path, config: Config, embedder: Embedder) -> None:
        self._conversation = conversation
        self._folder = folder
        self._embedder = embedder
        with self._open(folder / "told", config) as memory:
            added = list(memory.add_many(conversation.messages, user_id=USER, now=conversation.asked_at))
            memory.flush()
        self._place = {item.id: i for i, item in enumerate(added)}

    def sleep(self, name: str, config: Config, *, asking: bool) -> dict[str, Tally]:
        """Sleep for a year on a copy of the store; with `asking` the even questions are searched every month."""
        questions = self._conversation.questions
        groups = {"asked": questions[::2], "not asked": questions[1::2]} if asking else {"idle": questions}
        start = self._conversation.asked_at
        before = self._before(config, groups)
        with self._open(self._copy(name), config) as memory:
            known = len(memory.facts(user_id=USER, archived=True))
            forgotten_facts = forgotten_messages = 0
            for since in YEAR:
                for question in groups.get("asked", ()):
                    memory.search(question.text, user_id=USER, top_k=K, now=start + since)
                report = memory.sleep(user_id=USER, now=start + since)
                assert not report.failures
                forgotten_facts += report.forgotten_facts
                forgotten_messages += report.forgotten_messages
            end = start + YEAR[-1]
            shared = Tally(
                messages=len(self._place),
                messages_archived=forgotten_messages,
                facts=len(memory.facts(user_id=USER, archived=True)),
                facts_archived=forgotten_facts,
                destroyed=self._destroyed(memory, end),
            )
            assert shared.facts >= known
            after = {group: self._recalls(memory, some, end) for group, some in groups.items()}
        undone = self._undone(name, config, groups, forgotten_facts + forgotten_messages)
        return {
            group: Tally(before[group], after[group], undone[group], **_counts(shared if i == 0 else Tally()))
            for i, group in enumerate(groups)
        }

    def _before(self, config: Config, groups: Mapping[str, Sequence[Question]]) -> dict[str, list[float]]:
        with self._open(self._copy("before"), config) as memory:
            end = self._conversation.asked_at + YEAR[-1]
            return {group: self._recalls(memory, some, end) for group, some in groups.items()}

    def _undone(
        self, name: str, config: Config, groups: Mapping[str, Sequence[Question]], expected: int
    ) -> dict[str, list[float]]:
        end = self._conversation.asked_at + YEAR[-1]
        with self._open(self._folder / name, config) as memory:
            made = [d for d in memory.decisions(user_id=USER, limit=None) if _FORGOTTEN in d.reason]
            assert len(made) == expected, f"{len(made)} decisions of forgetting, {expected} reported"
            for decision in made:
                memory.undo(decision.id, user_id=USER, now=end)
            return {group: self._recalls(memory, some, end) for group, some in groups.items()}

    def _copy(self, name: str) -> Path:
        shutil.rmtree(self._folder / name, ignore_errors=True)
        return Path(shutil.copytree(self._folder / "told", self._folder / name))

    def _open(self, folder: Path, config: Config) -> Memory:
        folder.mkdir(exist_ok=True)
        return Memory(folder / "store.db", config=config, embedder=self._embedder)

    def _recalls(self, memory: Memory, questions: Sequence[Question], now: datetime) -> list[float]:
        recalls = []
        for question in questions:
            hits = memory.search(question.text, user_id=USER, top_k=2 * K, now=now)
            turns = list(dict.fromkeys(self._place[hit.id] for hit in hits))
            recalls.append(recall_at(turns, question.evidence, K))
        return recalls

    def _destroyed(self, memory: Memory, now: datetime) -> int:
        logged = {episode.id for episode in memory.log(user_id=USER)}
        missing = 0
        for episode_id, place in self._place.items():
            kept = memory.get(episode_id, user_id=USER, now=now)
            told = self._conversation.messages[place].content
            missing += episode_id not in logged or kept is None or kept.text != told
        return missing


def _counts(tally: Tally) -> dict[str, int]:
    return {name: value for name, value in vars(tally).items() if isinstance(value, int)}


def main() -> None:
    """Print a row for each half of the conversations, strength, and way to spend the year."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder that holds locomo/")
    parser.add_argument("--cache", type=Path, help="folder where vectors are kept from run to run")
    parser.add_argument(
        "--initial-strength", type=float, nargs="*", help="days, one table each; default: as configured"
    )
    parser.add_argument("--threads", type=int, default=1, help="threads of torch")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    config = load_config(None)
    plain = load_embedder(config.embedder, torch_device(config.device))
    embedder = CachedEmbedder(plain, arguments.cache)
    strengths = arguments.initial_strength or [config.curator.initial_strength]
    tallies: dict[tuple[float, str, str], Tally] = {}
    for index, conversation in enumerate(load(arguments.data)):
        with tempfile.TemporaryDirectory() as folder:
            year = Year(conversation, Path(folder), config, embedder)
            for strength in strengths:
                settings = load_config({"curator": {"initial_strength": strength}})
                for asking in (False, True):
                    for way, tally in year.sleep("slept", settings, asking=asking).items():
                        for half in ("odd" if index % 2 else "even", "all"):
                            key = (strength, way, half)
                            tallies[key] = tallies.get(key, Tally())
                            tallies[key] += tally
        embedder.save()
    table = Table(
        "S (days)",
        "year",
        "half",
        "questions",
        f"R@{K} before",
        "after",
        "undone",
        "messages archived",
        "facts archived",
        "destroyed",
    )
    for (strength, way, half), t in sorted(
        tallies.items(), key=lambda item: (-item[0][0], item[0][1], HALVES.index(item[0][2]))
    ):
        shares = (
            [f"{t.messages_archived}/{t.messages}", f"{t.facts_archived}/{t.facts}", str(t.destroyed)]
            if t.messages
            else ["", "", ""]
        )
        recalls = [f"{mean(some):.3f}" for some in (t.before, t.after, t.undone)]
        table.add_row(f"{strength:g}", way, half, str(len(t.before)), *recalls, *shares)
    Console(width=150).print(table)


if __name__ == "__main__":
    main()
