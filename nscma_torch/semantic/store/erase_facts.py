"""Permanently delete a message's statements, and everything concluded from them."""

from __future__ import annotations

import re
from collections.abc import Collection

from sqlalchemy import ColumnElement, Connection, Table, and_, delete, false, or_, select

from nscma_torch.core.capabilities import Erased, capabilities, tables_with
from nscma_torch.core.database.database import pages
from nscma_torch.core.database.json_columns import decoded
from nscma_torch.core.database.schema import episodes
from nscma_torch.core.records import ROLES
from nscma_torch.semantic.store import decisions as decision_rows
from nscma_torch.semantic.store import entities as entity_rows
from nscma_torch.semantic.store import statement_groups
from nscma_torch.semantic.store import statements as statement_rows
from nscma_torch.semantic.store.fact_schema import (
    decisions,
    entities,
    fact_namespaces,
    fact_sources,
    facts,
    statements,
    unit_statements,
    unresolved,
)
from nscma_torch.semantic.store.statement_groups import Key
from nscma_torch.text.names import name_key

_S, _F, _D, _U = statements.c, facts.c, decisions.c, unresolved.c
TEXTS: dict[Table, tuple[str, ...]] = {
    entities: ("key", "name"),
    statements: ("subject", "subject_name", "topic", "object", "object_key", "replaces", "replaces_key", "speaker"),
    unresolved: ("subject", "topic"),
    facts: ("subject", "topic", "object", "object_key", "reason"),
    decisions: ("subject", "topic", "object", "reason", "before"),
}


def delete_namespace(connection: Connection, namespace: str) -> bool:
    """Delete a namespace unless it contains something that must be kept; return True if deleted."""
    for table in (root for capability in capabilities() for root in capability.roots):
        if connection.execute(select(table.c.seq).where(table.c.namespace == namespace).limit(1)).first():
            return False
    of_facts = fact_sources.c.fact_seq.in_(select(_F.seq).where(_F.namespace == namespace))
    connection.execute(delete(fact_sources).where(of_facts))
    for table in tables_with("namespace"):
        connection.execute(delete(table).where(table.c.namespace == namespace))
    connection.execute(delete(fact_namespaces).where(fact_namespaces.c.id == namespace))
    return True


def delete_episode(connection: Connection, episode_seq: int) -> Erased:
    """Delete an episode's statements, every fact and decision based on them, and all traces of names that only
    it used.
    """
    erased = Erased()
    owner, episode_id = connection.execute(
        select(episodes.c.user_id, episodes.c.id).where(episodes.c.seq == episode_seq)
    ).one()
    _delete(connection, erased, decisions, _D.user_id == owner, _D.before.contains(episode_id))  # that it was forgotten
    own = statement_rows.of_episodes(connection, [episode_seq]).get(episode_seq, [])
    for namespace, (keys, mentioned) in statement_rows.concerned(connection, own).items():
        said = and_(_S.namespace == namespace, _S.episode_seq == episode_seq)
        columns = [_S[name] for name in TEXTS[statements]]
        written = {text for row in connection.execute(select(*columns).where(said)) for text in row if text}
        resting = select(fact_sources.c.fact_seq).join(statements, _S.seq == fact_sources.c.statement_seq)
        touched = _delete_facts(connection, erased, namespace, _F.seq.in_(resting.where(said)))
        by_it = _D.statement_seq.in_(select(_S.seq).where(said))
        _part(connection, namespace, by_it)
        ended = _ended_by(connection, namespace, by_it)
        _delete(connection, erased, decisions, by_it)
        ids = connection.execute(select(_S.id).where(said)).scalars().all()
        keys |= ended
        verdicts = decision_rows.citing(connection, namespace, ids)
        for some in pages([verdict.seq for verdict in verdicts]):
            _delete(connection, erased, decisions, _D.seq.in_(some))
        of_unit = delete(unit_statements).where(unit_statements.c.statement_seq.in_(select(_S.seq).where(said)))
        erased.rows[unit_statements.name] += connection.execute(of_unit).rowcount
        _delete(connection, erased, statements, said)
        erased.ids += ids
        left = _still_written(connection, namespace, *TEXTS[statements]) | set(ROLES)
        names = {text for text in written if name_key(text) not in left}
        gone = {name_key(text) for text in names}
        bare = mentioned - _still_written(connection, namespace, "subject", "object_key")
        freed = entity_rows.forget(connection, namespace, bare)
        erased.rows[entities.name] += len(bare - {""})
        touched |= _delete_facts(connection, erased, namespace, _any_in(gone, _F.subject, _F.object_key))
        _delete_conclusions(connection, erased, namespace, touched, names)
        entity_rows.refresh(connection, namespace, mentioned - bare)
        keys |= {verdict.key for verdict in verdicts}
        again = {key for key in keys if key.subject not in gone and key.topic not in names} | freed
        _delete(
            connection,
            erased,
            unresolved,
            _U.namespace == namespace,
            or_(_any_in(gone, _U.subject), _any_in(names, _U.topic)),
        )
        statement_groups.mark(connection, namespace, again)
        erased.rebuilt += [" ".join(("facts:", *filter(None, key))) for key in sorted(again)]
    return erased


def _part(connection: Connection, namespace: str, by_it: ColumnElement[bool]) -> None:
    """Undo the merges made by these decisions; resolving the remaining statements redoes the merges they support."""
    stands = (_D.namespace == namespace, _D.action == "MERGE", _D.undone.is_(False))
    by_hand = set(connection.execute(select(_D.subject).where(*stands, _D.statement_seq.is_(None))).scalars())
    own = set(connection.execute(select(_D.subject).where(*stands, by_it)).scalars())
    merged = (own - by_hand) & set(entity_rows.parents(connection, namespace))
    entity_rows.set_canonical(connection, namespace, dict.fromkeys(sorted(merged)))


def _ended_by(connection: Connection, namespace: str, by_it: ColumnElement[bool]) -> set[Key]:
    """Return the groups of the facts that a model named in these decisions; without the decisions those facts hold
    again.
    """
    query = select(_D.before).where(_D.namespace == namespace, by_it)
    named = {one for before in connection.execute(query).scalars() for one in decision_rows.cited(decoded(before))}
    numbers = statement_rows.seqs_of(connection, namespace, named)
    return set(statement_rows.groups_of(connection, namespace, set(numbers.values())).values())


def _still_written(connection: Connection, namespace: str, *names: str) -> set[str]:
    """Return the keys found in these columns of the namespace's remaining statements."""
    found: set[str] = set()
    for name in names:
        query = select(_S[name]).where(_S.namespace == namespace).distinct()
        found.update(name_key(text) for text in connection.execute(query).scalars())
    return found


def _any_in(values: Collection[str], *columns: ColumnElement[str]) -> ColumnElement[bool]:
    return or_(false(), *(column.in_(sorted(values)) for column in columns))


def _delete(connection: Connection, erased: Erased, table: Table, *clauses: ColumnElement[bool]) -> None:
    """Delete rows, and record their number and texts in `erased`."""
    for row in connection.execute(select(*(table.c[name] for name in TEXTS[table])).where(*clauses)):
        erased.texts += [text for text in row if text]
    erased.rows[table.name] += connection.execute(delete(table).where(*clauses)).rowcount


def _delete_facts(connection: Connection, erased: Erased, namespace: str, which: ColumnElement[bool]) -> set[str]:
    """Delete fact rows, including retired ones; return their ids."""
    rows = connection.execute(select(_F.seq, _F.id).where(_F.namespace == namespace, which)).all()
    for some in pages([row.seq for row in rows]):
        of_fact = delete(fact_sources).where(fact_sources.c.fact_seq.in_(some))
        erased.rows[fact_sources.name] += connection.execute(of_fact).rowcount
        _delete(connection, erased, facts, _F.seq.in_(some))
    return {row.id for row in rows}


def _delete_conclusions(
    connection: Connection, erased: Erased, namespace: str, touched: set[str], names: set[str]
) -> None:
    """Delete decisions and everything else based on deleted facts, and clear reasons that mention a deleted name."""
    mention = re.compile("|".join(map(_whole, sorted(names))) or "(?!)", re.I)
    gone = {name_key(name) for name in names}
    remaining: set[str] = set()
    for some in pages(sorted(touched)):
        remaining.update(connection.execute(select(_F.id).where(_F.id.in_(some))).scalars())
    for row in connection.execute(select(decisions).where(_D.namespace == namespace)).all():
        cited = set(decoded(row.fact_ids, list))
        about = {row.topic, name_key(row.subject), name_key(row.object)}
        if cited & (touched - remaining) or about & {*gone, *names} or mention.search(row.before):
            _delete(connection, erased, decisions, _D.seq == row.seq)
        elif mention.search(row.reason):
            connection.execute(decisions.update().where(_D.seq == row.seq).values(reason=""))
    for row in connection.execute(select(_F.seq, _F.reason).where(_F.namespace == namespace, _F.reason != "")).all():
        if mention.search(row.reason):
            connection.execute(facts.update().where(_F.seq == row.seq).values(reason=""))
    for capability in capabilities():
        if capability.erase_conclusions is not None:
            erased.add(capability.erase_conclusions(connection, namespace, touched, mention))


def _whole(name: str) -> str:
    """Build a pattern that matches a name as whole words; scripts without spaces have no word boundaries."""
    return rf"(?<!\w){re.escape(name)}(?!\w)" if name.isascii() else re.escape(name)
