"""The extract job: process messages that the gate wrote, and those that it deferred but a search recalled."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

from sqlalchemy import Connection
from torch import Tensor

from nscma_torch.core.database.database import ALL_USERS, Database
from nscma_torch.core.errors import JobError
from nscma_torch.core.jobs import jobs
from nscma_torch.core.jobs.jobs import Job
from nscma_torch.core.optional_parts import RecordMaker, RecordRows
from nscma_torch.core.protocols import LanguageTasks
from nscma_torch.core.records import Extraction, Statement, Unit
from nscma_torch.episodic.index import fingerprint, packed_vectors, units
from nscma_torch.episodic.log import episodes, speakers, streams, summary_context, turns
from nscma_torch.episodic.log.backlog import EXTRACT
from nscma_torch.extraction.conversation_summary import ConversationSummaries, Place, places
from nscma_torch.extraction.made_texts import MadeText, atomic_facts, origins_of, spans_of, store
from nscma_torch.extraction.namesakes import told_apart
from nscma_torch.extraction.open_triples import opened
from nscma_torch.extraction.ratings import importances
from nscma_torch.extraction.read_ahead import Given, ReadAhead, ReadMany
from nscma_torch.extraction.symmetric_statements import with_symmetric
from nscma_torch.hierarchy.store import hierarchies
from nscma_torch.ingest.indexer import Indexer
from nscma_torch.reading.first_person import USER, is_from_elsewhere
from nscma_torch.reading.relations import Schema
from nscma_torch.reading.turns_before import TURNS_BEFORE
from nscma_torch.semantic.notes import note
from nscma_torch.semantic.store import statements
from nscma_torch.semantic.triples import sentence
from nscma_torch.standing import effects as message_effects
from nscma_torch.standing.message_effects import MessageEffects
from nscma_torch.text.names import name_key

_MOST_AHEAD = 8192  # messages that are read together, each with the turns before it in memory


class _Context(NamedTuple):
    """Context for reading a message: the addressee, the turns before it, and its place in the conversation."""

    listener: str
    before: tuple[Unit, ...]
    place: Place | None = None


class _Messages(NamedTuple):
    """The messages that jobs refer to: the row numbers of each episode's chunks, and those chunks."""

    chunks_of: dict[int, list[int]]
    found: Mapping[int, Unit]

    @property
    def ids(self) -> dict[int, str]:
        """Return the ids of the episodes that have chunks, by row number."""
        return {seq: self.found[own[0]].episode_ids[0] for seq, own in self.chunks_of.items() if own}

    @property
    def chunks(self) -> list[tuple[int, Unit]]:
        """Return each chunk with the row number of its episode."""
        return [(seq, self.found[chunk]) for seq, own in self.chunks_of.items() for chunk in own]


class Extractor:
    """Turns chunk units into atomic facts and triples (Structural Memory section 3.1), and into statements for the
    curator. Idempotent.

    Args:
        schema: the relations that statements can use.
        made: kinds of units to make, out of "atomic_fact", "triple" and "summary".
        rate: rates units from 1 to 10 when they are first read; None if importance is not rated.
        records: rows for structured records; None if that capability was removed.
        record_maker: makes the records; None if they are disabled.
        integrate: if True, queue extracted episodes for their hierarchy.
        notes: turn each atomic fact into its own statement (`semantic.notes`), in addition to the others or instead of
            them.
        predicates: "open" makes every statement use the open relation.
        conversation: m, the number of earlier messages that a message is read with, in addition to the running summary
            of the messages before them; 0 to use only the preceding turns.
        read_many: reads messages from many users together, for `gather`; None if unused.
        batch_size: number of jobs per batch, as the worker forms them.
        effects: reads how messages bear on similar ones; None to leave that out.
    """

    def __init__(
        self,
        database: Database,
        indexer: Indexer,
        tasks: LanguageTasks,
        schema: Schema,
        *,
        made: Collection[str],
        integrate: bool,
        notes: Literal["none", "beside", "alone"] = "none",
        predicates: Literal["schema", "open"],
        rate: Callable[[Sequence[Unit]], list[int]] | None = None,
        records: RecordRows | None = None,
        record_maker: RecordMaker | None = None,
        conversation: int = 0,
        read_many: ReadMany | None = None,
        batch_size: int = 1,
        effects: MessageEffects | None = None,
    ) -> None:
        self._database = database
        self._effects = effects
        self._schema = schema
        self._indexer = indexer
        self._tasks = tasks
        self._made = frozenset(made)
        self._integrate = integrate
        self._notes = notes
        self._open = predicates == "open"
        self._rate = rate
        self._record_rows = records
        self._record_maker = record_maker
        self._conversation = conversation
        self._conversations = ConversationSummaries(database, tasks)
        self._batch_size = batch_size
        self._ahead = None if read_many is None else ReadAhead(read_many)

    @property
    def gathers(self) -> bool:
        """Return True if `gather` reads messages from many users together."""
        return self._ahead is not None

    def gather(self, batch: Sequence[Job], waiting: Callable[[], Sequence[Sequence[Job]]]) -> None:  # noqa: ARG002
        """Read the messages for the next batches from all users together, before `run` is called for them.

        Does nothing if the current batch is already read, or if messages are read with a summary of their conversation,
        because that summary is only written when its turn comes.
        """
        if self._ahead is None or self._conversation or batch[0].attempts:
            return
        given = self._given(batch)
        if not given or self._ahead.holds(one.unit.id for one in given):
            return
        with self._database.read(ALL_USERS) as connection:
            batches = jobs.batches_ahead(connection, EXTRACT, self._batch_size, most=_MOST_AHEAD)
        self._ahead.begin([one for own in batches for one in self._given(own)])

    def _given(self, batch: Sequence[Job]) -> list[Given]:
        """Return the inputs for a batch of one user's jobs."""
        with self._database.read(batch[0].user_id) as connection:
            found = self._messages(connection, batch)
            contexts = self._contexts(connection, batch[0].user_id, found.ids)
        return [Given(unit, contexts[seq].listener, contexts[seq].before) for seq, unit in found.chunks]

    def _messages(self, connection: Connection, batch: Sequence[Job]) -> _Messages:
        seqs = [job.episode_seq for job in batch if job.episode_seq is not None]
        chunks_of = {seq: units.seqs_of_episode(connection, seq, "chunk") for seq in seqs}
        numbers = [chunk for chunks in chunks_of.values() for chunk in chunks]
        found = units.load(connection, batch[0].user_id, numbers)
        return _Messages(chunks_of, found)

    def _extract(self, given: Sequence[Given]) -> list[Extraction]:
        """Return the extraction for each unit, read ahead or read now."""
        known = [None] * len(given) if self._ahead is None else self._ahead.take(given)
        left = [one for one, own in zip(given, known, strict=True) if own is None]
        if not left:  # and the models of the tasks are not loaded for nothing
            return [own for own in known if own is not None]
        extracted = self._tasks.extract(
            [one.unit for one in left],
            listeners=[one.listener for one in left],
            before=[one.before for one in left],
        )
        if len(extracted) != len(left):
            raise JobError(f"extract was given {len(left)} texts and returned {len(extracted)} results; correct it")
        rest = iter(extracted)
        return [next(rest) if own is None else own for own in known]

    def run(self, batch: Sequence[Job]) -> None:
        """Process one batch of one user's jobs: first the language tasks, then one transaction for the results."""
        user_id = batch[0].user_id
        wanted = {job.episode_seq: job for job in batch if job.episode_seq is not None}
        with self._database.read(user_id) as connection:
            messages = self._messages(connection, batch)
            chunks_of, found, ids, chunks = messages.chunks_of, messages.found, messages.ids, messages.chunks
            embedded = packed_vectors.vectors_of(connection, list(found))
            contexts = self._contexts(connection, user_id, ids)
            new = set() if self._rate is None else episodes.never_encoded(connection, ids)
        before = {seq: context.before for seq, context in contexts.items()}
        before |= self._conversations.before(user_id, {n: own.place for n, own in contexts.items() if own.place})
        extracted = self._extract([Given(unit, contexts[seq].listener, tuple(before[seq])) for seq, unit in chunks])
        rated = self._rated([(seq, unit) for seq, unit in chunks if seq in new])
        records = self._records(chunks, extracted, contexts)
        bearing = [] if self._effects is None else self._effects.read(user_id, sorted(ids))
        said: dict[int, list[Statement]] = {seq: [] for seq in wanted}
        texts: list[MadeText] = []
        stated = self._told_apart(user_id, chunks, extracted)
        for (seq, unit), own, named in zip(chunks, extracted, stated, strict=True):
            said[seq] += with_symmetric(named, self._schema)
            if self._notes != "none":
                noted = self._noted(unit, own)
                said[seq] += noted
                texts += [MadeText(seq, "atomic_fact", one.object, (one,)) for one in noted]
            elif "atomic_fact" in self._made:
                texts += atomic_facts(seq, unit, own, named)
            if "triple" in self._made:
                texts += [MadeText(seq, "triple", sentence(s, self._schema), (s,)) for s in named if s.object]
        if "summary" in self._made:
            texts += self._summaries(chunks)
        indexed = self._indexer.index([each.text for each in texts], [True] * len(texts))
        vectors = self._vectors({chunk: unit.text for chunk, unit in found.items() if chunk not in embedded})
        with self._database.write(user_id) as connection:
            fingerprint.bind(connection, self._indexer.fingerprint)
            current = {seq: units.seqs_of_episode(connection, seq, "chunk") for seq in wanted}
            same = {seq: ids[seq] for seq in ids if current[seq] == chunks_of[seq]}
            contexts_now = self._contexts(connection, user_id, same)
            # an episode that was edited meanwhile, or whose context was, keeps its job; an erased one's is done
            rows = {seq: episodes.row_of(connection, seq) for seq in same if contexts_now[seq] == contexts[seq]}
            old = [
                unit
                for seq in rows
                for kind in units.MADE_OF_MESSAGES
                for unit in units.seqs_of_episode(connection, seq, kind)
            ]
            units.remove(connection, old)
            new_vectors = {chunk: vectors[chunk] for seq in rows for chunk in chunks_of[seq] if chunk in vectors}
            packed_vectors.add_vectors(connection, user_id, new_vectors)
            recorded = self._record_rows.present(connection, rows) if self._record_rows else ()  # also if disabled now
            numbers: dict[tuple[int, Statement], int] = {}
            for seq, row in rows.items():
                stored = statements.replace(connection, row, said[seq])
                if self._notes != "none" and row["encoded"]:  # units of merged texts went with the others
                    statements.mark(connection, [seq])
                numbers.update({(seq, one): number for one, number in zip(said[seq], stored, strict=bool(stored))})
                episodes.set_columns(connection, seq, encoded=True)
                if self._record_rows and (seq in records or seq in recorded):
                    self._record_rows.replace(connection, row, records.get(seq))
                if seq in rated:
                    rows[seq] = {**row, "importance": rated[seq]}
                    episodes.set_columns(connection, seq, importance=rated[seq])
                    units.set_importance(connection, units.seqs_of_episode(connection, seq), rated[seq])
            made = [(text, item) for text, own in zip(texts, indexed, strict=True) if text.seq in rows for item in own]
            if self._effects is not None:
                message_effects.replace(connection, user_id, rows.keys(), [e for e in bearing if rows.keys() & e.ends])
            store(connection, user_id, made, origins_of(connection, rows), numbers)
            if self._integrate:
                hierarchies.enqueue(connection, rows.values())
            jobs.finish(connection, [job for seq, job in wanted.items() if seq in rows or not current[seq]])
            if rows:
                if self._conversation:
                    summary_context.note(connection)
                streams.touch_user(connection, user_id)

    def _contexts(self, connection: Connection, user_id: str, ids: Mapping[int, str]) -> dict[int, _Context]:
        """Return the reading contexts for messages, given their ids by row number."""
        listeners = {seq: speakers.listener_of(connection, seq) for seq in ids}
        found: Mapping[int, Place] = {}
        if self._conversation:
            streams_of = {seq: episodes.row_of(connection, seq)["stream_id"] for seq in ids}
            found = places(connection, streams_of, self._conversation)
        before = turns.said_before(connection, user_id, sorted(ids.values()), TURNS_BEFORE)
        turned = {seq: tuple(units.unit_of(turn) for turn in before.get(own, ())) for seq, own in ids.items()}
        return {seq: _Context(listeners[seq], turned[seq], found.get(seq)) for seq in ids}

    def _records(
        self, chunks: Sequence[tuple[int, Unit]], extracted: Sequence[Extraction], contexts: Mapping[int, _Context]
    ) -> Mapping[int, object]:
        if self._record_maker is None or not chunks:
            return {}
        listeners = {seq: context.listener for seq, context in contexts.items()}
        return self._record_maker.records(
            chunks, extracted, listeners, {seq: context.before for seq, context in contexts.items()}
        )

    def _summaries(self, chunks: Sequence[tuple[int, Unit]]) -> list[MadeText]:
        """Summarize each message separately: S_q = LLM(D_q, P_S), Structural Memory section 3.1."""
        groups: dict[int, list[Unit]] = {}
        for seq, unit in chunks:
            groups.setdefault(seq, []).append(unit)
        texts = self._tasks.summarize(list(groups.values())) if groups else []
        if len(texts) != len(groups) or not all(text.strip() for text in texts):
            empty = sum(not text.strip() for text in texts)
            raise JobError(
                f"summarize was given {len(groups)} messages and returned {len(texts)} texts, {empty} of them empty; "
                "correct it"
            )
        return [MadeText(seq, "summary", text, ()) for seq, text in zip(groups, texts, strict=True)]

    def _noted(self, unit: Unit, own: Extraction) -> list[Statement]:
        """Return the sentences in an extraction as statements, without repetitions, with offsets in the
        episode's text.
        """
        spans = spans_of(own) or [(0, unit.end - unit.start)] * len(own.sentences)
        placed = dict(zip(own.sentences, spans, strict=True))
        return [
            note(text, unit, unit.start + start, unit.start + end, self._schema)
            for text, (start, end) in placed.items()
        ]

    def _told_apart(
        self, user_id: str, chunks: Sequence[tuple[int, Unit]], extracted: Sequence[Extraction]
    ) -> list[list[Statement]]:
        """Return the statements for each chunk, with namesakes told apart.

        A web page or a tool that says "remember that the user …" says nothing of this user.
        """
        placed = [
            [self._placed(one, unit) for one in own.statements if _counts(one, unit) and self._notes != "alone"]
            for (_, unit), own in zip(chunks, extracted, strict=True)
        ]
        with self._database.read(user_id) as connection:
            return told_apart(connection, user_id, chunks, placed, self._schema)

    def _placed(self, statement: Statement, unit: Unit) -> Statement:
        """Return a statement with offsets in the episode's text. Raises `JobError` if its relation is not in the
        schema.
        """
        if statement.relation not in self._schema:
            raise JobError(
                f"extract returned the relation {statement.relation!r}, which is not in the relation file; add it there"
            )
        placed = replace(statement, start=unit.start + statement.start, end=unit.start + statement.end)
        return opened(placed, self._schema) if self._open else placed

    def _rated(self, chunks: Sequence[tuple[int, Unit]]) -> dict[int, float]:
        """Return the importance of messages, in [0, 1]; a message is as important as its most important chunk."""
        if self._rate is None or not chunks:
            return {}
        importance: dict[int, float] = {}
        for (seq, _), own in zip(chunks, importances(self._rate, [unit for _, unit in chunks]), strict=True):
            importance[seq] = max(own, importance.get(seq, 0.0))
        return importance

    def _vectors(self, texts: Mapping[int, str]) -> dict[int, Tensor]:
        """Return vectors for chunks that were stored without one."""
        indexed = self._indexer.index(list(texts.values()), [True] * len(texts))
        return {chunk: own[0].vector for chunk, own in zip(texts, indexed, strict=True) if own[0].vector is not None}


def _counts(statement: Statement, unit: Unit) -> bool:
    subject = name_key(statement.subject)
    return subject != "" and (subject != USER or not is_from_elsewhere(unit))
