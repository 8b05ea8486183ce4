"""Disputes between sides with similar weight: how a judge sees them, and the decisions that carry out a verdict.

A verdict is a decision that overrules the other sides' statements by reducing their weight to nearly zero; facts thus
remain a function of statements and decisions. It applies as long as a statement that it upheld counts. Later statements
have full weight, so they can reopen the dispute.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from nscma_torch.core.errors import JobError
from nscma_torch.core.records import Episode, Scope, Unit
from nscma_torch.episodic.log import episodes
from nscma_torch.reading.relations import Schema, family
from nscma_torch.semantic.store import decisions, facts, namespaces, statements
from nscma_torch.semantic.store.decisions import LEFT_OPEN, OVERRULED, UPHELD, DecisionRow, NewDecision
from nscma_torch.semantic.store.facts import FactRow
from nscma_torch.semantic.store.statement_groups import Key
from nscma_torch.semantic.store.statements import StatementRow
from nscma_torch.semantic.timeline.claims import Claim
from nscma_torch.semantic.timeline.grouping import object_of, single
from nscma_torch.text.names import name_key
from nscma_torch.text.sentences import Span, split_sentences

_JUDGE = "judge"  # key of `before`, besides `LEFT_OPEN`: the judge that left it open
_LEAST = 1e-6  # confidence that an overruled claim keeps
_SHOWN = 6  # newest statements of a side that are shown
_LONGEST = 600  # characters of one of them


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a dispute: the ids of its statements, and their sentences. `fact` is None for a denial."""

    ids: tuple[str, ...]
    said: tuple[Unit, ...]
    fact: FactRow | None


@dataclass(frozen=True, slots=True)
class Dispute:
    """A contradiction in which no side has clearly more weight than the others."""

    namespace: str
    sides: tuple[Side, ...]


def open_disputes(
    connection: Connection, namespace: str, schema: Schema, judge: str, *, one_object: bool = False
) -> list[Dispute]:
    """Return the disputes in a namespace in which each side has statements of its own.

    Skips a dispute if its verdict was undone, or if `judge` left it open for the same statements. With `one_object`,
    every relation has one object at a time.
    """
    owner = namespaces.owner(connection, namespace)
    disputed = facts.select_facts(connection, owner, statuses=("disputed",))
    keys = {Key(name_key(fact.subject), fact.relation, fact.topic) for fact in disputed}
    sides: dict[tuple[object, ...], list[FactRow]] = {}
    for row in facts.believed(connection, namespace, keys):
        if row.status == "disputed":
            one = one_object or single(row.relation, schema)
            relations = (row.relation,) if one else family(row.relation, schema)
            sides.setdefault((row.subject, relations, row.topic, "" if one else row.object_key), []).append(row)
    said = statements.of_keys(connection, namespace, keys)
    undone = [one for one in decisions.overrulings(connection, namespace, keys) if one.record.undone]
    left = [one.before for one in decisions.left_open(connection, namespace, keys)]
    tried = {frozenset(map(frozenset, before[LEFT_OPEN])) for before in left if before[_JUDGE] == judge}
    found = []
    for own in sides.values():
        by_fact = [(fact, [row for row in said if row.seq in set(fact.statement_seqs)]) for fact in own]
        told: list[tuple[FactRow | None, list[StatementRow]]] = [*by_fact]
        if len(own) == 1:
            told.append((None, _denials(own[0], said)))
        places = [row.seq for _, rows in told for row in rows]
        if all(rows for _, rows in told) and len(places) == len(set(places)):
            dispute = Dispute(namespace, tuple(_side(connection, owner, fact, rows) for fact, rows in told))
            again = frozenset(frozenset(side.ids) for side in dispute.sides) in tried
            if not again and not any(_is_about(dispute, verdict) for verdict in undone):
                found.append(dispute)
    return found


def checked_verdicts(found: Sequence[int | None], disputes: Sequence[Dispute]) -> Sequence[int | None]:
    """Return the verdicts from the language tasks, one per dispute. Raises `JobError` for invalid verdicts."""
    if len(found) != len(disputes):
        raise JobError(f"adjudicate was given {len(disputes)} disputes and returned {len(found)} verdicts; correct it")
    for right, dispute in zip(found, disputes, strict=True):
        if right is not None and right not in range(len(dispute.sides)):
            raise JobError(f"adjudicate was given a dispute of {len(dispute.sides)} sides and returned {right!r}")
    return found


def verdict(dispute: Dispute, right: int, judge: str) -> list[NewDecision]:
    """Return the decisions that settle a dispute in favour of side `right`: one against each other side."""
    upheld = dispute.sides[right]
    made = []
    for side in dispute.sides:
        if side is not upheld:
            fact = side.fact or upheld.fact
            assert fact is not None, "one side of a dispute is a fact"
            what = "denied, and that was overruled" if side.fact is None else "overruled"
            both = tuple(one.fact.id for one in (upheld, side) if one.fact is not None)
            before = {OVERRULED: list(side.ids), UPHELD: list(upheld.ids)}
            made.append(
                NewDecision(
                    "ARCHIVE" if side.fact else "NOOP",
                    fact.subject,
                    fact.relation,
                    fact.topic,
                    fact.object,
                    f"{what}: {judge} found that the other side holds",
                    None,
                    both,
                    before,
                )
            )
    return made


def undecided(dispute: Dispute, judge: str) -> NewDecision:
    """Return the decision to leave a dispute open, which keeps `judge` from being asked about the same statements
    again.
    """
    fact = next(side.fact for side in dispute.sides if side.fact is not None)
    reason = f"left open: {judge} could not tell which side holds"
    before = {LEFT_OPEN: [list(side.ids) for side in dispute.sides], _JUDGE: judge}
    return NewDecision("NOOP", fact.subject, fact.relation, fact.topic, fact.object, reason, None, (), before)


def overruled(verdicts: Iterable[DecisionRow], rows: Collection[StatementRow]) -> set[int]:
    """Return the row numbers of statements overruled by verdicts in force: those not undone, with an upheld statement
    in `rows`.
    """
    seqs = {row.id: row.seq for row in rows}
    standing = [one.before for one in verdicts if not one.record.undone]
    return {
        seqs[one]
        for before in standing
        if any(upheld in seqs for upheld in before[UPHELD])
        for one in before[OVERRULED]
        if one in seqs
    }


def weighed(claims: Sequence[Claim], light: Collection[int]) -> list[Claim]:
    """Return the claims; those in `light` get nearly zero confidence."""
    return [replace(claim, confidence=_LEAST) if claim.seq in light else claim for claim in claims]


def _denials(fact: FactRow, rows: Sequence[StatementRow]) -> list[StatementRow]:
    """Return the statements that deny a fact, or that say it no longer holds."""
    others = [row for row in rows if row.key == fact.key and row.seq not in fact.statement_seqs]
    denying = [row for row in others if row.negated or row.past]
    return [row for row in denying if object_of(row) in ("", fact.object_key)]


def _side(connection: Connection, owner: Scope, fact: FactRow | None, rows: Sequence[StatementRow]) -> Side:
    shown = rows[-_SHOWN:]
    found = episodes.by_seqs(connection, owner.user_id, sorted({row.episode_seq for row in shown}))
    units = {(row.episode_seq, row.start): sentence_unit(found[row.episode_seq], row) for row in shown}
    return Side(tuple(sorted(row.id for row in rows)), tuple(units.values()), fact)


def sentence_unit(episode: Episode, row: StatementRow) -> Unit:
    """Return the sentence that makes the statement, with speaker and time."""
    around = (span for span in split_sentences(episode.text) if span.start <= row.start < span.end)
    span = next(around, Span(row.start, len(episode.text)))
    start, end = span.start, min(span.end, span.start + _LONGEST)
    return Unit(
        id=row.id,
        scope=episode.scope,
        kind="chunk",
        text=episode.text[start:end],
        episode_ids=(episode.id,),
        occurred_at=episode.occurred_at,
        role=episode.role,
        name=episode.name,
        source=episode.source,
        start=start,
        end=end,
    )


def _is_about(dispute: Dispute, verdict: DecisionRow) -> bool:
    sides = [set(side.ids) for side in dispute.sides]
    return set(verdict.before[OVERRULED]) in sides and set(verdict.before[UPHELD]) in sides
