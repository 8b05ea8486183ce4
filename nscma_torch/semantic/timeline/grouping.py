"""Group statements into claims so that one value holds at a time in each group, and turn spans into facts.

If a relation has one object at a time, a subject and topic form a group with objects as its values. Otherwise each
object forms its own group with relations as its values: a relation alone, or a relation and its opposite.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from nscma_torch.core.trust import TRUST
from nscma_torch.reading.relations import Schema, family
from nscma_torch.semantic.store.facts import NewFact
from nscma_torch.semantic.store.statement_groups import Key
from nscma_torch.semantic.store.statements import StatementRow
from nscma_torch.semantic.timeline.claims import UNKNOWN, Claim
from nscma_torch.semantic.timeline.timeline_records import ValidSpan
from nscma_torch.text.names import name_key
from nscma_torch.text.terms import terms

NAMED = "named"  # the relation with names as objects
_PLACES = 1 << 20  # positions in a message that `order` tells apart


@dataclass(frozen=True, slots=True)
class Group:
    """Claims of which one holds at a time. `object_key` is empty if the values are objects."""

    subject: str
    relations: tuple[str, ...]
    topic: str
    object_key: str
    claims: list[Claim] = field(default_factory=list)


def closed(keys: Iterable[Key], schema: Schema) -> set[Key]:
    """Return these keys, and the keys for opposite relations, which are resolved together with them."""
    return {Key(key.subject, relation, key.topic) for key in keys for relation in family(key.relation, schema)}


def groups_of(
    rows: Sequence[StatementRow], schema: Schema, correction_window: int, *, one_object: bool = False
) -> list[Group]:
    """Return the groups that these statements form; the statements must be complete for their keys and in the order
    said.

    Args:
        correction_window: microseconds within which a correction that names no value refers to the previous statement.
        one_object: every relation has one object at a time and no opposite.
    """
    found: dict[tuple[str, tuple[str, ...], str, str], Group] = {}
    relations = {row.relation for row in rows}
    families = {relation: (relation,) if one_object else family(relation, schema) for relation in relations}

    def group(row: StatementRow, object_key: str) -> Group:
        key = (row.subject, families[row.relation], row.topic, object_key)
        return found.setdefault(key, Group(*key))

    by_key: dict[tuple[str, tuple[str, ...], str], list[StatementRow]] = {}
    for row in rows:
        by_key.setdefault((row.subject, families[row.relation], row.topic), []).append(row)
    for own in by_key.values():
        for place, row in enumerate(own):
            value, replaced = object_of(row), _replaced(row)
            if one_object or single(row.relation, schema):
                vague = row.relation in schema and schema[row.relation].named and _is_description(row.object)
                claim = claim_of(row, schema, value, row.negated, replaced, correction=row.correction, vague=vague)
                group(row, "").claims.append(claim)
                continue
            if row.correction and not row.negated and not replaced:
                replaced = _corrected(row, own[:place], correction_window)
            if replaced and replaced != value:
                struck = row.correction
                gone = claim_of(row, schema, row.relation if struck else "", struck, row.relation, correction=struck)
                group(row, replaced).claims.append(gone)
            if row.negated and row.relation in schema and schema[row.relation].particular:
                value = _meant(row, own[:place])
            if value:
                correction = row.correction and row.negated
                claim = claim_of(row, schema, row.relation, row.negated, correction=correction)
                group(row, value).claims.append(claim)
            elif row.negated:
                named = {object_of(other) for other in own if other.relation == row.relation} - {""}
                for object_key in sorted(named):
                    group(row, object_key).claims.append(claim_of(row, schema, row.relation, True))
    return list(found.values())


def single(relation: str, schema: Schema) -> bool:
    """Return True if a relation has one object at a time."""
    return relation in schema and schema[relation].cardinality == "one"


def object_of(row: StatementRow) -> str:
    """Return the key of a statement's object: that of the merged entity, unless the object is a name."""
    return name_key(row.object) if row.relation == NAMED else row.object_key


def _is_description(name: str) -> bool:
    """Return True if an object is not a proper name ("small flat")."""
    return name != "" and name.isascii() and not any(letter.isupper() for letter in name)


def _replaced(row: StatementRow) -> str:
    return name_key(row.replaces) if row.relation == NAMED else row.replaces_key


def _meant(row: StatementRow, before: Sequence[StatementRow]) -> str:
    """Return the object key that a denial means: the only undenied thing whose name it abbreviates, or else its own
    object.

    "The Fiat" and "the Panda" abbreviate "red Fiat Panda", "the bike" abbreviates "racing bike" but not "bike shed".
    """
    known: dict[str, str] = {}
    value = ""
    for one in (*before, row):
        if one.relation != row.relation:
            continue
        value = object_of(one)
        if not one.negated:
            known[value] = one.object
            continue
        longer = [key for key, name in known.items() if _short_for(one.object, name)]
        value = longer[0] if value not in known and len(longer) == 1 else value
        known.pop(value, None)
    return value


def _short_for(name: str, longer: str) -> bool:
    words, more = name.split(), longer.split()
    if all(word[:1].isupper() for word in words):
        return set(words) < set(more)
    return len(words) < len(more) and terms(name) == terms(" ".join(more[-len(words) :])) != []


def _corrected(row: StatementRow, before: Sequence[StatementRow], correction_window: int) -> str:
    """Return the object key that a correction refers to: that of its speaker's last statement if recent, else ""."""
    own = [other for other in before if other.speaker == row.speaker]
    if (
        not own
        or own[-1].negated
        or own[-1].relation != row.relation
        or row.said_at - own[-1].said_at > correction_window
    ):
        return ""
    return object_of(own[-1])


def begin_of(row: StatementRow) -> int | None:
    """Return the start time that a statement names; None if it names none."""
    ended = row.valid_to if row.valid_from in (None, UNKNOWN) else row.valid_from
    return ended if row.negated else row.valid_from


def claim_of(
    row: StatementRow,
    schema: Schema,
    value: str,
    negated: bool,
    replaces: str = "",
    *,
    correction: bool = False,
    vague: bool = False,
) -> Claim:
    """Build the claim that a statement makes about `value` in one group."""
    lasting = row.relation in schema and schema[row.relation].lasting
    return Claim(
        seq=row.seq,
        value=value,
        said_at=row.said_at,
        order=row.position * _PLACES + min(row.start, _PLACES - 1),
        speaker=name_key(row.speaker),
        negated=negated,
        replaces=replaces,
        correction=correction,
        past=row.past and not lasting and not negated,
        begins=begin_of(row),
        begun_by=None if row.negated else row.begun_by,
        ends=None if row.negated or lasting else row.valid_to,
        confidence=row.confidence,
        trust=TRUST[row.role],
        first_hand=row.first_hand,
        decisive=bool(row.replaces) and not row.correction,
        vague=vague,
    )


def fact_of(group: Group, span: ValidSpan, rows: Mapping[int, StatementRow]) -> NewFact:
    """Return the fact represented by a span in a group."""
    relation = group.relations[0] if not group.object_key else span.value
    object_key = group.object_key or span.value
    claims = span.claims
    return NewFact(
        subject=group.subject,
        relation=relation,
        topic=group.topic,
        object=_written(object_key, [rows[seq] for seq in claims]),
        object_key=object_key,
        valid_from=None if span.valid_from == UNKNOWN else span.valid_from,
        valid_to=span.valid_to,
        status=span.status,
        confidence=span.confidence,
        strength=len(claims),
        sequence=span.sequence,
        ended=span.ended,
        reason=span.reason,
        statement_seqs=claims,
    )


def _written(object_key: str, rows: Collection[StatementRow]) -> str:
    """Return an object as spelled in the first of these statements."""
    first = min(rows, key=lambda row: (row.said_at, row.episode_seq, row.start, row.seq))
    return first.object if object_of(first) == object_key else first.replaces
