"""Statements and facts put into a store by hand, so that these tests need no extractor and no curator."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

from nscma_torch.api.memory import Memory
from nscma_torch.core.database.clock import to_micros
from nscma_torch.core.database.database import ALL_USERS
from nscma_torch.core.jobs import jobs
from nscma_torch.core.records import Message, ProfileLine, Scope, Statement
from nscma_torch.curator.store import profiles
from nscma_torch.episodic.log import episodes, streams
from nscma_torch.features.skills import rows as skills
from nscma_torch.semantic.store import decisions, entities, facts, namespaces, statement_groups, statements
from nscma_torch.semantic.store.decisions import NewDecision
from nscma_torch.semantic.store.facts import FactRow, NewFact
from nscma_torch.semantic.store.statement_groups import CURATE, Key
from nscma_torch.semantic.store.statements import StatementRow

DAY = 86_400_000_000  # microseconds


def day(n: int) -> datetime:
    """Day n of 2024."""
    return datetime.fromtimestamp((to_micros(datetime(2024, 1, 1, tzinfo=UTC)) + n * DAY) / 1e6, UTC)


def micros(n: int) -> int:
    """Day n of 2024 in microseconds."""
    return to_micros(day(n))


def lives(subject: str, place: str, **more: Any) -> Statement:
    return Statement(subject, "lives_in", place, **more)


def tell(
    memory: Memory,
    text: str,
    *said: Statement,
    at: int | None = 0,
    user_id: str = "ada",
    agent_id: str | None = None,
    run_id: str | None = None,
    name: str | None = None,
) -> str:
    """Add a message of day `at` (None: without a time) that says these statements; returns its id."""
    message = Message("user", text, None if at is None else day(at), name)
    now = day(400 if at is None else max(at, 0))
    owner = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
    episode_id = memory.add(message, **owner, infer=False, now=now)[0].id
    say(memory, episode_id, *said, user_id=user_id)
    return episode_id


def say(memory: Memory, episode_id: str, *said: Statement, user_id: str = "ada") -> None:
    """Set what a message says."""
    with memory.components.database.write(ALL_USERS) as connection:
        seq, _ = episodes.require(connection, user_id, episode_id)
        statements.replace(connection, episodes.row_of(connection, seq), said)


def heard(memory: Memory, *keys: Key, user_id: str = "ada", agent_id: str | None = None) -> list[StatementRow]:
    with memory.components.database.read(ALL_USERS) as connection:
        return statements.of_keys(connection, namespaces.namespace_id(user_id, agent_id), keys)


def marked(memory: Memory, user_id: str = "ada", agent_id: str | None = None) -> list[Key]:
    with memory.components.database.read(ALL_USERS) as connection:
        return statements.unresolved(connection, namespaces.namespace_id(user_id, agent_id))


def curate(memory: Memory, at: int = 0, user_id: str = "ada", agent_id: str | None = None) -> list[FactRow]:
    """A plain curator: each object is a fact until another one is said. Returns what is believed of marked groups."""
    namespace = namespaces.namespace_id(user_id, agent_id)
    with memory.components.database.write(ALL_USERS) as connection:
        keys = statement_groups.unresolved(connection, namespace)
        for key in keys:
            facts.retire(connection, [row.seq for row in facts.believed(connection, namespace, [key])], micros(at))
            said = statements.of_keys(connection, namespace, [key])
            new = [_fact(key, said, i) for i in range(len(said))]
            made = facts.insert(connection, namespace, user_id, new, micros(at))
            known = decisions.decided(connection, [row.seq for row in said])
            log = [
                NewDecision("ADD", key.subject, key.relation, key.topic, row.object, fact.reason, row.seq, (fact.id,))
                for row, fact in zip(said, made, strict=True)
                if row.seq not in known
            ]
            decisions.insert(connection, namespace, user_id, log, micros(at))
        statement_groups.clear(connection, namespace, keys)
        jobs.clear(connection, CURATE, namespace)
        return facts.believed(connection, namespace, keys)


def _fact(key: Key, said: list[StatementRow], place: int) -> NewFact:
    row, later = said[place], said[place + 1 : place + 2]
    until = later[0].said_at if later else None
    reason = f"{later[0].object} took its place" if later else "nothing else was said"
    return NewFact(
        subject=key.subject,
        relation=key.relation,
        topic=key.topic,
        object=row.object,
        object_key=row.object_key,
        valid_from=row.said_at,
        valid_to=until,
        status="archived" if later else "active",
        confidence=row.confidence,
        strength=1,
        sequence=place,
        ended=None,
        reason=reason,
        statement_seqs=(row.seq,),
    )


def fill(memory: Memory) -> None:
    """Everything that the tables of facts can hold."""
    tell(memory, "Ann lives in Oslo.", lives("Ann", "Oslo", end=18), at=0)
    tell(memory, "Bob lives in Oslo.", lives("Bob", "Oslo", end=18), at=1, agent_id="cook")
    curate(memory, at=1)
    curate(memory, at=1, agent_id="cook")
    tell(memory, "Ann lives in Rome now.", lives("Ann", "Rome"), lives("Annie", "Rome"), at=2)
    (fact, *_) = curate(memory, at=2)
    (new,) = memory.components.indexer.units("skill", ["Bread: hunger"], [skills.origin(Scope("ada"), "Bread", 0)])
    namespace = namespaces.namespace_id("ada", None)
    with memory.components.database.write(ALL_USERS) as connection:
        entities.set_canonical(connection, namespace, {"annie": "ann"})
        profiles.replace(connection, "ada", None, [ProfileLine(0, "Ann lives in Rome.", date(2024, 1, 3), (fact.id,))])
        streams.touch_user(connection, "ada", changed=True)
        skills.put(connection, Scope("ada"), "Bread", "hunger", ["bake"], new, micros(3))
        merge = NewDecision("MERGE", "annie", "", "", "ann", "one person", None, before={"key": "annie"})
        decisions.insert(connection, namespace, "ada", [merge], micros(3))
