"""Ingest and search speed on one conversation of LoCoMo, with the share of each stage.

    python -m eval.experiments.speed.ingest --data DIR

Messages are added one by one, and in batches; both include the commit to disk. Times depend on the machine; the ratios
are the result. "CPU s" is processor time of the whole process (`time.process_time`), which other programs on the
machine disturb less than the wall clock. In batches the embedder works beside the surprise model on a second core:
stages, which are wall-clock, add up to more than the whole.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table

from eval.metrics.retrieval_metrics import mean, recall_at
from eval.tasks.locomo import Conversation, load
from nscma_torch import Memory

_MODELS = ("surprise", "embedding")
_K = 10


@dataclass(frozen=True)
class Run:
    """One conversation; `rest_ms` is what one message costs outside surprise model and embedding."""

    messages_per_s: float
    messages_per_cpu_s: float
    search_ms: float
    recall: float
    tokens_per_s: float
    rest_ms: float
    stages: dict[str, float]


def measure(conversation: Conversation, *, batch: int) -> Run:
    """Add all messages, `batch` at a time, then search all questions."""
    with tempfile.TemporaryDirectory() as folder, Memory(Path(folder) / "ingest.db") as memory:
        memory.add("warm up", user_id="warm")
        tokens = sum(memory.components.embedder.count_tokens([message.content for message in conversation.messages]))
        ids: list[str] = []
        rest: list[float] = []
        began, cpu_began = time.perf_counter(), time.process_time()
        for start in range(0, len(conversation.messages), batch):
            part = conversation.messages[start : start + batch]
            before = _outside_models(memory)
            ids += [item.id for item in memory.add(part, user_id="reader")]
            rest.append(1000 * (_outside_models(memory) - before) / len(part))
        seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - cpu_began
        stages = dict(memory.components.stages.seconds)
        search_ms, recalls = [], []
        place = {item: i for i, item in enumerate(ids)}
        for question in conversation.questions:
            at = time.perf_counter()
            hits = memory.search(question.text, user_id="reader", top_k=2 * _K, now=conversation.asked_at)
            search_ms.append(1000 * (time.perf_counter() - at))
            turns = list(dict.fromkeys(place[hit.id] for hit in hits))
            recalls.append(recall_at(turns, question.evidence, _K))
    count = len(conversation.messages)
    return Run(
        count / seconds,
        count / cpu_seconds,
        statistics.median(search_ms),
        mean(recalls),
        tokens / seconds,
        statistics.median(rest),
        stages,
    )


def _outside_models(memory: Memory) -> float:
    """Seconds so far in stages that are neither surprise model nor embedding."""
    return sum(seconds for name, seconds in memory.components.stages.seconds.items() if name not in _MODELS)


def main() -> None:
    """Print the rates and the share of each stage."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder that holds locomo/")
    parser.add_argument("--conversation", type=int, default=0, help="which conversation; 0 is conv-26")
    parser.add_argument("--threads", type=int, default=1, help="threads of torch")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    conversation = load(arguments.data)[arguments.conversation]
    console = Console(width=140)
    runs = {"one by one": measure(conversation, batch=1), "batches of 64": measure(conversation, batch=64)}
    columns = ("messages/s", "messages/CPU s", "tokens/s", "search ms (median)", f"R@{_K}", "rest ms/message (median)")
    table = Table("added", *columns)
    for name, run in runs.items():
        cells = [run.messages_per_s, run.messages_per_cpu_s, run.tokens_per_s, run.search_ms, run.recall, run.rest_ms]
        table.add_row(name, *(f"{cell:.3g}" for cell in cells))
    counts = f"{len(conversation.messages)} messages, {len(conversation.questions)} questions"
    console.print(f"{conversation.name}: {counts}; torch threads {arguments.threads}")
    console.print(table)
    for name, run in runs.items():
        total = sum(run.stages.values())
        shares = sorted(run.stages.items(), key=lambda item: -item[1])
        console.print(f"{name}: " + ", ".join(f"{stage} {seconds / total:.1%}" for stage, seconds in shares))


if __name__ == "__main__":
    main()
