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
    """Owner of memories. `user_id` limits every access; the other two narrow or widen reads within the user's memories.

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

    `timestamp` is when it was said (None means now). `session` groups turns that belong together (a sitting, a chat
    window); `source` names the document, or is None for conversation. A retry with the same `idempotency_key` (at most
    400 characters) does nothing.
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

    `score` is compared with `threshold` in the unit of `rule`; `parts` maps names to the rule's inputs; `reason` is a
    sentence for display. `surprise` is in nats per token (NSCMA section 3.2), `information` is their sum in nats.
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
    """One stored message; every message added is kept as an episode."""

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
    """The structured record for a message (configured in section [records]).

    `entities` are the people, places and things that the message is about, except its speaker and listener, the most
    important first. `importance` is the message's importance, in [0, 1]. `sentiment` is None if unclear. `resolution`
    is "none" except for a question, problem or plan; `resolved_by` contains the ids of later messages that settle it.
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
    """Filter for records: any of these types, sentiments and resolutions (an empty list allows all), about this entity
    (under any of its names), and with at least this importance.
    """

    types: tuple[MemoryType, ...] = ()
    sentiments: tuple[Sentiment, ...] = ()
    resolutions: tuple[Resolution, ...] = ()
    entity: str | None = None
    importance: float = 0.0


@dataclass(frozen=True, slots=True)
class Unit:
    """Unit of retrieval. `episode_ids` lists its source messages; a chunk is its episode's text from `start` to
    `end`."""

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

    `members` are the ids of nodes one level below; a node may belong to several clusters. `text` is empty until `flush`
    writes the summary; until then, `stale` is True.
    """

    id: str
    level: int
    text: str
    members: tuple[str, ...]
    episode_ids: tuple[str, ...]
    stale: bool = False


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement about one subject, not yet compared with known facts. Its text is from `start` to `end`.

    `relation` is a name from `configs/relations.toml`; `topic` distinguishes objects of one relation ("colour" of
    favourite). `negated` means no longer true, or not true; without an `object`, it applies to every object. `replaces`
    is the object for which the relation was true before. `correction` means that the earlier statement was never true.
    `valid_from` and `valid_to` are the times given in the statement; `UNKNOWN_BEGIN` is an earlier time that it doesn't
    give. `begun_by` is the latest time at which a past change may have begun (`UNKNOWN_BEGIN` if unknown); it is None
    if the statement is true when said. `past` means that it was once true and no longer is. `confidence` is in (0, 1].
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
    """What was extracted from a unit: self-contained sentences (atomic facts) and statements (triples)."""

    sentences: tuple[str, ...] = ()
    statements: tuple[Statement, ...] = ()
    spans: tuple[tuple[int, int], ...] = ()  # (start, end) of each sentence in the unit's text; empty: not known


@dataclass(frozen=True, slots=True)
class Description:
    """Description of a unit by the language tasks, from which its structured record is made; see `MemoryRecord`.

    `entities` are in order of importance. `sentiment` is None if unclear. `settled` is True if the text itself says
    that its problem is solved, its plan carried out, or its question answered. `settles` contains the indices of
    earlier turns (among the turns before it) with a question, problem or plan that this unit settles.
    """

    type: MemoryType
    entities: tuple[str, ...] = ()
    sentiment: Sentiment | None = None
    settled: bool = False
    settles: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class SourcedLine:
    """A line written by language tasks from a group of units; `sources` are the indices of the units used.

    `confidence` is in (0, 1].
    """

    text: str
    sources: tuple[int, ...]
    confidence: float = 1.0


@dataclass(frozen=True, slots=True)
class QAPair:
    """A question and its answer, found by language tasks in a group of units; `sources` is as in `SourcedLine`.

    To check the pair, a memory is asked `query`, in which "I" means `asker` ("" if nobody in particular); `asking`
    contains the indices of the messages that ask the question.
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
    """A bitemporal fact: `(subject, relation, object)` with the time it is true in the world and the time it was
    believed.

    If `valid_from` is None, it began at an unknown time; if `valid_to` is None, it is still true; if `retired_at` is
    None, it is still believed. `sequence` orders facts that begin at the same time by when they were said, and `ended`
    is the position in this order at which the fact ended (None if it hasn't ended or this is unknown). `strength` is
    the number of statements that support it, and `episode_ids` are their messages; `reason` explains its status.
    `in_doubt` is the reason if later messages have taken away what all of these messages rest on, or have ended it
    without a statement that the curator could use.
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
    in_doubt: str = ""


DUE_AHEAD, DUE_MOST = 7, 366  # days that `Memory.due` looks ahead: by default, and at most


@dataclass(frozen=True, slots=True)
class Due:
    """Something that falls due on a day, according to a sentence of a message."""

    day: date
    text: str
    memory_id: str


@dataclass(frozen=True, slots=True)
class ProfileLine:
    """One line in a profile, true since `day` according to the facts with these ids. `number` is its position, from 0.

    Portrait and insights come after the facts: they are based on the messages `episode_ids`, the last of which is from
    `day`, with `confidence` in (0, 1].
    """

    number: int
    text: str
    day: date
    fact_ids: tuple[str, ...] = ()
    episode_ids: tuple[str, ...] = ()
    confidence: float = 1.0


@dataclass(frozen=True, slots=True)
class CuratorDecision:
    """A decision by the curator, with its reason; `undo(id)` reverts it as long as nothing depends on it."""

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
    """A fact as seen by the language tasks: a plain sentence, and `said`, the sentence that states it in the message.

    `id` is the id of the fact or of the new statement. `is_note` is True if the fact is a whole sentence, like mem0's
    memories, which UPDATE may merge with others.
    """

    id: str
    text: str
    said: Unit
    is_note: bool = False


@dataclass(frozen=True, slots=True)
class FactOperation:
    """Effect of a new fact on the known facts it was compared with, named by their ids (mem0's four operations).

    ADD: keep both. UPDATE: the new fact replaces the named facts; for notes, `text` is the merged note, or "" to keep
    the new note unchanged. DELETE: the named facts are contradicted and archived; a new note is dropped too. NOOP: the
    named facts already say the same.
    """

    action: Operation
    fact_ids: tuple[str, ...] = ()
    text: str = ""


@dataclass(frozen=True, slots=True)
class FactQuery:
    """A question as a walk over facts: from `subject` along `path` to the answer.

    If `asks` is "subject", the walk goes backwards from `object`. `before` asks for the predecessor of an object
    ("before the bathroom"); `previous` asks for the value before the current one. `count` asks how many there are.
    `named` asks for a name, so a kind ("grey cat") is no answer.
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
class AskedQuestion:
    """A question for a language task to answer.

    Attributes:
        answerability: how well the memory covers the question, in [-1, 2].
        asker: the name under which the asker's own messages appear; "I" in the question means this person.
        now: the time of the question; None if it doesn't matter.
        prior: the trained reader's probability that the hits contain the answer; 0.5 if it hasn't read them.
    """

    text: str
    answerability: float = 0.0
    asker: str = "user"
    now: datetime | None = None
    prior: float = 0.5


@dataclass(frozen=True, slots=True)
class Hit:
    """A unit found by a search. With `explain=True`, `parts` contains the components of its score. For `renewed`, see
    `retrieval.promote_latest`.
    """

    unit: Unit
    score: float
    parts: Mapping[str, float] = field(default_factory=dict)
    renewed: bool = False

    @property
    def id(self) -> str:
        """Return the id to use with `get`, `update` and `delete`: the source message's, or the unit's own if it has
        several sources."""
        one = self.unit.kind in OF_ONE_MESSAGE and self.unit.episode_ids
        return self.unit.episode_ids[0] if one else self.unit.id

    @property
    def text(self) -> str:
        """Return the text of the unit."""
        return self.unit.text

    @property
    def occurred_at(self) -> datetime:
        """Return the time when the unit's text was said."""
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
    """The cost of an answer: language-model calls, tokens, and wall-clock seconds."""

    llm_calls: int = 0
    tokens: int = 0
    seconds: float = 0.0


NOT_SURE = " (not sure)"  # after a short answer that may well be wrong


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer with the sentences it is based on. `abstained` is True if no stored text answers the question.

    `confidence` is the probability that the answer is right; of an answer that abstained, that the memory contains
    one. `trace` names the steps; `notes` says what is missing, such as unprocessed messages or an
    unreachable model. If the answer comes from `facts`, `query` is the walk that found it, which a follow-up question
    ("and before that?") can continue. The last `quotes` lines of `text` quote evidence; `short` is the text above them,
    without the mark of an unsure answer.
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
        """Return the answer's text without the quoted evidence and `NOT_SURE`."""
        return self.marked.removesuffix(NOT_SURE)

    @property
    def marked(self) -> str:
        """Return `short` with `NOT_SURE` if the answer is unsure, to be shown to people."""
        return unquoted(self.text, self.quotes)


def unquoted(text: str, quotes: int) -> str:
    """Remove the last `quotes` lines of a text, which quote evidence."""
    lines = text.split("\n")
    return "\n".join(lines[: len(lines) - quotes])


@dataclass(frozen=True, slots=True)
class Added:
    """Result of adding one message: `event` is ADD, or NOOP if the idempotency key was used before.

    `decision` is None for such a retry and with `infer=False`. `hidden` has the ids of the messages that are hidden
    because this one asks to forget them. `masked` has the kind of each part that was masked before it was stored.
    """

    id: str
    event: Literal["ADD", "NOOP"]
    text: str
    decision: Decision | None
    hidden: tuple[str, ...] = ()
    masked: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HistoryEvent:
    """One change to a memory; `Memory.history` returns changes oldest first.

    RECALL is the last recall; it is recorded only with `curator.recall = "restart"` or `score.recency_since =
    "recalled"`.
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

    `rows` counts the deleted rows by table; it is empty if the call completed an interrupted erasure. `rebuilt` lists
    the streams for which the surprise model's state and the gate's statistics were recomputed without the erased text,
    and the hierarchies that lost summaries of it. `checked` lists the files searched for the text and its names
    (document, agent, run, session, speaker), and `found` is the number of their byte strings still present, except
    those that remaining messages share. In PostgreSQL, the rows are deleted and the tables vacuumed, but no file can be
    searched: `found` is None, and the write-ahead log, replicas and backups contain copies as long as the server keeps
    them.
    """

    user_id: str
    item_id: str | None
    rows: Mapping[str, int]
    rebuilt: tuple[str, ...]
    checked: tuple[str, ...]
    found: int | None


@dataclass(frozen=True, slots=True)
class WorkerHealth:
    """State of a background worker; `owner` consists of its host, process id and a unique number.

    `alive` is False if it died, or has sent no heartbeat for `worker.lease` seconds. `state` is its activity at the
    last `heartbeat`. Two values are the same for all workers of a store: `slept_at`, the time of the last completed
    scheduled sleep, and `error`, the last error in background work, with its time; only whole-store counts include the
    error.
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
    """Counts for one user or for the whole store.

    `written` and `deferred` count the gate's decisions; `units` counts active units by kind, and `facts` current facts
    by status; `failures` are the errors of jobs that failed or are waiting to be retried; `stage_seconds` is the time
    that this process spent on each stage of ingestion. `language` names the language engine; `language_work` counts its
    requests, tokens, failed requests, extractions dropped because the text doesn't support them (ungrounded), and texts
    that needed no request (spared). `workers` are the background workers that are running or have died.
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

    Numbers of: messages erased because they are older than `retention.days` allows (`erased`); deferred messages
    processed (`replayed`); summaries renewed (`refreshed`); contradictions resolved
    (`settled`) and still open (`disputed`); pairs of entities that may be the same (`proposed`); facts and messages
    moved from search to the archive (`forgotten_*`); messages whose importance rose because they were recalled
    (`promoted`); profile lines and derived texts written, changed or dropped (`profile_lines`, `derived_texts`; with
    `dry_run`, the parts due). `failures` lists errors in language work: from jobs, after which no later stage ran, or
    from disputes, which remain open.
    """

    users: tuple[str, ...]
    dry_run: bool = False
    failures: tuple[str, ...] = ()
    erased: int = 0
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
