"""HippoRAG 2 (https://github.com/OSU-NLP-Group/HippoRAG), beside `eval.systems.hipporag2`.

It runs under an interpreter of its own, with hipporag, and imports nothing of this project. The standard input is one
JSON object (`eval.experiments.systems.package_run`), the last line of the standard output another: `version`;
`phrases`; `triples` ([subject, predicate, object], as the package writes them); `edges` of the graph that is walked
([name, name, weight], of a phrase its text and of a passage its place, parallel edges as one with the sum of their
weights); and `ranked` (the passages that each query finds, best first). Each message is one document; language and
vectors come from the server; options are the defaults.

vLLM, which the package imports when it is imported and uses for models on this machine alone, has a placeholder here:
the release that the package pins does not install beside a current torch.
"""

from __future__ import annotations

import ast
import json
import os
import sys
from collections import defaultdict
from importlib.metadata import version
from types import ModuleType
from typing import Any


class NotHere:
    """What is imported from vLLM and not used."""

    def __init__(self, *_: object, **__: object) -> None:
        raise AssertionError("no model is run on this machine")


def without_vllm() -> None:
    """Let `from vllm import SamplingParams, LLM` succeed."""
    vllm: Any = ModuleType("vllm")
    vllm.SamplingParams = vllm.LLM = NotHere
    sys.modules["vllm"] = vllm


def main() -> None:
    """Index every message, then search every query."""
    asked = json.load(sys.stdin)
    # LiteLLM would fetch a list of prices
    os.environ |= {"OPENAI_API_KEY": "none", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    without_vllm()
    from hipporag import HippoRAG

    memory = HippoRAG(
        save_dir=asked["folder"],
        llm_model_name="scripted",
        llm_base_url=asked["url"],
        embedding_model_name="text-embedding-scripted",  # the first two words choose the client
        embedding_base_url=asked["url"],
    )
    said = [f"{one['name']}: {one['content']}" for exchange in asked["exchanges"] for one in exchange]
    memory.index(said)
    found = memory.retrieve(asked["queries"], num_to_retrieve=asked["top_k"])
    told = {
        "version": version("hipporag"),
        "phrases": sorted(memory.entity_embedding_store.get_all_texts()),
        "triples": sorted(list(ast.literal_eval(one)) for one in memory.fact_embedding_store.get_all_texts()),
        "edges": edges(memory.graph, {text: place for place, text in enumerate(said)}),
        "ranked": [one.docs for one in found],
    }
    print(json.dumps(told))


def edges(graph: Any, places: dict[str, int]) -> list[list[Any]]:
    """Of an undirected graph of igraph, each pair of nodes once."""
    names = [places.get(node["content"], node["content"]) for node in graph.vs]
    total: defaultdict[tuple[int, int], float] = defaultdict(float)
    for edge in graph.es:
        total[min(edge.tuple), max(edge.tuple)] += edge["weight"]
    return [[names[one], names[other], weight] for (one, other), weight in total.items()]


if __name__ == "__main__":
    main()
