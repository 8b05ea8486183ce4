"""The skills capability: skills stored by the user, and skills written from helpful replies."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, and_, delete, select

from nscma_torch.core.capabilities import Capability, Erased, RowQueries, strange_values
from nscma_torch.core.database.json_columns import is_texts
from nscma_torch.curator.store.derived_schema import derived_sources, derived_texts
from nscma_torch.episodic.index.unit_schema import units
from nscma_torch.features.skills import rows as skill_rows
from nscma_torch.features.skills.rows import skill_id
from nscma_torch.features.skills.skill_schema import skills

if TYPE_CHECKING:
    from nscma_torch.core.database.database import Database
    from nscma_torch.core.protocols import Embedder
    from nscma_torch.features.skills.skills import Skills
    from nscma_torch.hierarchy.summaries import UnitMaker

_K = skills.c


def _digest(rows: RowQueries) -> Iterator[tuple[Any, ...]]:
    columns = (_K.id, _K.namespace, _K.name, _K.trigger, _K.steps, _K.successes, _K.failures, _K.status)
    for row in rows(select(*columns).order_by(_K.id), _K.user_id):
        yield ("skill", *row)


def _problems(rows: RowQueries) -> Iterator[str]:
    """Check that every skill has its units and the right id, and that every unit of this kind has its skill."""
    yield from strange_values(rows, skills, "status", ("active", "archived"))
    for text in rows(select(_K.steps), _K.user_id).scalars():
        if not is_texts(text):
            yield f"skills.steps is not a list of texts: {text[:40]}"
    own = and_(units.c.stream_id == _K.id, units.c.kind == "skill", units.c.user_id == _K.user_id)
    bare = select(_K.id).outerjoin(units, own).where(units.c.seq.is_(None))
    for key in rows(bare, _K.user_id).scalars():
        yield f"skill {key} has no unit: search cannot find it"
    loose = select(units.c.id).outerjoin(skills, own).where(units.c.kind == "skill", _K.id.is_(None))
    for key in rows(loose, units.c.user_id).scalars():
        yield f"unit {key} belongs to no skill"
    query = select(_K.id, units.c.status).join(units, own).where(units.c.status != _K.status)
    for key, status in rows(query, _K.user_id):
        yield f"skill {key} has a unit that is {status}"
    for row in rows(select(_K.id, _K.namespace, _K.name), _K.user_id):
        if row.id != skill_id(row.namespace, row.name):
            yield f"skill {row.id} doesn't have the id derived from its name"


def _erase_episode(connection: Connection, episode_seq: int, _units: Sequence[int]) -> Erased:
    """Collect the steps of the skills that are deleted together with a message's derived texts."""
    query = select(_K.steps).join(derived_texts, derived_texts.c.id == _K.id)
    query = query.join(derived_sources, derived_sources.c.derived_seq == derived_texts.c.seq)
    found = connection.execute(query.where(derived_sources.c.episode_seq == episode_seq)).scalars()
    return Erased(texts=list(found))


def _erase_conclusions(
    connection: Connection, _namespace: str, ids: Collection[str], _mention: re.Pattern[str] | None
) -> Erased:
    erased = Erased()
    erased.rows[skills.name] = connection.execute(delete(skills).where(_K.id.in_(ids))).rowcount
    return erased


def build(database: Database, embedder: Embedder, units: UnitMaker) -> Skills:
    """Return the skills in a store."""
    from nscma_torch.features.skills.skills import Skills  # loads torch

    return Skills(database, embedder, units)


CAPABILITY = Capability(
    tables=(skills,),
    name="skills",
    rows=skill_rows,
    build=build,
    texts={skills: ("name", "trigger", "steps")},
    digest=_digest,
    problems=_problems,
    erase_episode=_erase_episode,
    erase_conclusions=_erase_conclusions,
    roots=(skills,),
)
