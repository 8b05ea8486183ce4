"""What a message costs on this machine, for `nscma doctor --plan --users N --messages M --rates FILE`.

    python -m eval.experiments.speed.rates --data DIR --postgres ADDRESS [--out FILE]

Two sets of messages, short ones (LoCoMo) and long ones (BEAM), each conversation a user's, go into a file and into
PostgreSQL: added in batches of 64, read for facts, integrated. Seconds are of processors, one thread of torch, because
other programs on the machine disturb these less than the clock; those of the file count, as models take most of them,
and what PostgreSQL takes more to store a message, in this process and in its server's, is measured without models.
Sizes are of the stores when nothing is queued any more, tables with their indexes. Then come searches in one user's
memory as it grows, of novels' sentences with random vectors, and an HNSW index over random vectors. What several
writers store together is not measured here but taken over from `eval.experiments.speed.writers`.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import platform
import subprocess
import tempfile
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
from rich.console import Console

from eval.experiments.speed.processor_clock import ProcessorClock, seconds_of
from eval.experiments.speed.search_speed import RandomEmbedder, sentences
from eval.experiments.speed.store_parts import STREAMS, parts_of_file, parts_of_schema
from eval.harness.fakes import IndifferentProxy
from eval.tasks import beam, locomo
from nscma_torch import Memory, Message, load_config
from nscma_torch.doctor.rates import PARTS, load_rates
from nscma_torch.records import Unit
from nscma_torch.storage.database import ALL_USERS
from nscma_torch.storage.postgres_address import parse
from nscma_torch.storage.user_index import UserIndex

_SETS = {"LoCoMo": (("conv-26", "conv-41"), 120), "BEAM": (("1", "2"), 24)}  # with the first messages of each
_SIZES = (1_000, 3_000, 10_000)
_NOW = datetime(2026, 1, 1, tzinfo=UTC)
_BATCH = 64

Talks = Mapping[str, Sequence[Message]]


@dataclass(frozen=True)
class Found:
    """What one set took in one store: numbers of all messages together, seconds and bytes."""

    users: int  # each of one conversation
    messages: int
    most: int  # messages of the largest user
    text: int
    units: int
    postings: int
    facts: int
    written: int
    summaries: int
    seconds: Mapping[str, float]
    parts: Mapping[str, int]
    empty: Mapping[str, int]
    indexes: int  # bytes of all users' after a search of each
    rows: int  # bytes of their columns
    load: float  # seconds to load all of them


def texts(data: Path, names: Sequence[str], most: int) -> dict[str, list[Message]]:
    """The first messages of conversations of LoCoMo and chats of BEAM, by name."""
    talks = {talk.name: talk.messages for talk in locomo.load(data)}
    talks |= {chat.name: chat.messages for chat in beam.load(data)}
    return {name: list(talks[name][:most]) for name in names}


def stored(store: str, talks: Talks, sizes: Callable[[], dict[str, int]], clock: Callable[[], float]) -> Found:
    """Fill a store that is not there yet; `sizes` is asked while nobody has it open."""
    with Memory(store) as memory:
        memory.stats()
    empty = sizes()
    summaries = 0
    with Memory(store) as memory:
        summarize = memory.components.tasks.summarize

        def counted(groups: Sequence[Sequence[Unit]]) -> list[str]:
            nonlocal summaries
            summaries += len(groups)
            return summarize(groups)

        memory.components.tasks.summarize = counted  # type: ignore[method-assign]
        times = [clock()]
        for user, messages in talks.items():
            for start in range(0, len(messages), _BATCH):
                memory.add(list(messages[start : start + _BATCH]), user_id=user, now=_NOW)
        times.append(clock())
        memory.components.worker.read(lambda: True)
        times.append(clock())
        memory.flush()
        times.append(clock())
        stats = memory.stats()
        if stats.jobs_queued or stats.jobs_failed:
            raise SystemExit(f"jobs are left: {stats.failures}")
        with memory.components.database.read(ALL_USERS) as connection:
            postings = connection.exec_driver_sql("SELECT count(*) FROM postings").scalar_one()
        begun, rows = clock(), 0
        for user in talks:
            index = UserIndex(user, memory.components.embedder.dimension, memory.components.device)
            with memory.components.database.read(user) as connection:
                index.catch_up(connection)
            rows += index.nbytes
        loaded = clock() - begun
        for user, messages in talks.items():
            for message in messages[:: max(1, len(messages) // 20)]:
                memory.search(message.content[:200], user_id=user, now=_NOW)
        indexes = memory.components.searcher.indexes.nbytes
    add, read, integrate = (later - one for one, later in itertools.pairwise(times))
    said = [message for messages in talks.values() for message in messages]
    return Found(
        users=len(talks),
        messages=len(said),
        most=max(map(len, talks.values())),
        text=sum(len(message.content.encode()) for message in said),
        units=sum(stats.units.values()),
        postings=postings,
        facts=sum(stats.facts.values()),
        written=stats.written,
        summaries=summaries,
        seconds={"add": add, "read": read, "integrate": integrate},
        parts=sizes(),
        empty=empty,
        indexes=indexes,
        rows=rows,
        load=loaded,
    )


def in_file(talks: Talks) -> Found:
    """In a file of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rates.db"
        return stored(str(path), talks, lambda: parts_of_file(path), ProcessorClock())


def in_postgres(talks: Talks, address: str) -> Found:
    """In a schema of its own, which is dropped."""
    with _schema(address) as (store, plain, schema):
        return stored(store, talks, lambda: parts_of_schema(plain, schema), ProcessorClock(plain))


def more_in_postgres(messages: Sequence[Message], address: str) -> float:
    """Processor seconds that storing a message takes more there; no model in either."""
    config = load_config({"embedder": {"model": "hash"}, "gate": {"rule": "everything"}})
    took = []
    with tempfile.TemporaryDirectory() as folder, _schema(address) as (store, plain, _):
        for place, clock in ((Path(folder) / "rates.db", ProcessorClock()), (store, ProcessorClock(plain))):
            with Memory(place, config=config, proxy=IndifferentProxy()) as memory:
                memory.add(list(messages[:_BATCH]), user_id="first", now=_NOW)
                begun = clock()
                for start in range(0, len(messages), _BATCH):
                    memory.add(list(messages[start : start + _BATCH]), user_id="reader", now=_NOW)
                took.append((clock() - begun) / len(messages))
    file, server = took
    return max(0.0, server - file)


@contextmanager
def _schema(address: str) -> Iterator[tuple[str, str, str]]:
    import psycopg

    schema = f"rates_{uuid.uuid4().hex[:8]}"
    plain = parse(address).url.set(drivername="postgresql").render_as_string(hide_password=False)
    try:
        yield f"{plain}{'&' if '?' in plain else '?'}schema={schema}", plain, schema
    finally:
        with psycopg.connect(plain, autocommit=True) as connection:
            connection.execute(f'DROP SCHEMA IF EXISTS "{schema}" CASCADE')


def set_of(name: str, file: Found, server: Found) -> dict[str, Any]:
    """The rates of one set, as `Texts` has them."""
    n = file.messages
    return {
        "name": name,
        "messages": file.most,
        "text": _rounded(file.text / n),
        **{key: _rounded(getattr(file, key) / n) for key in ("units", "postings", "facts", "written", "summaries")},
        "seconds": {key: _rounded(value / n) for key, value in file.seconds.items()},
        "file": _store(file),
        "postgresql": _store(server),
    }


def _store(found: Found) -> dict[str, Any]:
    own = {part: max(0, found.parts[part] - found.empty[part]) for part in (*PARTS, STREAMS)}
    return {
        "parts": {part: _rounded(own[part] / found.messages) for part in PARTS},
        "stream": _rounded(own[STREAMS] / found.users),
        "empty": sum(found.empty.values()),
    }


def searches(data: Path, sizes: Sequence[int], questions: int) -> tuple[list[dict[str, float]], float]:
    """Points of the curve of searches, and the seconds to load a unit of the largest index."""
    first, *paths = sorted((data / "novels").glob("*.txt"))
    said, asked = sentences(paths, max(sizes)), sentences([first], questions)
    config = load_config({"gate": {"rule": "everything"}, "hierarchy": {"enabled": False}})
    clock, points, done = ProcessorClock(), [], 0
    with tempfile.TemporaryDirectory() as folder:
        store, parts = Path(folder) / "search.db", {"embedder": RandomEmbedder(), "proxy": IndifferentProxy()}
        with Memory(store, config=config, **parts) as memory:  # type: ignore[arg-type]
            for size in sizes:
                more = (Message("user", text, _NOW, "Reader") for text in said[done:size])
                list(memory.add_many(more, user_id="reader", infer=False, now=_NOW))
                done = size
                memory.search(asked[0], user_id="reader", now=_NOW)
                took = []
                for question in asked:
                    begun = clock()
                    memory.search(question, user_id="reader", now=_NOW)
                    took.append(1000 * (clock() - begun))
                took.sort()
                p50, p95 = took[len(took) // 2], took[int(0.95 * len(took))]
                points.append({"units": size, "p50": _rounded(p50), "p95": _rounded(p95)})
            index = UserIndex("reader", RandomEmbedder.dimension, memory.components.device)
            begun = clock()
            with memory.components.database.read("reader") as connection:
                index.catch_up(connection)
            return points, (clock() - begun) / done


def hnsw(address: str, count: int, dimension: int) -> dict[str, float]:
    """Bytes and seconds of a vector in an HNSW index over half-precision vectors, random ones."""
    import psycopg

    drawn = torch.nn.functional.normalize(torch.randn(count, dimension, generator=torch.Generator().manual_seed(0)))
    with _schema(address) as (_, plain, schema), psycopg.connect(plain, autocommit=True) as connection:
        connection.execute(f'CREATE SCHEMA "{schema}"')
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public")
        connection.execute(f'CREATE TABLE "{schema}".v (vector vector({dimension}))')
        with connection.cursor().copy(f'COPY "{schema}".v FROM STDIN') as copy:
            for vector in drawn.tolist():
                copy.write_row([str(vector)])
        connection.execute("SET max_parallel_maintenance_workers = 0")  # whose seconds would be lost
        begun = seconds_of(connection.info.backend_pid)
        operators = f"(vector::halfvec({dimension})) halfvec_ip_ops"
        connection.execute(f'CREATE INDEX h ON "{schema}".v USING hnsw ({operators})')
        seconds = seconds_of(connection.info.backend_pid) - begun
        row = connection.execute("SELECT pg_relation_size(%s::regclass)", (f"{schema}.h",)).fetchone()
        assert row is not None
    return {"vectors": count, "bytes": _rounded(row[0] / count), "seconds": _rounded(seconds / count)}


def _rounded(value: float) -> float:
    """Four digits that count."""
    return float(f"{value:.4g}")


def source(command: str) -> dict[str, str]:
    """Where the figures come from."""
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
    cores = len(os.sched_getaffinity(0))
    return {
        "command": command,
        "machine": f"{cores} cores of an {platform.machine()} machine, at a load of {os.getloadavg()[2]:.0f}",
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "commit": commit.stdout.strip(),
    }


def measure(data: Path, address: str, sizes: Sequence[int]) -> dict[str, Any]:
    """All rates, as `nscma_torch.doctor.rates.Rates` has them."""
    in_file(texts(data, ("conv-30",), 40))  # loads every model
    sets, kept = [], 0.0
    for name, (names, most) in _SETS.items():
        talks = texts(data, names, most)
        file, server = in_file(talks), in_postgres(talks, address)
        kept = max(kept, (file.indexes - file.rows) / file.units)
        sets.append(set_of(f"{name}, {', '.join(names)}: the first {most} messages of each", file, server))
    points, load = searches(data, sizes, questions=40)
    return {
        "source": source("python -m eval.experiments.speed.rates --data DIR --postgres ADDRESS"),
        "dimension": RandomEmbedder.dimension,
        "texts": sets,
        "search": points,
        "server": _rounded(more_in_postgres(texts(data, ("conv-43",), 320)["conv-43"], address)),
        "index": {"units": max(sizes), "load": _rounded(load), "kept": _rounded(kept)},
        "hnsw": hnsw(address, 10_000, RandomEmbedder.dimension),
        "writers": load_rates().writers.model_dump(),
    }


def main() -> None:
    """Print the rates, or write them to a file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder that holds locomo/, beam/ and novels/")
    parser.add_argument("--postgres", required=True, help="address of a server here: postgresql://…", metavar="ADDRESS")
    parser.add_argument("--sizes", type=int, nargs="+", default=_SIZES, metavar="N", help="units of the searches")
    parser.add_argument("--out", type=Path, metavar="FILE", help="where the rates go; else they are printed")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    made = json.dumps(measure(arguments.data, arguments.postgres, sorted(arguments.sizes)), indent=2) + "\n"
    if arguments.out is None:
        Console().out(made, end="")
    else:
        arguments.out.write_text(made, encoding="utf-8")


if __name__ == "__main__":
    main()
