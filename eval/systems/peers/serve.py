"""A memory package behind a pipe, for `eval.systems.peer`: it runs under an interpreter of its own.

    PEER/bin/python eval/systems/peers/serve.py PACKAGE URL MODEL

It imports nothing of this project but the file `PACKAGE_store.py` beside it, whose docstring says how the package
stores, searches and embeds: through the OpenAI-compatible /v1/embeddings below URL, or with the sentence-transformers
model in the folder MODEL, where the package takes no other. Each line of the standard input is a request and gets a
line of the standard output; the end of the input ends it. What packages print goes to standard error. They find no
network to download from, no telemetry, and a home folder that is empty and goes away.

    {"do": "version"}                                           {"version": "3.11.0"}
    {"do": "open", "folder": "/…"}                              {}
    {"do": "add", "messages": [{"place": 0, …}, …]}             {}
    {"do": "query", "text": "…", "top_k": 5, "now": "2024-…",
     "arguments": {}}                                           {"found": [{"places": [17], "text": "…"}, …]}
    {"do": "close"}                                             {}

A message has its `place`, an integer by which results name it, `content`, `said` (the content behind the name of who
said it), `name` or null, `role`, `session` or null, and `at`, when it was said, ISO 8601. Results are best first, each
with the text that the package gives and the messages that it is of. `arguments` go to the package's search.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any
from urllib.request import Request, urlopen

_SETTINGS = {
    "ANONYMIZED_TELEMETRY": "False",
    "MEM0_TELEMETRY": "False",
    "HF_HUB_OFFLINE": "1",
}


class Embedding:
    """What a store may embed with.

    Attributes:
        url: URL.
        model: MODEL.
    """

    def __init__(self, url: str, model: str) -> None:
        self.url = url
        self.model = model

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """A vector by URL for each text, in order: for packages that take a function."""
        body = json.dumps({"model": "embedder", "input": list(texts)}).encode()
        asked = Request(f"{self.url}/v1/embeddings", body, {"Content-Type": "application/json"})
        with urlopen(asked) as answer:
            return [item["embedding"] for item in json.load(answer)["data"]]


class Server:
    """One store at a time.

    Args:
        package: its name, as it is installed.
        store: makes one for an empty folder and what it embeds with.
    """

    def __init__(self, package: str, store: Any, embedding: Embedding) -> None:
        self._package = package
        self._make = store
        self._embedding = embedding
        self._store: Any = None

    def handle(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Answer a request."""
        match asked["do"]:
            case "version":
                return {"version": version(self._package)}
            case "open":
                self._store = self._make(asked["folder"], self._embedding)
            case "add":
                self._store.add(asked["messages"])
            case "query":
                return {"found": self._store.query(asked["text"], asked["top_k"], asked["now"], asked["arguments"])}
            case "close":
                self._store.close()
                self._store = None
            case other:
                raise ValueError(f"no request {other!r}")
        return {}


def main() -> None:
    """Answer until the input ends."""
    package, url, model = sys.argv[1:]
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        os.environ |= {**_SETTINGS, "HOME": home}
        sys.argv[1:] = []  # packages that read the command line find none
        module = importlib.import_module(f"{package}_store")
        server = Server(module.PACKAGE, module.Store, Embedding(url, model))
        for line in sys.stdin:
            print(json.dumps(server.handle(json.loads(line))), file=answers, flush=True)


if __name__ == "__main__":
    main()
