"""Records that the memory holds and returns, as frozen dataclasses.

Times are timezone-aware `datetime`s. `occurred_at` is when something was said (world time, by the caller), in the zone
that it was given with, and so are the times of facts; `recorded_at` is when it was stored (system time), in UTC like
all others. Information is in nats.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from enum import Enum
from typing import Any, Final, Literal

from nscma_torch.core.errors import ScopeError

DerivedKind = Literal[
    "insight",
    "qa_pair",
    "skill",
    "document_summary",
    "daily_summary",
    "global_summary",
    "daily_insight",
    "portrait",
    "reflection",
]
UnitKind = Literal["chunk", "triple", "atomic_fact", "summary", DerivedKind]
OF_ONE_MESSAGE: frozenset[UnitKind] = frozenset({"chunk", "triple", "atomic_fact"})  # the others rest on many, or none
Status = Literal["active", "archived", "deleted"]
FactStatus = Literal["active", "archived", "disputed"]
Action = Literal["ADD", "UPDATE", "ARCHIVE", "NOOP", "MERGE", "PROPOSE"]
Operation = Literal["ADD", "UPDATE", "DELETE", "NOOP"]
UNKNOWN_BEGIN = datetime.min.replace(tzinfo=UTC)  # of what began before it was said, nobody knows when
ROLES = ("user", "assistant", "system", "tool", "document")
MemoryType = Literal["question", "problem", "plan", "preference", "event", "fact", "remark"]
Sentiment = Literal["positive", "neutral", "negative"]
Resolution = Literal["none", "open", "resolved"]
RESOLVABLE: frozenset[MemoryType] = frozenset({"question", "problem", "plan"})  # the others have no resolution


class Keep(Enum):
    """`KEEP` leaves a value as it is, where None takes it away."""

    KEEP = "keep"


KEEP: Final = Keep.KEEP


@dataclass(frozen=True, slots=True)
class Scope:
    """Owner of memories. `user_id` bounds everything; the other two narrow or widen reads within the user.

    Raises `ScopeError` for an id that is empty, no string, above 256 characters, or holds control characters.
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
    """One turn of a conversation, or one section of a document, as the caller hands it in.

    `timestamp` is when it was said, None for now. `session` groups turns that belong together (a sitting, a chat
    window); `source` names the document, None for conversation. A retry with the same `idempotency_key` (at most
    400 characters) is a no-op.
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

    `rule` names the rule; `score` is compared with `threshold` in the rule's own unit; `parts` are the rule's
    ingredients by name; `reason` is a sentence for people. `surprise` is nats per token (NSCMA section 3.2),
    `information` the sum in nats.
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
    """One message as it is kept: nothing that was added is ever without its episode."""

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

    `entities` are the people, places and things it is about, but for who speaks and who is spoken to; the first weighs
    most. `importance` is that of the message, in [0, 1]. `sentiment` is None where it cannot be told. `resolution` is
    "none" but for a question, problem or plan; `resolved_by` are ids of later messages that settle it.
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
    """A node of the hierarchy. On level 0 it is a chunk, above a cluster with its summary.

    `members` are the ids of nodes one level below; a node may be a member of several. `text` is empty while the node
    waits for its summary (`stale`): `flush` writes it.
    """

    id: str
    level: int
    text: str
    members: tuple[str, ...]
    episode_ids: tuple[str, ...]
    stale: bool = False


@dataclass(frozen=True, slots=True)
class Statement:
    """A text's statement about one subject, not yet compared with known facts: text from `start` to `end`.

    `relation` is a name of `configs/relations.toml`; `topic` tells apart what it has one of each ("colour" of
    favourite). `negated`: no longer, or not; with no `object` none holds. `replaces` is the object that held before;
    `correction`: what was said before was never true. `valid_from` and `valid_to` are the times it names itself,
    `UNKNOWN_BEGIN` for an earlier one that it does not tell. `begun_by` is the latest time at which it began, if it
    tells of a change long ago (`UNKNOWN_BEGIN`: nobody knows how long); None if it tells what holds when it is said.
    `past`: it held once, and no longer does. `confidence` is in (0, 1].
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

    `entities` come in order of weight. `sentiment` is None where it cannot be told. `settled`: the text itself says
    that its problem is solved, its plan carried out, or its question answered. `settles` are the places, among the
    turns before it, of those whose question, problem or plan it settles.
    """

    type: MemoryType
    entities: tuple[str, ...] = ()
    sentiment: Sentiment | None = None
    settled: bool = False
    settles: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class SourcedLine:
    """A line that language tasks write from a group of units: `sources` are the places in it of those it rests on.

    `confidence` is in (0, 1].
    """

    text: str
    sources: tuple[int, ...]
    confidence: float = 1.0


@dataclass(frozen=True, slots=True)
class QAPair:
    """A question and its answer as language tasks find them in a group of units; `sources` as in `SourcedLine`.

    To check the pair a memory is asked `query`, in which "I" means `asker` ("" for nobody in particular); `asking` are
    the places of the messages that ask it themselves.
    """

    question: str
    answer: str
    sources: tuple[int, ...]
    query: str
    asker: str = ""
    asking: tuple[int, ...] = ()

    @property
    def text(self) -> str:
        """The pair as it is stored: the question on the first line, the answer on the second."""
        return "\n".join(" ".join(part.split()) for part in (self.question, self.answer))


SEQUENCE_STEP = 64  # of `Fact.sequence`, from a place of a message to the next: what one sentence says is within it


@dataclass(frozen=True, slots=True)
class Fact:
    """`(subject, relation, object)` with the time it holds in the world and the time it was believed: bitemporal.

    `valid_from` None: since an unknown time; `valid_to` None: still. `retired_at` None: believed now. `sequence` puts
    facts that begin at the same time in the order they were said, and `ended` says where in it they ended (None: still,
    or it is not known). `strength` counts the statements behind it, `episode_ids` are the messages that made them;
    `reason` says why it has its status.
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
    """One line of a profile: what holds since `day`, by the facts with these ids. `number` is its place, from 0.

    Portrait and insights follow the facts: `day` is that of the last of the messages `episode_ids`, on which they rest
    with this `confidence`, in (0, 1].
    """

    number: int
    text: str
    day: date
    fact_ids: tuple[str, ...] = ()
    episode_ids: tuple[str, ...] = ()
    confidence: float = 1.0


@dataclass(frozen=True, slots=True)
class CuratorDecision:
    """One thing that the curator decided, with its reason; `undo(id)` takes it back while nothing rests on it."""

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
    """A fact as the language tasks compare it: in a plain sentence, and `said`, the sentence that states it.

    `id` is that of the fact, or of the statement that is new. `is_note`: the fact is a whole sentence, as
    mem0's memories are, which UPDATE may merge with others.
    """

    id: str
    text: str
    said: Unit
    is_note: bool = False


@dataclass(frozen=True, slots=True)
class FactOperation:
    """Effect of a new fact on the known facts it was compared with, named by their ids (mem0's four operations).

    ADD: it stands beside them. UPDATE: it takes the place of those named; of notes, `text` is the merged note, "" for
    the new one as it is. DELETE: those named are contradicted, and archived; a new note is not kept either. NOOP:
    nothing is new; those named say it already.
    """

    action: Operation
    fact_ids: tuple[str, ...] = ()
    text: str = ""


@dataclass(frozen=True, slots=True)
class FactQuery:
    """A question as a walk over facts: from `subject` along `path`, to what is asked.

    With `asks` = "subject" the walk goes backwards from `object`. `before` names the object before which a past value
    is asked ("before the bathroom"); `previous` asks for the value before the current one. `count` asks how many.
    `named` asks what it is called, which a kind ("grey cat") does not tell.
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
    """A unit found by a search; `parts` (`explain=True`) made its score; `renewed`: see `retrieval.promote_latest`."""

    unit: Unit
    score: float
    parts: Mapping[str, float] = field(default_factory=dict)
    renewed: bool = False

    @property
    def id(self) -> str:
        """Id of the message it came from, which `get`, `update`, `delete` … take; what rests on many has its own."""
        one = self.unit.kind in OF_ONE_MESSAGE and self.unit.episode_ids
        return self.unit.episode_ids[0] if one else self.unit.id

    @property
    def text(self) -> str:
        """Text of the unit."""
        return self.unit.text

    @property
    def occurred_at(self) -> datetime:
        """Time when it was said."""
        return self.unit.occurred_at

    def to_dict(self) -> dict[str, Any]:
        """The hit and its unit as one flat mapping: what REST answers, `--json` prints and adapters pick from."""
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
    """An answer with the sentences that it rests on. `abstained` is True when nothing stored fits the question.

    `confidence` is in [0, 1]; `trace` names the steps, `notes` what is lacking: unread messages, a model out of reach.
    It was read off from `facts` by the walk `query`, on which a next question ("and before that?") can follow. The last
    `quotes` lines of `text` quote evidence; `short` is what stands above them.
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
        """The text without its quotations."""
        return unquoted(self.text, self.quotes)


def unquoted(text: str, quotes: int) -> str:
    """A text without its last lines, which quote evidence."""
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
    """One change of one memory, oldest first in `Memory.history`.

    RECALL is when it was last recalled, kept with `curator.recall = "restart"` or `score.recency_since = "recalled"`.
    """

    item_id: str
    event: Literal["ADD", "UPDATE", "DELETE", "RESTORE", "REDECIDE", "FEEDBACK", "RECALL"]
    at: datetime
    old_text: str | None = None
    new_text: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class EraseReceipt:
    """Proof of an erasure: what went, what was reset, and which files were searched for its bytes.

    `rows` counts the deleted rows by table, none where it ends an interrupted erasure; `rebuilt` lists streams whose
    surprise model state and gate statistics were recomputed without the erased text, and hierarchies that lost
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
    """A background worker of a store: `owner` is its host, process id and a number of its own.

    `alive` is False where it ended without a word, or has given no sign of life for `worker.lease` seconds. `state` is
    what it was doing at the last `heartbeat`. Of all workers of the store together are `slept_at`, the time of the last
    scheduled sleep that was done for all users, and `error`, the last one of background work, with its time; only the
    counts of the whole store have it.
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

    `written` and `deferred` are the gate's decisions; `units` counts active ones by kind, `facts` those believed now by
    status; `failures` are errors of jobs that failed, or wait after one; `stage_seconds` is what this process spent on
    ingestion. `language` does the language work; `language_work` counts its requests, tokens, failed requests,
    readings dropped as ungrounded (not said by the text), and texts that needed no request: spared. `workers` are the
    background workers that run, or ended without a word.
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

    `replayed` deferred messages were read, `refreshed` summaries were due; of the contradictions `settled` were
    settled and `disputed` stand; `proposed` pairs of entities may be one. `forgotten_*` left search for the archive,
    `promoted` messages had been recalled, `profile_lines` were written, changed or dropped, and
    so were `derived_texts` (with `dry_run`: parts that are due). `failures` of language
    work: of jobs, which show them, and then no later stage was begun; or of disputes, which stand as they were.
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
