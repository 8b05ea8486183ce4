"""What many users take, against arithmetic by hand on rates of round numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from nscma_torch.core.config import Config
from nscma_torch.core.errors import ConfigError, InvalidInputError
from nscma_torch.doctor.plan import GIB, index_bytes
from nscma_torch.doctor.rates import PARTS, Rates, load_rates
from nscma_torch.doctor.scale import DISK, HELD, Scale, ingest_seconds, scale, search_ms, texts_of
from nscma_torch.episodic.index import user_index
from nscma_torch.episodic.index.index_rows import Rows

SOURCE = {"command": "none", "machine": "none", "date": "2026-01-01", "commit": "none"}
HASH = Config.model_validate({"embedder": {"model": "hash"}})
WIDTH = 256  # of the hashing embedder


def store(each: float) -> dict[str, Any]:
    return {"parts": dict.fromkeys(PARTS, each), "stream": 50.0, "empty": 1000}


def texts(name: str, text: float, units: float, written: float) -> dict[str, Any]:
    numbers = {"messages": 100, "text": text, "units": units, "written": written, "summaries": 0.1}
    seconds = {"add": 0.01 * units, "read": 0.02 * units, "integrate": 0.01 * units}
    stores = {"file": store(100 * units), "postgresql": store(200 * units)}
    return {"name": name, "postings": 10.0 * units, "facts": 0.5 * units, "seconds": seconds, **numbers, **stores}


def raw() -> dict[str, Any]:
    return {
        "source": SOURCE,
        "dimension": WIDTH,
        "texts": [texts("short", 100.0, 1.0, 0.5), texts("long", 300.0, 3.0, 0.9)],
        "search": [{"units": 100, "p50": 1.0, "p95": 2.0}, {"units": 10_000, "p50": 100.0, "p95": 200.0}],
        "server": 0.003,
        "index": {"units": 10_000, "load": 0.001, "kept": 0.0},
        "hnsw": {"vectors": 10_000, "bytes": 500.0, "seconds": 0.01},
        "writers": {"source": SOURCE, "file": 1000.0},
    }


RATES = Rates.model_validate(raw())


def planned(users: int = 4, messages: int = 50, **more: Any) -> Scale:
    return scale(more.pop("config", HASH), more.pop("rates", RATES), users=users, messages=messages, **more)


def test_a_small_memory_by_hand() -> None:
    made = planned(4, 50)  # 200 messages of 100 bytes, a unit each, 7 parts of 100 and 200 bytes
    assert made.value("messages") == made.value("searchable units") == 200
    assert made.value("text") == 200 * 100
    assert made.value("SQLite file") == 1000 + 4 * 50 + 200 * 700
    assert made.value("PostgreSQL") == 1000 + 4 * 50 + 200 * 1400
    assert made.value("vectors in it") == made.value("postings in it") == 200 * 200
    assert made.value("HNSW beside it") == 200 * 500
    assert made.value("index of a user") == index_bytes(50, WIDTH, "float32") + HELD
    assert made.value("indexes of all users") == 4 * made.value("index of a user")
    assert made.value("users held at once") == 4
    assert made.value("loading a user's") == pytest.approx(50 * 0.001)
    seconds = [made.value(f"{stage}, of a processor") for stage in ("add", "read", "integrate")]
    assert seconds == pytest.approx([200 * 0.01, 200 * 0.02, 200 * 0.01])
    assert made.value("file, 1 core") == pytest.approx(200 * 0.04)
    assert made.value("PostgreSQL, 1 core") == pytest.approx(200 * 0.043)
    assert made.value("building HNSW") == pytest.approx(200 * 0.01)
    assert made.value("search p50") == 1.0
    assert made.store == "file"
    assert not any("measured up to" in warning for warning in made.warnings)


def test_a_length_between_the_measured_ones_is_on_the_line() -> None:
    of = texts_of(RATES, 200.0)
    assert (of.units, of.written, of.postings) == pytest.approx((2.0, 0.7, 20.0))
    assert of.file.parts["log"] == pytest.approx(200.0)
    assert of.seconds.read == pytest.approx(0.04)
    assert texts_of(RATES, 10.0).units == 1.0, "no shorter message costs less than the shortest measured one"
    longer = texts_of(RATES, 600.0)
    assert (longer.units, longer.written, longer.file.parts["log"]) == pytest.approx((6.0, 0.9, 600.0))


def test_searches_between_the_measured_sizes_and_beyond() -> None:
    assert search_ms(RATES, 10).p50 == 1.0
    assert search_ms(RATES, 1000).p50 == pytest.approx(10.0)  # in the middle of the logarithms
    assert search_ms(RATES, 100_000).p95 == pytest.approx(2000.0)
    noisy = RATES.model_copy(update={"search": (RATES.search[1].model_copy(update={"units": 50}), *RATES.search)})
    assert search_ms(noisy, 1000).p50 >= search_ms(noisy, 60).p50 == 100.0


def test_an_ingest_waits_for_its_narrowest_place() -> None:
    of = RATES.texts[0].seconds  # .01 + .02 + .01 of a processor
    assert ingest_seconds(of, 100, 1, most=None) == pytest.approx(4.0)
    assert ingest_seconds(of, 100, 4, most=None) == pytest.approx(1.0)
    assert ingest_seconds(of, 100, 4, most=10.0) == pytest.approx(10.0), "the writers take ten a second"
    assert planned(2, 50, cores=8).value("file, 8 cores") == pytest.approx(2.0), "two users keep two cores busy"


def test_room_of_an_index_is_as_its_columns_grow() -> None:
    for units in (1, 4096, 4097, 9000, 16_385):
        rows = Rows({"x": torch.empty(0, dtype=torch.uint8)})
        for start in range(0, units, user_index._BLOCK):
            rows.append({"x": torch.zeros(min(user_index._BLOCK, units - start), dtype=torch.uint8)})
        per_row = index_bytes(1, WIDTH, "float32")
        assert index_bytes(units, WIDTH, "float32") == rows.nbytes * per_row


NEVER_LESS = (
    "SQLite file",
    "PostgreSQL",
    "HNSW beside it",
    "indexes of all users",
    "add, of a processor",
    "file, 1 core",
    "search p50",
)


@pytest.mark.parametrize("rates", [RATES, load_rates()], ids=["by hand", "measured"])
def test_more_users_and_more_messages_take_more(rates: Rates) -> None:
    sizes = (1, 10, 999, 10_000, 300_000)
    for grows in ("users", "messages"):
        made = [planned(**{grows: size}, rates=rates) for size in sizes]
        for name in NEVER_LESS:
            values = [one.value(name) for one in made]
            assert values == sorted(values), (grows, name)
        for name in NEVER_LESS[:-1]:
            assert made[0].value(name) < made[-1].value(name), (grows, name)


def test_bfloat16_and_a_gate_that_writes_all_and_no_hierarchy() -> None:
    halves = HASH.model_copy(update={"index": HASH.index.model_copy(update={"dtype": "bfloat16"})})
    assert planned(config=halves).value("index of a user") < 0.6 * planned().value("index of a user")
    every = HASH.model_copy(update={"gate": HASH.gate.model_copy(update={"rule": "everything"})})
    assert planned(config=every).value("read, of a processor") == pytest.approx(
        2 * planned().value("read, of a processor")
    )
    flat = HASH.model_copy(update={"hierarchy": HASH.hierarchy.model_copy(update={"enabled": False})})
    assert planned(config=flat).value("integrate, of a processor") == 0
    assert planned(config=flat).value("SQLite file") == planned().value("SQLite file") - 200 * 100


def test_longer_vectors_take_more_in_store_and_index() -> None:
    wide = RATES.model_copy(update={"dimension": WIDTH - 100})  # measured with shorter vectors than are configured
    more = planned(rates=wide).value("SQLite file") - planned().value("SQLite file")
    assert more == pytest.approx(200 * 100 * 4)
    assert planned(rates=wide).value("HNSW beside it") > planned().value("HNSW beside it")


def test_calls_of_a_language_model() -> None:
    with pytest.raises(KeyError):
        planned().value("calls for facts")
    llm = HASH.model_copy(update={"llm": HASH.llm.model_copy(update={"engine": "http", "model": "m"})})
    assert planned(config=llm).value("calls for facts") == pytest.approx(200 * 0.5)
    assert planned(config=llm).value("calls for summaries") == pytest.approx(200 * 0.1)


def apart_from(units: int) -> Config:
    """Users of so many units keep their vectors in the database."""
    return HASH.model_copy(update={"index": HASH.index.model_copy(update={"database_from": units})})


def test_where_the_memory_should_be() -> None:
    enough = int(60 * DISK / 700)  # messages whose file is rewritten in a minute
    assert planned(1_000, enough // 2_000).store == "file"
    assert planned(2_000, enough // 1_000).store == "postgresql"
    apart = planned(4, 50, config=apart_from(50))
    assert apart.store == "postgresql" and apart.value("index of a user") == index_bytes(50, 0, "float32") + HELD
    assert planned(4, 49, config=apart_from(50)).store == planned(4, 50, config=apart_from(0)).store == "file"
    assert planned(1, 10**6, config=apart_from(0)).value("index of a user") > 10 * planned(1, 10**6).value(
        "index of a user"
    )
    few = HASH.model_copy(update={"index": HASH.index.model_copy(update={"max_bytes": 3 * 200_000})})
    made = planned(10, 50, config=few)
    assert made.value("users held at once") == 600_000 // made.value("index of a user")
    assert any("of 10 users' indexes fit" in line for line in made.advice)
    assert any("beyond" in line or "measured up to" in line for line in planned(1, 10**6).warnings)
    assert not next(one for one in planned(1, 100).figures if one.name == "search p50").beyond
    assert next(one for one in planned(1, 10**6).figures if one.name == "search p50").beyond


@pytest.mark.parametrize("wrong", [{"users": 0}, {"messages": -1}, {"cores": 0}, {"text": 0.0}])
def test_nonsense_is_refused(wrong: dict[str, Any]) -> None:
    (name,) = wrong
    with pytest.raises(InvalidInputError, match=f"{name} must be above 0"):
        planned(**wrong)


def test_rates_that_are_none(tmp_path: Path) -> None:
    path = tmp_path / "rates.json"
    with pytest.raises(ConfigError, match="cannot read"):
        load_rates(path)
    path.write_text("rates")
    with pytest.raises(ConfigError, match="is not JSON"):
        load_rates(path)
    path.write_text(json.dumps({**raw(), "hnsw": {}}))
    with pytest.raises(ConfigError, match=r"hnsw\.vectors"):
        load_rates(path)
    path.write_text(json.dumps({**raw(), "texts": raw()["texts"][::-1]}))
    with pytest.raises(ConfigError, match="order"):
        load_rates(path)
    lacking = raw()
    del lacking["texts"][0]["file"]["parts"]["facts"]
    path.write_text(json.dumps(lacking))
    with pytest.raises(ConfigError, match="parts must give"):
        load_rates(path)
    path.write_text(json.dumps(raw()))
    assert load_rates(path) == RATES


def test_the_index_limit_of_the_default_holds_about_a_million_units() -> None:
    assert index_bytes(2**20, 384, "float32") == pytest.approx(3 * GIB, rel=0.05)
