"""GraphRAG's communities, level by level: the package's hierarchical Leiden, and `eval.systems.leiden_levels`.

The graph is that of the characters of Les Misérables (Knuth 1993, The Stanford GraphBase), who are joined as often as
they appear together. Nothing is searched, and no model is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import networkx

from eval.experiments.systems.comparison import Outcome
from eval.experiments.systems.package_run import run_package
from eval.systems.leiden_levels import leiden_levels
from nscma_torch.protocols import Embedder

_LARGEST = 10
_SEED = 1


def edges() -> list[tuple[str, str, float]]:
    """Of the graph, by name."""
    graph = networkx.les_miserables_graph()
    return sorted((min(a, b), max(a, b), float(held["weight"])) for a, b, held in graph.edges(data=True))


def theirs(python: Path, embedder: Embedder) -> Outcome:  # noqa: ARG001
    """The package."""
    told = run_package(python, "graphrag_package.py", {"edges": edges(), "largest": _LARGEST, "seed": _SEED})
    return _outcome(f"graphrag {told['version']}, Leiden", [(level, own) for level, own in told["communities"]])


def ours(embedder: Embedder) -> Outcome:  # noqa: ARG001
    """Our levels."""
    told = edges()
    names = sorted({name for a, b, _ in told for name in (a, b)})
    row = {name: place for place, name in enumerate(names)}
    weights = {(row[a], row[b]): weight for a, b, weight in told}
    found = leiden_levels(weights, largest=_LARGEST, seed=_SEED)
    return _outcome("leiden_levels", [(own.level, [names[place] for place in own.members]) for own in found])


def _outcome(code: str, communities: Sequence[tuple[int, Sequence[str]]]) -> Outcome:
    items = [f"level {level}: {', '.join(sorted(members))}" for level, members in communities]
    return Outcome(code, items, ())
