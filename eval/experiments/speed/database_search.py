"""Search of one user on the device, and with the vectors in PostgreSQL: time, memory, and what is found, by size.

    python -m eval.experiments.speed.database_search --postgres OWNER_ADDRESS --role ROLE [--sizes 1000 10000 …]

Messages, words and vectors are synthetic (`synthetic_store`): embedding a million would take days. Each size is a
schema of its own, filled by COPY as the owner, a superuser; searches run as ROLE, under row-level security. A store is
opened anew for each way to search it:

- "device": all vectors on the device, exact (`index.database_from = 0`);
- "vector index": vectors in the database, found by its HNSW (`nscma index`);
- "scan": the same without the vector index, by an exact scan in the database.

"first" is the first search of an open store, which loads what is kept of the user; p50 and p95 are of the searches
after it, each another question. "lane" is the share of the 10 best of the vector lane on the device that are found,
"hits" that of the 10 hits of `search`. Times are by the clock, on a machine whose load is printed beside them.
"processor" is what a search takes of all processors, in this process and in the server's, which must run on the same
machine; on a crowded one that is what compares.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from rich.console import Console
from rich.table import Table
from sqlalchemy import make_url, text

from eval.experiments.speed import synthetic_store
from eval.harness.fakes import IndifferentProxy
from eval.harness.machine import cpu_name
from nscma_torch import Memory, load_config
from nscma_torch.storage import vector_index
from nscma_torch.storage.database import ALL_USERS, NO_USER
from nscma_torch.storage.postgres_address import parse
from nscma_torch.storage.postgres_database import PostgresDatabase
from nscma_torch.storage.postgres_schema import grant

DEVICE, INDEX, SCAN = "device", "vector index", "scan"
_TOP = 10
_PROGRAM = "database_search"  # by which the server's processes are known
_SIZES = text("SELECT pg_total_relation_size('vectors'), pg_indexes_size('vectors')")


@dataclass(frozen=True)
class Store:
    """A store with so many users of so many messages each."""

    postgres: str
    role: str
    users: int
    messages: int

    @property
    def owned(self) -> str:
        """Its address for the owner."""
        return make_url(self.postgres).update_query_dict({"schema": self.schema}).render_as_string(hide_password=False)

    @property
    def schema(self) -> str:
        return f"s_{self.users}_{self.messages}"

    @property
    def address(self) -> str:
        """Its address for the application's role."""
        options = f"-c role={self.role} -c max_parallel_workers_per_gather=0"  # the time of workers is not seen
        url = make_url(self.owned).update_query_dict({"options": options, "application_name": _PROGRAM})
        return url.render_as_string(hide_password=False)


@dataclass(frozen=True)
class Row:
    """What one way to search costs and finds: seconds, bytes and shares."""

    users: int
    messages: int
    way: str
    first: float
    loading: float  # seconds of processor of the first search, as `processor`
    p50: float
    p95: float
    processor: float  # seconds of a search, here and in the server
    kept: int  # bytes on the device
    lane: float
    hits: float
    load: float


@contextmanager
def opened(store: Store, way: str, questions: Mapping[str, torch.Tensor]) -> Iterator[Memory]:
    """The store, to be searched in one way."""
    embedder = synthetic_store.KnownQuestions()
    embedder.known.update(questions)
    settings = {
        "device": "cpu",
        "gate": {"rule": "everything"},
        "index": {"database_from": 0 if way == DEVICE else 1, "max_bytes": 1 << 36},
    }
    usable = mock.patch.object(vector_index, "usable", lambda *_: False) if way == SCAN else mock.MagicMock()
    parts: dict[str, Any] = {"embedder": embedder, "proxy": IndifferentProxy()}
    with usable, Memory(store.address, config=load_config(settings), **parts) as memory:
        yield memory


Found = tuple[list[list[str]], list[list[int]]]  # of each question the hits' ids, and the best of the vector lane


def measure(store: Store, way: str, asked: Mapping[str, torch.Tensor], truth: Found | None) -> tuple[Row, Found]:
    """Search each user once, then ask all questions of users in turn."""
    firsts, took, hits, lanes = [], [], [], []
    with opened(store, way, asked) as memory:
        users = [synthetic_store.name(user) for user in range(store.users)]
        begun = processor_of(memory)
        for user in users:
            begin = time.perf_counter()
            memory.search("anything at all", user_id=user, now=synthetic_store.NOW, top_k=_TOP)
            firsts.append(time.perf_counter() - begin)
        loading, begun = (processor_of(memory) - begun) / len(users), processor_of(memory)
        for place, question in enumerate(asked):
            scope: dict[str, Any] = {"user_id": users[place % len(users)], "now": synthetic_store.NOW}
            begin = time.perf_counter()
            found = memory.search(question, top_k=_TOP, **scope)
            took.append(time.perf_counter() - begin)
            hits.append([hit.unit.id for hit in found])
        processor = (processor_of(memory) - begun) / len(asked)
        for place, question in enumerate(asked):
            scope = {"user_id": users[place % len(users)], "now": synthetic_store.NOW}
            lanes.append(memory.as_module(**scope)(asked[question][None], _TOP).ids[0].tolist())
        kept = memory.components.searcher.indexes.nbytes
    p95 = sorted(took)[int(0.95 * len(took))]
    of_hits, of_lane = truth or (hits, lanes)
    shares = _share(of_lane, lanes), _share(of_hits, hits)
    cost = (statistics.median(firsts), loading, statistics.median(took), p95, processor, kept)
    return Row(store.users, store.messages, way, *cost, *shares, os.getloadavg()[0]), (hits, lanes)


def processor_of(memory: Memory) -> float:
    """Seconds of processor of this process, and of the server's processes that work for the role."""
    with memory.components.database.read(NO_USER) as connection:
        own = f"SELECT pid FROM pg_stat_activity WHERE application_name = '{_PROGRAM}'"
        pids = connection.execute(text(own)).scalars().all()
    ticks = [Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13] for pid in pids]
    return time.process_time() + sum(int(part) for own in ticks for part in own) / os.sysconf("SC_CLK_TCK")


def _share(wanted: Sequence[Sequence[object]], found: Sequence[Sequence[object]]) -> float:
    """How much of what was wanted for each question is found for it."""
    pairs = list(zip(wanted, found, strict=False))
    return sum(len({*a} & {*b}) for a, b in pairs) / sum(len(a) for a, _ in pairs)


def prepare(store: Store, console: Console, memory: str) -> None:
    """Fill the store and make its vector index, where that was not done; print how long it took."""
    database = PostgresDatabase(store.owned, busy_timeout=10)
    with database.write(ALL_USERS) as connection:
        grant(connection, store.role)
        empty = connection.execute(text("SELECT count(*) FROM users")).scalar_one() == 0
    begin = time.perf_counter()
    if empty:
        synthetic_store.fill(parse(store.owned), store.users, store.messages)
    filled = time.perf_counter()
    made = store.users == 1 and database.index_vectors(memory=memory)
    indexed = time.perf_counter()
    with database.read(ALL_USERS) as connection:
        table, indexes = connection.execute(_SIZES).one()
    size = database.size()
    database.close()
    console.print(
        f"{store.users} x {store.messages:,}: filled in {filled - begin:.0f} s, "
        f"vector index {f'made in {indexed - filled:.0f} s' if made else 'as it was'}; "
        f"store {size / 1e6:.0f} MB, of it vectors {(table - indexes) / 1e6:.0f}, their indexes {indexes / 1e6:.0f}"
    )


def questions_of(store: Store, count: int) -> dict[str, torch.Tensor]:
    """`count` questions, the first about a message of the first user, and so on in turn."""
    each = -(-count // store.users)
    own = [list(synthetic_store.questions(user, store.messages, each, 1).items()) for user in range(store.users)]
    return dict([question for turn in zip(*own, strict=True) for question in turn][:count])


def plot(rows: Sequence[Row], path: Path) -> None:
    """Growth with the size of one user: first search, later searches, and memory on the device."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13.2, 4.0), layout="constrained")
    panels = figure.subplots(1, 3)
    styles = {DEVICE: ("#6b6b6b", "s"), INDEX: ("#1f5fa8", "o"), SCAN: ("#b5532c", "^")}
    titles = (
        "first search of an open store, processor s",
        "processor time of a later search, ms",
        "kept on the device, MB",
    )
    for panel, title in zip(panels, titles, strict=True):
        panel.set(title=title, xscale="log", yscale="log", xlabel="messages of the user (synthetic)")
        panel.grid(visible=True, which="major", color="#dddddd", linewidth=0.7)
    for way, (color, marker) in styles.items():
        own = sorted((row for row in rows if row.way == way and row.users == 1), key=lambda row: row.messages)
        if not own:
            continue
        sizes, style = [row.messages for row in own], {"color": color, "marker": marker, "linewidth": 1.8, "label": way}
        panels[0].plot(sizes, [row.loading for row in own], **style)
        panels[1].plot(sizes, [1000 * row.processor for row in own], **style)
        if way != SCAN:  # as much as with the vector index
            panels[2].plot(sizes, [row.kept / 1e6 for row in own], **style)
    panels[0].legend(frameon=False)
    figure.savefig(path, dpi=110)


def table_of(rows: Sequence[Row]) -> Table:
    """The rows for people."""
    table = Table(
        "users",
        "messages",
        "searched by",
        "first s",
        "its processor s",
        "p50 ms",
        "p95 ms",
        "processor ms",
        "kept MB",
        "lane",
        "hits",
        "load",
    )
    for row in rows:
        cells = (
            f"{row.first:.1f}",
            f"{row.loading:.2f}",
            f"{1000 * row.p50:.0f}",
            f"{1000 * row.p95:.0f}",
            f"{1000 * row.processor:.0f}",
            f"{row.kept / 1e6:.1f}",
        )
        shares = (f"{row.lane:.3f}", f"{row.hits:.3f}", f"{row.load:.1f}")
        table.add_row(str(row.users), f"{row.messages:,}", row.way, *cells, *shares)
    return table


def main() -> None:
    """Print a row for each size and way, and draw the plot."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--postgres", required=True, help="address of a database for a superuser", metavar="ADDRESS")
    parser.add_argument("--role", required=True, help="a role that is neither superuser nor has BYPASSRLS")
    parser.add_argument("--sizes", type=int, nargs="*", default=[1_000, 10_000, 100_000, 1_000_000])
    parser.add_argument("--users", nargs=2, type=int, metavar=("N", "MESSAGES"), help="also N users of MESSAGES each")
    parser.add_argument("--ways", nargs="+", choices=(DEVICE, INDEX, SCAN), default=[DEVICE, INDEX, SCAN])
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--memory", default="2GB", help="maintenance_work_mem for the vector index")
    parser.add_argument("--out", type=Path, help="a PNG of the growth with the size")
    parser.add_argument("--keep", action="store_true", help="leave the schemas, for another run to find")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    console = Console(width=140)
    console.print(
        f"synthetic words and vectors; {cpu_name()}, {os.cpu_count()} processors, {datetime.now(UTC):%Y-%m-%d}"
    )
    stores = [Store(arguments.postgres, arguments.role, 1, size) for size in arguments.sizes]
    if arguments.users:
        stores.append(Store(arguments.postgres, arguments.role, *arguments.users))
    rows: list[Row] = []
    for store in stores:
        prepare(store, console, arguments.memory)
        asked, truth = questions_of(store, arguments.questions), None
        for way in arguments.ways:
            if way == INDEX and store.users > 1:  # each is among too few to be searched by it
                continue
            some = dict(list(asked.items())[: 20 if way == SCAN else None])
            row, found = measure(store, way, some, truth)
            truth = found if truth is None else truth
            rows.append(row)
            console.print(asdict(row))
        if not arguments.keep:
            _drop(store)
    console.print(table_of(rows))
    if arguments.out:
        plot(rows, arguments.out)


def _drop(store: Store) -> None:
    engine = synthetic_store.owner_of(parse(store.owned))
    with engine.begin() as connection:
        connection.exec_driver_sql(f"DROP SCHEMA {store.schema} CASCADE")
    engine.dispose()


if __name__ == "__main__":
    main()
