"""The whole of GraphRAG, index and both searches: the package, and `eval.systems.graph_rag`.

What is kept are entities, relationships and communities, each with what its description or its report tells; names are
compared in capitals, as the package writes them. What local search puts before the model is compared part by part, the
best `TOP_K` of the passages, all else whole; of a global search the points that reach the reduce step.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from eval.experiments.systems.comparison import Outcome
from eval.experiments.systems.graphrag_script import OurScript, TheirScript, facts_shown
from eval.experiments.systems.our_run import our_run, texts_found
from eval.experiments.systems.package_run import conversation, run_package
from eval.experiments.systems.scripted_conversation import QUERIES, TOP_K
from eval.experiments.systems.scripted_server import scripted_server
from eval.systems.graph_rag import GraphRag, GraphRagOptions
from nscma_torch.protocols import Embedder

LARGEST = 10
_SEED = 1
_POINTS = "points of global search"


def theirs(python: Path, embedder: Embedder) -> Outcome:
    """The package with its own settings."""
    return their_run(python, embedder, {})


def theirs_of_all(python: Path, embedder: Embedder) -> Outcome:
    """The package where it divides the whole graph, and where every gleaning begins with the list delimiter."""
    return their_run(python, embedder, {"cluster_graph": {"use_lcc": False}}, "\n##\n")


def their_run(python: Path, embedder: Embedder, options: Mapping[str, Any], gleaned_after: str = "") -> Outcome:
    """The package, with some settings in place of its own and some beginning of every gleaning."""
    script = TheirScript(gleaned_after)
    more = {"dimension": embedder.dimension, "largest": LARGEST, "options": options}
    with scripted_server(script, embedder) as server:
        told = run_package(python, "graphrag_index_package.py", {**conversation(server.url), **more})
        calls = server.calls
    items = [
        *(entity_item(title, text) for title, text in told["entities"]),
        *(relationship_item(source, target, text, weight) for source, target, text, weight in told["relationships"]),
        *(community_item(level, titles, report) for level, titles, report in told["communities"]),
    ]
    shown = told["shown"]
    parts = {
        "entities": [[_entity(one) for one in own["entities"]] for own in shown],
        "relationships": [[_joined(*ends) for ends in own["relationships"]] for own in shown],
        "reports": [[_facts(one) for one in own["reports"]] for own in shown],
        _POINTS: [script.reduced.get(query, []) for query in QUERIES],
    }
    sources = [[one.split(": ", 1)[1] for one in own["sources"][:TOP_K]] for own in shown]
    return Outcome(f"graphrag {told['version']}", items, sources, script.decisions, calls, parts)


def ours(embedder: Embedder) -> Outcome:
    """Ours: an index and a search of each kind, of which the local one asks no model."""
    found: dict[str, list[list[str]]] = {}
    for search in ("local", "global"):
        script = OurScript()
        with our_run(script, embedder) as (run, calls):
            own = GraphRag(run.language, run.embedder, GraphRagOptions(search=search, largest=LARGEST), _SEED)
            own.keep(run.passages)
            found[search] = texts_found(own)
    graph = own.graph
    names = [one.name for one in graph.entities]
    items = [
        *(entity_item(one.name, one.description) for one in graph.entities),
        *(
            relationship_item(names[a], names[b], one.description, one.instances)
            for (a, b), one in graph.relationships.items()
        ),
        *(
            community_item(one.level, [names[row] for row in one.members], report.node.text)
            for one, report in zip(own.communities, own.reports, strict=True)
        ),
    ]
    entities = {one.text: _entity(one.name) for one in graph.entities}
    joined = {one.text: _joined(names[a], names[b]) for (a, b), one in graph.relationships.items()}
    reports = {one.node.text: _facts(one.node.text) for one in own.reports}
    parts = {
        "entities": _among(found["local"], entities),
        "relationships": _among(found["local"], joined),
        "reports": _among(found["local"], reports),
        _POINTS: [
            [f"{script.scores[query, text]}: {text}" for text in texts]
            for query, texts in zip(QUERIES, found["global"], strict=True)
        ],
    }
    written = {*entities, *joined, *reports}
    sources = [[text for text in texts if text not in written][:TOP_K] for texts in found["local"]]
    return Outcome("graph_rag", items, sources, script.decisions, calls[0], parts)


def entity_item(name: str, description: str) -> str:
    """An entity as a text."""
    return f"entity {_entity(name)}: {description}"


def relationship_item(one: str, other: str, description: str, weight: float) -> str:
    """A relationship as a text: the same from both ends."""
    return f"relationship {_joined(one, other)}, weight {weight:g}: {description}"


def community_item(level: int, members: Iterable[str], report: str | None) -> str:
    """A community as a text, with the facts of its report."""
    told = "no report" if report is None else f"report: {_facts(report)}"
    return f"community of level {level}, {', '.join(sorted(_entity(one) for one in members))}, {told}"


def _entity(name: str) -> str:
    return name.upper()


def _joined(one: str, other: str) -> str:
    return " and ".join(sorted((_entity(one), _entity(other))))


def _facts(report: str) -> str:
    return " ".join(fact.text for fact in facts_shown(report))


def _among(found: Sequence[Sequence[str]], wanted: Mapping[str, str]) -> list[list[str]]:
    return [[wanted[text] for text in texts if text in wanted] for texts in found]
