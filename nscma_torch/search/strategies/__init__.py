"""Retrieval strategies by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from nscma_torch.search.context import Strategy
from nscma_torch.search.strategies.collapsed_tree import collapsed_tree
from nscma_torch.search.strategies.graph import graph
from nscma_torch.search.strategies.hyde import hyde
from nscma_torch.search.strategies.iterative import iterative
from nscma_torch.search.strategies.links import links
from nscma_torch.search.strategies.prune_and_grow import prune_and_grow
from nscma_torch.search.strategies.rerank import rerank
from nscma_torch.search.strategies.single_step import single_step
from nscma_torch.search.strategies.subquestions import self_questioning
from nscma_torch.search.strategies.traversal import traversal

STRATEGIES: Mapping[str, Strategy] = MappingProxyType(
    {
        "single-step": single_step,
        "links": links,
        "rerank": rerank,
        "iterative": iterative,
        "traversal": traversal,
        "global": collapsed_tree,
        "prune-and-grow": prune_and_grow,
        "graph": graph,
        "hyde": hyde,
        "self-questioning": self_questioning,
    }
)
