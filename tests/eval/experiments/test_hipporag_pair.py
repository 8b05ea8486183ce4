"""HippoRAG 2 beside its authors' package: what the scripts answer, what is compared; no package is needed here."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from eval.experiments.systems import hipporag_pair
from eval.experiments.systems.packages import hipporag_package
from eval.experiments.systems.scripted_conversation import QUERIES, SPOKEN, Spoken, said
from nscma_torch.text.hash_embedder import HashEmbedder

_LISBON = ["rita", "lives in", "lisbon"]
_NUTS = ["rita", "is allergic to", "nuts"]


def prompt(text: str) -> dict[str, Any]:
    """A request of the package: its examples stand in the turns before."""
    example = {"role": "user", "content": f"Example. {SPOKEN[0].text}"}
    return {"messages": [example, {"role": "user", "content": text}]}


def form(title: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """A request of ours."""
    wanted = {"type": "json_schema", "json_schema": {"name": "reply", "schema": {"title": title}}}
    return {"messages": [{"role": "user", "content": f"DATA:\n{json.dumps(data)}"}], "response_format": wanted}


def test_entities_and_triples_are_of_the_last_turn_alone() -> None:
    script = hipporag_pair.TheirScript()
    spoken = SPOKEN[3]
    assert script(prompt(said(spoken))) == {"named_entities": ["Tom", "Ana", "Miso"]}
    asked = f'Convert the paragraph.\n```\n{said(spoken)}\n```\n\n{{"named_entities": ["Tom", "Ana", "Miso"]}}'
    assert script(prompt(asked)) == {"triples": [["Tom", "has sister", "Ana"], ["Ana", "has cat", "Miso"]]}


@pytest.mark.parametrize(("filtered", "kept"), [(True, [_LISBON]), (False, [_NUTS, _LISBON])])
def test_the_recognition_memory_keeps_what_bears_on_the_question(filtered: bool, kept: list[list[str]]) -> None:
    theirs = hipporag_pair.TheirScript(filtered=filtered)
    shown = json.dumps({"fact": [_NUTS, _LISBON]})
    asked = f"[[ ## question ## ]]\n{QUERIES[0]}\n\n[[ ## fact_before_filter ## ]]\n{shown}\n\nRespond with fields"
    written = theirs(prompt(asked))
    assert isinstance(written, str) and json.loads(written.split("\n")[1]) == {"fact": kept}
    ours = hipporag_pair.OurScript(filtered=filtered)
    texts = {"1": "Rita is allergic to nuts", "2": "Rita lives in Lisbon"}
    assert ours(form("Numbers", {"question": QUERIES[0], "texts": texts})) == {"numbers": [2] if filtered else [1, 2]}
    assert theirs.decisions == ours.decisions == {"triples shown": 2, "triples kept": len(kept)}
    assert theirs.passed == ours.passed == [f"{QUERIES[0]} {' '.join(triple)}" for triple in kept]


def test_our_forms_are_answered_with_the_same_triples() -> None:
    script = hipporag_pair.OurScript()
    assert script(form("EntitiesForm", {"passage": said(SPOKEN[2])})) == {"entities": ["Rita", "Biscuit"]}
    told = script(form("TriplesForm", {"passage": said(SPOKEN[2]), "entities": ["Rita"]}))
    assert told == {"triples": [{"subject": "Rita", "predicate": "has dog", "object": "Biscuit"}]}
    with pytest.raises(ValueError, match="no reply"):
        script(form("Unheard", {"passage": said(SPOKEN[2])}))


def test_something_that_was_said_bears_on_every_question() -> None:
    def texts(spoken: Spoken) -> list[str]:
        return [f"{fact.subject} {fact.predicate} {fact.object}".lower() for fact in spoken.told]

    stated = [text for spoken in SPOKEN for text in texts(spoken)]
    for question, beginnings in hipporag_pair.BEARING.items():
        assert all(any(text.startswith(one) for text in stated) for one in beginnings), question


def test_an_edge_is_told_by_its_kind() -> None:
    triples = [("Rita", "lives in", "Lisbon")]
    edges: list[tuple[str | int, str | int]] = [("Lisbon", "Rita"), ("Lisbon", "lisboa"), ("Rita", 3), (4, "Rita")]
    assert hipporag_pair.kept_items(["Rita"], triples, edges) == [
        "phrase rita",
        "triple rita lives in lisbon",
        "relation lisbon - rita",
        "synonyms lisboa - lisbon",
        "passage 3 holds rita",
        "passage 4 holds rita",
    ]


def test_parallel_edges_are_one_with_the_sum_of_their_weights() -> None:
    nodes = [{"content": "rita"}, {"content": "lisbon"}, {"content": "Rita: Here."}]

    class Edge(dict[str, float]):
        tuple: tuple[int, int]

    edges = []
    for ends in ((0, 1), (1, 0), (2, 0)):
        edges.append(Edge(weight=1.0))
        edges[-1].tuple = ends
    found = hipporag_package.edges(SimpleNamespace(vs=nodes, es=edges), {"Rita: Here.": 0})
    assert found == [["rita", "lisbon", 2.0], ["rita", 0, 1.0]]


def test_a_model_of_the_placeholder_does_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vllm", None)
    hipporag_package.without_vllm()
    with pytest.raises(AssertionError, match="no model"):
        sys.modules["vllm"].LLM("scripted")


def test_a_run_of_ours_keeps_the_graph_of_the_script() -> None:
    outcome = hipporag_pair.ours(HashEmbedder(), filtered=False)
    triples = {(fact.subject, fact.predicate, fact.object) for one in SPOKEN for fact in one.told}
    phrases = {name for subject, _, object in triples for name in (subject, object)}
    kinds = {kind: [one for one in outcome.items if one.startswith(f"{kind} ")] for kind in ("phrase", "triple")}
    assert sorted(kinds["phrase"]) == sorted(f"phrase {name.lower()}" for name in phrases)
    assert len(kinds["triple"]) == len(triples) and outcome.decisions["triples kept"] == 5 * len(QUERIES)
    assert outcome.calls == 2 * len(SPOKEN) + len(QUERIES), "entities, triples, and a filter for each question"
