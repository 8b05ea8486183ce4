"""Frozen dataclasses that the memory stores and returns.

Times are timezone-aware `datetime`s. `occurred_at` is when something was said (world time, set by the caller), in its
original zone, as are the times of facts; `recorded_at` is when it was stored (system time), in UTC like all others.
Information is in nats.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Literal

from nscma_torch.core.derived_kinds import DERIVED_KINDS
from nscma_torch.core.errors import ScopeError

if TYPE_CHECKING:
    DerivedKind = str
    UnitKind = str
else:
    DerivedKind = Literal[*DERIVED_KINDS, "skill"]
    UnitKind = Literal["chunk", "triple", "atomic_fact", "summary", *DERIVED_KINDS, "skill"]
OF_ONE_MESSAGE: frozenset[UnitKind] = frozenset(
    {"chunk", "triple", "atomic_fact"}
)  # the others have several sources, or none
Status = Literal["active", "archived", "deleted"]
FactStatus = Literal["active", "archived", "disputed"]
Action = Literal["ADD", "UPDATE", "ARCHIVE", "NOOP", "MERGE", "PROPOSE"]
Operation = Literal["ADD", "UPDATE", "DELETE", "NOOP"]
UNKNOWN_BEGIN = datetime.min.replace(tzinfo=UTC)  # for facts that began at an unknown time before they were stated
ROLES = ("user", "assistant", "system", "tool", "document")
MemoryType = Literal["question", "problem", "plan", "preference", "event", "fact", "remark"]
Sentiment = Literal["positive", "neutral", "negative"]
Resolution = Literal["none", "open", "resolved"]
RESOLVABLE: frozenset[MemoryType] = frozenset({"question", "problem", "plan"})  # the others have no resolution


class Keep(Enum):
    """`KEEP` leaves a value unchanged; None removes it."""

    KEEP = "keep"


KEEP: Final = Keep.KEEP


@dataclass(frozen=True, slots=True)
class Scope:
    """Owner of memories. `user_id` bounds every access; the other two narrow or widen reads within the user.

    Raises `ScopeError` for an id that is empty, not a string, above 256 characters, or contains control characters.
    """

    user_id: str
    agent_id: str | None = None
    run_id: str | None = None

    def __post_init__(self) -> None:
        for name, value in (("user_id", self.user_id), ("agent_id", self.agent_id), ("run_id", self.run_id)):
            if value is None and name != "user_id":
                continue
            if not isinstance(value, str) or not value.strip():
                raise ScopeError(f"{name} must be a non-empty string, got {value!r}; pass {name}='…'")
            if len(value) > 256 or not value.isprintable():
                raise ScopeError(f"{name} must be at most 256 printable characters, got {len(value)}: {value[:40]!r}")


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation, or one section of a document, as the caller passes it.

    `timestamp` is when it was said, None for now. `session` groups turns that belong together (a sitting, a chat
    window); `source` names the document, None for conversation. A retry with the same `idempotency_key` (at most 400
    characters) does nothing.
    """

    role: str
    content: str
    timestamp: datetime | None = None
    name: str | None = None
    session: str | None = None
    source: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    idempotency_key: str | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """The gate's decision on one message, with its reason.

    `rule` names the rule; `score` is compared with `threshold` in the rule's own unit; `parts` are the rule's inputs by
    name; `reason` is a sentence for people. `surprise` is nats per token (NSCMA section 3.2), `information` the sum in
    nats.
    """

    write: bool
    rule: str
    score: float
    threshold: float
    reason: str
    surprise: float
    information: float
    parts: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Episode:
    """One stored message; every addition keeps its episode."""

    id: str
    scope: Scope
    stream_id: str
    position: int
    role: str
    text: str
    recorded_at: datetime
    occurred_at: datetime
    name: str | None = None
    session: str | None = None
    source: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    decision: Decision | None = None
    encoded: bool = False
    importance: float = 0.0
    strength: float = 1.0
    accesses: int = 0
    expires_at: datetime | None = None
    status: Status = "active"


@dataclass(frozen=True, slots=True)
class MemoryRecord:
    """The structured record of one message (section [records]).

    `entities` are the people, places and things it is about, except speaker and listener, the most important first.
    `importance` is that of the message, in [0, 1]. `sentiment` is None if unclear. `resolution` is "none" except for a
    question, problem or plan; `resolved_by` are ids of later messages that settle it.
    """

    episode_id: str
    scope: Scope
    type: MemoryType
    entities: tuple[str, ...]
    importance: float
    sentiment: Sentiment | None
    resolution: Resolution
    occurred_at: datetime
    resolved_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RecordFilter:
    """Filter on records: any of these types, sentiments and resolutions (all if none is named), about this entity
    (under any of its names), and of at least this importance.
    """

    types: tuple[MemoryType, ...] = ()
    sentiments: tuple[Sentiment, ...] = ()
    resolutions: tuple[Resolution, ...] = ()
    entity: str | None = None
    importance: float = 0.0


@dataclass(frozen=True, slots=True)
class Unit:
    """Unit of retrieval. `episode_ids` is its provenance; a chunk is its episode's text from `start` to `end`."""

    id: str
    scope: Scope
    kind: UnitKind
    text: str
    episode_ids: tuple[str, ...]
    occurred_at: datetime
    role: str = "user"
    name: str | None = None
    session: str | None = None
    source: str | None = None
    start: int = 0
    end: int = 0
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Node:
    """A node of the hierarchy: a chunk at level 0, a cluster with its summary above.

    `members` are the ids of nodes one level below; a node may be a member of several. `text` is empty until `flush`
    writes the summary (`stale`).
    """

    id: str
    level: int
    text: str
    members: tuple[str, ...]
    episode_ids: tuple[str, ...]
    stale: bool = False


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement about one subject, not yet compared with known facts: the text from `start` to `end`.

    `relation` is a name from `configs/relations.toml`; `topic` distinguishes objects of one relation ("colour" of
    favourite). `negated`: no longer, or not; without an `object`, none holds. `replaces` is the object that held
    before; `correction`: the earlier statement was never true. `valid_from` and `valid_to` are the times the statement
    names, `UNKNOWN_BEGIN` for an earlier one it doesn't give. `begun_by` is the latest possible beginning of a change
    long ago (`UNKNOWN_BEGIN`: unknown); None if the statement holds when said. `past`: it held once, and no longer
    does. `confidence` is in (0, 1].
    """

    subject: str
    relation: str
    object: str
    topic: str = ""
    negated: bool = False
    replaces: str = ""
    correction: bool = False
    past: bool = False
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    begun_by: datetime | None = None
    confidence: float = 1.0
    start: int = 0
    end: int = 0


@dataclass(frozen=True, slots=True)
class Extraction:
    """Result of reading a unit: self-contained sentences (atomic facts) and statements (triples)."""

    sentences: tuple[str, ...] = ()
    statements: tuple[Statement, ...] = ()
    spans: tuple[tuple[int, int], ...] = ()  # (start, end) of each sentence in the unit's text; empty: not known


@dataclass(frozen=True, slots=True)
class Description:
    """Description of a unit by the language tasks, for its structured record; see `MemoryRecord`.

    `entities` come in order of importance. `sentiment` is None if unclear. `settled`: the text itself says that its
    problem is solved, its plan carried out, or its question answered. `settles` are the indices, among the turns before
    it, of those whose question, problem or plan it settles.
    """

    type: MemoryType
    entities: tuple[str, ...] = ()
    sentiment: Sentiment | None = None
    settled: bool = False
    settles: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class SourcedLine:
    """A line that language tasks write from a group of units: `sources` are the indices of the units used.

    `confidence` is in (0, 1].
    """

    text: str
    sources: tuple[int, ...]
    confidence: float = 1.0


@dataclass(frozen=True, slots=True)
class QAPair:
    """A question and its answer, found by language tasks in a group of units; `sources` as in `SourcedLine`.

    To check the pair, a memory is asked `query`, in which "I" means `asker` ("" for nobody in particular); `asking` are
    the indices of the messages that ask it themselves.
    """

    question: str
    answer: str
    sources: tuple[int, ...]
    query: str
    asker: str = ""
    asking: tuple[int, ...] = ()

    @property
    def text(self) -> str:
        """Return the pair as stored: the question on the first line, the answer on the second."""
        return "\n".join(" ".join(part.split()) for part in (self.question, self.answer))


SEQUENCE_STEP = 64  # of `Fact.sequence`, from a place of a message to the next: what one sentence says is within it


@dataclass(frozen=True, slots=True)
class Fact:
    """`(subject, relation, object)` with the time it holds in the world and the time it was believed: bitemporal.

    `valid_from` None: since an unknown time; `valid_to` None: still. `retired_at` None: believed now. `sequence` orders
    facts that begin at the same time by when they were said, and `ended` is the position in that order at which they
    ended (None: still, or unknown). `strength` counts the statements supporting it, `episode_ids` are their messages;
    `reason` explains its status.
    """

    id: str
    scope: Scope
    subject: str
    relation: str
    object: str
    topic: str
    valid_from: datetime | None
    valid_to: datetime | None
    recorded_at: datetime
    retired_at: datetime | None
    status: FactStatus
    confidence: float
    strength: int
    sequence: int
    episode_ids: tuple[str, ...]
    reason: str = ""
    ended: int | None = None


@dataclass(frozen=True, slots=True)
class ProfileLine:
    """One line of a profile: it holds since `day`, by the facts with these ids. `number` is its position, from 0.

    Portrait and insights follow the facts: they are based on the messages `episode_ids`, the last of them from `day`,
    with this `confidence` in (0, 1].
    """

    number: int
    text: str
    day: date
    fact_ids: tuple[str, ...] = ()
    episode_ids: tuple[str, ...] = ()
    confidence: float = 1.0


@dataclass(frozen=True, slots=True)
class CuratorDecision:
    """A decision of the curator with its reason; `undo(id)` reverts it while nothing depends on it."""

    id: str
    at: datetime
    action: Action
    subject: str
    relation: str
    object: str
    topic: str
    reason: str
    fact_ids: tuple[str, ...]
    undone: bool = False


@dataclass(frozen=True, slots=True)
class ToldFact:
    """A fact as the language tasks compare it: as a plain sentence, and `said`, the sentence that states it.

    `id` is that of the fact, or of the new statement. `is_note`: the fact is a whole sentence, like mem0's memories,
    which UPDATE may merge with others.
    """

    id: str
    text: str
    said: Unit
    is_note: bool = False


@dataclass(frozen=True, slots=True)
class FactOperation:
    """Effect of a new fact on the known facts it was compared with, named by their ids (mem0's four operations).

    ADD: keep both. UPDATE: the new fact replaces those named; of notes, `text` is the merged note, "" for the new one
    as is. DELETE: those named are contradicted, and archived; a new note is dropped too. NOOP: those named already say
    it.
    """

    action: Operation
    fact_ids: tuple[str, ...] = ()
    text: str = ""


@dataclass(frozen=True, slots=True)
class FactQuery:
    """A question as a walk over facts: from `subject` along `path` to the answer.

    With `asks` = "subject" the walk goes backwards from `object`. `before` names the object whose predecessor is asked
    for ("before the bathroom"); `previous` asks for the value before the current one. `count` asks how many. `named`
    asks for a name, which a kind ("grey cat") doesn't give.
    """

    asks: Literal["object", "subject", "whether", "when", "giver", "receiver", "thing"]
    path: tuple[str, ...]
    subject: str = ""
    object: str = ""
    topic: str = ""
    before: str = ""
    previous: bool = False
    count: bool = False
    named: bool = False
    as_of: datetime | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """A unit found by a search; `parts` (`explain=True`) are its score's components; `renewed`: see
    `retrieval.promote_latest`.
    """

    unit: Unit
    score: float
    parts: Mapping[str, float] = field(default_factory=dict)
    renewed: bool = False

    @property
    def id(self) -> str:
        """Return the source message's id, for `get`, `update`, `delete` …; a unit from many messages has its own."""
        one = self.unit.kind in OF_ONE_MESSAGE and self.unit.episode_ids
        return self.unit.episode_ids[0] if one else self.unit.id

    @property
    def text(self) -> str:
        """Text of the unit."""
        return self.unit.text

    @property
    def occurred_at(self) -> datetime:
        """Return the time when it was said."""
        return self.unit.occurred_at

    def to_dict(self) -> dict[str, Any]:
        """Return the hit and its unit as one flat mapping, used by REST, `--json` and adapters."""
        unit = self.unit
        return {
            "id": self.id,
            "text": unit.text,
            "kind": unit.kind,
            "score": self.score,
            "occurred_at": unit.occurred_at,
            "role": unit.role,
            "name": unit.name,
            "session": unit.session,
            "source": unit.source,
            "agent_id": unit.scope.agent_id,
            "run_id": unit.scope.run_id,
            "unit_id": unit.id,
            "episode_ids": unit.episode_ids,
            "metadata": unit.metadata,
            "parts": self.parts,
            "renewed": self.renewed,
        }


@dataclass(frozen=True, slots=True)
class Evidence:
    """A passage that supports an answer: the text of `hit` from `start` to `end`."""

    hit: Hit
    text: str
    start: int
    end: int
    score: float


@dataclass(frozen=True, slots=True)
class Usage:
    """Cost of an answer: language-model calls, tokens, and wall-clock seconds."""

    llm_calls: int = 0
    tokens: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer with the sentences it is based on. `abstained` is True if no stored text fits the question.

    `confidence` is in [0, 1]; `trace` names the steps, `notes` what is missing: unread messages, a model out of reach.
    It was read from `facts` by the walk `query`, which a follow-up question ("and before that?") can continue. The last
    `quotes` lines of `text` quote evidence; `short` is the text above them.
    """

    text: str
    abstained: bool
    confidence: float
    evidence: tuple[Evidence, ...]
    trace: tuple[str, ...] = ()
    usage: Usage = Usage()
    facts: tuple[Fact, ...] = ()
    query: FactQuery | None = None
    notes: tuple[str, ...] = ()
    quotes: int = 0

    @property
    def short(self) -> str:
        """Return the text without its quotations."""
        return unquoted(self.text, self.quotes)


def unquoted(text: str, quotes: int) -> str:
    """Remove a text's last lines, which quote evidence."""
    lines = text.split("\n")
    return "\n".join(lines[: len(lines) - quotes])


@dataclass(frozen=True, slots=True)
class Added:
    """Result of adding one message: `event` is ADD, or NOOP for the retry of an idempotency key.

    `decision` is None for a retry and with `infer=False`.
    """

    id: str
    event: Literal["ADD", "NOOP"]
    text: str
    decision: Decision | None


@dataclass(frozen=True, slots=True)
class HistoryEvent:
    """One change of one memory; `Memory.history` returns them oldest first.

    RECALL is the last recall, kept with `curator.recall = "restart"` or `score.recency_since = "recalled"`.
    """

    item_id: str
    event: Literal["ADD", "UPDATE", "DELETE", "RESTORE", "REDECIDE", "FEEDBACK", "RECALL"]
    at: datetime
    old_text: str | None = None
    new_text: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class EraseReceipt:
    """Proof of an erasure: the rows deleted, the state recomputed, and the files searched for remains.

    `rows` counts the deleted rows by table, empty if the call completed an interrupted erasure; `rebuilt` lists streams
    whose surprise model state and gate statistics were recomputed without the erased text, and hierarchies that lost
    summaries of it; `checked` are the files searched for the text and its names (document, agent, run, session,
    speaker), and `found` counts byte strings of them still present, except those that remaining messages share. In
    PostgreSQL the rows are gone and the tables vacuumed, but no file can be searched: `found` is None, and the
    write-ahead log, replicas and backups keep copies for as long as the server keeps these.
    """

    user_id: str
    item_id: str | None
    rows: Mapping[str, int]
    rebuilt: tuple[str, ...]
    checked: tuple[str, ...]
    found: int | None


@dataclass(frozen=True, slots=True)
class WorkerHealth:
    """A store's background worker: `owner` is its host, process id and a number of its own.

    `alive` is False if it died, or has sent no heartbeat for `worker.lease` seconds. `state` is its activity at the
    last `heartbeat`. Shared by all workers of the store are `slept_at`, the time of the last completed scheduled sleep,
    and `error`, the last error of background work, with its time; only whole-store counts include it.
    """

    owner: str
    heartbeat: datetime
    alive: bool
    state: str
    slept_at: datetime | None
    error: str | None
    error_at: datetime | None


@dataclass(frozen=True, slots=True)
class Stats:
    """Counts of a user or of the whole store.

    `written` and `deferred` are the gate's decisions; `units` counts active ones by kind, `facts` current ones by
    status; `failures` are errors of jobs that failed or wait to be retried; `stage_seconds` is this process's time
    spent on ingestion. `language` names the language engine; `language_work` counts its requests, tokens, failed
    requests, readings dropped as ungrounded (not supported by the text), and texts that needed no request (spared).
    `workers` are the background workers that run or died.
    """

    users: int
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
    embedder: str | None
    file_bytes: int
    stage_seconds: Mapping[str, float]
    language: str
    language_work: Mapping[str, int]
    workers: tuple[WorkerHealth, ...] = ()


@dataclass(frozen=True, slots=True)
class SleepReport:
    """Changes made by a sleep, or with `dry_run` those it would make.

    `replayed` deferred messages were processed, `refreshed` summaries were due; of the contradictions, `settled` were
    settled and `disputed` remain; `proposed` pairs of entities may be one. `forgotten_*` were moved from search to the
    archive, `promoted` messages had been recalled, `profile_lines` were written, changed or dropped, as were
    `derived_texts` (with `dry_run`: parts that are due). `failures` of language work are those of jobs, after which no
    later stage ran, or of disputes, which remain open.
    """

    users: tuple[str, ...]
    dry_run: bool = False
    failures: tuple[str, ...] = ()
    replayed: int = 0
    refreshed: int = 0
    settled: int = 0
    disputed: int = 0
    proposed: int = 0
    forgotten_facts: int = 0
    forgotten_messages: int = 0
    promoted: int = 0
    profile_lines: int = 0
    derived_texts: int = 0
