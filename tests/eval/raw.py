"""Raw lines of made-up runs, for tests of what reads them, and tables of their reports."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

COST = {"llm_calls": 1, "tokens_in": 100, "tokens_out": 10, "seconds": {"ask": 0.5}}


def question(id_: str = "q0", category: str = "", reply: str = "tea", **scores: float) -> dict[str, Any]:
    """A question with its scores."""
    text = f"What does {id_} drink?"
    plain = {"id": id_, "category": category, "question": text, "answers": ["tea"], "reply": reply, "abstained": False}
    return {**plain, "evidence": [], "confidence": None, "scores": scores, "cost": COST}


def line(
    task: str, system: str, index: int, questions: Sequence[Mapping[str, Any]], *, size: int = 1000, **more: Any
) -> dict[str, Any]:
    """A line; `index` makes its name and half."""
    metrics = list(dict.fromkeys(name for one in questions for name in one["scores"])) or ["accuracy"]
    read = {"llm_calls": 2, "tokens_in": 0, "tokens_out": 0, "seconds": {"ingest": 1.0, "flush": 3.0}}
    plain = {"task": task, "metrics": metrics, "system": system, "sample": f"s-{index:04}", "index": index}
    plain |= {"half": "odd" if index % 2 else "even", "seed": 1, "messages": 1, "bytes": size, "read": read}
    return {**plain, "store_bytes": 2_000_000, "questions": list(questions), "error": None, **more}


def failed(task: str, system: str, index: int, *metrics: str) -> dict[str, Any]:
    """The line of a sample that failed."""
    error = {"type": "StoreFullError", "message": "no space left"}
    return line(task, system, index, [], error=error, metrics=list(metrics))


def run(
    folder: Path,
    lines: Sequence[Mapping[str, Any]],
    *,
    packed: bool = False,
    planned: Mapping[str, Any] | None = None,
    **config: Any,
) -> Path:
    """A finished run in that folder, where there are none an old one that does not say what was planned."""
    folder.mkdir(exist_ok=True)
    told = {
        "config": {"seed": 1, **config},
        "sha256": "0" * 64,
        "command": "eval.run",
        "commit": "abc1234",
        "machine": "a machine",
    }
    told |= {
        "command": "python -m eval.run --config x.toml",
        "started": "2026-11-20T10:00:00+00:00",
        "ended": "2026-11-20T11:00:00+00:00",
    }
    told |= {} if planned is None else {"planned": planned}
    (folder / "run.json").write_text(json.dumps(told), encoding="utf-8")
    text = "".join(json.dumps(one) + "\n" for one in lines)
    if packed:
        (folder / "results.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    else:
        (folder / "results.jsonl").write_text(text, encoding="utf-8")
    return folder


def read_csv(path: Path) -> list[dict[str, str]]:
    """The rows of a table."""
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))
