"""What a scripted model answers to GraphRAG's prompts, the package's and ours, of the facts of the conversation.

A passage is first read for its first fact alone; the others are what the gleaning finds. An entity is described by the
facts of that reading that it is part of, a relationship by its fact. A description of several holds their sentences, a
report the facts that its prompt shows, and a point is a fact of a report, with the score that stands here by hand.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eval.experiments.systems.our_run import data_of
from eval.experiments.systems.scripted_conversation import SPOKEN, Told, named_by, told_in
from eval.experiments.systems.scripted_server import Body, Written, between, form_of, prompt_of

HELPING: Mapping[str, Sequence[str]] = {
    "Where does Rita live?": ("Rita moved to Sintra.", "Rita lives in Lisbon."),
    "Where does Rita work?": ("Rita works at the aquarium now.", "Rita works at the harbour museum."),
    "What is Rita's dog called?": ("Rita has a dog called Biscuit.", "Biscuit is afraid of thunder."),
    "To how many degrees is the kiln set?": (
        "Rita's kiln is now set to 1100 degrees.",
        "Rita's kiln is set to 900 degrees.",
    ),
    "Which pets does Tom's family have?": ("Ana has a cat called Miso.", "Tom has a sister called Ana."),
    "What does Tom teach?": ("Tom teaches chemistry at the Camoes school.",),
    "What music does Tom play?": (
        "Tom plays the cello in the city orchestra.",
        "The city orchestra plays Dvorak in May.",
    ),
    "Where is Ana?": ("Ana has arrived in Berlin.", "Ana is moving to Berlin in June."),
    "What will Rita do with Marta?": ("Rita will open a pottery studio.", "Rita is in Marta's book club."),
    "What should Rita not eat?": ("Rita has no allergy to nuts.", "Rita is allergic to nuts."),
    "How does Tom keep fit?": ("Tom does not run any more.", "Tom runs ten kilometres every Sunday."),
    "Who visits Tom?": ("Tom's mother Helena visits him every August.",),
}
_LESS = 10  # of the score, from one fact that helps to the next
_FINDINGS = 5  # of a report, as many as both forms hold
_PEOPLE = ("Rita", "Tom", "Ana", "Marta", "Helena")
_STRENGTH = 7  # of every relationship, where a strength is asked for
_END = "<|COMPLETE|>"


@dataclass(frozen=True, slots=True)
class Read:
    """What a reading of a passage finds: entities with type and description, and the facts as relationships."""

    entities: Sequence[tuple[str, str, str]]
    facts: Sequence[Told]


def first_reading(text: str) -> Read:
    """Of what a prompt quotes, the first fact."""
    return _read(told_in(text)[:1], ())


def gleaning(text: str) -> Read:
    """The other facts, and the entities that the first reading missed."""
    first, *others = told_in(text)
    return _read(others, (first.subject, first.object))


def _read(facts: Sequence[Told], known: Sequence[str]) -> Read:
    names = [name for name in named_by(facts) if name not in known]
    described = {name: " ".join(one.text for one in facts if name in (one.subject, one.object)) for name in names}
    kinds = ("person" if name in _PEOPLE else "thing" for name in names)
    return Read([(name, kind, described[name]) for name, kind in zip(names, kinds, strict=True)], facts)


def facts_shown(text: str) -> list[Told]:
    """The facts whose sentences a text holds, in the order of the conversation."""
    return [fact for one in SPOKEN for fact in one.told if fact.text in text]


def described(descriptions: Sequence[str]) -> str:
    """One description of several: what they say, each sentence once, in the order of the conversation."""
    return " ".join(fact.text for fact in facts_shown(" ".join(descriptions)))


def report_on(text: str) -> dict[str, Any]:
    """The report on what a prompt shows: each fact is in one finding; it matters as much as it has facts."""
    facts = [fact.text for fact in facts_shown(text)]
    findings = [
        {"summary": facts[place], "explanation": " ".join(facts[place + _FINDINGS :: _FINDINGS])}
        for place in range(min(len(facts), _FINDINGS))
    ]
    return {"title": "Report", "summary": f"{len(facts)} facts.", "rating": min(10, len(facts)), "findings": findings}


def points_on(query: str, shown: str) -> list[tuple[str, int]]:
    """The facts among those shown that help to answer, best first, and one that does not, with their scores."""
    facts = [fact.text for fact in facts_shown(shown)]
    helping = HELPING[query]
    scored = [(text, 100 - _LESS * place) for place, text in enumerate(helping) if text in facts]
    return scored + [(text, 0) for text in facts if text not in helping][:1]


class TheirScript:
    """Answers the package's prompts, which it tells apart by their words.

    Args:
        gleaned_after: what a gleaning begins with. The package puts both replies together as they are.

    Attributes:
        decisions: prompts by kind.
        reduced: for each query the points that the reduce step is shown, in their order, as "score: point".
    """

    def __init__(self, gleaned_after: str = "") -> None:
        self.decisions: Counter[str] = Counter()
        self.reduced: dict[str, list[str]] = {}
        self._gleaned_after = gleaned_after

    def __call__(self, body: Body) -> Written:
        """The reply."""
        turns = [turn["content"] for turn in body["messages"]]
        kind, reply = self._answer(turns, prompt_of(body), form_of(body))
        self.decisions[kind] += 1
        return reply

    def _answer(self, turns: Sequence[str], prompt: str, form: str) -> tuple[str, Written]:
        if form == "CommunityReportResponse":
            shown = between(prompt, "Text:\n", "The report should include")
            return "report", {**report_on(shown), "rating_explanation": "As many facts as it has."}
        if turns[-1].startswith("MANY entities"):
            read = gleaning(_real_text(turns[0]))
            return "gleaning", (self._gleaned_after if read.facts else "") + _records(read)
        if "-Real Data-" in prompt:
            return "reading", _records(first_reading(_real_text(prompt)))
        if "Description List: " in prompt:
            return "description", described(json.loads(between(prompt, "Description List: ", "\n#######")))
        if "---Analyst Reports---" in prompt:
            told = between(prompt, "---Analyst Reports---", "---Goal---").split("----Analyst ")[1:]
            self.reduced[turns[-1]] = [_point(one) for one in told]
            return "reduce", "So it is."
        if '"points"' in prompt:
            points = points_on(turns[-1], between(prompt, "---Data tables---", "---Goal---"))
            return "map", {"points": [{"description": text, "score": score} for text, score in points]}
        if "---Data tables---" in prompt:
            return "local answer", "So it is."
        raise ValueError("no reply to a prompt of this kind")


class OurScript:
    """Answers the prompts of `eval.systems.graph_rag`, by the name of the form; a free text is a description.

    Attributes:
        decisions: prompts by kind.
        scores: of each point that was written, by query and text.
    """

    def __init__(self) -> None:
        self.decisions: Counter[str] = Counter()
        self.scores: dict[tuple[str, str], int] = {}

    def __call__(self, body: Body) -> Written:
        """The reply."""
        kind, reply = self._answer(form_of(body), data_of(body))
        self.decisions[kind] += 1
        return reply

    def _answer(self, form: str, data: Mapping[str, Any]) -> tuple[str, Written]:
        match form:
            case "":
                return "description", described(data["texts"])
            case "ElementsForm" if "found" in data:
                return "gleaning", _form(gleaning(data["passage"]))
            case "ElementsForm":
                return "reading", _form(first_reading(data["passage"]))
            case "ReportForm":
                return "report", report_on("\n".join(data["texts"]))
            case "PointsOnReports":
                reports = data["reports"]
                points = points_on(data["question"], "\n".join(reports.values()))
                self.scores |= {(data["question"], text): score for text, score in points}
                told = [
                    {"text": text, "score": score, "reports": [int(n) for n, own in reports.items() if text in own]}
                    for text, score in points
                ]
                return "map", {"points": told}
            case other:
                raise ValueError(f"no reply in the form {other!r}")


def _form(read: Read) -> dict[str, Any]:
    entities = [{"name": name, "type": kind, "description": text} for name, kind, text in read.entities]
    told = [{"source": one.subject, "target": one.object, "description": one.text} for one in read.facts]
    return {"entities": entities, "relationships": told}


def _real_text(prompt: str) -> str:
    """The passage of an extraction prompt, which shows examples above it."""
    return between(prompt, "\nText: ", "\n######################\nOutput:")


def _records(read: Read) -> str:
    """As the prompt's examples have it: tuples, between them the list delimiter, and below the last one the end."""
    tuples = [
        *(f'("entity"<|>{name.upper()}<|>{kind.upper()}<|>{text})' for name, kind, text in read.entities),
        *(
            f'("relationship"<|>{one.subject.upper()}<|>{one.object.upper()}<|>{one.text}<|>{_STRENGTH})'
            for one in read.facts
        ),
    ]
    return "\n##\n".join(tuples) + f"\n{_END}"


def _point(told: str) -> str:
    _, score, text, *_ = told.strip().split("\n")
    return f"{score.removeprefix('Importance Score: ')}: {text}"
