"""Mark facts that may not hold any more though no statement ended them.

A fact is in doubt if later messages have changed all of its messages (`nscma_torch/standing`), or if it rests on
another fact that has ended since: a manager on the employer, a roommate on the home (`rests_on` in the relation file).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from sqlalchemy import Connection

from nscma_torch.core.database.clock import to_micros
from nscma_torch.core.records import Fact, Scope, Statement
from nscma_torch.episodic.log import episodes
from nscma_torch.reading.relations import Schema
from nscma_torch.semantic.store import facts
from nscma_torch.semantic.triples import sentence
from nscma_torch.standing import effects
from nscma_torch.text.calendar.timestamps import format_day
from nscma_torch.text.names import name_key


def with_doubts(
    connection: Connection, scope: Scope, schema: Schema, found: Sequence[Fact], at: datetime
) -> list[Fact]:
    """Return the facts, with `in_doubt` set for those that are in doubt at a time."""
    sources = {episode_id for fact in found for episode_id in fact.episode_ids}
    standings = effects.of_episodes(connection, scope.user_id, sources, to_micros(at))
    gone = lost_grounds(connection, scope, schema, found, at)
    marked = []
    for fact in found:
        reason = gone.get(fact.id, "")
        if fact.episode_ids and standings.keys() >= set(fact.episode_ids):
            standing = standings[fact.episode_ids[-1]]
            reason = f"in doubt since {format_day(standing.at.date())}, message {standing.by}"
        marked.append(replace(fact, in_doubt=reason) if reason else fact)
    return marked


def lost_grounds(
    connection: Connection, scope: Scope, schema: Schema, found: Sequence[Fact], at: datetime
) -> dict[str, str]:
    """Return the reason for each fact, by id, that rests on another fact which ended after it was last told."""
    own = [one for one in found if one.episode_ids and one.relation in schema and schema[one.relation].rests_on]
    if not own:
        return {}
    told = _told(connection, scope, own)
    grounds = facts.select_facts(
        connection,
        scope,
        subjects=sorted({name_key(fact.subject) for fact in own}),
        relations=sorted({schema[fact.relation].rests_on for fact in own}),
        statuses=("active", "disputed", "archived"),
    )
    ended: dict[tuple[str, str], list[tuple[Fact, datetime]]] = {}
    for ground in grounds:
        if ground.valid_to is not None and ground.valid_to <= at:
            ended.setdefault((ground.subject, ground.relation), []).append((ground, ground.valid_to))
    gone = {}
    for fact in own:
        for ground, end in ended.get((fact.subject, schema[fact.relation].rests_on), ()):
            if told[fact.id] < end and (ground.valid_from is None or ground.valid_from <= told[fact.id]):
                what = sentence(Statement(ground.subject, ground.relation, ground.object, ground.topic), schema)
                gone[fact.id] = f'in doubt since {format_day(end.date())}, when "{what}" ended'
    return gone


def _told(connection: Connection, scope: Scope, own: Sequence[Fact]) -> Mapping[str, datetime]:
    """Return when each fact, by id, was last told."""
    seqs = episodes.seqs_of(connection, scope.user_id, {one for fact in own for one in fact.episode_ids})
    said = {log.id: log.occurred_at for log in episodes.by_seqs(connection, scope.user_id, sorted(seqs)).values()}
    times = {fact.id: [said[one] for one in fact.episode_ids if one in said] for fact in own}
    return {fact.id: max(times[fact.id], default=fact.recorded_at) for fact in own}
