"""Graphiti (https://github.com/getzep/graphiti), the core of Zep, beside `eval.systems.zep`.

It runs under an interpreter of its own, with graphiti-core[kuzu], and imports nothing of this project. The standard
input is one JSON object (`eval.experiments.systems.package_run`), the last line of the standard output another:
`version`; `facts` ([text, valid from, invalid from], days or null), `entities` (names) and `communities` (names of the
members) at the end; and `ranked` (the facts that each query finds, best first). Each message is one episode in an
embedded Kuzu database; queries are searched by BM25, cosine and breadth first, fused by reciprocal rank. Language and
vectors come from the server; nothing is reranked by a cross-encoder. Telemetry is off.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import warnings
from datetime import datetime
from importlib.metadata import version
from typing import Any


async def run(asked: dict[str, Any]) -> dict[str, Any]:
    """Add every message, then find communities and search every query."""
    from graphiti_core import Graphiti
    from graphiti_core.cross_encoder.client import CrossEncoderClient
    from graphiti_core.driver.driver import GraphProvider
    from graphiti_core.driver.kuzu_driver import KuzuDriver
    from graphiti_core.edges import EntityEdge
    from graphiti_core.embedder.openai import OpenAIEmbedder, OpenAIEmbedderConfig
    from graphiti_core.graph_queries import get_fulltext_indices
    from graphiti_core.helpers import get_default_group_id
    from graphiti_core.llm_client.config import LLMConfig
    from graphiti_core.llm_client.openai_generic_client import OpenAIGenericClient
    from graphiti_core.nodes import EntityNode, EpisodeType
    from graphiti_core.search.search_config import EdgeReranker, EdgeSearchConfig, EdgeSearchMethod, SearchConfig
    from graphiti_core.utils.maintenance.community_operations import get_community_clusters

    class NoReranker(CrossEncoderClient):  # type: ignore[misc]
        async def rank(self, query: str, passages: list[str]) -> list[tuple[str, float]]:
            raise AssertionError(f"{query!r}: no search here reranks {len(passages)} passages")

    driver = KuzuDriver()
    for statement in get_fulltext_indices(GraphProvider.KUZU):
        await driver.execute_query(statement)
    server = {"api_key": "none", "base_url": asked["url"]}
    graph = Graphiti(
        graph_driver=driver,
        llm_client=OpenAIGenericClient(LLMConfig(**server, model="scripted", small_model="scripted")),
        embedder=OpenAIEmbedder(OpenAIEmbedderConfig(**server, embedding_model="scripted", embedding_dim=384)),
        cross_encoder=NoReranker(),
        max_coroutines=1,
    )
    group = get_default_group_id(driver.provider)  # Kuzu's driver takes no other
    for place, message in enumerate(one for exchange in asked["exchanges"] for one in exchange):
        await graph.add_episode(
            name=f"message {place}",
            episode_body=f"{message['name']}: {message['content']}",
            source_description="a conversation",
            reference_time=datetime.fromisoformat(message["time"]),
            source=EpisodeType.message,
        )
    facts = await EntityEdge.get_by_group_ids(driver, [group])
    entities = await EntityNode.get_by_group_ids(driver, [group])
    clusters = await get_community_clusters(driver, [group])
    methods = [EdgeSearchMethod.bm25, EdgeSearchMethod.cosine_similarity, EdgeSearchMethod.bfs]
    edges = EdgeSearchConfig(search_methods=methods, reranker=EdgeReranker.rrf)
    found = [
        await graph.search_(query, SearchConfig(edge_config=edges, limit=asked["top_k"]), group_ids=[group])
        for query in asked["queries"]
    ]
    return {
        "version": version("graphiti-core"),
        "facts": [[one.fact, _day(one.valid_at), _day(one.invalid_at)] for one in facts],
        "entities": [one.name for one in entities],
        "communities": [sorted(one.name for one in cluster) for cluster in clusters],
        "ranked": [[one.fact for one in result.edges] for result in found],
    }


def _day(time: datetime | None) -> str | None:
    return None if time is None else f"{time:%Y-%m-%d}"


def main() -> None:
    """Answer the request on the standard input."""
    os.environ["GRAPHITI_TELEMETRY_ENABLED"] = "false"
    warnings.simplefilter("ignore")
    print(json.dumps(asyncio.run(run(json.load(sys.stdin)))))


if __name__ == "__main__":
    main()
