"""`verify` finds what is wrong with facts: each kind of damage, made by hand, is named. An import refuses it too."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.database.database import ALL_USERS
from nscma_torch.core.errors import MalformedInputError
from nscma_torch.maintenance import check
from tests.helpers.telling import fill

pytestmark = pytest.mark.sqlite_file("it damages the file")

Open = Callable[..., Memory]
COOK = "SELECT id FROM fact_namespaces WHERE agent_id = 'cook'"
DAMAGE = [
    ("UPDATE fact_namespaces SET agent_id = 'other' WHERE agent_id = 'cook'",
     "doesn't have the id derived from its user and agent"),
    ("UPDATE entities SET user_id = 'bob' WHERE key = 'ann'", "1 entities belong to another user's namespace"),
    (f"UPDATE statements SET namespace = ({COOK}) WHERE subject = 'annie'",
     "belongs to a different user or agent than its message"),
    (f"UPDATE facts SET namespace = ({COOK}) WHERE subject = 'annie'",
     "is based on a statement from another namespace"),
    ("UPDATE statements SET end = 99 WHERE subject = 'bob'", "0:99, outside its message"),
    ("UPDATE statements SET confidence = 1.5 WHERE subject = 'bob'", "a confidence outside"),
    ("DELETE FROM entities WHERE key = 'bob'", "entity 'bob' is mentioned but unknown"),
    ("UPDATE entities SET canonical = 'ghost' WHERE key = 'annie'", "merged into 'ghost', which is unknown"),
    ("UPDATE entities SET canonical = 'annie' WHERE key = 'ann'", "was merged into itself"),
    ("UPDATE statements SET withdrawn = 1 WHERE subject = 'bob'", "is believed but has no supporting statement"),
    ("DELETE FROM fact_sources WHERE statement_seq = 2", "is believed but has no supporting statement"),
    ("UPDATE facts SET valid_to = valid_from - 1 WHERE subject = 'bob'", "ends before it begins"),
    ("UPDATE facts SET retired_at = NULL WHERE object = 'Oslo' AND subject = 'ann'", "is believed twice"),
    ("UPDATE facts SET valid_to = valid_to + 1, status = 'active' WHERE object = 'Oslo' AND valid_to > 0",
     "are both active but exclude each other"),
    ("DELETE FROM jobs WHERE kind = 'curate'", "has groups to resolve but no job for that"),
    ("UPDATE facts SET status = 'true' WHERE subject = 'bob'", "facts.status is 'true', not one of active"),
    ("UPDATE decisions SET action = 'GUESS' WHERE subject = 'bob'", "decisions.action is 'GUESS'"),
    ("UPDATE skills SET status = 'lost'", "skills.status is 'lost'"),
    ("UPDATE decisions SET fact_ids = '[1]' WHERE subject = 'bob'", "decisions.fact_ids is not a list of texts"),
    ("UPDATE decisions SET before = '[]' WHERE subject = 'bob'", "decisions.before is not an object"),
    ("UPDATE decisions SET before = '{\"overruled\": [], \"upheld\": 3}' WHERE subject = 'bob'",
     "names no statements for its decision"),
    ("UPDATE decisions SET before = '{\"named_facts\": [[\"x\", \"y\"]]}' WHERE subject = 'bob'",
     "names 2 statements that don't exist"),
    ("UPDATE decisions SET before = '{\"overruled\": [], \"upheld\": [\"x\"]}' WHERE subject = 'bob'",
     "names 1 statements that don't exist"),
    ("UPDATE skills SET steps = '\"bake\"'", "skills.steps is not a list of texts"),
    ("UPDATE profile SET sources = 'oops'", "profile.sources is not a list of texts: oops"),
    ("UPDATE profile SET day = 'yesterday'", "profile.day is not a date: 'yesterday'"),
    ("DELETE FROM units WHERE kind = 'skill'", "has no unit: search cannot find it"),
    ("DELETE FROM skills", "belongs to no skill"),
    ("UPDATE units SET status = 'archived' WHERE kind = 'skill'", "has a unit that is archived"),
]  # fmt: skip


@pytest.fixture(scope="module")
def filled(stored: Callable[..., Path]) -> Path:
    return stored(fill)


@pytest.mark.parametrize(("damage", "finding"), DAMAGE, ids=range(len(DAMAGE)))
def test_damage_is_found(damage: str, finding: str, filled: Path, open_memory: Open, tmp_path: Path) -> None:
    memory = open_memory(shutil.copy(filled, tmp_path))
    with closing(sqlite3.connect(tmp_path / "store.db")) as connection:
        assert connection.execute(damage).rowcount > 0
        connection.commit()
    found = problems(memory)
    assert any(finding in problem for problem in found), found
    if "exclude each other" in finding:
        return  # which relations have one object is for the schema to say, not for an import
    with pytest.raises(MalformedInputError):
        open_memory("other.db").import_(list(memory.export()))


def problems(memory: Memory) -> list[str]:
    with memory.components.database.read(ALL_USERS) as connection:
        return check.problems(connection, single=["lives_in"])


def test_only_relations_with_one_object_exclude_others(memory: Memory, tmp_path: Path) -> None:
    fill(memory)
    with closing(sqlite3.connect(tmp_path / "store.db")) as connection:
        connection.execute("UPDATE facts SET valid_to = NULL, status = 'active' WHERE object = 'Oslo' AND valid_to > 0")
        connection.commit()
    with memory.components.database.read(ALL_USERS) as connection:
        assert check.problems(connection, single=[]) == []
    assert len(problems(memory)) == len(memory.verify()) == 1
