"""The write path: apply the gate to each message, index it, and commit log, units and stream state in one transaction.

The surprise model and the embedder run outside the transaction, on the stream as read. If another writer changed the
stream meanwhile (compare-and-set), the batch is scored again; after a few such conflicts it is scored while holding the
write lock, which always succeeds. A served surprise model can take minutes and is never called inside a transaction: it
gets more attempts, and the last conflict raises an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache, partial
from itertools import groupby

import torch
from sqlalchemy import Connection
from torch import Tensor

from nscma_torch.core.database import user_versions
from nscma_torch.core.database.clock import optional_micros, to_micros
from nscma_torch.core.database.database import Database, next_seqs
from nscma_torch.core.database.turn_queue import TurnQueues
from nscma_torch.core.errors import StoreBusyError
from nscma_torch.core.jobs import jobs
from nscma_torch.core.protocols import SurpriseModel
from nscma_torch.core.records import Added, Decision, Episode, Scope
from nscma_torch.episodic.index import fingerprint, units
from nscma_torch.episodic.index.packed_vectors import refuse_infinite
from nscma_torch.episodic.log import backlog, episodes, streams
from nscma_torch.episodic.log.backlog import EXTRACT, RESTATE
from nscma_torch.episodic.log.streams import Stream
from nscma_torch.ingest import repetition_window
from nscma_torch.ingest.gate_states import gate_state_of
from nscma_torch.ingest.gating import (
    OPTIMISTIC_ATTEMPTS,
    SERVED_ATTEMPTS,
    Gated,
    Past,
    content_hashes,
    gate_messages,
    state_after,
)
from nscma_torch.ingest.indexer import IndexedChunk, Indexer, chunk_units
from nscma_torch.ingest.novelty import message_vectors
from nscma_torch.ingest.quotas import Quotas
from nscma_torch.ingest.repetition_window import Window, WindowCache
from nscma_torch.ingest.stages import Stages
from nscma_torch.surprise.gate import GateState, MessageGate
from nscma_torch.surprise.rules import OF_THE_MODEL
from nscma_torch.text.messages import CheckedMessage

_BESIDE = 1024  # characters from which on embedding gets a thread of its own: below, starting one costs more time


class Writer:
    """Adds messages to the store.

    Args:
        embed_deferred: also embed messages that the gate defers.
        served: True if the surprise model is called over a network.
        quotas: limits on what a user has stored.
    """

    def __init__(
        self,
        database: Database,
        indexer: Indexer,
        surprise_model: SurpriseModel,
        gate: MessageGate,
        stages: Stages,
        *,
        embed_deferred: bool,
        served: bool,
        quotas: Quotas,
    ) -> None:
        self._quotas = quotas
        self._database = database
        self._indexer = indexer
        self._surprise_model = surprise_model
        self._gate = gate
        self._stages = stages
        self._embed_deferred = embed_deferred
        self._served = served
        self._windows = WindowCache()
        self._turns = TurnQueues()  # by stream: threads of this process would only weigh its messages again

    def add(
        self,
        messages: Sequence[CheckedMessage],
        scope: Scope,
        *,
        recorded_at: datetime,
        expires_at: datetime | None = None,
        infer: bool = True,
        check: Callable[[Connection], None] = lambda _: None,
        progress: Callable[[int], None] = lambda _: None,
    ) -> list[Added]:
        """Store messages from one scope in order; they are on disk and searchable when this returns.

        Each run of messages from one document or conversation (`source`) is one transaction, which begins with a call
        to `check`: if that raises, this run and the later ones are not stored, and the earlier ones stay. With
        `infer=False` no decision is recorded and nothing is ever extracted; the message still counts in the gate's
        statistics. `progress` is called with the number of newly indexed UTF-8 bytes, possibly from another thread.

        Raises `QuotaError` if the user would have more stored than allowed, and `StoreBusyError` if a served surprise
        model was slower than other writers to the stream; that run and the later ones are not stored.
        """
        added: list[Added] = []
        for source, group in groupby(messages, key=lambda checked: checked.message.source):
            run = list(group)
            texts = [checked.message.content for checked in run]
            heard = _Heard(progress, sum(len(text.encode()) for text in texts))
            times = to_micros(recorded_at), optional_micros(expires_at)
            batch = _Batch(run, [*map(content_hashes, texts)], scope, source, *times, infer, check, heard)
            with self._turns.of((scope, source)):
                added += self._add_batch(batch)
            heard(1.0)
        return added

    def _add_batch(self, batch: _Batch) -> list[Added]:
        indexed: dict[int, list[IndexedChunk]] = {}
        for _ in range(SERVED_ATTEMPTS if self._served else OPTIMISTIC_ATTEMPTS):
            erasures = self._windows.erasures
            with self._stages.stage("sql"), self._database.read(batch.scope.user_id) as connection:
                known = batch.known(connection)
                new = batch.new(known)
                if not new:
                    return batch.results(known, {})
                stream, past = self._past(connection, batch, new)
            weighed, after = self._prepare(batch, new, stream, past, indexed)
            with self._stages.stage("sql"), self._database.write(batch.scope.user_id) as connection:
                unchanged = batch.known(connection).keys() == known.keys()
                stored = self._commit(connection, batch, new, stream, weighed, indexed) if unchanged else None
            if stored is not None:
                self._windows.put(stream.id, stored.version, after.window, erasures=erasures)
                return batch.results(known, stored.made)
        if self._served:
            raise StoreBusyError(
                f"other writers changed the conversation {SERVED_ATTEMPTS} times while the served model read the "
                "messages; nothing was stored; retry"
            )
        with self._database.write(batch.scope.user_id) as connection:
            known = batch.known(connection)
            new = batch.new(known)
            if not new:
                return batch.results(known, {})
            stream, past = self._past(connection, batch, new)
            weighed, _ = self._prepare(batch, new, stream, past, indexed)
            stored = self._commit(connection, batch, new, stream, weighed, indexed)
            assert stored is not None, "nobody else can move a stream while this holds the write lock"
            return batch.results(known, stored.made)

    def _past(self, connection: Connection, batch: _Batch, new: Sequence[int]) -> tuple[Stream, Past]:
        """Return the stored stream, and the state that the surprise model and the gate need from it and from the user's
        memory.
        """
        fingerprint.check(connection, self._indexer.fingerprint)  # before its vectors meet stored ones
        stream = streams.load(connection, batch.scope, batch.source)
        hashes = [key for i in new for key in batch.hashes[i]]
        window = self._windows.get(stream.id, user_versions.version(connection, batch.scope.user_id))
        if window is None:
            window = repetition_window.read(connection, stream.id, vectors=self._embed_deferred)
        said = episodes.known_texts(connection, batch.scope.user_id, hashes)
        return stream, Past(stream.proxy_state, self._gate_state(stream), window, said)

    def proxy_state(self, scope: Scope, source: str | None) -> bytes | None:
        """Return the surprise model's state for the next message in a stream."""
        with self._database.read(scope.user_id) as connection:
            stream = streams.load(connection, scope, source)
            anew = stream.proxy_fingerprint != self._surprise_model.fingerprint
            lost = bool(stream.version) and anew
            window = repetition_window.read(connection, stream.id, vectors=False) if lost else Window()
        return self._proxy_state(stream, window.history)

    def _proxy_state(self, stream: Stream, history: Sequence[str]) -> bytes | None:
        """Return the stream's state; recompute it from recent text if it comes from another surprise model."""
        if stream.proxy_fingerprint == self._surprise_model.fingerprint:
            return stream.proxy_state
        return state_after(history, self._surprise_model)

    def _gate_state(self, stream: Stream) -> GateState:
        """Return the stream's statistics, except those in nats from another surprise model."""
        state = gate_state_of(stream)
        return state if stream.proxy_fingerprint == self._surprise_model.fingerprint else state.without(*OF_THE_MODEL)

    def _prepare(
        self,
        batch: _Batch,
        new: Sequence[int],
        stream: Stream,
        past: Past,
        indexed: dict[int, list[IndexedChunk]],
    ) -> tuple[Gated, Past]:
        """Score and index the new messages, in parallel unless the gate decides which to embed.

        Returns the results, and the stream's state after them.
        """
        past = replace(past, proxy_state=self._proxy_state(stream, past.window.history))
        texts, hashes = [batch.text(i) for i in new], [batch.hashes[i] for i in new]
        if not self._embed_deferred:
            weighed = gate_messages(texts, past, self._surprise_model, self._gate, self._stages, hashes=hashes)
            self._index(batch, {i: d.write for i, d in zip(new, weighed.decisions, strict=True)}, indexed)
            return weighed, past.after(texts, weighed, None)
        with ThreadPoolExecutor(max_workers=1) as beside:
            index = partial(self._index, batch, dict.fromkeys(new, True), indexed)
            indexing = beside.submit(index).result if sum(map(len, texts)) > _BESIDE else index

            @cache
            def vectors() -> Tensor:
                indexing()
                owned = [(row, chunk.vector) for row, i in enumerate(new) for chunk in indexed[i]]
                chunks = torch.stack([vector for _, vector in owned if vector is not None]).float()
                refuse_infinite(chunks)
                return message_vectors([row for row, _ in owned], chunks, len(new))

            weighed = gate_messages(texts, past, self._surprise_model, self._gate, self._stages, vectors, hashes)
            return weighed, past.after(texts, weighed, vectors())

    def _index(self, batch: _Batch, embed: Mapping[int, bool], indexed: dict[int, list[IndexedChunk]]) -> None:
        """Fill `indexed` for the messages in `embed` that are missing from it or have no vector."""
        missing = [i for i in embed if i not in indexed or (embed[i] and indexed[i][0].vector is None)]
        texts = [batch.text(i) for i in missing]
        indexed.update(zip(missing, self._indexer.index(texts, [embed[i] for i in missing], batch.heard), strict=True))

    def _commit(
        self,
        connection: Connection,
        batch: _Batch,
        new: Sequence[int],
        stream: Stream,
        weighed: Gated,
        indexed: dict[int, list[IndexedChunk]],
    ) -> _Stored | None:
        """Write the whole batch; if the stream has changed, write nothing and return None."""
        user_id = batch.scope.user_id
        if not streams.unmoved(connection, stream):
            return None
        batch.check(connection)
        self._quotas.check(connection, user_id, [batch.text(i) for i in new])
        fingerprint.bind(connection, self._indexer.fingerprint)
        version = streams.touch_user(connection, user_id)
        streams.save(
            connection,
            stream,
            next_position=stream.next_position + len(new),
            proxy_fingerprint=self._surprise_model.fingerprint,
            proxy_state=weighed.proxy_state,
            gate_state=weighed.gate_state.to_bytes().decode(),
        )
        seqs = next_seqs(connection, "episodes", len(new))
        rows = [
            episodes.new_row(
                batch.messages[i].message,
                metadata=batch.messages[i].metadata,
                text_hash=batch.hashes[i][0],
                seq=seqs[n],
                scope=batch.scope,
                stream_id=stream.id,
                position=stream.next_position + n,
                recorded_at=batch.recorded_at,
                expires_at=batch.expires_at,
                decision=weighed.decisions[n] if batch.infer else None,
                observation=weighed.observations[n].to_dict(),
                importance=weighed.observations[n].salience,
            )
            for n, i in enumerate(new)
        ]
        episodes.insert(connection, rows)
        units.insert(connection, [u for row, i in zip(rows, new, strict=True) for u in chunk_units(row, indexed[i])])
        if batch.infer:
            jobs.enqueue_new(connection, user_id, EXTRACT, [(stream.id, row["seq"]) for row in rows if row["write"]])
            deferred = zip(rows, weighed.observations, strict=True)
            repeated = [row for row, seen in deferred if seen.repeat and not row["write"]]
            backlog.queue_repeated(connection, RESTATE, repeated)
        decisions = weighed.decisions if batch.infer else [None] * len(new)
        return _Stored({i: (row["id"], made) for i, row, made in zip(new, rows, decisions, strict=True)}, version)


@dataclass(frozen=True, slots=True)
class _Stored:
    """The id and decision for each new episode, by position in the batch, and the user's version afterwards."""

    made: dict[int, tuple[str, Decision | None]]
    version: tuple[int, int]


@dataclass(slots=True)
class _Heard:
    """Converts the completed share of `size` bytes to the number of bytes added since the last call."""

    progress: Callable[[int], None]
    size: int
    told: int = 0

    def __call__(self, share: float) -> None:
        done = int(share * self.size)
        if done > self.told:
            self.progress(done - self.told)
            self.told = done


@dataclass(frozen=True, slots=True)
class _Batch:
    """Messages in one stream that are stored together."""

    messages: list[CheckedMessage]
    hashes: list[list[str]]  # the `content_hashes` of each
    scope: Scope
    source: str | None
    recorded_at: int
    expires_at: int | None
    infer: bool
    check: Callable[[Connection], None]
    heard: Callable[[float], None]

    def text(self, place: int) -> str:
        """Return a message's text."""
        return self.messages[place].message.content

    def key(self, place: int) -> str | None:
        """Return a message's idempotency key."""
        return self.messages[place].message.idempotency_key

    def known(self, connection: Connection) -> dict[str, Episode]:
        """Return the episodes that already have one of the batch's idempotency keys."""
        keys = [key for i in range(len(self.messages)) if (key := self.key(i)) is not None]
        return episodes.known_keys(connection, self.scope.user_id, keys) if keys else {}

    def new(self, known: dict[str, Episode]) -> list[int]:
        """Return the positions of the messages to store: all except retries and repeated keys."""
        seen = set(known)
        places = []
        for i in range(len(self.messages)):
            key = self.key(i)
            if key is None or key not in seen:
                places.append(i)
                seen.update(() if key is None else (key,))
        return places

    def results(self, known: dict[str, Episode], made: dict[int, tuple[str, Decision | None]]) -> list[Added]:
        """Return the outcome for each message, in order."""
        by_key = {self.key(i): id for i, (id, _) in made.items()}
        added = []
        for i in range(len(self.messages)):
            if i in made:
                id, decision = made[i]
                added.append(Added(id, "ADD", self.text(i), decision, masked=self.messages[i].masked))
            else:
                key = self.key(i)
                assert key is not None, "only a message with a key can be a retry"
                earlier = known.get(key)
                added.append(Added(by_key[key] if earlier is None else earlier.id, "NOOP", self.text(i), None))
        return added
