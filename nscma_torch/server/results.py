"""Response models of endpoints: results of `Memory`'s methods, with names added and internal fields removed.

Records are returned unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from types import NoneType
from typing import Any, Literal, NamedTuple, get_args

from pydantic import BaseModel, model_validator

from nscma_torch.core.records import Added, Answer, Fact, FactQuery, Hit, Stats, UnitKind, Usage
from nscma_torch.ingest.replay import Redecision


class AddedOut(BaseModel):
    """A result for each message. The messages are on disk when the response is sent."""

    results: list[Added]


class HitOut(BaseModel):
    """A search result. `id` is the message id used in paths; a summary lists its messages in `episode_ids`."""

    id: str
    text: str
    kind: UnitKind
    score: float
    occurred_at: datetime
    role: str
    name: str | None
    session: str | None
    source: str | None
    agent_id: str | None
    run_id: str | None
    unit_id: str
    episode_ids: tuple[str, ...]
    metadata: Mapping[str, Any]
    parts: Mapping[str, float]
    renewed: bool

    @model_validator(mode="before")
    @classmethod
    def _flat(cls, hit: object) -> object:
        return hit.to_dict() if isinstance(hit, Hit) else hit


class EvidenceOut(BaseModel):
    """A passage that supports an answer: the text of `hit` from `start` to `end`."""

    text: str
    start: int
    end: int
    score: float
    hit: HitOut


class AnswerOut(BaseModel):
    """An answer with its evidence. `query` is the interpreted query that a follow-up question continues.

    The last `quotes` lines of `text` quote evidence; `short` is the text above them.
    """

    text: str
    short: str
    quotes: int
    abstained: bool
    confidence: float
    evidence: list[EvidenceOut]
    facts: tuple[Fact, ...]
    trace: tuple[str, ...]
    notes: tuple[str, ...]
    usage: Usage
    query: FactQuery | None


class ReplayOut(BaseModel):
    """The number of messages decided, and the messages for which the decision changes."""

    decided: int
    changed: list[Redecision]


class RelationOut(BaseModel):
    """A relation between a fact's subject and object. If it is `open`, a fact's `topic` is a predicate in the message's
    own words.
    """

    name: str
    meaning: str
    cardinality: Literal["one", "many"]
    open: bool


class ChangedOut(BaseModel):
    """Result that is true if something was changed."""

    changed: bool


class CountOut(BaseModel):
    """The number of affected items."""

    count: int


class DigestOut(BaseModel):
    """SHA-256 digest of the store's logical state."""

    digest: str


class ProblemsOut(BaseModel):
    """Problems found in the store, one sentence each."""

    problems: list[str]


class UserStats(BaseModel):
    """Counts for one user: the fields of `Stats` that reveal nothing about other users."""

    streams: int
    messages: int
    written: int
    deferred: int
    deleted: int
    units: Mapping[str, int]
    facts: Mapping[str, int]
    jobs_queued: int
    jobs_failed: int
    failures: tuple[str, ...]
    recalls_queued: int


class Result(NamedTuple):
    """The type used to serialise a method's result, and the function that builds its fields."""

    kind: Any
    fields: Callable[[Any], Any] = lambda found: found


_RESULTS: dict[Any, Result] = {  # by return annotation
    bool: Result(ChangedOut, lambda changed: {"changed": changed}),
    int: Result(CountOut, lambda count: {"count": count}),
    str: Result(DigestOut, lambda digest: {"digest": digest}),
    list[str]: Result(ProblemsOut, lambda problems: {"problems": problems}),
    list[Added]: Result(AddedOut, lambda results: {"results": results}),
    tuple[int, list[Redecision]]: Result(ReplayOut, lambda found: {"decided": found[0], "changed": found[1]}),
    list[Hit]: Result(list[HitOut]),
    Answer: Result(AnswerOut),
}


def result_of(returned: Any, *, store: bool) -> Result | None:
    """Return the response format for a method's return annotation, or None if the method returns nothing."""
    if returned is Stats and not store:
        return Result(UserStats)
    if returned is None:
        return None
    if NoneType in get_args(returned):
        (returned,) = (kind for kind in get_args(returned) if kind is not NoneType)
    return _RESULTS.get(returned) or Result(returned)
