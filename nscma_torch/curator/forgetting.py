"""Forgetting by the Ebbinghaus curve: facts and messages that are not recalled are removed from search. Nothing is
deleted.

Retention is R = exp(-Δt / S), where Δt is the time since the memory was last stated and S grows with each recall
(MemoryBank, section 2: the published code inverts this fraction, so a stronger memory would fade faster). In that paper
a recall also restarts Δt: `curator.recall = "restart"`. A memory below `curator.floor` is forgotten, or, with
`curator.forgetting = "chance"`, each memory is forgotten with probability 1 - R. The published code draws again
whenever it loads a memory, so a frequently loaded memory is forgotten sooner than the curve predicts; here each memory
has a single draw.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta

from sqlalchemy import Connection

from nscma_torch.core.config import CuratorConfig
from nscma_torch.core.database.clock import to_micros
from nscma_torch.core.records import Episode, Fact, Scope
from nscma_torch.episodic.index import units
from nscma_torch.episodic.log import episodes, history, streams
from nscma_torch.semantic.store import decisions, facts
from nscma_torch.semantic.store.decisions import EARLY, NewDecision
from nscma_torch.semantic.store.facts import FORGETTING, FactRow
from nscma_torch.semantic.timeline.forgotten import FACT, FORGOTTEN, archive_message, bring_back

_DAY = timedelta(days=1)


def retention(age: float, strength: float) -> float:
    """Return R = exp(-age / strength), in (0, 1]; both arguments are in days. A negative age counts as 0."""
    return math.exp(-max(age, 0.0) / strength)


def strength(times: int, settings: CuratorConfig) -> float:
    """Return S in days, after a given number of recalls and repetitions."""
    return settings.initial_strength * (1.0 + settings.gain * times)


def retained(episode: Episode, now: datetime, settings: CuratorConfig, recalled: datetime | None = None) -> float:
    """Return a message's retention; `recalled` is the time of its last recall, if recalls restart Δt."""
    since = max(episode.occurred_at, recalled or episode.occurred_at)
    return retention((now - since) / _DAY, strength(episode.accesses, settings))


def retained_fact(
    fact: Fact,
    told: Sequence[Episode],
    now: datetime,
    settings: CuratorConfig,
    recalled: Mapping[str, datetime] | None = None,
) -> float:
    """Return the retention of a fact that these messages state; `recalled` is as in `retained`, by message id."""
    newest = max(max(episode.occurred_at, (recalled or {}).get(episode.id, episode.occurred_at)) for episode in told)
    times = fact.strength - 1 + sum(episode.accesses for episode in told)
    return retention((now - max(newest, fact.valid_from or newest)) / _DAY, strength(times, settings))


def limit(memory_id: str, settings: CuratorConfig) -> float:
    """Return the retention below which a fact or message is forgotten: either a fixed value, or one drawn uniformly
    from [0, 1) per memory.
    """
    if settings.forgetting == "floor":
        return settings.floor
    drawn = hashlib.sha256(f"{settings.seed}:{memory_id}".encode()).digest()[:6]
    return int.from_bytes(drawn) / 2**48


def restarts(connection: Connection, user_id: str, settings: CuratorConfig) -> dict[str, datetime]:
    """Return the time of each message's last recall, by id, if recalls restart Δt; otherwise an empty mapping."""
    return history.last_recalls(connection, user_id) if settings.restarts else {}


def fade(connection: Connection, scope: Scope, now: datetime, settings: CuratorConfig) -> tuple[int, int]:
    """Archive the facts and messages whose retention is below their limit, each with a decision; return how many of
    each.

    A message's units are removed from search, but the message itself and its place in the hierarchy stay. Memories that
    were restored by undoing such a decision are not forgotten again.
    """
    kept = _brought_back(connection, scope)
    log = {episode.id: episode for episode in episodes.select_all(connection, scope, episodes.live())}
    recalled = restarts(connection, scope.user_id, settings)
    faded = [row for row in _faded_facts(connection, scope, log, now, settings, recalled) if row.id not in kept]
    for row in faded:
        reason = f"not told or recalled for long: {_below(row.id, settings)}"
        facts.archive(connection, [row.seq], by=FORGETTING, reason=reason, at=max(to_micros(now), row.recorded_at))
        made = NewDecision(
            "ARCHIVE", row.subject, row.relation, row.topic, row.object, reason, None, (row.id,), {FORGOTTEN: FACT}
        )
        decisions.insert(connection, row.namespace, row.user_id, [made], to_micros(now))
    weak = [
        episode
        for episode in log.values()
        if retained(episode, now, settings, recalled.get(episode.id)) < limit(episode.id, settings)
    ]
    archived = 0
    for episode in weak:
        seq, _ = episodes.require(connection, scope.user_id, episode.id)
        if episode.id in kept or not units.active_chunks(connection, [seq]):
            continue
        reason = f"not recalled for long: {_below(episode.id, settings)}"
        archive_message(connection, seq, episode, reason, to_micros(now))
        archived += 1
    if faded or archived:
        streams.touch_user(connection, scope.user_id, changed=True)
    return len(faded), archived


def _below(memory_id: str, settings: CuratorConfig) -> str:
    drawn = ", drawn for it" if settings.forgetting == "chance" else ""
    return f"retention is below {limit(memory_id, settings):.3g}{drawn}"


def _faded_facts(
    connection: Connection,
    scope: Scope,
    log: dict[str, Episode],
    now: datetime,
    settings: CuratorConfig,
    recalled: Mapping[str, datetime],
) -> list[FactRow]:
    weak = []
    for fact in facts.select_facts(connection, scope):
        told = [log[episode_id] for episode_id in fact.episode_ids if episode_id in log]
        if told and retained_fact(fact, told, now, settings, recalled) < limit(fact.id, settings):
            weak.append(fact.id)
    return facts.by_ids(connection, scope.user_id, weak)


def _brought_back(connection: Connection, scope: Scope) -> set[str]:
    """Return the ids of the facts and messages that were restored after being forgotten."""
    found: set[str] = set()
    for record in decisions.select_decisions(connection, scope, actions=["ARCHIVE"], undone=True):
        decision = decisions.find(connection, scope.user_id, record.id)
        what = None if decision is None or EARLY in decision.before else decision.before.get(FORGOTTEN)
        if what is not None:
            found |= set(record.fact_ids) if what == FACT else {what}
    return found


def bring_back_early(
    connection: Connection, scope: Scope, now: datetime, settle: Callable[..., object]
) -> Collection[str]:
    """Restore memories that a fast clock caused to be forgotten at a time later than now. Returns the decisions' ids.

    `settle` resolves the marked groups of facts, like `Curator.settle`. Memories that are already weak now are left to
    `fade`.
    """
    made = decisions.select_decisions(connection, scope, actions=["ARCHIVE"], undone=False)
    found = (decisions.find(connection, scope.user_id, one.id) for one in made if one.at - now > _DAY)
    early = [decision for decision in found if decision is not None and FORGOTTEN in decision.before]
    recalled: dict[str, list[str]] = {}
    for decision in early:
        recalled.setdefault(decision.namespace, []).extend(bring_back(connection, decision))
        decisions.mark_early(connection, decision)
    for namespace, ids in recalled.items():
        settle(connection, namespace, to_micros(now), recalled=ids)
    if early:
        streams.touch_user(connection, scope.user_id, changed=True)
    return [decision.record.id for decision in early]
