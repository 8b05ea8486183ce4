"""Ingest and search speed on LoCoMo, with the share of each stage, and side by side with mem0 in the same run.

    python -m eval.experiments.speed.ingest --data DIR [--peer-python PEER/bin/python]

Messages are added one by one, as mem0's API does, and in batches; both include the commit to disk. mem0 runs with
`infer=False`, the same MiniLM and faiss (see eval/systems/mem0_peer.py for its virtual environment). Times
depend on the machine; the ratios are the result. "CPU s" is processor time of the whole process (`time.process_time`),
which other programs on the machine disturb less than the wall clock. In batches the embedder works beside the proxy on
a second core, so that stages, which are wall-clock, add up to more than the whole.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

from eval.metrics.retrieval_metrics import mean, recall_at
from eval.tasks.locomo import Conversation, load
from nscma_torch import Memory
from nscma_torch.text.minilm import bundled_folder

_MODELS = ("proxy", "embedding")
_K = 10
PEER = Path(__file__).parents[2] / "systems" / "mem0_peer.py"


@dataclass(frozen=True)
class Run:
    """One system on one conversation; `rest_ms` is what one message costs outside proxy and embedding."""

    messages_per_s: float
    messages_per_cpu_s: float
    search_ms: float
    recall: float
    tokens_per_s: float = float("nan")
    rest_ms: float = float("nan")
    stages: dict[str, float] | None = None


def ours(conversation: Conversation, *, batch: int) -> Run:
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
    """Seconds so far in stages that are neither proxy nor embedding."""
    return sum(seconds for name, seconds in memory.components.stages.seconds.items() if name not in _MODELS)


def mem0(conversation: Conversation, python: Path) -> Run:
    """The same messages and questions through mem0, in its own interpreter."""
    lines: list[dict[str, Any]] = [
        {"type": "message", "user": "reader", "id": str(i), "role": m.role, "name": m.name, "content": m.content}
        for i, m in enumerate(conversation.messages)
    ]
    lines += [
        {"type": "question", "user": "reader", "id": str(i), "content": question.text}
        for i, question in enumerate(conversation.questions)
    ]
    with tempfile.TemporaryDirectory() as name:
        source, target = Path(name) / "input.jsonl", Path(name) / "output.json"
        source.write_text("\n".join(json.dumps(line) for line in lines), encoding="utf-8")
        arguments = ["--model", str(bundled_folder()), "--input", str(source), "--output", str(target)]
        subprocess.run([str(python), str(PEER), *arguments], check=True, capture_output=True)
        result = json.loads(target.read_text(encoding="utf-8"))
    recalls = [
        recall_at([int(i) for i in result["ranked"][str(n)]], question.evidence, _K)
        for n, question in enumerate(conversation.questions)
    ]
    rates = result["messages_per_s"], result["messages_per_cpu_s"]
    return Run(*rates, result["search_ms"]["median"], mean(recalls))


def main() -> None:
    """Print the rates, the share of each stage, and the ratios to mem0."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder that holds locomo/")
    parser.add_argument("--conversation", type=int, default=0, help="which conversation; 0 is conv-26")
    parser.add_argument("--peer-python", type=Path, help="interpreter of mem0's virtual environment")
    parser.add_argument("--threads", type=int, default=1, help="threads of torch")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    conversation = load(arguments.data)[arguments.conversation]
    console = Console(width=140)
    runs = {"one by one": ours(conversation, batch=1), "batches of 64": ours(conversation, batch=64)}
    if arguments.peer_python:
        runs["mem0, infer=False"] = mem0(conversation, arguments.peer_python)
    columns = ("messages/s", "messages/CPU s", "tokens/s", "search ms (median)", f"R@{_K}", "rest ms/message (median)")
    table = Table("system", *columns)
    for name, run in runs.items():
        cells = [run.messages_per_s, run.messages_per_cpu_s, run.tokens_per_s, run.search_ms, run.recall, run.rest_ms]
        table.add_row(name, *(f"{cell:.3g}" for cell in cells))
    counts = f"{len(conversation.messages)} messages, {len(conversation.questions)} questions"
    console.print(f"{conversation.name}: {counts}; torch threads {arguments.threads}")
    console.print(table)
    for name, run in runs.items():
        if run.stages is not None:
            total = sum(run.stages.values())
            shares = sorted(run.stages.items(), key=lambda item: -item[1])
            console.print(f"{name}: " + ", ".join(f"{stage} {seconds / total:.1%}" for stage, seconds in shares))
    if arguments.peer_python:
        peer = runs["mem0, infer=False"]
        for name in ("one by one", "batches of 64"):
            run = runs[name]
            console.print(
                f"{name} against mem0: {run.messages_per_s / peer.messages_per_s:.1f}x messages/s, "
                f"{run.messages_per_cpu_s / peer.messages_per_cpu_s:.1f}x messages/CPU s, "
                f"{peer.search_ms / run.search_ms:.1f}x faster search, "
                f"R@{_K} {run.recall:.3f} against {peer.recall:.3f}"
            )


if __name__ == "__main__":
    main()
