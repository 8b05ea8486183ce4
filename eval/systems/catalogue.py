"""All systems, by the kind that their section of an evaluation's configuration names."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from eval.harness.contract import Shared, System
from eval.harness.plugins import is_plugin, plugin
from eval.systems.a_mem import make_a_mem
from eval.systems.cam import make_cam
from eval.systems.em_llm import make_em_llm
from eval.systems.generative_agents import make_generative_agents
from eval.systems.graph_rag import make_graph_rag
from eval.systems.hipporag import make_hipporag
from eval.systems.hipporag2 import make_hipporag2
from eval.systems.langmem import make_langmem
from eval.systems.markdown_files import make_markdown_files
from eval.systems.mem0_operations import make_mem0
from eval.systems.mem_tree import make_mem_tree
from eval.systems.memgpt import make_memgpt
from eval.systems.memory_bank import make_memory_bank
from eval.systems.nscma import make_nscma
from eval.systems.peer import make_peer
from eval.systems.provider import is_provider, make_provider
from eval.systems.rag import make_rag
from eval.systems.raptor import make_raptor
from eval.systems.read_agent import make_read_agent
from eval.systems.rolling_summary import make_rolling_summary
from eval.systems.search import make_search
from eval.systems.structural_memory import make_structures
from eval.systems.window import make_full_context, make_last_turns, make_sliding_window
from eval.systems.zep import make_zep
from nscma_torch.core.errors import ConfigError

SYSTEMS: Mapping[str, Callable[[Mapping[str, Any], Shared], System]] = MappingProxyType(
    {
        "nscma": make_nscma,
        "cam": make_cam,
        "structures": make_structures,
        "sliding-window": make_sliding_window,
        "last-turns": make_last_turns,
        "full-context": make_full_context,
        "bm25": make_search,
        "dense": make_search,
        "rrf": make_search,
        "rag": make_rag,
        "markdown-files": make_markdown_files,
        "rolling-summary": make_rolling_summary,
        "memory-bank": make_memory_bank,
        "raptor": make_raptor,
        "graph-rag": make_graph_rag,
        "hipporag": make_hipporag,
        "hipporag2": make_hipporag2,
        "mem-tree": make_mem_tree,
        "read-agent": make_read_agent,
        "em-llm": make_em_llm,
        "generative-agents": make_generative_agents,
        "a-mem": make_a_mem,
        "memgpt": make_memgpt,
        "langmem": make_langmem,
        "mem0-operations": make_mem0,
        "zep": make_zep,
        "peer": make_peer,
    }
)


def make_system(section: Mapping[str, Any], shared: Shared) -> System:
    """The system of a [[systems]] section: `kind`, a `name` for tables, by default the kind, and the kind's options.

    A kind `package.module:Class` is a class of your own: a provider (`provider`), or one that makes a `System` of its
    section and what the run shares. Raises `ConfigError` for an unknown kind or key, naming the nearest known one.
    """
    kind = str(section.get("kind"))
    if is_plugin(kind):
        made, own = plugin(kind), {"name": kind, **section}
        return make_provider(made, own, shared) if is_provider(made) else _own_system(made, own, shared)
    if kind not in SYSTEMS:
        near = difflib.get_close_matches(kind, SYSTEMS, n=1, cutoff=0.0)
        raise ConfigError(f"there is no system of kind {kind!r}; did you mean {near[0]!r}? Kinds: {', '.join(SYSTEMS)}")
    return SYSTEMS[kind]({"name": kind, **section}, shared)


def _own_system(made: Callable[[Mapping[str, Any], Shared], Any], section: Mapping[str, Any], shared: Shared) -> System:
    system = made(section, shared)
    if not (hasattr(system, "name") and hasattr(system, "open")):
        raise ConfigError(f"{section['kind']!r} makes no system: it has no name and open (eval/harness/contract.py)")
    found: System = system
    return found
