"""Zep: its core, Graphiti, and `eval.systems.zep`. What is kept are facts with their days, entities and communities."""

from __future__ import annotations

import ast
import json
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from eval.experiments.systems.comparison import Outcome
from eval.experiments.systems.our_run import data_of, our_run, texts_found
from eval.experiments.systems.package_run import run_on_conversation
from eval.experiments.systems.scripted_conversation import SPOKEN, TOP_K, Told, fact_of, named_by, told_in
from eval.experiments.systems.scripted_server import Body, Written, between, form_of, prompt_of
from eval.systems.zep import Zep, ZepOptions
from eval.systems.zep_communities import propagated
from nscma_torch.protocols import Embedder

_RANGE = " (date range: "


def entities_in(text: str) -> list[str]:
    """The speaker of a message, and what its facts are about."""
    speaker = [one.name for one in SPOKEN if one.text in text]
    return list(dict.fromkeys([*speaker, *named_by(told_in(text))]))


def judged(fact: Told, own: Sequence[str], others: Sequence[str]) -> tuple[list[int], list[int]]:
    """Places of the facts that a new one repeats, of those between its two entities, and that it ends, of all."""
    shown = [*own, *others]
    same = [shown.index(fact.old)] if fact.action == "NOOP" and fact.old in own else []
    ended = [shown.index(fact.old)] if fact.action in ("UPDATE", "DELETE") and fact.old in shown else []
    return same, ended


class _Script:
    """What both scripts count.

    Attributes:
        decisions: entities that were found to be known and not, facts that repeat or end another, or are new.
    """

    def __init__(self) -> None:
        self.decisions: Counter[str] = Counter()

    def _judge(self, fact: Told, own: Sequence[str], others: Sequence[str]) -> tuple[list[int], list[int]]:
        same, ended = judged(fact, own, others)
        self.decisions["fact repeats" if same else "fact ends another" if ended else "fact is new"] += 1
        return same, ended

    def _known(self, name: str, candidates: Sequence[str]) -> int:
        place = candidates.index(name) if name in candidates else -1
        self.decisions["entity is known" if place >= 0 else "entity is new"] += 1
        return place


class TheirScript(_Script):
    """Answers Graphiti's prompts, by the model of the answer."""

    def __call__(self, body: Body) -> Written:
        """The reply."""
        prompt = prompt_of(body)
        match form_of(body):
            case "ExtractedEntities":
                names = entities_in(between(prompt, "<CURRENT MESSAGE>", "</CURRENT MESSAGE>"))
                return {"extracted_entities": [{"name": name, "entity_type_id": 0} for name in names]}
            case "NodeResolutions":
                return {"entity_resolutions": self._resolved(prompt)}
            case "ExtractedEdges":
                facts = told_in(between(prompt, "<CURRENT_MESSAGE>", "</CURRENT_MESSAGE>"))
                time = between(prompt, "<REFERENCE_TIME>", "</REFERENCE_TIME>").strip().split("\n")[0][:19]
                return {"edges": [_edge(fact, time) for fact in facts]}
            case "EdgeDuplicate":
                own = _facts(between(prompt, "<EXISTING FACTS>", "</EXISTING FACTS>"))
                others = _facts(between(prompt, "<FACT INVALIDATION CANDIDATES>", "</FACT INVALIDATION CANDIDATES>"))
                new = between(prompt, "<NEW FACT>", "</NEW FACT>").strip()
                same, ended = self._judge(fact_of(new), own, others)
                return {"duplicate_facts": same, "contradicted_facts": ended}
            case "SummarizedEntities":
                entities = json.loads(between(prompt, "<ENTITIES>", "</ENTITIES>"))
                return {"summaries": [{"name": one["name"], "summary": _summary(one["name"])} for one in entities]}
            case other:
                raise ValueError(f"no reply in the form {other!r}")

    def _resolved(self, prompt: str) -> list[dict[str, Any]]:
        named = json.loads(between(prompt, "<ENTITIES>", "</ENTITIES>"))
        existing = json.loads(between(prompt, "<EXISTING ENTITIES>", "</EXISTING ENTITIES>"))
        places = [self._known(one["name"], [own["name"] for own in existing]) for one in named]
        return [
            {
                "id": one["id"],
                "name": one["name"],
                "duplicate_candidate_id": existing[place]["candidate_id"] if place >= 0 else -1,
            }
            for one, place in zip(named, places, strict=True)
        ]


class OurScript(_Script):
    """Answers the prompts of `zep_prompted`, by the name of the form; a summary or a name says nothing."""

    def __call__(self, body: Body) -> Written:
        """The reply."""
        if not (form := form_of(body)):
            return "What belongs together."
        data = data_of(body)
        match form:
            case "EntitiesForm":
                names = [] if "found" in data else entities_in(data["message"])
                return {"entities": [{"name": name, "summary": _summary(name)} for name in names]}
            case "ResolutionOf":
                name = data["entity"]["name"]
                place = self._known(name, [own["name"] for own in data["candidates"].values()])
                return {"duplicate": place + 1, "name": name, "summary": _summary(name)}
            case "FactsAmong":
                number = {name: int(number) for number, name in data["entities"].items()}
                return {"facts": [_our_fact(fact, number, data["time"][:10]) for fact in told_in(data["message"])]}
            case "Judgement":
                own, others = ([_text(one) for one in data[part].values()] for part in ("own", "others"))
                same, ended = self._judge(fact_of(_text(data["fact"])), own, others)
                contradicted = {"contradicted": [place + 1 for place in ended]}
                return {"same": [place + 1 for place in same], **contradicted} if own else contradicted
            case other:
                raise ValueError(f"no reply in the form {other!r}")


def _edge(fact: Told, time: str) -> dict[str, Any]:
    names = {"source_entity_name": fact.subject, "target_entity_name": fact.object}
    return {
        **names,
        "relation_type": fact.predicate.upper().replace(" ", "_"),
        "fact": fact.text,
        "valid_at": f"{time}Z",
    }


def _our_fact(fact: Told, number: dict[str, int], day: str) -> dict[str, Any]:
    ends = {"subject": number[fact.subject], "object": number[fact.object]}
    return {**ends, "predicate": fact.predicate, "fact": fact.text, "valid": day, "invalid": ""}


def _facts(shown: str) -> list[str]:
    return [str(one["fact"]) for one in ast.literal_eval(shown.strip())]


def _text(shown: str) -> str:
    return shown.split(_RANGE)[0]


def _day(time: datetime | None) -> str | None:
    return None if time is None else f"{time:%Y-%m-%d}"


def _summary(name: str) -> str:
    return f"What is known of {name}."


def _items(
    facts: Sequence[Sequence[str | None]], entities: Sequence[str], communities: Sequence[Sequence[str]]
) -> list[str]:
    """Everything as texts; a member alone is no community."""
    return [
        *(f"{text} ({valid} to {invalid or 'now'})" for text, valid, invalid in facts),
        *(f"entity {name}" for name in entities),
        *(f"community of {', '.join(sorted(one))}" for one in communities if len(one) > 1),
    ]


def theirs(python: Path, embedder: Embedder) -> Outcome:
    """The package."""
    script = TheirScript()
    told, calls = run_on_conversation(python, "graphiti_package.py", script, embedder)
    items = _items(told["facts"], told["entities"], told["communities"])
    return Outcome(f"graphiti-core {told['version']}", items, told["ranked"], script.decisions, calls)


def ours(embedder: Embedder) -> Outcome:
    """Our implementation; communities are those of the whole graph, as the package finds them at the end."""
    script = OurScript()
    with our_run(script, embedder) as (run, calls):
        # the package is run on Kuzu, whose cosine is the plain one, so that its least of .6 is, too
        own = Zep(run.language, run.embedder, ZepOptions(top_k=TOP_K, communities=0, least_cosine=0.6))
        own.keep(run.passages)
        ranked = [[_text(one) for one in found if _RANGE in one] for found in texts_found(own)]
    facts = [(one.text, _day(one.valid), _day(one.invalid)) for one in own.graph.facts]
    names = [one.name for one in own.graph.entities]
    communities = [[names[row] for row in rows] for rows in propagated(own.graph)]
    return Outcome("zep", _items(facts, names, communities), ranked, script.decisions, calls[0])
