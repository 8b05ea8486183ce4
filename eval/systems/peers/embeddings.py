"""Vectors of texts from an OpenAI-compatible /v1/embeddings, for stores whose packages take a function that embeds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from urllib.request import Request, urlopen


def embed(url: str, texts: Sequence[str]) -> list[list[float]]:
    """A vector for each text, in order."""
    body = json.dumps({"model": "embedder", "input": list(texts)}).encode()
    with urlopen(Request(f"{url}/v1/embeddings", body, {"Content-Type": "application/json"})) as answer:
        return [item["embedding"] for item in json.load(answer)["data"]]
