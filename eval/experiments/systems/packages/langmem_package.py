"""LangMem (https://github.com/langchain-ai/langmem), beside `eval.systems.langmem`.

It runs under an interpreter of its own, with langmem, and imports nothing of this project. The standard input is one
JSON object (`eval.experiments.systems.package_run`), the last line of the standard output another: `version`, `items`
(the memories at the end) and `ranked` (the memories that each query finds, best first). Each exchange goes to the
manager that `create_memory_store_manager` makes, as its defaults have it but for deletes, which are on; memories lie in
LangGraph's `InMemoryStore`, with its default index (the JSON of a memory is embedded) and the server's vectors.
"""

from __future__ import annotations

import json
import os
import sys
import urllib.request
from importlib.metadata import version
from typing import Any


def main() -> None:
    """Hand over every exchange, then search every query."""
    asked = json.load(sys.stdin)
    os.environ |= {"LANGSMITH_TRACING": "false", "LANGCHAIN_TRACING_V2": "false"}
    from langchain_openai import ChatOpenAI
    from langgraph.store.memory import InMemoryStore
    from langmem import create_memory_store_manager

    def embed(texts: list[str]) -> list[list[float]]:
        body = json.dumps({"model": "scripted", "input": texts}).encode()
        request = urllib.request.Request(f"{asked['url']}/embeddings", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request) as reply:
            return [one["embedding"] for one in json.load(reply)["data"]]

    space = ("memories",)
    index: Any = {"dims": 384, "embed": embed}
    store = InMemoryStore(index=index)
    model = ChatOpenAI(model="scripted", base_url=asked["url"], api_key="none", max_retries=0)
    manager = create_memory_store_manager(model, namespace=space, store=store, enable_deletes=True)
    for exchange in asked["exchanges"]:
        turns = [{"role": "user", "content": f"{one['name']}: {one['content']}"} for one in exchange]
        manager.invoke({"messages": turns})
    told = {
        "version": version("langmem"),
        "items": [_text(one) for one in store.search(space, limit=1000)],
        "ranked": [
            [_text(one) for one in store.search(space, query=query, limit=asked["top_k"])] for query in asked["queries"]
        ],
    }
    print(json.dumps(told))


def _text(item: Any) -> str:
    return str(item.value["content"]["content"])


if __name__ == "__main__":
    main()
