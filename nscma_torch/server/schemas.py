"""Bodies, queries and answers, typed. What the library returns as a record goes out as that record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema, model_validator

from nscma_torch.core.errors import ScopeError
from nscma_torch.core.records import (
    Added,
    Answer,
    Decision,
    Episode,
    Evidence,
    Fact,
    FactQuery,
    Hit,
    Stats,
    UnitKind,
    Usage,
)
from nscma_torch.reading.relations import Relation
from nscma_torch.server.access import Principal
from nscma_torch.text.calendar.timestamps import parse_timestamp
from nscma_torch.text.messages import as_messages

Time = Annotated[
    datetime,
    BeforeValidator(parse_timestamp),
    WithJsonSchema({"anyOf": [{"type": "string", "format": "date-time"}, {"type": "number"}]}),
]
Count = Annotated[int, Field(ge=1, le=1_000_000)]
Id = Annotated[str, Field(min_length=1, max_length=256)]


FIRST_ERROR = Field(fail_fast=True)  # of a list: an error for each item would take more than the list
MANY = Field(fail_fast=True, max_length=4096, description="more of them go to /v1/messages/stream")


class StrictModel(BaseModel):
    """Base of what comes in: an unknown name is an error."""

    model_config = ConfigDict(extra="forbid")


class UserParams(StrictModel):
    """Owner: the token's user, or the named one if the token is for any user."""

    user_id: str | None = Field(None, description="only with a token for any user")

    def user(self, caller: Principal) -> str:
        """The user's id. Raises `ForbiddenError` for another user than the token's."""
        return caller.user(self.user_id)


class AgentParams(UserParams):
    """Owner and agent."""

    agent_id: str | None = None

    def scope(self, caller: Principal) -> dict[str, Any]:
        """The arguments of `Memory` that say whose memory it is."""
        return {"user_id": self.user(caller), "agent_id": self.agent_id}


class RunParams(AgentParams):
    """Owner, agent and run."""

    run_id: str | None = None

    def scope(self, caller: Principal) -> dict[str, Any]:
        return {**super().scope(caller), "run_id": self.run_id}


class MessageIn(BaseModel):
    """One message as OpenAI writes it; other keys become metadata."""

    model_config = ConfigDict(extra="allow")

    role: str
    content: str | Annotated[list[str | dict[str, Any]], FIRST_ERROR] | None
    timestamp: str | float | None = None
    name: str | int | None = None
    session: str | int | None = None
    metadata: dict[str, Any] | None = None
    idempotency_key: str | int | None = None


class AddBody(RunParams):
    """Arguments of `Memory.add`, and the document that the messages are sections of."""

    messages: str | MessageIn | Annotated[list[MessageIn | str], MANY]
    source: str | None = Field(None, min_length=1, description="name of the document; none for conversation")
    metadata: dict[str, Any] | None = None
    timestamp: Time | None = None
    expiration_date: Time | None = None
    idempotency_key: str | None = None
    infer: bool = True
    now: Time | None = None

    def plain(self) -> Any:
        """The messages as mappings; those of a document as `Message`s, as only these name one."""
        many = self.messages if isinstance(self.messages, list) else [self.messages]
        said: list[Any] = [one if isinstance(one, str) else one.model_dump(exclude_unset=True) for one in many]
        if self.source is not None:
            said = [replace(one, source=self.source) for one in as_messages(said)]
        return said if isinstance(self.messages, list) else said[0]


class AddedOut(BaseModel):
    """Result for each message. The messages are on disk when the response is sent."""

    results: list[Added]


class UpdateBody(UserParams):
    """Changes to a message: its text, keys of its metadata, its expiration date (null: none)."""

    text: str | None = None
    metadata: dict[str, Any] | None = None
    expiration_date: Time | None = None


class FeedbackBody(UserParams):
    """Feedback on a found message: whether it helped."""

    helpful: bool


class FilterParams(RunParams):
    """A read with metadata filters, in which the scope may stand too."""

    filters: dict[str, Any] | None = None

    def user(self, caller: Principal) -> str:
        inside = (self.filters or {}).get("user_id")
        if inside is not None and not isinstance(inside, str):
            raise ScopeError("user_id inside filters must be a string")
        return caller.user(self.user_id, inside)


class QueryBody(FilterParams):
    """Arguments of `Memory.get_all`."""

    limit: Count | None = 100
    now: Time | None = None
    expired: bool = False


class SearchBody(FilterParams):
    """Arguments of `Memory.search`."""

    query: str
    record: dict[str, Any] | None = None
    top_k: Annotated[int, Field(ge=1, le=10_000)] | None = None
    threshold: float | None = None
    kinds: Annotated[list[UnitKind], FIRST_ERROR] | None = None
    strategy: str | None = None
    budget: Count | None = None
    as_of: Time | None = None
    now: Time | None = None
    explain: bool = False
    expired: bool = False
    relevant: bool = False


class AskBody(FilterParams):
    """Arguments of `Memory.ask`; `follows` is `query` of the previous answer."""

    question: str
    record: dict[str, Any] | None = None
    top_k: Annotated[int, Field(ge=1, le=10_000)] | None = None
    as_of: Time | None = None
    now: Time | None = None
    follows: FactQuery | None = None

    def before(self) -> Answer | None:
        """The answer before, as far as the next one needs it."""
        return None if self.follows is None else Answer("", True, 0.0, (), query=self.follows)


class HitOut(BaseModel):
    """Search result: `id` goes into the paths of a message; a summary's messages are its `episode_ids`."""

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

    @classmethod
    def of(cls, hit: Hit) -> HitOut:
        """The form in which a hit is answered."""
        return cls.model_construct(**hit.to_dict())


class EvidenceOut(BaseModel):
    """A passage that supports an answer: the text of `hit` from `start` to `end`."""

    text: str
    start: int
    end: int
    score: float
    hit: HitOut

    @classmethod
    def of(cls, evidence: Evidence) -> EvidenceOut:
        """The form in which evidence is answered."""
        found = HitOut.of(evidence.hit)
        return cls.model_construct(
            text=evidence.text, start=evidence.start, end=evidence.end, score=evidence.score, hit=found
        )


class AnswerOut(BaseModel):
    """An answer with what it rests on; `query` is what a next question follows.

    The last `quotes` lines of `text` quote evidence; `short` is what stands above them.
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

    @classmethod
    def of(cls, answer: Answer) -> AnswerOut:
        """The form in which an answer goes out."""
        return cls.model_construct(
            text=answer.text, short=answer.short, quotes=answer.quotes, abstained=answer.abstained,
            confidence=answer.confidence, evidence=[EvidenceOut.of(one) for one in answer.evidence],
            facts=answer.facts, trace=answer.trace,
            notes=answer.notes, usage=answer.usage, query=answer.query,
        )  # fmt: skip


class SkillBody(AgentParams):
    """Arguments of `Memory.add_skill`."""

    name: str
    trigger: str
    steps: Annotated[list[str], FIRST_ERROR]


class SituationBody(AgentParams):
    """Arguments of `Memory.find_skills`."""

    situation: str
    top_k: Annotated[int, Field(ge=1, le=10_000)] = 5


class OutcomeBody(UserParams):
    """Outcome of a skill's use."""

    success: bool


class ReplayBody(RunParams):
    """Keys of the section [gate] to decide by; with `dry_run` false the decisions are replaced."""

    gate: dict[str, Any] | None = None
    dry_run: bool = True


class RedecisionOut(BaseModel):
    """A message on which the gate decides otherwise."""

    episode: Episode
    decision: Decision


class ReplayOut(BaseModel):
    """Number of messages decided, and those whose decision changes."""

    decided: int
    changed: list[RedecisionOut]


class SleepBody(UserParams):
    """Arguments of `Memory.sleep` for one user."""

    dry_run: bool = False
    now: Time | None = None


class StoreSleepBody(StrictModel):
    """Arguments of `Memory.sleep` for all users."""

    dry_run: bool = False
    now: Time | None = None


class EraseBody(UserParams):
    """Selection for permanent deletion: one message, one skill, or with `everything` all of the user."""

    memory_id: Id | None = None
    skill_id: Id | None = None
    everything: bool = False

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        if [self.memory_id is not None, self.skill_id is not None, self.everything].count(True) != 1:
            raise ValueError("name one of memory_id and skill_id, or set everything to true")
        return self


class RelationOut(BaseModel):
    """A relation of facts; where it is `open`, a fact's `topic` is a predicate in the words of a message."""

    name: str
    meaning: str
    cardinality: Literal["one", "many"]
    open: bool

    @classmethod
    def of(cls, relation: Relation) -> Self:
        """The form in which a relation is answered."""
        return cls(**{name: getattr(relation, name) for name in cls.model_fields})


class ChangedOut(BaseModel):
    """Change flag: true if something was changed."""

    changed: bool


class CountOut(BaseModel):
    """Count of affected items."""

    count: int


class DigestOut(BaseModel):
    """SHA-256 over the logical state."""

    digest: str


class ProblemsOut(BaseModel):
    """Problems of the store, a sentence each."""

    problems: list[str]


class UserStats(BaseModel):
    """Counts of one user: of `Stats` what tells nothing of others."""

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

    @classmethod
    def of(cls, stats: Stats) -> Self:
        """Build from the store's statistics."""
        return cls(**{name: getattr(stats, name) for name in cls.model_fields})
