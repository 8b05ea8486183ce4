"""The user profile: a few dated lines, each with its source facts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection

from nscma_torch.core.config import CuratorConfig
from nscma_torch.core.database.clock import to_micros
from nscma_torch.core.records import Episode, Fact, ProfileLine, Scope, Statement
from nscma_torch.curator.forgetting import restarts, retained_fact
from nscma_torch.curator.store import profiles
from nscma_torch.episodic.log import episodes, streams
from nscma_torch.reading.first_person import USER
from nscma_torch.reading.relations import Schema
from nscma_torch.semantic.notes import is_note
from nscma_torch.semantic.store import entities, facts, namespaces
from nscma_torch.semantic.timeline.fact_doubts import with_doubts
from nscma_torch.semantic.triples import sentence
from nscma_torch.text.names import name_key


class _Known(NamedTuple):
    """A fact with its weight, and the time of the newest message that states it."""

    weight: float
    told: datetime
    fact: Fact


def write_profile(
    connection: Connection, namespace: str, now: datetime, schema: Schema, settings: CuratorConfig
) -> int:
    """Rewrite a namespace's profile; return the number of changed lines."""
    scope = namespaces.owner(connection, namespace)
    of_user = episodes.select_all(connection, Scope(scope.user_id), episodes.live())
    log = {episode.id: episode for episode in of_user if episode.scope.agent_id == scope.agent_id}
    lines = profile_lines(_known(connection, namespace, log, now, settings), schema, settings)
    before = profiles.of_namespace(connection, namespace)
    if lines == before:
        return 0
    profiles.replace(connection, scope.user_id, scope.agent_id, lines)
    streams.touch_user(connection, scope.user_id)
    return sum(line not in before for line in lines) + max(0, len(before) - len(lines))


def _known(
    connection: Connection, namespace: str, log: Mapping[str, Episode], now: datetime, settings: CuratorConfig
) -> list[_Known]:
    """Return the current facts about this namespace's speakers with the role "user"."""
    scope = namespaces.owner(connection, namespace)
    into = entities.canonical(connection, namespace)
    speakers = {name_key(episode.name) for episode in log.values() if episode.role == "user" and episode.name}
    people = {into.get(key, key) for key in speakers | {USER}}
    held = facts.select_facts(connection, scope, subjects=people, as_of=to_micros(now))
    recalled = restarts(connection, scope.user_id, settings)
    known = []
    for fact in held:
        told = [log[episode_id] for episode_id in fact.episode_ids if episode_id in log]
        if fact.status == "active" and fact.confidence and told and fact.scope.agent_id == scope.agent_id:
            weight = fact.confidence * retained_fact(fact, told, now, settings, recalled)
            known.append(_Known(weight, max(episode.occurred_at for episode in told), fact))
    return known


def profile_lines(known: Collection[_Known], schema: Schema, settings: CuratorConfig) -> list[ProfileLine]:
    """Return profile lines for the facts with the greatest weight, in descending order: one line per note, or per
    subject, relation and topic.

    Open statements are left to search, because their predicate is free text.
    """
    grouped: dict[tuple[str, str, str], list[_Known]] = {}
    for one in sorted(known, key=lambda one: (-one.weight, one.fact.id)):
        fact = one.fact
        if is_note(fact.relation, fact.topic, schema):
            grouped[fact.subject, fact.relation, fact.id] = [one]
        elif fact.relation not in schema or not schema[fact.relation].open:
            grouped.setdefault((fact.subject, fact.relation, fact.topic), []).append(one)
    chosen = [own[: settings.profile_objects] for own in grouped.values()][: settings.profile_lines]
    return [_line(number, own, schema) for number, own in enumerate(chosen)]


def standing_lines(connection: Connection, scope: Scope, schema: Schema, now: datetime) -> list[ProfileLine]:
    """Return the profile without lines that are based on facts deleted, corrected or ended since it was written.

    A line whose facts are all in doubt at `now` gives the reason.
    """
    written = profiles.of_scope(connection, scope)
    ids = {fact_id for line in written for fact_id in line.fact_ids}
    active = list(facts.select_facts(connection, scope, ids=ids, statuses=("active",)))
    held = {fact.id: fact for fact in with_doubts(connection, scope, schema, active, now)}
    lines: list[ProfileLine] = []
    for line in written:
        own = [held[fact_id] for fact_id in line.fact_ids if fact_id in held]
        if own:
            text = line.text if len(own) == len(line.fact_ids) else _text(own, schema)
            if all(fact.in_doubt for fact in own):
                text = f"{text} ({own[-1].in_doubt})"
            lines.append(replace(line, number=len(lines), text=text, fact_ids=tuple(fact.id for fact in own)))
    return lines


def _text(own: Sequence[Fact], schema: Schema) -> str:
    """Write one sentence for facts with the same subject, relation and topic."""
    first, objects = own[0], ", ".join(fact.object for fact in own)
    return sentence(Statement(first.subject, first.relation, objects, first.topic), schema)


def _line(number: int, own: Sequence[_Known], schema: Schema) -> ProfileLine:
    text = _text([one.fact for one in own], schema)
    day = max(one.fact.valid_from or one.told for one in own).date()
    return ProfileLine(number, text, day, tuple(one.fact.id for one in own))
