"""ChromaDB (https://github.com/chroma-core/chroma) over the same vectors: the store beside ours in the retrieval table.

It runs under an interpreter of its own and imports nothing of this project:

    python3.11 -m venv PEER
    PEER/bin/pip install chromadb==1.5.9
    PEER/bin/python eval/systems/chroma.py --input FILE --output FILE --top-k K

The input is an .npz file with, for user 0, 1, …, `units_0` [n, d] and `queries_0` [q, d], float32 unit vectors. Each
user is one collection of a persistent client, with the default index (HNSW) and cosine similarity; nothing is embedded
here. Telemetry is off. The output is one JSON object: `ranked`, the rows found for each query of each user, best first,
and `search_ms`, wall-clock milliseconds of each query in the same order.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


def search(
    units: NDArray[np.float32],  # [n, d]
    queries: NDArray[np.float32],  # [q, d]
    top_k: int,
    client: Any,
    name: str,
) -> tuple[list[list[int]], list[float]]:
    """The nearest rows of each query, and what each query took in milliseconds."""
    collection = client.create_collection(name, metadata={"hnsw:space": "cosine"}, embedding_function=None)
    step = client.get_max_batch_size()
    for start in range(0, len(units), step):
        rows = units[start : start + step]
        collection.add(ids=[str(start + i) for i in range(len(rows))], embeddings=rows)
    ranked, took = [], []
    for query in queries:
        began = time.perf_counter()
        found = collection.query(query_embeddings=[query], n_results=min(top_k, len(units)), include=["distances"])
        took.append(1000 * (time.perf_counter() - began))
        ranked.append([int(own) for own in found["ids"][0]])
    return ranked, took


def main() -> None:
    """Read the vectors, search, write the output."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--input", type=Path, required=True, help="vectors of units and queries, .npz")
    parser.add_argument("--output", type=Path, required=True, help="where the JSON result is written")
    parser.add_argument("--top-k", type=int, default=10, help="hits of each query")
    arguments = parser.parse_args()
    import chromadb

    given = np.load(arguments.input)
    result: dict[str, Any] = {"system": f"chromadb {version('chromadb')}", "ranked": [], "search_ms": []}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        settings = chromadb.Settings(anonymized_telemetry=False)
        client = chromadb.PersistentClient(folder, settings=settings)
        for user in range(len(given.files) // 2):
            vectors = given[f"units_{user}"], given[f"queries_{user}"]
            ranked, took = search(*vectors, arguments.top_k, client, f"user-{user}")
            result["ranked"].append(ranked)
            result["search_ms"] += took
    arguments.output.write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    main()
