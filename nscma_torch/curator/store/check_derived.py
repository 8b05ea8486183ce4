"""Check the integrity of derived texts: each has units and cites live messages from its own namespace, directly or
through earlier derived texts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

from sqlalchemy import and_, or_, select

from nscma_torch.core.capabilities import RowQueries
from nscma_torch.core.database.schema import episodes
from nscma_torch.core.derived_kinds import DERIVED_KINDS
from nscma_torch.core.records import DerivedKind
from nscma_torch.curator.store.derived_schema import (
    derivations,
    derived_links,
    derived_omissions,
    derived_sources,
    derived_texts,
)
from nscma_torch.curator.store.derived_texts import Part, text_id
from nscma_torch.episodic.index.unit_schema import units
from nscma_torch.semantic.store.fact_schema import fact_namespaces

_T, _S, _L, _O, _D, _N, _E = (
    derived_texts.c,
    derived_sources.c,
    derived_links.c,
    derived_omissions.c,
    derivations.c,
    fact_namespaces.c,
    episodes.c,
)


def problems(rows: RowQueries) -> Iterator[str]:
    """Yield the problems found in derived texts, one sentence each."""
    yield from _texts(rows)
    yield from _sources(rows)
    yield from _links(rows)
    yield from _units(rows)


def _texts(rows: RowQueries) -> Iterator[str]:
    known = get_args(DerivedKind)
    for row in rows(
        select(derived_texts, _N.user_id.label("owner")).join(fact_namespaces, _N.id == _T.namespace), _T.user_id
    ):
        if row.kind not in known:
            yield f"derived text {row.id} has the unknown kind {row.kind!r}"
        if row.id != text_id(Part(row.namespace, row.kind, row.part), row.number):
            yield f"derived text {row.id} doesn't have the id derived from its part and position"
        if row.owner != row.user_id:
            yield f"derived text {row.id} belongs to a different user than its namespace"
        if not (row.text.strip() and 0 < row.confidence <= 1 and row.since <= row.until):
            yield f"derived text {row.id} has no text, no confidence in (0, 1], or ends before it begins"
    for row in rows(
        select(derivations, _N.user_id.label("owner")).join(fact_namespaces, _N.id == _D.namespace), _D.user_id
    ):
        if row.owner != row.user_id or row.kind not in known:
            yield f"a run in namespace {row.namespace} belongs to another user, or has the unknown kind {row.kind!r}"


def _sources(rows: RowQueries) -> Iterator[str]:
    bare = select(_T.id).where(_T.seq.not_in(select(_S.derived_seq).where(_S.cited)))
    for (text,) in rows(bare, _T.user_id):
        yield f"derived text {text} cites no message"
    resting = (
        select(_T.id, _E.id.label("message"))
        .join(derived_sources, _S.derived_seq == _T.seq)
        .join(episodes, _E.seq == _S.episode_seq)
        .join(fact_namespaces, _N.id == _T.namespace)
    )
    # without an agent, a read covers all of them
    other = and_(_E.agent_id.is_distinct_from(_N.agent_id), or_(_T.kind.in_(DERIVED_KINDS), _N.agent_id.is_not(None)))
    foreign = or_(_E.user_id != _T.user_id, _S.user_id != _T.user_id, other)
    for row in rows(resting.where(foreign), _T.user_id):
        yield f"derived text {row.id} is based on message {row.message} from another namespace"
    for row in rows(resting.where(_E.status == "deleted"), _T.user_id):
        yield f"derived text {row.id} is based on message {row.message}, which is deleted"


def _links(rows: RowQueries) -> Iterator[str]:
    """Check that cited texts are older than the citing text, so none cites itself, and that the citing text includes
    their messages.
    """
    below = derived_texts.alias()
    linked = (
        select(_T.id, below.c.id.label("source"))
        .join(derived_links, _L.derived_seq == _T.seq)
        .join(below, below.c.seq == _L.source_seq)
    )
    foreign = or_(below.c.namespace != _T.namespace, _L.user_id != _T.user_id)
    for row in rows(linked.where(foreign), _T.user_id):
        yield f"derived text {row.id} is based on text {row.source} from another namespace"
    omitted = select(_O.part, _T.id).join(derived_texts, _T.seq == _O.source_seq)
    foreign = or_(_O.namespace != _T.namespace, _O.user_id != _T.user_id)
    for row in rows(omitted.where(foreign), _O.user_id):
        yield f"part {row.part!r} omitted a text in favour of text {row.id} from another namespace"
    for row in rows(linked.where(_L.source_seq >= _L.derived_seq), _T.user_id):
        yield f"derived text {row.id} is based on text {row.source}, which is newer"
    of_source, own = derived_sources.alias(), derived_sources.alias()
    held = select(own.c.episode_seq).where(own.c.derived_seq == _T.seq, own.c.episode_seq == of_source.c.episode_seq)
    missing = linked.join(of_source, of_source.c.derived_seq == below.c.seq).where(~held.exists()).distinct()
    for row in rows(missing, _T.user_id):
        yield f"derived text {row.id} is based on text {row.source}, but not on all of that text's messages"


def _units(rows: RowQueries) -> Iterator[str]:
    own = and_(units.c.stream_id == _T.id, units.c.kind == _T.kind, units.c.user_id == _T.user_id)
    for (text,) in rows(select(_T.id).where(~select(units.c.seq).where(own).exists()), _T.user_id):
        yield f"search cannot find derived text {text}: it has no unit"
    kinds = units.c.kind.in_(DERIVED_KINDS)
    for (unit,) in rows(select(units.c.id).where(kinds, ~select(_T.id).where(own).exists()), units.c.user_id):
        yield f"unit {unit} comes from no derived text"
