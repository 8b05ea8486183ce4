"""Entities: the names of statements' subjects and objects, and the merges between them.

An entity's name is the spelling of the earliest statement that mentions it; valid statements take precedence over
withdrawn ones. A merge is a reference from one key to another, so undoing it restores the earlier state.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from sqlalchemy import (
    ColumnElement,
    Connection,
    ScalarSelect,
    and_,
    bindparam,
    exists,
    func,
    or_,
    select,
    union_all,
)

from nscma_torch.core.database.database import pages
from nscma_torch.core.database.dialects import Text
from nscma_torch.core.database.schema import episodes
from nscma_torch.core.errors import InvalidInputError, NotFoundError
from nscma_torch.semantic.store import namespaces, statement_groups
from nscma_torch.semantic.store.fact_schema import entities, statements
from nscma_torch.semantic.store.statement_groups import Key

_S = statements.c


def names(connection: Connection, namespace: str) -> dict[str, str]:
    """Return each entity's name by key, including merged entities."""
    query = select(entities.c.key, entities.c.name).where(entities.c.namespace == namespace).order_by(entities.c.key)
    return {key: str(name) for key, name in connection.execute(query)}


def parents(connection: Connection, namespace: str) -> dict[str, str]:
    """Map each merged entity to the entity that it was directly merged into."""
    query = select(entities.c.key, entities.c.canonical).where(
        entities.c.namespace == namespace, entities.c.canonical.is_not(None)
    )
    return {key: str(target) for key, target in connection.execute(query)}


def canonical(connection: Connection, namespace: str) -> dict[str, str]:
    """Map each merged entity to the last entity in its chain of merges."""
    into = parents(connection, namespace)
    return {key: _end(key, into) for key in into}


def _end(key: str, into: Mapping[str, str]) -> str:
    seen = {key}
    while key in into and into[key] not in seen:
        key = into[key]
        seen.add(key)
    return key


def set_canonical(connection: Connection, namespace: str, changes: Mapping[str, str | None]) -> None:
    """Merge entities into others, by key, or undo their merges (None); mark the groups of every entity involved.

    Raises:
        NotFoundError: an entity is unknown in this namespace.
        InvalidInputError: two entities are already merged, or would be merged into each other.
    """
    known = names(connection, namespace)
    for one in {*changes, *changes.values()} - {None}:
        if one not in known:
            raise NotFoundError(f"no entity {one!r} is known here; `nscma facts` lists the names")
    old = parents(connection, namespace)
    new = dict(old)
    for key in (key for key, into in changes.items() if into is None):
        new.pop(key, None)
    for key, into in changes.items():
        if into is None:
            continue
        if _end(into, new) in (key, _end(key, new)):
            raise InvalidInputError(f"{into!r} and {key!r} are merged already; undo that merge first")
        new[key] = into
    one_of = entities.update().where(entities.c.namespace == namespace, entities.c.key == bindparam("member"))
    if changes:
        rows = [{"member": key, "target": into} for key, into in changes.items()]
        connection.execute(one_of.values(canonical=bindparam("target")), rows)
    before, after = ({key: _end(key, into) for key in into} for into in (old, new))
    touched = {one for pair in changes.items() for one in pair if one is not None}
    ends = {mapping.get(one, one) for mapping in (before, after) for one in touched}
    members = {one for mapping in (before, after) for one in known if mapping.get(one, one) in ends}
    statement_groups.mark(connection, namespace, _groups(connection, namespace, members, before, after))


def forget(connection: Connection, namespace: str, keys: Collection[str]) -> set[Key]:
    """Delete entities that no statement mentions any more; entities that were merged into them become independent
    again.

    Returns the affected groups, for the caller to mark.
    """
    before = canonical(connection, namespace)
    for some in pages(sorted(keys)):
        own = entities.c.namespace == namespace
        freed = entities.update().where(own, entities.c.canonical.in_(some))
        connection.execute(freed.values(canonical=None))
        connection.execute(entities.delete().where(own, entities.c.key.in_(some)))
    after = canonical(connection, namespace)
    members = {key for key in before if key not in keys and after.get(key, key) != before[key]}
    return {key for key in _groups(connection, namespace, members, before, after) if key.subject not in keys}


def _groups(
    connection: Connection, namespace: str, members: Iterable[str], before: Mapping[str, str], after: Mapping[str, str]
) -> set[Key]:
    """Return the old and new groups of all statements that mention these entities."""
    found: set[Key] = set()
    for some in pages(sorted(members)):
        mentions = or_(*(column.in_(some) for column in (_S.subject, _S.object_key, _S.replaces_key)))
        query = select(_S.subject, _S.relation, _S.topic).where(_S.namespace == namespace, mentions).distinct()
        for subject, relation, topic in connection.execute(query):
            found |= {Key(mapping.get(subject, subject), relation, topic) for mapping in (before, after)}
    return found


def _first(*clauses: ColumnElement[bool]) -> ScalarSelect[str]:
    """Return the spelling in the earliest statement that mentions entity `b_key` in namespace `b_namespace`."""
    in_order = (_S.said_at, _S.episode_seq, _S.start, _S.seq)
    firsts = []
    for key, written in ((_S.subject, _S.subject_name), (_S.object_key, _S.object)):
        query = select(written.label("written"), *in_order).join(episodes, episodes.c.seq == _S.episode_seq)
        query = query.where(_S.namespace == bindparam("b_namespace"), key == bindparam("b_key"), *clauses)
        firsts.append(query.order_by(*in_order).limit(1).subquery().select())
    both = union_all(*firsts).subquery()
    order = [both.c[column.name] for column in in_order]
    return select(both.c.written).order_by(*order).limit(1).scalar_subquery()


# A statement that counts goes before any other.
_NAME = func.coalesce(_first(~_S.withdrawn, ~_S.superseded, episodes.c.status == "active"), _first())
_ONE = and_(entities.c.namespace == bindparam("b_namespace"), entities.c.key == bindparam("b_key"))
_UPDATE = entities.update().where(_ONE).values(name=func.coalesce(_NAME, entities.c.name))
_OWN = (bindparam("b_namespace", type_=Text), bindparam("b_user", type_=Text), bindparam("b_key", type_=Text))
_INSERT = entities.insert().from_select(
    ["namespace", "user_id", "key", "name"], select(*_OWN, _NAME).where(~exists().where(_ONE))
)


def refresh(connection: Connection, namespace: str, keys: Iterable[str]) -> None:
    """Update entity names after statements that mention them were added, removed or changed.

    An entity that is no longer mentioned keeps its name.
    """
    user_id = namespaces.owner(connection, namespace).user_id
    rows = [{"b_namespace": namespace, "b_user": user_id, "b_key": key} for key in sorted(set(keys)) if key]
    if rows:
        connection.execute(_UPDATE, rows)
        connection.execute(_INSERT, rows)
