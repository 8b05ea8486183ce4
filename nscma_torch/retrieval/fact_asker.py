"""Answers a question from the facts of a store, with the messages they come from; None where they do not tell."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import datetime
from functools import partial

from sqlalchemy import Connection

from nscma_torch.llm.questions import question_reader
from nscma_torch.records import Answer, Evidence, Fact, FactQuery, Hit, Scope, Unit, Usage
from nscma_torch.relations import Schema
from nscma_torch.retrieval.fact_answer import answer_query
from nscma_torch.retrieval.fact_graphs import FactGraphs
from nscma_torch.storage import backlog, episodes, speakers, units
from nscma_torch.storage.clock import to_micros
from nscma_torch.storage.database import Database
from nscma_torch.text.terms import script, terms

_SHOWN = 3  # messages shown under an answer


class FactAsker:
    """Reads a question as a walk over facts and takes it."""

    def __init__(self, database: Database, schema: Schema, graphs: FactGraphs) -> None:
        self._database = database
        self._schema = schema
        self._graphs = graphs

    def ask(
        self,
        question: str,
        scope: Scope,
        *,
        now: datetime,
        follows: FactQuery | None = None,
        as_of: datetime | None = None,
    ) -> Answer | None:
        """The answer of the facts, or None.

        None where no form fits the question, no fact tells, or the scope is a run; and where a message behind the facts
        was hidden, erased or edited since they were made of it.

        Args:
            now: what relative dates in the question count from.
            follows: the query of the question before.
            as_of: the world time asked about, where the question names none.
        """
        begin = time.perf_counter()
        if scope.run_id is not None:  # what a run says of a fact may have been ended outside of it
            return None
        with self._database.read() as connection:
            asker = speakers.asker_of(connection, scope.user_id)
            query = question_reader(self._schema, asker.name).read(question, now=now, follows=follows)
            if query is None:
                return None
            messages = partial(_messages, connection, scope.user_id)
            graph = self._graphs.of(connection, scope).at(as_of or now, messages, asker)
            found = answer_query(query, graph, language="zh" if script(question) == "cjk" else "en", asker=asker.name)
            if found is None or not episodes.all_read(connection, scope.user_id, _sources(found.facts)):
                return None
            evidence = _evidence(connection, scope.user_id, found.facts)
            deferred = backlog.deferred(connection, scope.user_id, to_micros(now))
        confidence = min((fact.confidence for fact in found.facts), default=0.5)
        trace = [f"read as {' → '.join((query.subject or query.object, *query.path))}", f"{len(found.facts)} facts"]
        if deferred:
            trace.append(f"{deferred} messages are not read for facts yet; sleep reads them")
        usage = Usage(seconds=time.perf_counter() - begin)
        return Answer(found.text, False, confidence, evidence, tuple(trace), usage, found.facts, query)


def _messages(connection: Connection, user_id: str, fact: Fact) -> list[tuple[str, datetime]]:
    """Texts behind a fact and when they were said, the newest first."""
    found = (episodes.require(connection, user_id, episode_id) for episode_id in reversed(fact.episode_ids))
    return [(episode.text, episode.occurred_at) for _, episode in found]


def _sources(found: Sequence[Fact]) -> set[str]:
    """Ids of the messages behind facts."""
    return {episode_id for fact in found for episode_id in fact.episode_ids}


def _telling(chunks: Sequence[Unit], fact: Fact) -> Unit:
    """The part of a message that names most of what the fact is of; of equal ones the first."""
    wanted = set(terms(f"{fact.subject} {fact.topic} {fact.object}"))
    return max(chunks, key=lambda chunk: (fact.object in chunk.text, len(wanted.intersection(terms(chunk.text)))))


def _evidence(connection: Connection, user_id: str, found: tuple[Fact, ...]) -> tuple[Evidence, ...]:
    """The sentences behind the facts, those of the newest facts first."""
    shown: dict[str, Evidence] = {}
    for fact in reversed(found):
        for episode_id in reversed(fact.episode_ids):
            if episode_id in shown or len(shown) == _SHOWN:
                continue
            seq, _ = episodes.require(connection, user_id, episode_id)
            chunks = units.load(connection, user_id, units.seqs_of_episode(connection, seq, "chunk"))
            if chunks:
                unit = _telling(list(chunks.values()), fact)
                hit = Hit(unit, fact.confidence)
                shown[episode_id] = Evidence(hit, unit.text, 0, len(unit.text), fact.confidence)
    return tuple(shown.values())
