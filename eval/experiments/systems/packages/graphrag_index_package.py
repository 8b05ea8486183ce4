"""The whole of GraphRAG (https://github.com/microsoft/graphrag): its standard index, its local and its global search.

It runs under an interpreter of its own, with graphrag, and imports nothing of this project. The standard input is one
JSON object: `url` of a server that speaks OpenAI's protocol, `exchanges`, each messages with `name` and `content`,
`queries`, an empty `folder`, `dimension` of the server's vectors, `largest` (members from which on a community is not
divided) and `options` (sections of the package's settings that take the place of its own). The last line of the
standard output is another: `version`; `entities` ([title, description]), `relationships` ([source, target,
description, weight]) and `communities` ([level, titles, content of the report or null]) of the index; and for each
query `shown`, what local search puts before the model: `entities` (titles), `relationships` ([source, target]),
`sources` (texts) and `reports` (contents), each in its order.

A message is a document, and shorter than a chunk. Tokens are counted with o200k_base, which litellm brings along.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

_LEVEL = 2  # of the communities that are searched, as the package's command has it
_TABLES = ("entities", "relationships", "communities", "community_reports", "text_units")


def main() -> None:
    """Index the conversation, and search it."""
    asked = json.load(sys.stdin)
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else it is fetched
    os.chdir(asked["folder"])
    print(json.dumps(asyncio.run(_run(asked))))


def _settings(asked: dict[str, Any]) -> dict[str, Any]:
    model = {"model_provider": "openai", "model": "scripted", "api_key": "none", "api_base": asked["url"]}
    return {
        "completion_models": {"default_completion_model": model},
        "embedding_models": {"default_embedding_model": model},
        "input": {"type": "jsonl", "text_column": "text", "title_column": "title"},
        "vector_store": {"type": "lancedb", "db_uri": "output/lancedb", "vector_size": asked["dimension"]},
        "concurrent_requests": 1,
        **asked["options"],
        "cluster_graph": {"max_cluster_size": asked["largest"], **asked["options"].get("cluster_graph", {})},
    }


async def _run(asked: dict[str, Any]) -> dict[str, Any]:
    import litellm  # noqa: F401  # tells tiktoken where its tables lie
    import pandas as pd
    from graphrag import api
    from graphrag.config.models.graph_rag_config import GraphRagConfig

    told = [message for exchange in asked["exchanges"] for message in exchange]
    lines = [
        json.dumps({"title": f"message {place}", "text": f"{one['name']}: {one['content']}"})
        for place, one in enumerate(told)
    ]
    Path("input").mkdir()
    Path("input/messages.jsonl").write_text("\n".join(lines), encoding="utf-8")
    config = GraphRagConfig(**_settings(asked))
    for result in await api.build_index(config):
        if result.error is not None:
            raise result.error

    def read() -> dict[str, Any]:  # anew for each search: it changes the tables that it gets
        return {name: pd.read_parquet(f"output/{name}.parquet") for name in _TABLES}

    shown = []
    for query in asked["queries"]:
        common = {"config": config, "community_level": _LEVEL, "response_type": "Single sentence", "query": query}
        _, context = await api.local_search(covariates=None, **read(), **common)
        shown.append({name: _rows(context.get(name)) for name in ("entities", "relationships", "sources", "reports")})
        of_reports = {name: own for name, own in read().items() if name not in ("relationships", "text_units")}
        await api.global_search(dynamic_community_selection=False, **of_reports, **common)
    return {"version": version("graphrag"), **_index(read()), "shown": [_shown(own) for own in shown]}


def _rows(table: Any) -> list[dict[str, Any]]:
    return [] if table is None else list(table.to_dict("records"))


def _shown(context: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    return {
        "entities": [one["entity"] for one in context["entities"]],
        "relationships": [[one["source"], one["target"]] for one in context["relationships"]],
        "sources": [one["text"] for one in context["sources"]],
        "reports": [one["content"] for one in context["reports"]],
    }


def _index(tables: dict[str, Any]) -> dict[str, Any]:
    entities, relationships, reports = (
        _rows(tables[name]) for name in ("entities", "relationships", "community_reports")
    )
    title = {one["id"]: one["title"] for one in entities}
    content = {one["community"]: one["full_content"] for one in reports}
    return {
        "entities": [[one["title"], one["description"]] for one in entities],
        "relationships": [
            [one["source"], one["target"], one["description"], float(one["weight"])] for one in relationships
        ],
        "communities": [
            [int(one["level"]), [title[own] for own in one["entity_ids"]], content.get(one["community"])]
            for one in _rows(tables["communities"])
        ],
    }


if __name__ == "__main__":
    main()
