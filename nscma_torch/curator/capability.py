"""The curator capability: derived texts with their sources, and the profile."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from datetime import date
from typing import Any

from sqlalchemy import Connection, delete, select

from nscma_torch.core.capabilities import Capability, Erased, RowQueries
from nscma_torch.core.database.json_columns import decoded, is_texts
from nscma_torch.core.database.schema import episodes
from nscma_torch.curator.store import check_derived
from nscma_torch.curator.store import derived_texts as texts
from nscma_torch.curator.store.derived_schema import DERIVED_TABLES, derived_links, derived_sources, derived_texts
from nscma_torch.curator.store.profile_schema import profile

_P, _T = profile.c, derived_texts.c


def _digest(rows: RowQueries) -> Iterator[tuple[Any, ...]]:
    columns = (_T.id, _T.namespace, _T.kind, _T.part, _T.text, _T.confidence)
    for row in rows(select(*columns).order_by(_T.id), _T.user_id):
        yield ("derived", *row)
    resting = select(_T.id, episodes.c.id, derived_sources.c.cited)
    resting = resting.join(derived_sources, derived_sources.c.derived_seq == _T.seq)
    resting = resting.join(episodes, episodes.c.seq == derived_sources.c.episode_seq)
    for row in rows(resting.order_by(_T.id, episodes.c.id), _T.user_id):
        yield ("derived from", *row)
    below, links = derived_texts.alias(), derived_links.c
    linked = select(_T.id, below.c.id, links.cited).join(derived_links, links.derived_seq == _T.seq)
    linked = linked.join(below, below.c.seq == links.source_seq)
    for row in rows(linked.order_by(_T.id, below.c.id), _T.user_id):
        yield ("derived above", *row)
    line = (_P.namespace, _P.number, _P.text, _P.day, _P.sources)
    for row in rows(select(*line).order_by(_P.namespace, _P.number), _P.user_id):
        yield ("profile", *row)


def _problems(rows: RowQueries) -> Iterator[str]:
    yield from check_derived.problems(rows)
    for row in rows(select(_P.day, _P.sources), _P.user_id):
        if not is_texts(row.sources):
            yield f"profile.sources is not a list of texts: {row.sources[:40]}"
        try:
            date.fromisoformat(row.day)
        except ValueError:
            yield f"profile.day is not a date: {row.day[:40]!r}"


def _erase_episode(connection: Connection, episode_seq: int, _units: Sequence[int]) -> Erased:
    erased = Erased(texts=texts.resting_texts(connection, episode_seq))
    erased.rows.update(texts.retire(connection, [episode_seq]))
    return erased


def _erase_conclusions(
    connection: Connection, namespace: str, ids: Collection[str], mention: re.Pattern[str] | None
) -> Erased:
    """Delete the profile lines that cite one of these facts."""
    erased = Erased()
    for row in connection.execute(select(profile).where(_P.namespace == namespace)).all():
        if not set(decoded(row.sources, list)).isdisjoint(ids) or (mention and mention.search(row.text)):
            erased.texts.append(row.text)
            which = (_P.namespace == namespace, _P.number == row.number)
            erased.rows[profile.name] += connection.execute(delete(profile).where(*which)).rowcount
    return erased


CAPABILITY = Capability(
    tables=(profile, *DERIVED_TABLES),
    texts={profile: ("text",)},
    digest=_digest,
    problems=_problems,
    message_ids=texts.message_ids,
    erase_episode=_erase_episode,
    erase_conclusions=_erase_conclusions,
    roots=(derived_texts,),
)
