"""A bulk add makes the store that `add` makes of the same rows one by one, whoever computes it."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from nscma_torch.api.components import Components
from nscma_torch.api.memory import Memory
from nscma_torch.cli import app
from nscma_torch.core.errors import InvalidInputError
from nscma_torch.core.records import Extraction
from nscma_torch.extraction.read_ahead import Given
from nscma_torch.features.bulk import BulkReport, adding, bulk_add
from nscma_torch.features.bulk.reading import BulkReader
from tests.features.bulk.conftest import CONFIG, NOW, Rows, add_one_by_one, rows_of, write
from tests.helpers.pickled_actors import PickledActors

Open = Callable[..., Memory]
ByAdd = Callable[[Rows], tuple[str, str]]
RAY = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="the extra ray is not installed")


def added(store: Path, file: Path, **given: Any) -> BulkReport:
    return bulk_add(store, [str(file)], **{"config": CONFIG, "now": NOW, **given})


@pytest.fixture(params=["here", "pickled actors"])
def actors(request: pytest.FixtureRequest) -> Any:
    return None if request.param == "here" else PickledActors()


def test_it_equals_one_by_one(actors: Any, by_add: ByAdd, open_memory: Open, tmp_path: Path) -> None:
    rows = rows_of(40)
    before, after = by_add(rows)
    file = write(tmp_path / "rows.jsonl", rows)
    report = added(tmp_path / "bulk.db", file, actors=actors, window=28, read=False)
    memory = open_memory("bulk.db", CONFIG)
    assert memory.digest() == before
    assert (report.rows, report.added, report.known, report.users) == (41, 40, 1, 3)
    assert report.written + report.deferred == 40 and report.deferred and report.asked == 0
    assert report.jobs == 0 < report.jobs_queued
    again = added(tmp_path / "bulk.db", file, actors=actors)
    assert (again.added, again.known, again.asked, again.jobs_queued) == (0, 41, 0, 0) and again.jobs > 0
    assert memory.digest() == after
    assert memory.verify() == []
    assert actors is None or actors.results > 5


def test_many_users_of_a_few_messages_are_computed_together(
    open_memory: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{**row, "user_id": f"user {number % 30}"} for number, row in enumerate(rows_of(59))]
    calls: list[int] = []
    made = adding.BulkModels.load

    def counted(config: Any) -> Any:
        models = made(config)
        embed = models.embedder._embedder.embed
        models.embedder._embedder.embed = lambda texts: calls.append(len(texts)) or embed(texts)  # type: ignore[func-returns-value]
        return models

    monkeypatch.setattr(adding.BulkModels, "load", counted)
    added(tmp_path / "bulk.db", write(tmp_path / "rows.jsonl", rows), read=False)
    assert len(calls) == 1 and calls[0] > 25
    one = open_memory("one.db", CONFIG)
    add_one_by_one(one, rows)
    assert open_memory("bulk.db", CONFIG).digest() == one.digest()


def test_it_goes_on_after_what_is_stored_already(actors: Any, open_memory: Open, tmp_path: Path) -> None:
    rows = rows_of(40, seed=1)
    one, two = open_memory("one.db", CONFIG), open_memory("bulk.db", CONFIG)
    add_one_by_one(one, rows)
    add_one_by_one(two, rows[:13])
    two.add("what others have said", user_id="dora", now=NOW)
    dora = two.digest(user_id="dora")
    report = added(tmp_path / "bulk.db", write(tmp_path / "rows.jsonl", rows), actors=actors, window=16, read=False)
    assert report.known == 14 and report.asked == 0
    assert two.digest(user_id="dora") == dora
    for user in ("ana", "bob", "cleo"):
        assert two.digest(user_id=user) == one.digest(user_id=user)


def test_what_others_add_meanwhile_is_asked_anew(open_memory: Open, tmp_path: Path) -> None:
    """Then nothing that was computed fits, and the commit computes it: the store is that of both in turn."""
    rows = [{**row, "user_id": "ana", "source": None, "agent_id": None} for row in rows_of(12, seed=2)]
    other = open_memory("bulk.db", CONFIG)

    class Interrupted(PickledActors):
        def each(self, make: Any, items: Sequence[Any]) -> Iterator[Any]:
            for result in super().each(make, items):
                other.add("The parcel went to flat 7.", user_id="ana", now=NOW, idempotency_key="others")
                yield result

    report = added(tmp_path / "bulk.db", write(tmp_path / "rows.jsonl", rows), actors=Interrupted(), read=False)
    assert report.added == 12 and report.asked > 0
    one = open_memory("one.db", CONFIG)
    one.add("The parcel went to flat 7.", user_id="ana", now=NOW, idempotency_key="others")
    add_one_by_one(one, rows)
    assert other.digest() == one.digest()


def test_another_surprise_model_state_is_made_anew(open_memory: Open, light_surprise: Any, tmp_path: Path) -> None:
    rows = rows_of(30, seed=3)
    for name in ("one.db", "bulk.db"):
        with open_memory(name, CONFIG, surprise_model=light_surprise) as memory:
            add_one_by_one(memory, rows[:15])
    one = open_memory("one.db", CONFIG)
    add_one_by_one(one, rows[15:])
    report = added(tmp_path / "bulk.db", write(tmp_path / "rows.jsonl", rows[15:]), read=False)
    assert 0 < report.asked < 10  # once for each stream, whose past is read anew
    assert open_memory("bulk.db", CONFIG).digest() == one.digest()


@pytest.mark.parametrize(
    "config", [{"embedder": {"model": "hash", "deferred": False}}, {"chunker": {"max_tokens": 12}}]
)
def test_other_configurations(config: dict[str, Any], actors: Any, open_memory: Open, tmp_path: Path) -> None:
    rows, own = rows_of(30, seed=4), {**CONFIG, **config}
    one = open_memory("one.db", own)
    add_one_by_one(one, rows)
    file = write(tmp_path / "rows.jsonl", rows)
    report = bulk_add(tmp_path / "bulk.db", [str(file)], config=own, actors=actors, read=False, now=NOW)
    assert (report.asked == 0) == ("chunker" in config)  # what is deferred is not embedded: the gate says first what is
    assert open_memory("bulk.db", own).digest() == one.digest()


def test_messages_of_many_users_are_read_together(open_memory: Open, tmp_path: Path) -> None:
    """And a message that is given otherwise in its turn, or could not be read, is read then."""
    rows = rows_of(36, seed=5)
    one, two = open_memory("one.db", CONFIG), open_memory("two.db", CONFIG)
    for memory in (one, two):
        add_one_by_one(memory, rows)
    asked: list[set[str]] = []

    def read_many(given: Sequence[Given]) -> Iterator[tuple[Given, Extraction]]:
        asked.append({each.unit.scope.user_id for each in given})
        for pack in (given[:3], given[6:]):
            for number, (each, made) in enumerate(next(BulkReader(two.components.tasks)(pack))):
                yield (Given(each.unit, "somebody else", each.before), Extraction()) if number == 0 else (each, made)

    two.components.read_many = read_many
    for memory in (one, two):
        memory.flush()
    assert asked[0] == {"ana", "bob", "cleo"}
    assert two.digest() == one.digest()


def test_a_bad_row_stores_nothing(tmp_path: Path) -> None:
    rows = rows_of(9)
    good = write(tmp_path / "good.jsonl", rows)
    bad = write(tmp_path / "bad.jsonl", [*rows[:4], {"user_id": "ana", "role": "user", "content": " "}])
    with pytest.raises(InvalidInputError, match=r"bad\.jsonl: line 5: content is empty"):
        bulk_add(tmp_path / "bulk.db", [str(good), str(bad)], config=CONFIG)
    assert not (tmp_path / "bulk.db").exists()


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, open_memory: Open) -> None:
    monkeypatch.chdir(tmp_path)
    Path("light.toml").write_text('[embedder]\nmodel = "hash"\n[reading]\nmodel = "none"\nfacts = "none"\n')
    Path("rows").mkdir()
    write(Path("rows/1.jsonl"), rows_of(8))
    write(Path("rows/2.jsonl"), [{"role": "user", "content": "I have moved to Bern."}])
    run = ["bulk", "add", "rows", "--store", "bulk.db", "--config", "light.toml"]
    result = CliRunner().invoke(app, run)
    assert isinstance(result.exception, InvalidInputError) and '2.jsonl: line 1: no "user_id"' in str(result.exception)
    result = CliRunner().invoke(app, [*run, "--user", "dora", "--json"])
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert (report["rows"], report["added"], report["known"], report["jobs_queued"]) == (10, 9, 1, 0)
    assert "added 0 messages of " in CliRunner().invoke(app, [*run, "--user", "dora"]).stdout
    assert CliRunner().invoke(app, [*run, "--actors", "2"]).exit_code == 2
    with open_memory("bulk.db") as memory:
        assert [one.text for one in memory.log(user_id="dora")] == ["I have moved to Bern."]


def test_postgres_is_written_by_the_actors(
    postgres_server: Any, by_add: ByAdd, light_surprise: Any, open_memory: Open, tmp_path: Path
) -> None:
    rows = rows_of(24, seed=6)
    name = postgres_server.take()
    address = postgres_server.address(name)
    actors = PickledActors()
    report = bulk_add(
        address, [str(write(tmp_path / "rows.jsonl", rows))], config=CONFIG, actors=actors, window=16, now=NOW
    )
    assert report.added == 24 and report.asked == 0 and report.jobs_queued == 0 and actors.results
    with Memory(address, config=CONFIG, surprise_model=light_surprise) as memory:
        found = memory.digest()
        assert memory.verify() == []
    assert found == by_add(rows)[1]
    postgres_server.give_back(name)


@RAY
@pytest.mark.filterwarnings("ignore")
def test_ray_computes_the_same(by_add: ByAdd, open_memory: Open, tmp_path: Path) -> None:
    from nscma_torch.features.bulk.actors import RayActors

    rows = rows_of(60, seed=7)
    file = write(tmp_path / "rows.jsonl", rows)
    with RayActors(actors=2) as actors:
        report = added(tmp_path / "bulk.db", file, actors=actors, window=40)
        with pytest.raises(InvalidInputError, match="from an actor"):
            list(actors.each(_Failing, [1, 2]))
    assert report.added == 60 and report.asked == 0 and report.jobs_queued == 0
    assert open_memory("bulk.db", CONFIG).digest() == by_add(rows)[1]


class _Failing:
    def __call__(self, item: int) -> Iterator[int]:
        yield item
        raise InvalidInputError("from an actor")


def test_components_read_one_by_one_by_default(tmp_path: Path) -> None:
    made = Components(tmp_path / "store.db", Memory(tmp_path / "other.db", config=CONFIG).config)
    assert made.read_many is None
    made.close()
