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
    resting = {fact.id: schema[fact.relation].rests_on for fact in found if fact.relation in schema}
    resting = {fact_id: ground for fact_id, ground in resting.items() if ground}
    if not resting:
        return {}
    own = [fact for fact in found if fact.id in resting and fact.episode_ids]
    told = _told(connection, scope, own)
    ended = facts.select_facts(
        connection,
        scope,
        subjects=sorted({name_key(fact.subject) for fact in own}),
        relations=sorted(set(resting.values())),
        statuses=("active", "disputed", "archived"),
    )
    gone = {}
    for fact in own:
        for ground in ended:
            if (ground.subject, ground.relation) != (fact.subject, resting[fact.id]) or ground.valid_to is None:
                continue
            if told[fact.id] < ground.valid_to <= at and (
                ground.valid_from is None or ground.valid_from <= told[fact.id]
            ):
                what = sentence(Statement(ground.subject, ground.relation, ground.object, ground.topic), schema)
                gone[fact.id] = f'in doubt since {format_day(ground.valid_to.date())}, when "{what}" ended'
    return gone


def _told(connection: Connection, scope: Scope, own: Sequence[Fact]) -> Mapping[str, datetime]:
    """Return when each fact, by id, was last told."""
    seqs = episodes.seqs_of(connection, scope.user_id, {one for fact in own for one in fact.episode_ids})
    said = {log.id: log.occurred_at for log in episodes.by_seqs(connection, scope.user_id, sorted(seqs)).values()}
    times = {fact.id: [said[one] for one in fact.episode_ids if one in said] for fact in own}
    return {fact.id: max(times[fact.id], default=fact.recorded_at) for fact in own}
