"""Zep: two timelines, resolution, communities, and the orders of its search, by examples known by hand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
import torch

from eval.systems.documents import default_chunker, passages_of
from eval.systems.language import Language
from eval.systems.rerankers import fused, marginal
from eval.systems.temporal_graph import Entity, Fact, TemporalGraph, contradict
from eval.systems.zep import Zep, ZepOptions
from eval.systems.zep_communities import Communities, propagated
from eval.systems.zep_search import Texts, ZepSearch
from nscma_torch.core.records import Extraction, FactOperation, Statement, ToldFact, Unit
from nscma_torch.llm.engines.contract import Request
from nscma_torch.text.embedders.hash_embedder import HashEmbedder
from tests.eval.systems.rig import ASKED, BEGUN, Scripted, conversation, shared

SAID = (
    "I live in Lisbon with Annie.",
    "Ana Reyes has a kiln.",
    "Yes, Lisbon is where I live.",
    "Last week I moved to Porto.",
)


def day(number: int) -> datetime:
    return BEGUN + timedelta(days=number)


def fact(one: int, other: int, text: str = "", *, valid: int | None = 0, invalid: int | None = None) -> Fact:
    begin, end = (None if at is None else day(at) for at in (valid, invalid))
    return Fact((one, other), "knows", text, begin, end, day(0), [0])


def test_what_is_contradicted_ends_where_the_other_begins() -> None:
    old, new = fact(0, 1, "old"), fact(0, 2, "new", valid=3)
    contradict(old, new, day(5))
    assert (old.valid, old.invalid, old.expired) == (day(0), day(3), day(5)) and new.invalid is new.expired is None
    assert old.end_by(day(4)) is None and old.end_by(day(5)) == day(3)
    assert old.shown(day(4)) == "old (date range: 2024-03-01 - present)"
    assert old.shown() == "old (date range: 2024-03-01 - 2024-03-04)"
    assert fact(0, 1, "so", valid=None).shown() == "so (date range: date unknown - present)"


def test_a_new_fact_that_began_earlier_ends_itself_and_others_than_these_end_nothing() -> None:
    now, before = fact(0, 1, valid=3), fact(0, 2, valid=1)
    contradict(now, before, day(9))
    assert now.invalid is None and (before.invalid, before.expired) == (day(3), day(9))
    same = fact(0, 1), fact(0, 2)
    contradict(*same, day(9))
    assert same[0].invalid == day(0) and same[1].invalid is None, "new information has precedence"
    for old, new in (
        (fact(0, 1, invalid=2), fact(0, 2, valid=2)),
        (fact(0, 1, valid=5), fact(0, 2, valid=1, invalid=5)),
        (fact(0, 1, valid=None), fact(0, 2)),
        (fact(0, 1), fact(0, 2, valid=None)),
    ):
        ends = old.invalid, new.invalid
        contradict(old, new, day(9))
        assert (old.invalid, new.invalid) == ends and old.expired is new.expired is None, "they never meet"


def data_of(request: Request) -> dict[str, Any]:
    """What a prompt shows."""
    found: dict[str, Any] = json.loads(request.turns[-1].content.split("\n", 1)[1])
    return found


def answered(data: dict[str, Any]) -> Any:
    """What the scripted model finds of `SAID`."""
    message = data.get("message", "")
    if "candidates" in data:
        alias = {"Annie": "Ana Reyes", "Ana Reyes": "Annie"}.get(data["entity"]["name"], data["entity"]["name"])
        known = {own["name"]: int(number) for number, own in data["candidates"].items()}
        number = known.get(data["entity"]["name"], known.get(alias, 0))
        name = "Ana Reyes" if number and alias == "Annie" else data["entity"]["name"]
        return {"duplicate": number, "name": name, "summary": f"{name} of {number}."}
    if "found" in data:
        return {"entities": []}
    if "fact" in data:
        lives = {int(n) for own in (data["own"], data["others"]) for n, text in own.items() if "Rita lives in" in text}
        same = [int(n) for n, text in data["own"].items() if text.partition(" (")[0] == data["fact"].partition(" (")[0]]
        found = {"contradicted": sorted(lives - {*same}) if "Rita lives in" in data["fact"] else []}
        return {**found, "same": same} if data["own"] else found
    if "entities" in data:
        row = {name: int(n) for n, name in data["entities"].items()}
        town = "Porto" if "Porto" in message else "Lisbon"
        if town not in row:
            return {"facts": []}
        told = {"subject": row["Rita"], "object": row[town], "predicate": "lives in", "fact": f"Rita lives in {town}"}
        return {"facts": [{**told, "valid": "2024-03-03" if "moved" in message else data["time"][:10], "invalid": ""}]}
    names = [name for name in ("Lisbon", "Annie", "Ana Reyes", "kiln", "Porto") if name in message]
    return {"entities": [{"name": name, "summary": f"{name} is spoken of."} for name in names]}


def scribe(request: Request) -> str:
    return "Things" if request.schema is None else json.dumps(answered(data_of(request)))


def prompted(said: Sequence[str] = SAID, **options: Any) -> tuple[Zep, Scripted]:
    """Zep with the scripted model; to a hash, names of one person in other words are not alike at all."""
    engine = Scripted(scribe)
    embedder = HashEmbedder()
    own = Zep(Language(shared(engine=engine), engine), embedder, ZepOptions(**{"least_cosine": -1, **options}))
    own.keep(passages_of(conversation(said), default_chunker(embedder)))
    return own, engine


def test_episodes_go_into_the_graph_one_after_the_other() -> None:
    own, engine = prompted()
    names = {entity.name: entity.rows for entity in own.graph.entities}
    assert names == {"Rita": [0, 1, 2, 3], "Lisbon": [0, 2], "Ana Reyes": [0, 1], "kiln": [1], "Porto": [3]}
    lisbon, porto = own.graph.facts
    assert lisbon.text == "Rita lives in Lisbon" and lisbon.rows == [0, 2], "stated twice, and one edge"
    assert (lisbon.valid, lisbon.created) == (day(0), day(0)), "the time of the message on the day of the message"
    assert (lisbon.invalid, lisbon.expired) == (porto.valid, day(3)) and porto.valid is not None
    assert (porto.valid.isoformat(), porto.invalid, porto.created) == ("2024-03-03T00:00:00+00:00", None, day(3))
    shown = [data_of(request) for request in engine.asked]
    extracted = [data["before"] for data in shown if "message" in data and "candidates" not in data]
    assert max(map(len, extracted)) == 3 and extracted[-1] == [f"Rita: {text}" for text in SAID[:3]]
    assert next(data["time"] for data in shown if "time" in data) == "2024-03-01 09:00, Friday"
    found = own.find("Where does Rita live?", ASKED)
    texts = [passage.text for passage in found.passages]
    assert texts.index("Rita lives in Porto (date range: 2024-03-03 - present)") < 2
    assert "Rita lives in Lisbon (date range: 2024-03-01 - 2024-03-03)" in texts[:2]
    assert any(text.startswith("Ana Reyes: ") for text in texts[2:])
    early = [passage.text for passage in own.find("Where does Rita live?", day(2)).passages]
    assert "Rita lives in Lisbon (date range: 2024-03-01 - present)" in early and not any(
        "Porto" in own for own in early
    )


def test_the_last_messages_are_the_context_of_an_episode() -> None:
    _, engine = prompted([f"{SAID[2]} {number}" for number in range(7)], before=4)
    found = [data_of(request) for request in engine.asked]
    before = [data["before"] for data in found if data.get("message", "").endswith("6") and "before" in data]
    assert before and all([text[-1] for text in own] == ["2", "3", "4", "5"] for own in before)


def graph(*facts: Fact) -> TemporalGraph:
    """Entities e0, e1, ... and these facts."""
    made = TemporalGraph()
    made.facts = list(facts)
    made.entities = [Entity(f"e{n}", rows=[0]) for n in range(1 + max(end for one in facts for end in one.ends))]
    return made


def two_triangles() -> TemporalGraph:
    inside = [fact(3 * n + one, 3 * n + other, "so.") for n in (0, 1) for one, other in ((0, 1), (1, 2), (2, 0))]
    return graph(*inside, fact(2, 3, "so."))


def test_communities_are_those_that_labels_agree_in() -> None:
    assert sorted(map(sorted, propagated(two_triangles()))) == [[0, 1, 2], [3, 4, 5]]
    assert propagated(TemporalGraph()) == []


def test_a_new_entity_joins_the_community_of_most_neighbours() -> None:
    own = two_triangles()
    made = Communities(Language(shared(), None), 30)
    made.update(own, range(6))
    assert [one.members for one in made.found] == [[0, 1, 2], [3, 4, 5]] and made.found[0].name == "e2, e0, e1"
    own.facts += [fact(6, 4), fact(5, 6), fact(6, 0)]
    own.entities.append(Entity("e6", "The newest of all these entities here.", [0]))
    made.update(own, [6])
    assert [one.members for one in made.found] == [[0, 1, 2], [3, 4, 5, 6]]
    assert "newest" in made.found[1].summary and "newest" not in made.found[0].summary
    made.found[0].members.append(7)
    own.facts += [fact(8, 0), fact(8, 4)]
    own.entities += [Entity("e7"), Entity("e8")]
    assert made.nearest(own, 8) == 0 and made.nearest(own, 7) is None, "the first of two of one size; no neighbour"
    made.found[1].members += [9, 10]
    assert made.nearest(own, 8) == 1, "the larger one"
    own.entities += [Entity(f"e{n}") for n in (9, 10, 11)]
    made.update(own, [])
    assert sorted(len(one.members) for one in made.found) == sorted(map(len, propagated(own))), "twice as many: anew"


def test_rankings_are_fused_and_results_made_unlike() -> None:
    # 7: 1 + 1/3; 5: 1/2 + 1/2; 9: 1/3 + 1
    assert fused([[7, 5, 9], [9, 5, 7]]) == [7, 9, 5] and fused([[1], [2, 1]]) == [1, 2] and fused([]) == []
    vectors = torch.nn.functional.normalize(torch.tensor([[1.0, 0.1], [1.0, 0.0], [0.8, -0.6]]), dim=1)
    # the query is nearest to 1; then 0 has (.995 - .995) / 2 = 0 and 2 has (.8 - .8) / 2 = 0 but for its own likeness
    query = torch.tensor([1.0, 0.0])
    assert marginal([0, 1, 2], vectors, query, 2)[0] == 1
    assert marginal([0, 1, 2], vectors, torch.tensor([0.9, -0.4359]), 3)[:2] == [2, 0], "1 is more like 2 than 0 is"


def searched(own: TemporalGraph, question: str, rerank: Any, most: int = 9) -> tuple[list[int], list[int]]:
    embedder = HashEmbedder()
    texts, names = [one.text for one in own.facts], [one.name for one in own.entities]
    search = ZepSearch(
        own,
        Texts(texts, embedder.embed(texts), -1),
        Texts(names, embedder.embed(names), -1),
        Texts([], embedder.embed(["a"])[:0], -1),
        rerank,
    )
    known = range(len(own.facts)), range(len(own.entities))
    return search.facts_and_entities(question, embedder.embed_query(question), *known, most)


def test_what_is_searched_is_ordered_by_mentions_or_by_distance() -> None:
    """A path e0 - e1 - e2 - e3; the question names e0."""
    own = graph(fact(0, 1, "alpha."), fact(1, 2, "beta."), fact(2, 3, "gamma."))
    own.facts[2].rows = [0, 1, 2]
    own.entities[3].rows = [0, 1]
    assert searched(own, "e0?", "node_distance") == ([0, 1, 2], [0, 1, 2, 3])
    facts, entities = searched(own, "e0?", "episode_mentions")
    assert facts[0] == 2 and entities[:2] == [3, 0]
    assert searched(own, "gamma e0?", "rrf", 1) == ([2], [0])
    assert set(searched(own, "e0?", "mmr")[0]) == {0, 1, 2}


def test_breadth_first_search_finds_what_shares_no_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """By BM25 one fact is found, and its source leads to two more; the fourth is too far."""
    own = graph(*(fact(n, n + 1, f"word{n}.") for n in range(4)))
    monkeypatch.setattr(Texts, "rankings", lambda *_: [[0]])
    facts, entities = searched(own, "word0?", "rrf")
    assert facts == [0, 1, 2] and entities == [0, 1, 2, 3]


def test_a_result_by_vectors_exceeds_the_least_cosine() -> None:
    """Cosines are .8, .6 and 0; the second has the least one itself, the third shares a word with the question."""
    vectors = torch.tensor([[0.8, 0.6], [0.6, 0.8], [0.0, 1.0]])
    texts, query = ["alpha", "beta", "gamma"], torch.tensor([1.0, 0.0])
    least = float((vectors @ query)[1])
    assert Texts(texts, vectors, least).rankings("gamma?", query, range(3), 9) == [[0], [2]]
    assert Texts(texts, vectors, -1).rankings("gamma?", query, range(3), 9) == [[0, 1, 2], [2]]
    assert "Annie" in {entity.name for entity in prompted(least_cosine=0.2)[0].graph.entities}, "nor as a candidate"


class Reads:
    """Language tasks that state where Rita lives and lived, and change what the words say."""

    def __init__(self) -> None:
        self.read: list[str] = []

    def extract(self, units: Sequence[Unit], **_: Any) -> list[Extraction]:
        (unit,) = units
        self.read.append(unit.text)
        town = next((town for town in ("Lisbon", "Porto", "Braga") if town in unit.text), "")
        own = Statement(
            "Ana" if "Ana " in unit.text else "Rita",
            "lives_in",
            town,
            negated="not" in unit.text,
            past="once" in unit.text,
        )
        return [Extraction(statements=(own,) if town else ())]

    def operate(self, new: Sequence[tuple[ToldFact, Sequence[ToldFact]]]) -> list[FactOperation]:
        ((one, known),) = new
        same = [fact.id for fact in known if fact.text == one.text]
        return [
            FactOperation("NOOP", tuple(same)) if same else FactOperation("UPDATE", tuple(fact.id for fact in known))
        ]


def test_without_a_model_statements_are_facts(monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = Reads()
    monkeypatch.setattr("eval.systems.language.KeptExtractions", lambda *_: tasks)
    said = (
        "I live in Lisbon.",
        "Lisbon, yes.",
        "I live in Porto.",
        "I do not live in Porto.",
        "I once lived in Braga.",
    )
    embedder = HashEmbedder()
    own = Zep(Language(shared(), None), embedder, ZepOptions())
    own.keep(passages_of(conversation(said), default_chunker(embedder)))
    assert tasks.read == list(said), "each episode once"
    lisbon, porto, braga = own.graph.facts
    assert [one.text for one in own.graph.facts] == [f"Rita lives in {town}" for town in ("Lisbon", "Porto", "Braga")]
    assert (lisbon.rows, lisbon.valid, lisbon.invalid, lisbon.expired) == ([0, 1], day(0), day(2), day(2))
    assert (porto.valid, porto.invalid, porto.expired) == (day(2), day(3), day(3)), "denied"
    assert (braga.valid, braga.invalid) == (None, day(4)), "nobody says since when"
    assert [entity.name for entity in own.graph.entities] == ["Rita", "Lisbon", "Porto", "Braga"]
    assert own.graph.entities[0].summary.split("\n") == [one.text for one in own.graph.facts]
    back = [*conversation(said), replace(conversation([said[0]])[0], timestamp=day(9))]
    own = Zep(Language(shared(), None), embedder, ZepOptions())
    own.keep(passages_of(back, default_chunker(embedder)))
    assert [one.text for one in own.graph.facts][3:] == ["Rita lives in Lisbon"], "what ended is not what begins again"
    own = Zep(Language(shared(), None), embedder, ZepOptions())
    own.keep(passages_of(conversation([said[0], "Ana lives in Lisbon, too."]), default_chunker(embedder)))
    assert [one.invalid for one in own.graph.facts] == [None, None], "what is said of another changes nothing"
