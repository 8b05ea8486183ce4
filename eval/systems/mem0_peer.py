"""mem0 (https://github.com/mem0ai/mem0) on the same messages and questions: the peer of the side-by-side table.

It runs under the peer's own interpreter and imports nothing of this project:

    python3.11 -m venv PEER
    PEER/bin/pip install torch==2.13.0
    PEER/bin/pip install mem0ai==2.2.1 faiss-cpu==1.15.1 sentence-transformers==6.2.0
    PEER/bin/python eval/systems/mem0_peer.py --model FOLDER --input FILE --output FILE

`--model` is the folder of all-MiniLM-L6-v2 (`nscma_torch.text.minilm.bundled_folder()`). The input holds one JSON
object a line, all messages of a user before that user's questions:

    {"type": "message", "user": "conv-26", "id": "D1:3", "role": "user", "name": "Caroline", "content": "…"}
    {"type": "question", "user": "conv-26", "id": "17", "content": "…"}

Messages are added one by one with `infer=False`, which is mem0's way of storing text without a language model, into its
faiss store with cosine similarity; questions are searched with `top_k` and no threshold. A message with a `name` is
stored as "name: content", as mem0's own LoCoMo program does: mem0 embeds no names, and without them its recall halves.
Telemetry is off, and the language model that its configuration demands is never called. spaCy is left out: with faiss
mem0 has no keyword search, and with `infer=False` no entities. The output is one JSON object: `messages_per_s`,
`search_ms` (median, p95), and `ranked`, the message ids found for each question id, best first.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any


def configuration(model: Path, folder: Path) -> dict[str, Any]:
    """mem0's configuration: local MiniLM, faiss, everything else inside `folder`."""
    return {
        "embedder": {"provider": "huggingface", "config": {"model": str(model), "embedding_dims": 384}},
        "vector_store": {
            "provider": "faiss",
            "config": {"path": str(folder / "faiss"), "embedding_model_dims": 384, "distance_strategy": "cosine"},
        },
        "llm": {"provider": "openai", "config": {"api_key": "never-called", "model": "never-called"}},
        "history_db_path": str(folder / "history.db"),
    }


def measure(model: Path, lines: list[dict[str, Any]], top_k: int) -> dict[str, Any]:
    """Add every message, then search every question; times are seconds of mem0's calls alone."""
    messages = [line for line in lines if line["type"] == "message"]
    questions = [line for line in lines if line["type"] == "question"]
    with tempfile.TemporaryDirectory() as name:
        # mem0 reads these when it is imported.
        os.environ |= {"MEM0_DIR": name, "MEM0_TELEMETRY": "False", "HF_HUB_OFFLINE": "1"}
        began = time.perf_counter()
        from mem0 import Memory

        memory = Memory.from_config(configuration(model, Path(name)))
        start_s = time.perf_counter() - began

        adding, adding_cpu_s = [], 0.0
        for line in messages:
            text = f"{line['name']}: {line['content']}" if line.get("name") else line["content"]
            turn = {"role": line["role"], "content": text}
            began, cpu_began = time.perf_counter(), time.process_time()
            memory.add([turn], user_id=line["user"], metadata={"message": line["id"]}, infer=False)
            adding.append(time.perf_counter() - began)
            adding_cpu_s += time.process_time() - cpu_began

        searching = []
        ranked: dict[str, list[str]] = {}
        for line in questions:
            began = time.perf_counter()
            found = memory.search(line["content"], filters={"user_id": line["user"]}, top_k=top_k, threshold=0.0)
            searching.append(time.perf_counter() - began)
            ranked[line["id"]] = [hit["metadata"]["message"] for hit in found["results"]]
        memory.close()
    return {
        "system": f"mem0ai {version('mem0ai')}",
        "start_s": start_s,
        "messages": len(messages),
        "messages_per_s": len(messages) / sum(adding),
        "messages_per_cpu_s": len(messages) / adding_cpu_s,
        "add_ms": {"median": 1e3 * statistics.median(adding), "p95": 1e3 * _percentile(adding, 95)},
        "questions": len(questions),
        "search_ms": {"median": 1e3 * statistics.median(searching), "p95": 1e3 * _percentile(searching, 95)},
        "ranked": ranked,
    }


def _percentile(values: list[float], percent: int) -> float:
    return sorted(values)[min(len(values) - 1, len(values) * percent // 100)]


def main() -> None:
    """Read the input, measure, write the output."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="folder of a sentence-transformers model, d = 384")
    parser.add_argument("--input", type=Path, required=True, help="messages and questions, JSON lines")
    parser.add_argument("--output", type=Path, required=True, help="where the JSON result is written")
    parser.add_argument("--top-k", type=int, default=20, help="hits of each search")
    arguments = parser.parse_args()
    with arguments.input.open(encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    result = measure(arguments.model, lines, arguments.top_k)
    arguments.output.write_text(json.dumps(result, ensure_ascii=False, indent=1), encoding="utf-8")
    print(json.dumps({key: value for key, value in result.items() if key != "ranked"}))


if __name__ == "__main__":
    main()
