"""ChromaDB (https://github.com/chroma-core/chroma) behind a pipe, for `eval.systems.rag`.

It runs under an interpreter of its own and imports nothing of this project:

    python3.11 -m venv PEER
    PEER/bin/pip install chromadb==1.5.9
    PEER/bin/python eval/systems/chroma_server.py

Each line of the standard input is a request and gets a line of the standard output; the end of the input ends it.
Vectors are float32 in base64, n of them in a row. A collection is a persistent client's only one, in a folder of its
own, with the default index (HNSW) and cosine similarity. Nothing is embedded here, and telemetry is off.

    {"do": "version"}                                       {"version": "1.5.9"}
    {"do": "open", "folder": "/…"}                          {}
    {"do": "add", "texts": ["…", …], "vectors": "…"}        {"count": n}
    {"do": "query", "vector": "…", "top_k": 5}              {"rows": [17, 3, …]}
    {"do": "close"}                                         {}
"""

from __future__ import annotations

import base64
import json
import sys
from importlib.metadata import version
from typing import Any

import chromadb
import numpy as np
from numpy.typing import NDArray


def _vectors(encoded: str, n: int) -> NDArray[np.float32]:
    return np.frombuffer(base64.b64decode(encoded), dtype=np.float32).reshape(n, -1)


class Server:
    """One collection at a time."""

    def __init__(self) -> None:
        self._client: Any = None
        self._collection: Any = None
        self._count = 0

    def handle(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Answer a request."""
        match asked["do"]:
            case "version":
                return {"version": version("chromadb")}
            case "open":
                return self._open(asked["folder"])
            case "add":
                return self._add(asked["texts"], asked["vectors"])
            case "query":
                return self._query(asked["vector"], asked["top_k"])
            case "close":
                return self._close()
            case other:
                raise ValueError(f"no request {other!r}")

    def _open(self, folder: str) -> dict[str, Any]:
        self._client = chromadb.PersistentClient(folder, settings=chromadb.Settings(anonymized_telemetry=False))
        self._collection = self._client.create_collection(
            "passages", metadata={"hnsw:space": "cosine"}, embedding_function=None
        )
        self._count = 0
        return {}

    def _add(self, texts: list[str], encoded: str) -> dict[str, Any]:
        vectors = _vectors(encoded, len(texts))
        step = self._client.get_max_batch_size()
        for start in range(0, len(texts), step):
            some = range(start, min(start + step, len(texts)))
            self._collection.add(
                ids=[str(self._count + i) for i in some],
                embeddings=vectors[some.start : some.stop],
                documents=texts[some.start : some.stop],
            )
        self._count += len(texts)
        return {"count": self._count}

    def _query(self, encoded: str, top_k: int) -> dict[str, Any]:
        found = self._collection.query(
            query_embeddings=_vectors(encoded, 1), n_results=min(top_k, self._count), include=["distances"]
        )
        return {"rows": [int(own) for own in found["ids"][0]]}

    def _close(self) -> dict[str, Any]:
        self._client.close()
        self._client = self._collection = None
        return {}


def main() -> None:
    """Answer until the input ends."""
    server = Server()
    for line in sys.stdin:
        print(json.dumps(server.handle(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
