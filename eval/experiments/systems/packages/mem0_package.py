"""mem0 (https://github.com/mem0ai/mem0) with its language model, beside `eval.systems.mem0_operations`.

It runs under an interpreter of its own, with mem0ai and faiss-cpu, and imports nothing of this project. The standard
input is one JSON object (`eval.experiments.systems.package_run`), the last line of the standard output another:
`version`, `items` (the memories at the end) and `ranked` (the memories that each query finds, best first). Each
exchange is one `add` with `infer=True`; vectors and language come from the server, vectors lie in faiss with cosine
similarity. A message is "name: content", as mem0's own LoCoMo program has it. Telemetry is off.
"""

from __future__ import annotations

import json
import os
import sys
from importlib.metadata import version
from typing import Any


def configuration(url: str, folder: str) -> dict[str, Any]:
    """mem0's configuration: the server for language and vectors, everything else inside the folder."""
    server = {"api_key": "none", "openai_base_url": url, "model": "scripted"}
    return {
        "llm": {"provider": "openai", "config": server},
        "embedder": {"provider": "openai", "config": {**server, "embedding_dims": 384}},
        "vector_store": {
            "provider": "faiss",
            "config": {"path": f"{folder}/faiss", "embedding_model_dims": 384, "distance_strategy": "cosine"},
        },
        "history_db_path": f"{folder}/history.db",
    }


def main() -> None:
    """Add every exchange, then search every query."""
    asked = json.load(sys.stdin)
    # mem0 reads these when it is imported
    os.environ |= {"MEM0_DIR": asked["folder"], "MEM0_TELEMETRY": "False"}
    from mem0 import Memory

    memory = Memory.from_config(configuration(asked["url"], asked["folder"]))
    for exchange in asked["exchanges"]:
        turns = [{"role": "user", "content": f"{one['name']}: {one['content']}"} for one in exchange]
        memory.add(turns, user_id="reader", infer=True)
    release = version("mem0ai")
    if release.startswith("1."):
        everything = memory.get_all(user_id="reader", limit=1000)
        found = [memory.search(text, user_id="reader", limit=asked["top_k"]) for text in asked["queries"]]
    else:
        everything = memory.get_all(filters={"user_id": "reader"}, top_k=1000)
        found = [
            memory.search(text, filters={"user_id": "reader"}, top_k=asked["top_k"], threshold=0.0)
            for text in asked["queries"]
        ]
    told = {
        "version": release,
        "items": [one["memory"] for one in everything["results"]],
        "ranked": [[one["memory"] for one in hits["results"]] for hits in found],
    }
    print(json.dumps(told))


if __name__ == "__main__":
    main()
