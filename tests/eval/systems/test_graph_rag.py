"""GraphRAG: communities known by hand, what a report is made of, and both searches."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from eval.harness.contract import Passage
from eval.systems.community_reports import ReportWriter, prioritised
from eval.systems.documents import default_chunker, passages_of
from eval.systems.graph_elements import ElementGraph, element_graph
from eval.systems.graph_rag import GraphRag, GraphRagOptions
from eval.systems.language import Language, Triple
from eval.systems.leiden_levels import Community, at_level, leiden_levels
from nscma_torch.llm.engines.contract import Request
from nscma_torch.text.embedders.hash_embedder import HashEmbedder
from tests.eval.systems.rig import ASKED, Scripted, conversation, places, reading, shared

SAID = (
    "Rita works with Ana.",
    "Ana lives with Bento.",
    "Bento works with Rita.",
    "Kilns need porcelain.",
    "Porcelain needs glaze.",
    "Glaze suits kilns.",
    "Rita fires kilns.",
)
WORDS = tuple(text.rstrip(".").split(" ", 1) for text in SAID)
TRIPLES = tuple(
    Triple(own[0], " ".join(own[1].split()[:-1]), own[1].split()[-1].removeprefix("with ")) for own in WORDS
)


def data_of(request: Request) -> dict[str, Any]:
    """What a prompt shows."""
    found: dict[str, Any] = json.loads(request.turns[-1].content.split("\n", 1)[1])
    return found


def ring(cliques: int) -> dict[tuple[int, int], float]:
    """Triangles in a ring, each joined to the next by one edge."""
    inside = [(3 * n + a, 3 * n + b) for n in range(cliques) for a, b in ((0, 1), (0, 2), (1, 2))]
    between = [(3 * n + 2, 3 * ((n + 1) % cliques)) for n in range(cliques)]
    return {(min(ends), max(ends)): 1.0 for ends in (*inside, *between)}


def test_two_triangles_on_a_bridge_are_two_communities() -> None:
    edges = {(0, 1): 1.0, (0, 2): 1.0, (1, 2): 1.0, (3, 4): 1.0, (3, 5): 1.0, (4, 5): 1.0, (2, 3): 1.0, (7, 7): 9.0}
    assert leiden_levels(edges, largest=10, seed=0) == [Community(0, (0, 1, 2)), Community(0, (3, 4, 5))]
    edges[2, 3] = 99.0
    assert (2, 3) in [own.members for own in leiden_levels(edges, largest=10, seed=0)], "edges weigh"
    assert leiden_levels({}, largest=10, seed=0) == []


def test_a_large_community_is_divided_by_leiden_again() -> None:
    """Modularity cannot tell the triangles of a long ring apart (its resolution limit), and can inside each part."""
    triangles = {(3 * n, 3 * n + 1, 3 * n + 2) for n in range(12)}
    found = leiden_levels(ring(12), largest=5, seed=1)
    top = [own for own in found if own.level == 0]
    assert len(top) < 12 and all(bool(own.children) == (len(own.members) > 5) for own in top)
    assert {own.members for own in found if not own.children} == triangles
    for own in (one for one in top if one.children):
        inside = [found[child] for child in own.children]
        assert {one.level for one in inside} == {1}
        assert sorted(node for one in inside for node in one.members) == [*own.members]
    assert [found[place].level for place in at_level(found, 0)] == [0] * len(top)
    assert {found[place].members for place in at_level(found, 7)} == triangles
    assert leiden_levels(ring(12), largest=12, seed=1) == [Community(0, own.members) for own in top]


def star() -> ElementGraph:
    """b - hub - a, hub - c - d: the hub has degree 3, c 2."""
    graph = ElementGraph()
    for row, (one, other) in enumerate((("d1", "c1"), ("hub", "a1"), ("hub", "b1"), ("c1", "hub"))):
        graph.relationship(row, one, other, f"{one} to {other}.")
    graph.summarise(Language(shared(), None), 50)
    return graph


def test_a_report_begins_with_the_ends_of_largest_degree() -> None:
    graph = star()
    names = [one.name for one in prioritised(graph, range(5))]
    # hub-c1 has 5, hub-a1 and hub-b1 4 in the order of rows, d1-c1 3
    assert names == [
        *("c1", "hub", "c1 and hub"),
        *("a1", "hub and a1", "b1", "hub and b1"),
        *("d1", "d1 and c1"),
    ]
    assert [one.name for one in prioritised(graph, [0, 1])] == ["d1", "c1", "d1 and c1"], "inside the community alone"


def test_reports_of_children_replace_their_elements_where_these_do_not_fit() -> None:
    """Of the child with most tokens first, and only as many as are needed."""
    graph = star()
    row = {one.name: place for place, one in enumerate(graph.entities)}
    small, large = (row["d1"], row["c1"]), (row["hub"], row["a1"], row["b1"])
    communities = [Community(0, tuple(range(5)), (1, 2)), Community(1, small), Community(1, large)]
    told: list[list[str]] = []

    def write(request: Request) -> str:
        told.append(data_of(request)["texts"])
        return json.dumps({"title": f"R{len(told)}", "summary": "all", "rating": len(told), "findings": []})

    engine = Scripted(write)
    embedder = HashEmbedder()
    language = Language(shared(engine=engine), engine)
    elements = sum(embedder.count_tokens([one.text for one in prioritised(graph, range(5))]))
    reports = ReportWriter(language, embedder, tokens=elements, words=9).write(graph, communities)
    assert [one.node.text for one in reports] == ["R3\nall", "R1\nall", "R2\nall"]
    assert [one.rating for one in reports] == [3, 1, 2] and reports[1].node.leaves == (0, 3), (
        "where c1 and d1 are named"
    )
    assert told[2] == [one.text for one in prioritised(graph, range(5))], "all of them fit"
    told.clear()
    ReportWriter(language, embedder, tokens=elements - 1, words=9).write(graph, communities)
    assert told[2][0] == "R2\nall" and "hub and a1: hub to a1." not in told[2] and "d1 and c1: d1 to c1." in told[2]
    assert "c1 and hub: c1 to hub." in told[2], "of what joins the children there is no other report"


def scribe(scores: Mapping[str, int]) -> Scripted:
    """Finds the triple of each text, writes reports that are lists of names, and points with scores by name."""

    def write(request: Request) -> str:
        data = data_of(request)
        match "" if request.schema is None else request.schema["title"]:
            case "ElementsForm" if "found" in data:
                return json.dumps({"entities": [], "relationships": []})
            case "ElementsForm":
                one = next(own for own, text in zip(TRIPLES, SAID, strict=True) if text in data["passage"])
                ends = [{"name": name, "type": "thing", "description": ""} for name in (one.subject, one.object)]
                told = {"source": one.subject, "target": one.object, "description": one.text}
                return json.dumps({"entities": ends, "relationships": [told]})
            case "ReportForm":
                names = sorted(text.partition(" (")[0] for text in data["texts"] if "(thing)" in text)
                return json.dumps({"title": ", ".join(names), "summary": "So it is.", "rating": 5, "findings": []})
            case "PointsOnReports":
                points = [
                    {"text": f"{name} matters.", "score": score, "reports": [int(number)]}
                    for number, text in data["reports"].items()
                    for name, score in scores.items()
                    if name in text
                ]
                return json.dumps({"points": points})
            case other:
                raise AssertionError(other)

    return Scripted(write)


def test_global_search_reads_the_most_helpful_points_and_none_of_score_0(tmp_path: Path) -> None:
    engine = scribe({"Ana": 40, "glaze": 90, "Bento": 0})
    run = shared(engine=engine)
    with reading({"kind": "graph-rag", "gleanings": 1}, run, tmp_path, conversation(SAID)) as session:
        finder = session._finder  # type: ignore[attr-defined]
        assert isinstance(finder, GraphRag)
        named = [{finder.graph.entities[row].name for row in own.members} for own in finder.communities]
        assert named == [{"Rita", "Ana", "Bento"}, {"Kilns", "porcelain", "glaze"}], "the bridge of one edge is cut"
        reply = session.ask("What matters?", options=(), now=ASKED)
    assert reply.text == "glaze matters. | Ana matters."
    assert set(places(reply)) <= set(range(7)) and places(reply)[0] in (3, 4, 5, 6) and places(reply)[1] in (0, 1, 2, 6)
    forms = [request.schema["title"] for request in engine.asked if request.schema is not None]
    assert forms.count("ElementsForm") == 14 and forms.count("ReportForm") == 2 and forms.count("PointsOnReports") == 1


def test_reports_are_packed_to_the_tokens_and_points_are_read_to_them() -> None:
    engine = scribe({"Ana": 40, "glaze": 90})
    embedder = HashEmbedder()
    own = GraphRag(Language(shared(engine=engine), engine), embedder, GraphRagOptions(gleanings=0), seed=1)
    own.keep(passages_of(conversation(SAID), default_chunker(embedder)))
    own._options = GraphRagOptions(tokens=embedder.count_tokens(["glaze matters."])[0])
    found = own.find("What matters?", ASKED)
    assert [passage.text for passage in found.passages] == ["glaze matters."]
    packs = [request for request in engine.asked if request.schema and request.schema["title"] == "PointsOnReports"]
    assert len(packs) == 2, "each report is a pack of its own"


def test_a_model_is_asked_what_it_missed_as_long_as_it_missed_something() -> None:
    rounds = iter(["Ana", "Bento", ""])
    seen: list[Any] = []

    def write(request: Request) -> str:
        data = data_of(request)
        seen.append(data.get("found"))
        name = next(rounds)
        entities = [{"name": name, "type": "person", "description": f"{name} is there."}] if name else []
        return json.dumps({"entities": entities, "relationships": []})

    engine = Scripted(write)
    passages = passages_of(conversation(["Ana and Bento are there."]), default_chunker(HashEmbedder()))
    graph = element_graph(Language(shared(engine=engine), engine), passages, gleanings=5, words=20)
    assert [one.text for one in graph.entities] == ["Ana (person): Ana is there.", "Bento (person): Bento is there."]
    assert [found and found["entities"] for found in seen] == [None, ["Ana"], ["Ana", "Bento"]]


def test_descriptions_of_one_element_are_summarised_and_its_instances_counted() -> None:
    graph = ElementGraph()
    for row, text in enumerate(("Ana knows Bento.", "Bento knows Ana.", "Ana knows Bento.")):
        graph.entity(row, "the Ana" if row else "Ana", f"Ana is tall, {min(row, 1)}.", "person")
        graph.relationship(row, *pairwise_ends(text), text)
    engine = Scripted(lambda request: f"{len(data_of(request)['texts'])} texts")
    graph.summarise(Language(shared(engine=engine), engine), 50)
    assert [one.text for one in graph.entities] == ["Ana (person): 2 texts", "Bento"]
    (told,) = graph.relationships.values()
    assert told.instances == 3 and told.rows == [0, 1, 2] and told.text == "Ana and Bento: 2 texts"


def pairwise_ends(text: str) -> tuple[str, str]:
    """The first and the last word."""
    ((one, other),) = pairwise([text.split()[0], text.rstrip(".").split()[-1]])
    return one, other


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Triples as the trained reader would find them."""
    known = dict(zip(SAID, TRIPLES, strict=True))

    def triples(language: Language, passages: Sequence[Passage]) -> list[list[Triple]]:
        return [[known[passage.text]] for passage in passages]

    monkeypatch.setattr(Language, "_read", triples)


@pytest.mark.usefixtures("read")
def test_local_search_reads_around_the_nearest_entities() -> None:
    embedder = HashEmbedder()
    own = GraphRag(Language(shared(), None), embedder, GraphRagOptions(search="local", entities=2), seed=1)
    own.keep(passages_of(conversation(SAID), default_chunker(embedder)))
    row = {one.name: place for place, one in enumerate(own.graph.entities)}
    kilns, glaze, rita = row["Kilns"], row["glaze"], row["Rita"]
    assert own.passages_of([glaze, kilns]) == [4, 5, 3, 6], "of the first entity first"
    inside, *others = own.relationships_of([glaze, kilns])
    assert inside.name == "glaze and Kilns"
    assert [one.name for one in others] == ["Kilns and porcelain", "porcelain and glaze", "Rita and Kilns"], (
        "what both are joined with comes before what one is"
    )
    own._options = GraphRagOptions(search="local", entities=2, relationships=1)
    assert len(own.relationships_of([glaze, kilns])) == 3
    assert [{*report.node.leaves} for report in own.reports_of([glaze, kilns, rita])] == [{3, 4, 5, 6}, {0, 1, 2, 6}]
    found = own.find("glaze of kilns", ASKED)
    texts = [passage.text for passage in found.passages]
    assert texts[:4] == [SAID[4], SAID[5], SAID[3], SAID[6]] or texts[:4] == [SAID[5], SAID[3], SAID[6], SAID[4]]
    assert any(text.startswith("glaze and Kilns:") for text in texts[4:])
    assert found.ranking is not None and {passage.place for passage in found.ranking[:4]} == {3, 4, 5, 6}
    own._options = GraphRagOptions(search="local", entities=2, tokens=4, passages=1, reports=0)
    assert len(own.find("glaze of kilns", ASKED).passages) == 1, "one, however long"
