"""Answer a question from a store's facts, with their source messages."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime
from functools import partial
from typing import NamedTuple

from sqlalchemy import Connection

from nscma_torch.answering.asked_events import event_asked
from nscma_torch.answering.fact_answer import answer_query
from nscma_torch.answering.fact_wording import FactWording, Language
from nscma_torch.answering.literal_questions import state_asked
from nscma_torch.core.database.clock import to_micros
from nscma_torch.core.database.database import Database
from nscma_torch.core.errors import InvalidInputError
from nscma_torch.core.records import NOT_SURE, Answer, Episode, Evidence, Fact, FactQuery, Hit, Scope, Unit, Usage
from nscma_torch.episodic.index import units
from nscma_torch.episodic.log import backlog, episodes, speakers
from nscma_torch.reading.embedded_tasks import quoted_line
from nscma_torch.reading.own_words import in_own_words
from nscma_torch.reading.questions import QuestionReader
from nscma_torch.reading.relations import Schema
from nscma_torch.reading.roles import role_of, same_role
from nscma_torch.search.later_renewals import matter, may_renew, naming, of_its_value, on_the_matter
from nscma_torch.semantic.graph.deaths import deaths
from nscma_torch.semantic.graph.fact_graphs import FactGraphs
from nscma_torch.semantic.store.later_messages import LaterMessage, said_later
from nscma_torch.semantic.store.name_mentions import entities_of
from nscma_torch.semantic.timeline.fact_doubts import lost_grounds
from nscma_torch.text.names import name_key
from nscma_torch.text.scripts import script
from nscma_torch.text.terms import terms

_SHOWN = 3  # messages shown under an answer
_UNSURE = 0.5  # of a fact's confidence that is left where something newer may have renewed it
_LOOKED_AT = 20  # later messages on a matter, the newest first
_HELD_AGAINST = 5  # later messages that are read for a change to a fact, the newest


class Renewable(NamedTuple):
    """The newest source message of the fact that answered, and later messages on its topic, newest first.

    `doubtful` contains the ids of messages that mention only the fact's value, or from which statements about something
    else were read.
    """

    source: Unit
    later: tuple[Unit, ...]
    doubtful: frozenset[str] = frozenset()


class FactQA:
    """Answers questions by walking over facts."""

    def __init__(self, database: Database, schema: Schema, graphs: FactGraphs, questions: QuestionReader) -> None:
        self._database = database
        self._schema = schema
        self._graphs = graphs
        self._questions = questions

    def ask(
        self,
        question: str,
        scope: Scope,
        *,
        now: datetime,
        follows: FactQuery | None = None,
        as_of: datetime | None = None,
        by_words: bool = True,
    ) -> Answer | None:
        """Answer from the facts, or return None.

        Returns None if the question isn't certainly about facts, no fact answers it, or the scope is a run. A fact is
        skipped if one of its source messages has since been hidden, erased or edited; if all facts are skipped, the
        result is None.

        Args:
            now: reference time for relative dates in the question.
            follows: the query of the previous question.
            as_of: the world time asked about, used if the question names no time.
            by_words: an answer about the present is unsure if a later message may renew it by its words; without it,
                the caller checks later messages (`renewable`).
        """
        begin = time.perf_counter()
        if follows is not None and (not follows.path or any(name not in self._schema for name in follows.path)):
            raise InvalidInputError(
                f"every relation in the path of 'follows' must be in the schema, got {follows.path!r}"
            )
        if scope.run_id is not None:  # a fact stated in a run may have been ended outside it
            return None
        with self._database.read(scope.user_id) as connection:
            asker = speakers.asker_of(connection, scope.user_id)
            query = self._questions.read(question, asker=asker.name, now=now, follows=follows)
            messages = partial(_messages, connection, scope.user_id)
            graph = self._graphs.of(connection, scope).at(as_of or now, messages, asker)
            language: Language = "zh" if script(question) == "cjk" else "en"
            found = None if query is None else answer_query(query, graph, language=language, asker=asker.name)
            if found is None and (query is None or query.asks in ("when", "whether")) and as_of is None:
                query = event_asked(question, graph, asker.name) or state_asked(question, graph, asker.name)
                found = None if query is None else answer_query(query, graph, language=language, asker=asker.name)
            if query is None:
                return None
            changed = bool(found and episodes.not_read(connection, scope.user_id, _sources(found.facts)))
            listed = query.asks in ("object", "subject") and self._schema[query.path[-1]].cardinality == "many"
            if changed and listed:
                graph = graph.without(episodes.not_read(connection, scope.user_id, _sources(graph.facts)))
                found = answer_query(
                    query, graph.at(as_of or now, messages, asker), language=language, asker=asker.name
                )
            elif changed:
                found = None
            if found is None:
                return None
            evidence = _evidence(connection, scope.user_id, found.facts)
            deferred = backlog.deferred(connection, scope.user_id, to_micros(now))
            newer: Sequence[Evidence] = ()
            if as_of is None and _asks_now(query):
                newer = _evidence(connection, scope.user_id, deaths(found.facts, graph))
                if by_words and not newer:
                    newer = self._newer(connection, question, query, found.facts, scope, now)
        confidence = min((fact.confidence for fact in found.facts), default=0.5)
        trace = [f"read as {' → '.join((query.subject or query.object, *query.path))}", f"{len(found.facts)} facts"]
        if deferred:
            trace.append(f"{deferred} messages are not read for facts yet; sleep reads them")
        usage = Usage(seconds=time.perf_counter() - begin)
        if newer:
            wording = FactWording("zh" if script(question) == "cjk" else "en", asker.name)
            evidence = (*newer, *evidence)[:_SHOWN]
            quotes = [_quote(item) for item in evidence]
            trace.append(f"{len(newer)} messages, read for no such fact, may renew or end it")
            text, sure = wording.unsure(quotes), confidence * _UNSURE
            return Answer(text, False, sure, evidence, tuple(trace), usage, (), query, quotes=len(quotes) - 1)
        return Answer(found.text, False, confidence, evidence, tuple(trace), usage, found.facts, query)

    def _newer(
        self,
        connection: Connection,
        question: str,
        query: FactQuery,
        found: Sequence[Fact],
        scope: Scope,
        now: datetime,
    ) -> list[Evidence]:
        """Return the newest message that may update a fact that answers a question about the present."""
        for fact in found:
            if self._schema[fact.relation].cardinality != "one" or not fact.object or not fact.episode_ids:
                continue
            about = matter(fact, question, query.subject)
            if fact.relation != query.path[-1]:  # "Where does my boss live?" identifies the boss only on the way
                about = frozenset(terms(" ".join(self._schema[fact.relation].nouns)))
            for episode, follows, *_ in self._later(connection, scope, fact, about, now):
                if may_renew(fact, _own_text(episode), episode.occurred_at, about, self._schema, follows=follows):
                    seq, _ = episodes.require(connection, scope.user_id, episode.id)
                    chunks = units.load(connection, scope.user_id, units.seqs_of_episode(connection, seq, "chunk"))
                    unit = max(chunks.values(), key=lambda chunk: len(about.intersection(terms(chunk.text))))
                    return [Evidence(Hit(unit, _UNSURE), unit.text, 0, len(unit.text), _UNSURE)]
        return []

    def current_fact(self, told: Answer) -> Fact | None:
        """Return the single fact behind an answer to a question about the present, or None if there is none."""
        query = told.query
        if query is None or not query.path or not _asks_now(query):
            return None
        own = [fact for fact in told.facts if fact.relation == query.path[-1]]
        if len(own) != 1:
            return None
        (fact,) = own
        return fact if fact.object and fact.episode_ids and fact.valid_to is None else None

    def doubt(self, fact: Fact, scope: Scope, *, now: datetime) -> str:
        """Return why a fact is in doubt that rests on another one, or "" if it isn't."""
        with self._database.read(scope.user_id) as connection:
            return lost_grounds(connection, scope, self._schema, [fact], now).get(fact.id, "")

    def renewable(self, told: Answer, question: str, scope: Scope, *, now: datetime) -> Renewable | None:
        """Return the later messages that may update the fact behind an answer.

        They mention the fact's subject, topic or value, and no statement in its relation was read from them. At most
        `_HELD_AGAINST` are returned; messages that mention only the value come last. Returns None if there are no such
        messages, if the answer isn't from a single one-valued fact, or if the question wasn't about the present.
        """
        query, fact = told.query, self.current_fact(told)
        if query is None or fact is None or self._schema[fact.relation].cardinality != "one":
            return None
        about = naming(fact, question, query.subject)
        wider = about | of_its_value(fact, self._schema)
        with self._database.read(scope.user_id) as connection:
            if episodes.not_read(connection, scope.user_id, {fact.episode_ids[-1]}):  # hidden or erased since
                return None
            found = self._later(connection, scope, fact, wider, now)
            telling = [one for one in found if on_the_matter(_own_text(one.episode), wider, follows=one.follows)]
            (_, source) = episodes.require(connection, scope.user_id, fact.episode_ids[-1])
        if not telling:
            return None
        by_value = {
            one.episode.id for one in telling if not on_the_matter(_own_text(one.episode), about, follows=one.follows)
        }
        read = sorted(telling, key=lambda one: one.episode.id in by_value)[:_HELD_AGAINST]
        later = [one for one in telling if one in read]  # the newest first
        read_otherwise = {one.episode.id for one in later if one.stated}
        return Renewable(
            units.unit_of(source),
            tuple(units.unit_of(one.episode) for one in later),
            frozenset(by_value | read_otherwise),
        )

    def _later(
        self, connection: Connection, scope: Scope, fact: Fact, about: Collection[str], now: datetime
    ) -> Iterator[LaterMessage]:
        """Yield later messages that contain one of these terms, newest first.

        Messages from which a statement in the fact's relation was read are skipped.

        Messages about a namesake of the fact's subject are skipped.
        """
        _, source = episodes.require(connection, scope.user_id, fact.episode_ids[-1])
        name, _, role = fact.subject.removesuffix(")").partition(" (")
        role = role or role_of(name, source.text)
        found = said_later(
            connection,
            scope,
            fact.episode_ids[-1],
            naming=about,
            without=fact.relation,
            now=to_micros(now),
            limit=_LOOKED_AT,
        )
        for one in found:
            seq, _ = episodes.require(connection, scope.user_id, one.episode.id)
            if entities := entities_of(connection, seq, name):
                same = name_key(fact.subject) in entities
            else:
                other = role_of(name, one.episode.text) if role else ""
                same = not other or same_role(role, other, self._schema)
            if same:
                yield one

    def doubted(self, told: Answer, newer: Unit, *, kept: bool) -> Answer:
        """Answer with a newer message that changes the facts' answer in an unclear way, and the facts' messages.

        With `kept`, the facts' answer stands before them, marked as unsure.
        """
        evidence = (Evidence(Hit(newer, _UNSURE), newer.text, 0, len(newer.text), _UNSURE), *told.evidence)[:_SHOWN]
        if kept:
            text = "\n".join([told.text + NOT_SURE, *(quoted_line(item, chinese=False) for item in evidence)])
            quotes = len(evidence)
        else:  # the first quotation is the answer
            text, quotes = FactWording("en", "").unsure([_quote(item) for item in evidence]), len(evidence) - 1
        sure = told.confidence * _UNSURE
        return replace(told, text=text, confidence=sure, evidence=evidence, facts=(), quotes=quotes)


def _own_text(episode: Episode) -> str:
    """Return a message's text without reported speech, which doesn't update facts."""
    return in_own_words(units.unit_of(episode)).text


def _asks_now(query: FactQuery) -> bool:
    return query.asks in ("object", "whether") and not (query.previous or query.before) and query.as_of is None


def _quote(item: Evidence) -> tuple[str, date, str]:
    unit = item.hit.unit
    return unit.name or unit.role, unit.occurred_at.date(), " ".join(item.text.split())


def _messages(connection: Connection, user_id: str, fact: Fact) -> list[tuple[str, datetime]]:
    """Return the source texts of a fact and the times they were said, newest first."""
    found = (episodes.require(connection, user_id, episode_id) for episode_id in reversed(fact.episode_ids))
    return [(episode.text, episode.occurred_at) for _, episode in found]


def _sources(found: Sequence[Fact]) -> set[str]:
    """Return the ids of the facts' source messages."""
    return {episode_id for fact in found for episode_id in fact.episode_ids}


def _telling(chunks: Sequence[Unit], fact: Fact) -> Unit:
    """Return the chunk that names most parts of a fact, preferably its object; ties go to the first chunk."""
    wanted = set(terms(f"{fact.subject} {fact.topic} {fact.object}"))
    return max(chunks, key=lambda chunk: (fact.object in chunk.text, len(wanted.intersection(terms(chunk.text)))))


def _evidence(connection: Connection, user_id: str, found: tuple[Fact, ...]) -> tuple[Evidence, ...]:
    """Return the source sentences of the facts, newest facts first."""
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
