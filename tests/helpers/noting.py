"""Language tasks that read a notation instead of language, so that a test says itself what its messages state.

A message states what stands in braces: `{Ben|lives_in|Oslo}`, `{Ben|favourite/colour|blue|was red}`. Marks may follow:
`not`, `was X` (it replaces X), `sorry` (a correction), `once` (past), `since 2024-01-05`, `until 2024-02-01`,
`sure 0.5`. The rest of the text states nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from nscma_torch.api.memory import Memory
from nscma_torch.core.errors import ModelError
from nscma_torch.core.records import (
    Added,
    Answer,
    AskedQuestion,
    CuratorDecision,
    Extraction,
    Fact,
    Hit,
    Message,
    Statement,
    Unit,
)
from nscma_torch.reading.relations import load_relations

EVERYTHING: dict[str, Any] = {
    "gate": {"rule": "everything"},
    "hierarchy": {"enabled": False},
    "curator": {"initial_strength": 180.0},  # below the floor of 5 % after 540 days
}
DEFERRED: dict[str, Any] = {"gate": {"rule": "composition", "threshold": 1e6}}
_STATED = re.compile(r"\{([^{}|]+)\|(\w+)(?:/([^{}|]+))?\|([^{}|]*)((?:\|[^{}|]+)*)\}")


class NotedTasks:
    """Extracts the notation. While `broken` is set, a text in which it occurs makes the call fail with `error`."""

    broken: str | None = None
    error: type[Exception] = ModelError

    def extract(
        self,
        units: Sequence[Unit],
        *,
        listeners: Sequence[str],  # noqa: ARG002
        before: Sequence[Sequence[Unit]] = (),  # noqa: ARG002
    ) -> list[Extraction]:
        if self.broken is not None and any(self.broken in unit.text for unit in units):
            raise self.error("the language model is away")
        return [Extraction((), tuple(stated(unit.text))) for unit in units]

    def summarize(self, groups: Sequence[Sequence[Unit]]) -> list[str]:
        """The first words of each unit."""
        if self.broken is not None and any(self.broken in unit.text for group in groups for unit in group):
            raise self.error("the language model is away")
        return [" ".join(unit.text[:20] for unit in group) for group in groups]

    def answer(self, question: AskedQuestion, hits: Sequence[Hit]) -> Answer:  # noqa: ARG002
        """What was found, unread: these tests ask for what facts say."""
        return Answer(" / ".join(hit.text for hit in hits), not hits, 0.0, ())


def stated(text: str) -> list[Statement]:
    """What the notation in a text states."""
    return [_statement(found) for found in _STATED.finditer(text)]


def _statement(found: re.Match[str]) -> Statement:
    values: dict[str, Any] = {}
    for mark in found[5].split("|")[1:]:
        word, _, rest = mark.partition(" ")
        match word:
            case "not":
                values["negated"] = True
            case "sorry":
                values["correction"] = True
            case "once":
                values["past"] = True
            case "was":
                values["replaces"] = rest
            case "since":
                values["valid_from"] = datetime.fromisoformat(rest).replace(tzinfo=UTC)
            case "until":
                values["valid_to"] = datetime.fromisoformat(rest).replace(tzinfo=UTC)
            case "sure":
                values["confidence"] = float(rest)
            case _:
                raise ValueError(f"the notation has no mark {mark!r}")
    topic = found[3] or ""
    return Statement(found[1], found[2], found[4], topic, **values, start=found.start(), end=found.end())


def day(n: float) -> datetime:
    """Day n of 2024."""
    return datetime(2024, 1, 1, tzinfo=UTC) + timedelta(days=n)


_schema = cache(load_relations)


def opener(open_memory: Callable[..., Memory], surprise_model: Any) -> Callable[..., Memory]:
    """`open_memory` of the fixtures, with a light configuration, whose keys may be overridden, and the notation."""

    def open_(name: Any = "store.db", config: dict[str, Any] | None = None, **parts: Any) -> Memory:
        parts = {"surprise_model": surprise_model, "tasks": NotedTasks(), **parts}
        changed = {section: {**EVERYTHING.get(section, {}), **keys} for section, keys in (config or {}).items()}
        memory = open_memory(name, {**EVERYTHING, **changed}, **parts)
        memory.components.relations = _schema()  # read once for all stores
        return memory

    return open_


def say(
    memory: Memory, text: str, at: float = 0, *, name: str | None = "Ben", role: str = "user", **scope: Any
) -> Added:
    """Add a message that was said on day `at` and stored on day `stored`, by default on the same one."""
    stored = scope.pop("stored", at)
    scope.setdefault("user_id", "ada")
    return memory.add(Message(role, text, day(at), name), now=day(stored), **scope)[0]


def tell(memory: Memory, text: str, at: float = 0, **more: Any) -> str:
    """Say something and have it worked in; returns the id of the message."""
    added = say(memory, text, at, **more)
    memory.flush()
    return added.id


def held(memory: Memory, relation: str | None = None, **clauses: Any) -> list[str]:
    """Objects of the facts that `facts` returns, in alphabetical order."""
    clauses.setdefault("user_id", "ada")
    return sorted(fact.object for fact in memory.facts(relation=relation, **clauses))


@dataclass(frozen=True)
class Plain:
    """A fact without ids and system times."""

    what: tuple[str, str, str, str]
    held: tuple[datetime | None, datetime | None]
    status: str
    strength: int
    confidence: float
    reason: str


def plain(found: Sequence[Fact]) -> list[Plain]:
    """Facts as they can be compared between stores."""
    return [
        Plain(
            (fact.subject, fact.relation, fact.topic, fact.object),
            (fact.valid_from, fact.valid_to),
            fact.status,
            fact.strength,
            round(fact.confidence, 12),
            fact.reason,
        )
        for fact in found
    ]


def everything(memory: Memory, user_id: str = "ada") -> list[Plain]:
    """All facts of a user, archived ones too."""
    return plain(memory.facts(user_id=user_id, archived=True))


def log(memory: Memory, user_id: str = "ada") -> list[CuratorDecision]:
    """All decisions of a user, oldest first."""
    return memory.decisions(user_id=user_id, limit=None)[::-1]


def bare(decisions: Sequence[CuratorDecision]) -> list[tuple[Any, ...]]:
    """Decisions as they can be compared between stores."""
    return [(one.action, one.subject, one.relation, one.topic, one.object, one.reason, one.undone) for one in decisions]


def spans(memory: Memory, subject: str, relation: str, **more: Any) -> list[tuple[str, Any, Any, str]]:
    """What held of a subject, from when, to when, and its status, in order."""
    more.setdefault("user_id", "ada")
    return [(f.object, f.valid_from, f.valid_to, f.status) for f in memory.timeline(subject, relation, **more)]


def a_life(memory: Memory) -> None:
    """Messages of each kind that a stage of sleep works on."""
    for at, name, text in (
        (0, "Ann", "{Ann|lives_in|Oslo}"),
        (5, "Ann", "{Ann|lives_in|Rome}"),
        (6, "Ann", "The zebra says {Ann|likes|tea}"),
        (7, "Ann", "{Ann|likes|jazz} {Ann|favourite/colour|blue}"),
        (8, "Ann", "{Bob|lives_in|Bonn}"),
        (9, "Carl", "{Bob|lives_in|Kyoto}"),
        (9, "Ann", "{Konstantin|lives_in|Lima}"),
        (9, "Ann", "{Konstantyn|lives_in|Lima}"),
        (10, "Ann", "haha ok"),
    ):
        say(memory, text, at, name=name)
