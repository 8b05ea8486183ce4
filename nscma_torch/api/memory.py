"""`Memory`: long-term memory in one store. It only delegates; if mem0 has a method, it has the same name here."""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, get_args

from nscma_torch.api.components import Components
from nscma_torch.api.observed import observed
from nscma_torch.api.validation import (
    checked_count,
    checked_flag,
    checked_ids,
    checked_instance,
    checked_kinds,
    checked_limit,
    checked_number,
    checked_question,
    checked_record,
    checked_stream,
    checked_text,
    checked_user,
    clock,
    narrowed,
)
from nscma_torch.core.capabilities import capability
from nscma_torch.core.config import Config, load_config, override
from nscma_torch.core.database.clock import to_micros
from nscma_torch.core.database.database import ALL_USERS, user_or_all
from nscma_torch.core.errors import ConfigError, InvalidInputError, NotFoundError, StoreClosedError
from nscma_torch.core.jobs import jobs
from nscma_torch.core.optional_parts import RecordRows, SkillRows
from nscma_torch.core.protocols import Embedder, LanguageTasks, SurpriseModel
from nscma_torch.core.records import (
    DUE_AHEAD,
    DUE_MOST,
    KEEP,
    Added,
    Answer,
    CuratorDecision,
    DerivedKind,
    Due,
    Episode,
    EraseReceipt,
    Fact,
    HistoryEvent,
    Hit,
    Keep,
    MemoryRecord,
    Message,
    Node,
    ProfileLine,
    RecordFilter,
    Scope,
    SleepReport,
    Stats,
    UnitKind,
)
from nscma_torch.core.skill import FoundSkill, Skill
from nscma_torch.curator import statistics
from nscma_torch.curator.store import derived_texts, profiles
from nscma_torch.curator.store.derived_texts import DerivedText
from nscma_torch.episodic.log import backlog, episodes, history, sessions
from nscma_torch.episodic.log.backlog import EXTRACT
from nscma_torch.episodic.log.sessions import Session
from nscma_torch.hierarchy.store import hierarchies, tree
from nscma_torch.maintenance import digest, transfer
from nscma_torch.search.search_bounds import Bounds
from nscma_torch.semantic.store import decisions
from nscma_torch.semantic.timeline import fact_doubts, fact_views, related_facts
from nscma_torch.standing import effects
from nscma_torch.text.calendar.timestamps import parse_timestamp
from nscma_torch.text.messages import CheckedMessage, MessagesLike, as_messages

if TYPE_CHECKING:
    from nscma_torch.ingest.replay import Redecision
    from nscma_torch.search.store_module import StoreModule

_log = logging.getLogger("nscma")


@observed
class Memory:
    """An open store.

    Args:
        store: the database file, or the address of a PostgreSQL database (postgresql://…, see docs/postgresql.md);
            created if it doesn't exist.
        config: a `Config`, the path of a TOML file, a mapping of sections, or None for the defaults.
        embedder: used instead of the configured embedder.
        surprise_model: used instead of the configured surprise model.
        tasks: used instead of the configured language tasks.
        background: process messages and run sleep in a background thread (`[worker]`) until `close`. If the store
            already has background workers (`nscma worker`), they share the users.

    Every call takes a `user_id` and only reads and writes that user's data; `agent_id` and `run_id` narrow a read
    further. Times are aware datetimes (naive ones are interpreted as UTC); the offset of a message's time, and of
    `now`, determines which day "yesterday" is. `now` overrides the clock. Models are loaded when first used.
    """

    _closed = False

    def __init__(
        self,
        store: str | Path = "nscma.db",
        *,
        config: Config | str | Path | Mapping[str, Any] | None = None,
        embedder: Embedder | None = None,
        surprise_model: SurpriseModel | None = None,
        tasks: LanguageTasks | None = None,
        background: bool = False,
    ) -> None:
        self.config = config if isinstance(config, Config) else load_config(config)
        replaced = (
            ("embedder", embedder, Embedder),
            ("surprise_model", surprise_model, SurpriseModel),
            ("tasks", tasks, LanguageTasks),
        )
        for name, value, kind in replaced:
            if value is not None:
                checked_instance(value, kind, name)
        checked_flag(background, "background")
        self._components = Components(store, self.config, embedder=embedder, surprise_model=surprise_model, tasks=tasks)
        self._end_background: Callable[[], object] | None = None
        if background:
            beside = self._components.background()
            beside.start()
            self._end_background = weakref.finalize(self, beside.stop)  # also where `close` is forgotten

    @property
    def components(self) -> Components:
        """Return the parts of this memory. Raises `StoreClosedError` if it is closed."""
        if self._closed:
            raise StoreClosedError(f"the memory in {self._components.database.name} is closed; open it again")
        return self._components

    def add(
        self,
        messages: MessagesLike,
        *,
        user_id: str,
        agent_id: str | None = None,
        run_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        timestamp: datetime | str | float | None = None,
        expiration_date: datetime | str | None = None,
        idempotency_key: str | None = None,
        depends_on: Sequence[str] = (),
        infer: bool = True,
        now: datetime | None = None,
    ) -> list[Added]:
        """Store a text, a message or a list of messages. They are on disk and searchable when this returns.

        Args:
            messages: a string (role user), a `Message`, or OpenAI-style mappings.
            metadata: stored with each message and usable as a filter; a message's own keys take precedence.
            timestamp: time for messages without a timestamp; now by default.
            expiration_date: time from which reads omit the message.
            idempotency_key: a second `add` with the same key does nothing; if there are several messages, each gets the
                key followed by its number.
            depends_on: ids of the user's earlier messages that these rest on. If one of them ends, these are in doubt.
            infer: queue messages that pass the gate for extraction.

        Raises:
            InvalidInputError: a text is empty or too large, a timestamp is invalid or in the future, metadata isn't
                JSON-serialisable, or a message of `depends_on` isn't earlier than these; nothing is stored.
            NotFoundError: a message of `depends_on` doesn't exist; nothing is stored.
        """
        recorded_at = clock(now)
        checked_flag(infer, "infer")
        expires_at = None if expiration_date is None else parse_timestamp(expiration_date)
        said = None if timestamp is None else parse_timestamp(timestamp)
        batch = as_messages(messages, metadata=metadata, timestamp=said, idempotency_key=idempotency_key)
        scope = Scope(user_id, agent_id, run_id)
        checked = [self.components.checked(message, recorded_at) for message in batch]
        grounds = self._grounds(checked_ids(depends_on, "depends_on"), checked, scope, recorded_at)
        self.components.recalls.queue(scope.user_id)
        added = self.components.writer.add(checked, scope, recorded_at=recorded_at, expires_at=expires_at, infer=infer)
        if grounds:
            with self.components.database.write(scope.user_id) as connection:
                new = episodes.seqs_of(connection, scope.user_id, [own.id for own in added if own.event == "ADD"])
                effects.tell_rests(connection, scope.user_id, new, grounds)
        return self._follow_requests(added, checked, scope, recorded_at)

    def _grounds(
        self, ids: Sequence[str], messages: Sequence[CheckedMessage], scope: Scope, recorded_at: datetime
    ) -> list[int]:
        """Return the row numbers of the messages that new ones rest on; see `add`."""
        if not ids:
            return []
        first = min(parse_timestamp(own.message.timestamp or recorded_at) for own in messages)
        with self.components.database.read(scope.user_id) as connection:
            found = [episodes.require(connection, scope.user_id, one) for one in dict.fromkeys(ids)]
        for _, ground in found:
            if ground.occurred_at > first:
                raise InvalidInputError(
                    f"message {ground.id} was said after a message that depends on it; a message can only depend on "
                    "earlier ones"
                )
        return [seq for seq, _ in found]

    def add_many(
        self,
        messages: Iterable[Message],
        *,
        user_id: str,
        agent_id: str | None = None,
        run_id: str | None = None,
        infer: bool = True,
        now: datetime | None = None,
        progress: Callable[[int], None] = lambda _: None,
    ) -> Iterator[Added]:
        """Store a stream of messages in batches of `limits.max_batch`; yield each result once it is on disk.

        An invalid message raises an error after the preceding batches are stored; with idempotency keys, which file
        readers set, the whole call can be repeated. The stream is read lazily. `progress` is called, from any thread,
        with the number of UTF-8 bytes just indexed.
        """
        scope = Scope(user_id, agent_id, run_id)
        checked_flag(infer, "infer")
        if isinstance(messages, str | Mapping | Message):
            raise InvalidInputError("add_many takes an iterable of messages; use `add` for a single one")
        stream = checked_stream(messages, "messages must be an iterable of messages")
        while batch := list(islice(stream, self.config.limits.max_batch)):
            recorded_at = clock(now)
            checked = [self.components.checked(message, recorded_at) for message in as_messages(batch)]
            added = self.components.writer.add(checked, scope, recorded_at=recorded_at, infer=infer, progress=progress)
            yield from self._follow_requests(added, checked, scope, recorded_at)

    def _follow_requests(
        self, added: list[Added], messages: Sequence[CheckedMessage], scope: Scope, now: datetime
    ) -> list[Added]:
        """Hide what new messages ask to forget, if `standing.forget_requests` is on."""
        follower = self.components.forget_follower
        return added if follower is None else follower.follow(scope, added, messages, now=now)

    def update(
        self,
        memory_id: str,
        text: str | None = None,
        *,
        user_id: str,
        metadata: Mapping[str, Any] | None = None,
        expiration_date: datetime | str | Keep | None = KEEP,
        now: datetime | None = None,
    ) -> Episode:
        """Replace a message's text, some metadata, or its expiration date (None removes it); `history` keeps the old
        values.

        Raises `NotFoundError` for an unknown id, and `InvalidInputError` if nothing would change.
        """
        at = clock(now)
        if text is None and metadata is None and expiration_date is KEEP:
            raise InvalidInputError("nothing to change; give text, metadata or expiration_date")
        keys = {} if metadata is None else checked_instance(metadata, Mapping, "metadata")
        new = self.components.checked(Message("user", "-" if text is None else text, metadata=keys), at).message
        if text is not None:
            text = new.content
        if metadata is not None:
            metadata = new.metadata
        expires_at = expiration_date
        if not (expires_at is None or isinstance(expires_at, Keep)):
            expires_at = parse_timestamp(expires_at)
        user = Scope(user_id).user_id
        return self.components.editor.update(user, memory_id, text, metadata=metadata, expires_at=expires_at, at=at)

    def delete(self, memory_id: str, *, user_id: str, now: datetime | None = None) -> bool:
        """Hide a message from every read except `history`; `restore` undoes this. To delete it permanently, use
        `erase`.
        """
        return bool(self.components.editor.delete(Scope(user_id).user_id, [memory_id], at=clock(now)))

    def restore(self, memory_id: str, *, user_id: str, now: datetime | None = None) -> bool:
        """Restore a deleted message; return False if it wasn't deleted."""
        return bool(self.components.editor.restore(Scope(user_id).user_id, [memory_id], at=clock(now)))

    def delete_all(
        self, *, user_id: str, agent_id: str | None = None, run_id: str | None = None, now: datetime | None = None
    ) -> int:
        """Hide all messages in a scope like `delete`; return their number."""
        scope = Scope(user_id, agent_id, run_id)
        with self.components.database.read(scope.user_id) as connection:
            rows = episodes.select_all(connection, scope, episodes.live())
            ids = [episode.id for episode in rows]
        return self.components.editor.delete(user_id, ids, at=clock(now))

    def search(
        self,
        query: str,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        filters: Mapping[str, Any] | None = None,
        record: Mapping[str, Any] | None = None,
        top_k: int | None = None,
        threshold: float | None = None,
        kinds: Sequence[UnitKind] | None = None,
        strategy: str | None = None,
        budget: int | None = None,
        as_of: datetime | None = None,
        now: datetime | None = None,
        explain: bool = False,
        where: Callable[[Episode], bool] | None = None,
        expired: bool = False,
        relevant: bool = False,
        keep: Callable[[Hit], bool] = lambda _: True,
    ) -> list[Hit]:
        """Return the stored units that match the query, best first.

        Args:
            filters: `user_id`, `agent_id`, `run_id`, or metadata keys with their required values.
            record: filter on the structured record for a unit's message (see `records`); units without a record don't
                match.
            kinds: kinds of units to search: chunk, summary, any kind for `derived`, and triple, atomic_fact and
                document_summary if `facts.units` enables them; the configured kinds by default.
            top_k: maximum number of results; `retrieval.top_k` by default.
            threshold: minimum score, or None for no minimum; scores are relative to each lane's best, and strategies
                add to them.
            strategy: a name from `retrieval.strategies`, or auto; the configured strategy by default.
            budget: maximum tokens in all texts together; texts are dropped whole or cut between sentences.
            as_of: search the memory as it was at this time, without later messages.
            explain: fill `Hit.parts` with each lane's score and rank.
            where: predicate on messages; only units of messages that satisfy it are returned.
            expired: include expired messages.
            relevant: return nothing if no stored text is relevant enough (above `retrieval.floor`).
            keep: predicate on hits, called best first; hits for which it is false are dropped and don't count as
                recalled.
        """
        scope, wanted = narrowed(filters, user_id=user_id, agent_id=agent_id, run_id=run_id)
        checked_question(query, "the query", self.config.limits)
        bounds = self._bounds(scope, wanted, kinds, as_of, now, record)
        bounds = replace(bounds, expired=checked_flag(expired, "expired"), among=self._among(scope, where))
        most = None if budget is None else checked_count(budget, "budget")
        found = self.components.retriever.retrieve(
            query,
            bounds,
            strategy=strategy,
            top_k=self._top_k(top_k),
            threshold=None if threshold is None else checked_number(threshold, "threshold"),
            budget=most,
            explain=checked_flag(explain, "explain"),
        )
        if checked_flag(relevant, "relevant") and not found.bears(self.config.retrieval.floor):
            return []
        hits = [hit for hit in found.hits if keep(hit)]
        self.components.recalls.note(scope.user_id, hits, at=clock(now))
        return hits

    def ask(
        self,
        question: str,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        filters: Mapping[str, Any] | None = None,
        record: Mapping[str, Any] | None = None,
        top_k: int | None = None,
        as_of: datetime | None = None,
        now: datetime | None = None,
        follows: Answer | None = None,
    ) -> Answer:
        """Answer from facts or else from one retrieval, with evidence; otherwise return an answer that says the memory
        doesn't know.

        The user's latest messages are processed first (`retrieval.settle_seconds`), so this may write; the answer's
        `notes` report messages not yet processed. The arguments are as in `search`; `follows` is the previous answer,
        for follow-up questions such as "and before that?".
        """
        from nscma_torch.answering.answered import answered

        scope, wanted = narrowed(filters, user_id=user_id, agent_id=agent_id, run_id=run_id)
        checked_question(question, "the question", self.config.limits)
        bounds, most = self._bounds(scope, wanted, None, as_of, now, record), self._top_k(top_k)
        at = None if as_of is None else parse_timestamp(as_of)
        before = None if follows is None else checked_instance(follows, Answer, "follows, the answer before,")
        answer, hits = answered(self.components, question, bounds, now=clock(now), as_of=at, follows=before, top_k=most)
        self.components.recalls.note(scope.user_id, hits, at=clock(now))
        return answer

    def as_module(
        self,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        filters: Mapping[str, Any] | None = None,
        kinds: Sequence[UnitKind] | None = None,
        as_of: datetime | None = None,
        now: datetime | None = None,
        scale: float = 20.0,
    ) -> StoreModule:
        """Return a live view of a user's memory as a `torch.nn.Module`, which computes attention over the units'
        embeddings.

        Each call sees the current store, limited like a `search` with these arguments; it counts no recalls. `scale`
        multiplies the scores before the softmax.
        """
        from nscma_torch.search.store_module import StoreModule

        scope, wanted = narrowed(filters, user_id=user_id, agent_id=agent_id, run_id=run_id)
        if checked_number(scale, "scale") <= 0:
            raise InvalidInputError(f"scale is {scale!r}; it must be above 0")
        self._bounds(scope, wanted, kinds, as_of, now)  # invalid ones are reported here
        if self.config.score.scaling != "none":
            raise ConfigError(
                "a view as a module needs scores linear in the question, which score.scaling 'min-max' isn't: "
                "set it to 'none'"
            )
        return StoreModule(
            lambda: self.components.searcher,
            lambda: self._bounds(scope, wanted, kinds, as_of, now),
            alpha=self.config.score.alpha,
            scale=scale,
        )

    def _among(self, scope: Scope, where: Callable[[Episode], bool] | None) -> tuple[int, ...] | None:
        if where is None:
            return None
        with self.components.database.read(scope.user_id) as connection:
            return episodes.units_of_fitting(connection, scope, where)

    def _top_k(self, top_k: int | None) -> int:
        return self.config.retrieval.top_k if top_k is None else checked_count(top_k)

    def _bounds(
        self,
        scope: Scope,
        metadata: Mapping[str, Any],
        kinds: Sequence[UnitKind] | None,
        as_of: datetime | None,
        now: datetime | None,
        record: Mapping[str, Any] | None = None,
    ) -> Bounds:
        kinds = self.config.retrieval.kinds if kinds is None else checked_kinds(kinds)
        for kind in self.config.unmade(kinds):
            raise InvalidInputError(f"units of kind {kind!r} are disabled: add it to facts.units, then `reextract`")
        ahead = self.config.limits.max_clock_skew if as_of is None else 0.0
        at = clock(now) if as_of is None else parse_timestamp(as_of)
        return Bounds(scope, at, timedelta(seconds=ahead), tuple(kinds), metadata, record=checked_record(record))

    def get(
        self, memory_id: str, *, user_id: str, now: datetime | None = None, expired: bool = False
    ) -> Episode | None:
        """Return a message, or None if the user has no active message with this id; `expired` includes expired
        messages.
        """
        at, user = clock(now), Scope(user_id).user_id
        with self.components.database.read(user) as connection:
            episode = episodes.find(connection, user, memory_id)
        if episode is None or episode.status != "active":
            return None
        lasts = episode.expires_at is None or episode.expires_at > at
        return episode if lasts or checked_flag(expired, "expired") else None

    def get_all(
        self,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        filters: Mapping[str, Any] | None = None,
        limit: int | None = 100,
        now: datetime | None = None,
        where: Callable[[Episode], bool] = lambda _: True,
        expired: bool = False,
    ) -> list[Episode]:
        """Return the active messages in a scope in order of arrival; `limit=None` returns all.

        `filters`, `where` and `expired` are as in `search`.
        """
        scope, wanted = narrowed(filters, user_id=user_id, agent_id=agent_id, run_id=run_id)
        at = None if checked_flag(expired, "expired") else to_micros(clock(now))
        with self.components.database.read(scope.user_id) as connection:
            rows = episodes.select_all(connection, scope, episodes.live(at))
            fitting = (row for row in rows if episodes.matches(row.metadata, wanted) and where(row))
            return list(islice(fitting, checked_limit(limit)))

    def records(
        self,
        *,
        user_id: str,
        agent_id: str | None = None,
        run_id: str | None = None,
        record: Mapping[str, Any] | None = None,
        limit: int | None = 100,
        now: datetime | None = None,
    ) -> list[MemoryRecord]:
        """Return the structured records for a scope's messages (section [records]), in order of arrival.

        `record` filters them by `type`, `sentiment`, `resolution` (a value or a list of values), `entity` (any of its
        names) and `importance` (the minimum); `limit=None` returns all. Messages processed while [records] was disabled
        have none; `reextract` creates them.
        """
        wanted = checked_record(record) or RecordFilter()
        scope, at, most = Scope(user_id, agent_id, run_id), to_micros(clock(now)), checked_limit(limit)
        with self.components.database.read(scope.user_id) as connection:
            return _record_rows().select_records(connection, scope, wanted, at, limit=most)

    def record(self, memory_id: str, *, user_id: str, now: datetime | None = None) -> MemoryRecord | None:
        """Return a message's structured record, or None if it has no record or the user has no active message with this
        id.
        """
        at, user = to_micros(clock(now)), Scope(user_id).user_id
        with self.components.database.read(user) as connection:
            return _record_rows().find(connection, user, memory_id, at)

    def log(
        self,
        *,
        user_id: str,
        agent_id: str | None = None,
        run_id: str | None = None,
        ids: Sequence[str] | None = None,
        deferred: bool | None = None,
        limit: int | None = None,
    ) -> list[Episode]:
        """Return all messages in a scope, including deleted ones, with the gate's decisions. `ids` selects messages by
        id, and `deferred` by decision.
        """
        scope = Scope(user_id, agent_id, run_id)
        conditions = [] if deferred is None else [episodes.decided(not checked_flag(deferred, "deferred"))]
        if ids is not None:
            conditions.append(episodes.among(checked_ids(ids, "ids")))
        with self.components.database.read(scope.user_id) as connection:
            return list(episodes.select_all(connection, scope, *conditions, limit=checked_limit(limit)))

    def sessions(
        self,
        *,
        user_id: str,
        agent_id: str | None = None,
        run_id: str | None = None,
        limit: int | None = None,
        now: datetime | None = None,
    ) -> list[Session]:
        """Return the conversations in a scope, the most recent first."""
        scope, at, most = Scope(user_id, agent_id, run_id), to_micros(clock(now)), checked_limit(limit)
        with self.components.database.read(scope.user_id) as connection:
            return sessions.sessions(connection, scope, at, limit=most)

    def window(
        self,
        *,
        user_id: str,
        agent_id: str | None = None,
        run_id: str | None = None,
        session: str | None = None,
        turns: int | None = None,
        now: datetime | None = None,
    ) -> list[Episode]:
        """Return short-term memory: the messages in a conversation's last turns, oldest first.

        `session` names the conversation (by default, the most recent); a turn is a message with its replies. `turns` is
        `controller.active_turns` by default. Raises `NotFoundError` for an unknown session.
        """
        scope, at = Scope(user_id, agent_id, run_id), to_micros(clock(now))
        most = self.config.controller.active_turns if turns is None else checked_count(turns, "turns")
        name = None if session is None else checked_text(session, "the session")
        with self.components.database.read(scope.user_id) as connection:
            return sessions.window(connection, scope, most, at, session=name)

    def history(self, memory_id: str, *, user_id: str) -> list[HistoryEvent]:
        """Return a message's history, oldest first. Raises `NotFoundError` for an unknown id."""
        user = Scope(user_id).user_id
        with self.components.database.read(user) as connection:
            events = history.of_episode(connection, user, memory_id)
        if not events:
            raise NotFoundError(f"user {user_id!r} has no memory with id {memory_id!r}; `nscma log` lists the ids")
        return events

    def facts(
        self,
        *,
        user_id: str,
        agent_id: str | None = None,
        subject: str | None = None,
        relation: str | None = None,
        topic: str | None = None,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
        archived: bool = False,
        ids: Sequence[str] | None = None,
        now: datetime | None = None,
    ) -> list[Fact]:
        """Return facts, ordered by subject, relation and start time.

        Args:
            subject: the person or thing that the facts are about; "user" means a speaker without a name.
            relation: a relation name from the relation file.
            topic: the topic within the relation, such as "colour" for favourite.
            as_of: only facts that were true in the world at this time.
            known_at: the facts as believed at this time.
            archived: include facts that ended, lost a conflict, or start after `now`.
            ids: only facts with these ids.

        Raises:
            InvalidInputError: an empty subject, a relation not in the relation file, or an invalid time.
        """
        past = archived or as_of is not None or known_at is not None
        chosen = None if ids is None else checked_ids(ids, "ids")
        scope, schema = Scope(user_id, agent_id), self.components.relations
        with self.components.database.read(scope.user_id) as connection:
            found = fact_views.selected(
                connection,
                scope,
                schema,
                subject=subject,
                relation=relation,
                topic=topic,
                as_of=None if as_of is None else parse_timestamp(as_of),
                known_at=None if known_at is None else parse_timestamp(known_at),
                statuses=fact_views.EVERY if archived else fact_views.BELIEVED,
                ids=chosen,
            )
            at = clock(now) if known_at is None else parse_timestamp(known_at)
            if not past:
                found = fact_views.holding(found, at)
            if as_of is None and not archived:
                found = fact_doubts.with_doubts(connection, scope, schema, found, at)
        return found

    def related_facts(
        self,
        text: str,
        messages: Sequence[str] = (),
        *,
        user_id: str,
        agent_id: str | None = None,
        known_at: datetime | None = None,
        now: datetime | None = None,
    ) -> list[Fact]:
        """Return current facts about the entities named in a text, and about the subjects of statements in messages
        (given by id), in the messages' order.

        A message may be out of date, but the facts are current. With `known_at`, they are the facts believed at that
        time.
        """
        scope, named_in = Scope(user_id, agent_id), checked_question(text, "the text", self.config.limits)
        told_in = checked_ids(messages, "messages")
        known = None if known_at is None else to_micros(parse_timestamp(known_at))
        with self.components.database.read(scope.user_id) as connection:
            found = related_facts.related(connection, scope, named_in, told_in, known)
        return fact_views.holding(found, clock(now))

    def timeline(
        self, subject: str, relation: str, *, user_id: str, agent_id: str | None = None, topic: str | None = None
    ) -> list[Fact]:
        """Return all facts with a subject and relation, including past ones, oldest first, with the reason for each
        status.
        """
        checked_text(subject, "the subject")
        checked_text(relation, "the relation")
        scope, schema = Scope(user_id, agent_id), self.components.relations
        with self.components.database.read(scope.user_id) as connection:
            return fact_views.timeline(connection, scope, schema, subject, relation, topic)

    def due(
        self, *, user_id: str, agent_id: str | None = None, days: int = DUE_AHEAD, now: datetime | None = None
    ) -> list[Due]:
        """Return what falls due from today to `days` days later, by day: what messages name a day for, or a repetition
        ("choir every Tuesday").

        What a later message ended, moved or fulfilled is left out. English only; at most a year.
        """
        from nscma_torch.standing.due import due

        scope, at = Scope(user_id, agent_id), clock(now)
        if not 0 <= checked_instance(days, int, "days") <= DUE_MOST:
            raise InvalidInputError(f"days must be from 0 to {DUE_MOST}, got {days}")
        with self.components.database.read(scope.user_id) as connection:
            return due(connection, scope, now=at, days=days)

    def conflicts(self, *, user_id: str, agent_id: str | None = None) -> list[tuple[Fact, ...]]:
        """Return the unresolved contradictions, each as a tuple of conflicting facts."""
        scope, schema = Scope(user_id, agent_id), self.components.relations
        with self.components.database.read(scope.user_id) as connection:
            return fact_views.contradictions(connection, scope, schema)

    def decisions(self, *, user_id: str, agent_id: str | None = None, limit: int | None = 100) -> list[CuratorDecision]:
        """Return the curator's decisions, newest first."""
        scope = Scope(user_id, agent_id)
        with self.components.database.read(scope.user_id) as connection:
            return decisions.select_decisions(connection, scope, limit=checked_limit(limit))

    def undo(self, decision_id: str, *, user_id: str, now: datetime | None = None) -> CuratorDecision:
        """Undo one of the curator's decisions. Undoing decisions in reverse order restores the earlier memory exactly.

        Raises:
            NotFoundError: the user has no such decision.
            InvalidInputError: the decision was already undone, or a later decision, named in the error, depends on it.
        """
        return self.components.curator.undo(Scope(user_id).user_id, decision_id, at=clock(now))

    def merge(self, proposal_id: str, *, user_id: str, now: datetime | None = None) -> CuratorDecision:
        """Accept a proposal (PROPOSE in `decisions`) that two names mean the same entity; `undo` separates them
        again.
        """
        return self.components.curator.merge(Scope(user_id).user_id, proposal_id, at=clock(now))

    def sleep(
        self,
        *,
        user_id: str | None = None,
        now: datetime | None = None,
        dry_run: bool = False,
        progress: Callable[[int], None] | None = None,
    ) -> SleepReport:
        """Process deferred messages, resolve disputes, archive forgotten memories, promote recalled ones, and update
        summaries and the profile.

        Applies to one user or to all. Sleeping again without new messages changes nothing. With `dry_run`, nothing
        changes, and the report shows what would change. If a language task fails, sleep stops there, and the report and
        `stats` show the failure. `progress` is called with the number of background jobs run, which are nearly all of
        the work.
        """
        user_id = checked_user(user_id)
        if dry_run:
            waiting = self.components.recalls.waiting()
            return self.components.sleeper.sleep(user_id, now=clock(now), dry_run=True, recalls=waiting)
        self.components.recalls.queue()
        return self.components.sleeper.sleep(user_id, now=clock(now), progress=progress)

    def feedback(self, memory_id: str, *, user_id: str, helpful: bool, now: datetime | None = None) -> None:
        """Record whether a message was helpful: helpful messages are forgotten later and rank higher, unhelpful ones
        the reverse.
        """
        from nscma_torch.curator.feedback import take_feedback

        user, useful, timed = Scope(user_id).user_id, checked_flag(helpful, "helpful"), self.config.curator.restarts
        with self.components.database.write(user) as connection:
            take_feedback(connection, user, memory_id, helpful=useful, at=clock(now), timed=timed)

    def profile(self, *, user_id: str, agent_id: str | None = None, now: datetime | None = None) -> list[ProfileLine]:
        """Return the user's profile: dated lines with the ids of their facts, then the portrait and insights.

        A line whose facts are all in doubt says so.

        Portrait and insights (sections [daily] and [insights]) carry the ids of the messages they are based on. Lines
        based on deleted or corrected messages are omitted.
        """
        from nscma_torch.curator.profile import standing_lines

        scope, at = Scope(user_id, agent_id), clock(now)
        with self.components.database.read(scope.user_id) as connection:
            lines = standing_lines(connection, scope, self.components.relations, at)
            known = [one for kind in profiles.DERIVED for one in derived_texts.of_scope(connection, scope, kind)]
        return lines + [
            ProfileLine(number, one.text, one.until.date(), (), one.episode_ids, one.confidence)
            for number, one in enumerate(known, start=len(lines))
        ]

    def derived(self, kind: DerivedKind, *, user_id: str, agent_id: str | None = None) -> list[DerivedText]:
        """Return the derived texts of this kind, each with the ids of its source messages and source texts.

        The kinds are those in `core.derived_kinds`, and skill.
        """
        if kind not in get_args(DerivedKind):
            raise InvalidInputError(f"unknown kind {kind!r}; kinds are {', '.join(get_args(DerivedKind))}")
        scope = Scope(user_id, agent_id)
        with self.components.database.read(scope.user_id) as connection:
            return derived_texts.of_scope(connection, scope, kind)

    def add_skill(
        self,
        name: str,
        *,
        trigger: str,
        steps: Sequence[str],
        user_id: str,
        agent_id: str | None = None,
        now: datetime | None = None,
    ) -> Skill:
        """Store a skill (a procedure); `trigger` describes when it applies. A skill with the same name is replaced."""
        return self.components.skills.add(Scope(user_id, agent_id), name, trigger, steps, at=clock(now))

    def find_skills(
        self, situation: str, *, user_id: str, agent_id: str | None = None, top_k: int = 5
    ) -> list[FoundSkill]:
        """Return the skills with the triggers that best match the situation, best first."""
        text = checked_question(situation, "the situation", self.components.config.limits)
        return self.components.skills.find(Scope(user_id, agent_id), text, top_k=checked_count(top_k))

    def skills(self, *, user_id: str, agent_id: str | None = None, archived: bool = False) -> list[Skill]:
        """Return the skills in the order in which they were added; `archived=True` includes archived skills."""
        scope = Scope(user_id, agent_id)
        with self.components.database.read(scope.user_id) as connection:
            rows: SkillRows = capability("skills").rows
            return rows.select_skills(connection, scope, archived=checked_flag(archived, "archived"))

    def skill_outcome(self, skill_id: str, *, user_id: str, success: bool, now: datetime | None = None) -> Skill:
        """Record the outcome of using a skill; among equal matches, the more successful skill ranks first."""
        worked = checked_flag(success, "success")
        return self.components.skills.outcome(Scope(user_id).user_id, skill_id, success=worked, at=clock(now))

    def archive_skill(self, skill_id: str, *, user_id: str, now: datetime | None = None) -> Skill:
        """Hide a skill from every search; `restore_skill` undoes this, `erase` deletes it permanently."""
        return self.components.skills.set_status(Scope(user_id).user_id, skill_id, "archived", at=clock(now))

    def restore_skill(self, skill_id: str, *, user_id: str, now: datetime | None = None) -> Skill:
        """Restore an archived skill."""
        return self.components.skills.set_status(Scope(user_id).user_id, skill_id, "active", at=clock(now))

    def tree(self, *, user_id: str, agent_id: str | None = None) -> list[Node]:
        """Return the hierarchy (CAM) over a user's messages to an agent, or to no agent: the chunks, then the clusters
        on each level.

        It omits messages that `flush` has not integrated yet, and those added with an expiration date.
        """
        scope = Scope(user_id, agent_id)
        with self.components.database.read(scope.user_id) as connection:
            return tree.tree(connection, scope.user_id, scope.agent_id)

    def replay(
        self,
        *,
        user_id: str,
        agent_id: str | None = None,
        run_id: str | None = None,
        gate: Mapping[str, Any] | None = None,
        dry_run: bool = True,
        now: datetime | None = None,
    ) -> tuple[int, list[Redecision]]:
        """Repeat the gate's decisions on all logged messages with other settings (`gate` overrides keys in the [gate]
        section).

        Returns the number of messages decided, and the decisions that change. Nothing is stored unless `dry_run=False`.
        """
        from nscma_torch.ingest.replay import replay
        from nscma_torch.surprise.gate import MessageGate

        try:
            other = MessageGate(override(self.components.config.gate, {} if gate is None else gate, where="gate"))
        except ConfigError as error:  # the keys are the caller's, not the store's
            raise InvalidInputError(str(error)) from error
        scope = Scope(user_id, agent_id, run_id)
        return replay(self.components.database, other, scope, at=clock(now), dry_run=dry_run)

    def reextract(self, *, user_id: str, agent_id: str | None = None) -> int:
        """Queue processed messages so that the next `flush` extracts facts from them again; return their number.

        Use it after changing `facts.relations`, `facts.units` or the language model: old messages then give the same
        facts as if they were added now. Your own decisions (`undo`, `merge`, `feedback`) are kept.
        """
        scope = Scope(user_id, agent_id)
        with self.components.database.write(scope.user_id) as connection:
            return backlog.queue_encoded(connection, scope.user_id, scope.agent_id, EXTRACT)

    def rebuild(self, *, user_id: str, agent_id: str | None = None) -> int:
        """Delete a hierarchy and queue its messages so that the next `flush` builds a new one; return their number."""
        scope = Scope(user_id, agent_id)
        with self.components.database.write(scope.user_id) as connection:
            return hierarchies.rebuild(connection, scope.user_id, scope.agent_id)

    def flush(self, *, progress: Callable[[int], None] | None = None) -> int:
        """Run all of the store's background work; return the number of jobs run. `stats` shows failures.

        If the language engine is unreachable, waits for it once, for at most 3 times `llm.timeout`; jobs that need it
        stay queued.
        """
        self.components.recalls.queue()
        return self.components.worker.run_pending(progress=progress)

    def stats(self, *, user_id: str | None = None) -> Stats:
        """Return counts for a user or the whole store, including failed jobs and the seconds this process spent on each
        stage.
        """
        user = checked_user(user_id)
        with self.components.database.read(user_or_all(user)) as connection:
            return statistics.collect(connection, self.components.database, user, self.components.process)

    def retry_failed(self) -> int:
        """Queue failed jobs again; return their number."""
        with self.components.database.write(ALL_USERS) as connection:
            return jobs.retry(connection)

    def digest(self, *, user_id: str | None = None) -> str:
        """Return the SHA-256 of the logical state, which is equal for two stores that were given the same input."""
        user = checked_user(user_id)
        with self.components.database.read(user_or_all(user)) as connection:
            return digest.digest(connection, user)

    def verify(self) -> list[str]:
        """Return the store's problems, one sentence each; empty if every index matches its rows."""
        from nscma_torch.maintenance import check

        return check.store_problems(self.components.database, single=self._single_relations())

    def backup(self, path: str | Path) -> int:
        """Write a verified snapshot of the store to a new file, while it is in use; return its bytes.

        The file is a store, which can be opened, or backed up in its place. Raises the errors of
        `maintenance.backup.back_up`; the file is then not created.
        """
        from nscma_torch.maintenance.backup import back_up

        config = self.config.store
        return back_up(self.components.database, Path(path), config, single=self._single_relations())

    def export(self, *, user_id: str | None = None, report: Callable[[str], None] = _log.warning) -> Iterator[str]:
        """Export the store, or one user, as JSON lines without line breaks. Raises `NotFoundError` for an unknown user.

        From a damaged file, the readable messages are exported, and `report` is called with a sentence for each loss;
        by default losses are logged.
        """
        user = checked_user(user_id)
        with self.components.database.read(user_or_all(user)) as connection:
            yield from transfer.export(connection, user, report)

    def import_(self, lines: Iterable[str], *, progress: Callable[[int], None] | None = None) -> int:
        """Import an export completely or not at all; return the number of rows.

        Its users must be new to the store, and it must contain nothing that `verify` would report. If the exported
        store was damaged, data derived from messages is recomputed.
        """
        from nscma_torch.maintenance.reindex import reindex

        stream = checked_stream(lines, "lines must be the lines of an export, such as an open file")
        with self.components.database.write(ALL_USERS) as connection:
            return transfer.import_(
                connection,
                stream,
                single=self._single_relations(),
                rebuild=lambda connection, user: reindex(connection, self.components.indexer, user),
                progress=progress,
            )

    def _single_relations(self) -> list[str]:
        """Return the relations that have only one object at a time; none if a model decides on facts, as it may keep
        several.
        """
        relations = {} if self.config.curator.rule == "model" else self.components.relations.relations
        return [name for name, relation in relations.items() if relation.cardinality == "one"]

    def erase(self, *, user_id: str, memory_id: str | None = None, skill_id: str | None = None) -> EraseReceipt:
        """Permanently delete a user, a message or a skill, and check the files for remains.

        This can't be undone.
        """
        user, eraser = Scope(user_id).user_id, self.components.eraser
        checked_instance("" if memory_id is None else memory_id, str, "memory_id")
        checked_instance("" if skill_id is None else skill_id, str, "skill_id")
        if memory_id is not None and skill_id is not None:
            raise InvalidInputError("give memory_id or skill_id, not both; each call erases one")
        self.components.forget(user)
        try:
            if skill_id is not None:
                return eraser.skill(user, skill_id)
            self.components.recalls.forget(user, memory_id)
            return eraser.user(user) if memory_id is None else eraser.episode(user, memory_id)
        finally:
            self.components.forget(user)  # data read by a search meanwhile

    def reembed(self, *, progress: Callable[[int, int], None] | None = None) -> int:
        """Recompute all vectors with the configured embedder; return their number."""
        from nscma_torch.maintenance.reembed import reembed

        return reembed(self.components.database, self.components.new_embedder, progress)

    def reset(self) -> None:
        """Erase every user of the store. This can't be undone."""
        with self.components.database.read(ALL_USERS) as connection:
            everyone = statistics.users_of(connection)
        for user_id in everyone:
            self.erase(user_id=user_id)
        self.components.eraser.finish()

    def close(self) -> None:
        """Queue the recalls, and close the engine and the store. Background work stays queued; call `flush()` first to
        finish it.

        If this memory has a background worker, it finishes its current batch. Later calls raise `StoreClosedError`; a
        `flush` running in another thread ends normally. Closing again does nothing.
        """
        if self._closed:
            return
        try:
            if self._end_background is not None:
                self._end_background()
            self._components.recalls.queue()
        finally:
            self._closed = True
            self._components.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _record_rows() -> RecordRows:
    rows: RecordRows = capability("records").rows
    return rows
