"""Derive the facts in groups from all of their statements, and the decision on each new statement."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from sqlalchemy import Connection

from nscma_torch.core.records import Action
from nscma_torch.reading.relations import Schema
from nscma_torch.semantic.store import decisions, facts, namespaces, statements
from nscma_torch.semantic.store.decisions import NewDecision
from nscma_torch.semantic.store.facts import FORGETTING, FactRow, NewFact
from nscma_torch.semantic.store.statement_groups import Key
from nscma_torch.semantic.store.statements import StatementRow
from nscma_torch.semantic.timeline.claims import Rules
from nscma_torch.semantic.timeline.dispute_verdicts import overruled, weighed
from nscma_torch.semantic.timeline.grouping import Group, fact_of
from nscma_torch.semantic.timeline.implied_denials import implied_denials
from nscma_torch.semantic.timeline.judging import judging_of
from nscma_torch.semantic.timeline.operations import Chosen
from nscma_torch.semantic.timeline.resolve_claims import resolve
from nscma_torch.semantic.timeline.timeline_records import Outcome, Timeline, ValidSpan


class Resolved(NamedTuple):
    """The facts believed now, and the decisions on statements that had no decision yet.

    `waiting` are the groups with statements that don't count until a model is asked about them. `said` are the
    statements (row numbers) to pass to `fact_units.follow` once the decisions are logged.
    """

    facts: list[FactRow]
    decisions: list[NewDecision]
    waiting: frozenset[Key]
    said: set[int]


@dataclass(frozen=True, slots=True)
class _Did:
    """The effect that one statement has in one group: the outcome, with its spans and their facts."""

    outcome: Outcome
    spans: list[ValidSpan]
    facts: list[FactRow]


def resolve_groups(
    connection: Connection,
    namespace: str,
    marked: Collection[Key],
    schema: Schema,
    rules: Rules,
    *,
    now: int,
    recalled: Collection[str],
    chosen: Mapping[int, Chosen],
) -> Resolved:
    """Write the facts for `marked` groups, and for groups that are resolved with them, inside the caller's transaction.

    If statements were only added, facts are recorded as of the time the newest message was stored, no matter when the
    job runs; if any were removed, as of `now` (microseconds). Forgotten facts stay archived until mentioned again,
    unless their id is in `recalled`.

    `chosen` contains the operations that a model has just chosen, by statement row number; they are logged.
    """
    judging = judging_of(connection, namespace, schema, rules, chosen)
    keys = judging.tied(marked)
    user_id = namespaces.owner(connection, namespace).user_id
    rows = statements.of_keys(connection, namespace, keys)
    if others := implied_denials(rows, schema) - keys:
        keys |= others
        rows = statements.of_keys(connection, namespace, keys)
    beyond = statements.of_keys(connection, namespace, implied_denials(rows, schema) - keys)
    case = judging.case(rows, beyond)
    old = facts.believed(connection, namespace, keys)
    fresh = sorted(
        (row for row in rows if row.seq not in case.decided), key=lambda row: (row.episode_seq, row.start, row.seq)
    )
    said = {row.seq for row in rows} | {seq for row in old for seq in row.statement_seqs}
    by_seq = case.by_seq
    light = overruled(decisions.overrulings(connection, namespace, keys), by_seq.values())
    timelines = [(group, resolve(weighed(group.claims, light), rules)) for group in case.groups(keys)]
    forgotten = [row for row in old if row.archived_by == FORGETTING and row.id not in recalled]
    wanted = [
        [_kept(fact_of(group, span, by_seq), forgotten) for span in timeline.spans] for group, timeline in timelines
    ]
    stays = {row.new(): row for row in old}
    new = [fact for own in wanted for fact in own]
    kept = set(new)
    retired = [row for fact, row in stays.items() if fact not in kept]
    came_only = {seq for row in old for seq in row.statement_seqs} <= {row.seq for row in case.counting}
    newest = max((row.stored_at for row in fresh), default=None)
    at = newest if came_only and newest is not None else now
    at = max(at, *(row.recorded_at for row in old)) if old else at
    facts.retire(connection, [row.seq for row in retired], at)
    come = facts.insert(connection, namespace, user_id, [fact for fact in new if fact not in stays], at)
    believed = {**stays, **{row.new(): row for row in come}}
    did = _did(timelines, [[believed[fact] for fact in own] for own in wanted], by_seq)
    seqs = {row.seq for row in fresh}
    made = [case.logged(_decision(row, did.get(row.seq, []), seqs)) for row in fresh]
    return Resolved([believed[fact] for fact in new], made, case.waiting, said)


def _kept(fact: NewFact, forgotten: Collection[FactRow]) -> NewFact:
    """Return the fact, archived again if it was forgotten and has not been mentioned since."""
    for row in forgotten:
        same = (row.key, row.object_key) == (Key(fact.subject, fact.relation, fact.topic), fact.object_key)
        if same and fact.status != "archived" and set(fact.statement_seqs) <= set(row.statement_seqs):
            return replace(fact, status="archived", archived_by=FORGETTING, reason=row.reason)
    return fact


def _did(
    timelines: Sequence[tuple[Group, Timeline]],
    believed: Sequence[Sequence[FactRow]],
    by_seq: Mapping[int, StatementRow],
) -> dict[int, list[_Did]]:
    """Return each statement's effects by its number; the effect in the group of its own subject and object
    comes first.
    """
    found: dict[int, list[_Did]] = {}
    for (group, timeline), own in zip(timelines, believed, strict=True):
        named = {claim.seq for claim in group.claims if claim.value and not (claim.correction and claim.replaces)}
        for seq, outcome in timeline.outcomes.items():
            places = outcome.spans
            did = _Did(outcome, [timeline.spans[place] for place in places], [own[place] for place in places])
            first = seq in named and by_seq[seq].subject == group.subject
            found.setdefault(seq, []).insert(0 if first else len(found.get(seq, ())), did)
    return found


def _decision(row: StatementRow, did: Sequence[_Did], fresh: Collection[int]) -> NewDecision:
    action, reason = _action(row, did, fresh) if did else ("NOOP", "it says nothing of any object")
    return NewDecision(
        action=action,
        subject=row.subject,
        relation=row.relation,
        topic=row.topic,
        object=row.object or row.replaces,
        reason=reason,
        statement_seq=row.seq,
        fact_ids=tuple(dict.fromkeys(fact.id for one in did for fact in one.facts)),
    )


def _action(row: StatementRow, did: Sequence[_Did], fresh: Collection[int]) -> tuple[Action, str]:
    """Return the action and reason for a statement; of several groups, the one for its own object decides."""
    outcome, own = did[0].outcome, did[0].facts
    ended = [fact for one in did for fact in one.facts if fact not in own[:1]]
    match outcome.effect:
        case "joins":
            return "NOOP", outcome.reason or f"known: stated {own[0].strength} times"
        case "opens":
            fact, late = own[0], not set(did[0].spans[0].ended_by) <= set(fresh)
            if fact.status == "archived" and (late or row.past):
                return "ARCHIVE", f"said late: {fact.reason}" if late else fact.reason
            if fact.status == "disputed":
                return "ADD", fact.reason
            if ended:
                names = ", ".join(dict.fromkeys(fact.object for fact in ended if fact.subject == row.subject))
                return "UPDATE", f"takes the place of {names}"
            return "ADD", "new"
        case "ends" | "corrects" | "past" | "corrected":
            return "ARCHIVE", outcome.reason or (own[0].reason if own else "it was taken back")
        case "loses" if not row.negated and own and row.seq in own[0].statement_seqs:
            return "ARCHIVE", outcome.reason
        case _:
            return "NOOP", outcome.reason
