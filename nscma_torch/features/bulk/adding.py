"""Add messages for many users: rows are computed in packs and stored by `Memory.add`, in order per user.

The digest is the same as after adding row by row, no matter which process computes. To resume an interrupted run, start
it again with the same files: rows already stored are recognized by their key and skipped before any computation.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nscma_torch.api.memory import Memory
from nscma_torch.api.validation import checked_count, clock
from nscma_torch.core.config import Config, load_config
from nscma_torch.core.database.store_path import is_of, is_postgres
from nscma_torch.core.errors import InvalidInputError
from nscma_torch.core.records import Extraction
from nscma_torch.extraction.read_ahead import Given
from nscma_torch.features.bulk import reading
from nscma_torch.features.bulk.committing import Committed, Committer, WeigherAndCommitter
from nscma_torch.features.bulk.packs import Pack, new_rows, packs, windows
from nscma_torch.features.bulk.rows import BulkRow, CheckedFile, check_file, files_of, read_rows
from nscma_torch.features.bulk.weighing import BulkModels, Weigher
from nscma_torch.reading.embedded_tasks import EmbeddedTasks

if TYPE_CHECKING:
    from nscma_torch.features.bulk.actors import RayActors

WINDOW = 65_536  # rows that are planned together, and by Ray computed in one run


@dataclass(frozen=True, slots=True)
class BulkReport:
    """Result of a bulk add.

    `rows` is the number of rows in the files, which belong to `users`; `added` of them are new, and `known` were
    already stored or are duplicates. `asked` counts requests to the embedder and the surprise model within a commit.
    `jobs` is the number of jobs run; `jobs_queued` and `jobs_failed` remain in the store. `seconds` is the total time.
    """

    rows: int
    users: int
    added: int
    written: int
    deferred: int
    known: int
    asked: int
    jobs: int
    jobs_queued: int
    jobs_failed: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress callbacks for a bulk add: rows checked, rows stored out of the total, and jobs run."""

    checked: Callable[[int], None] = lambda _: None
    stored: Callable[[int, int], None] = lambda _, __: None
    read: Callable[[int, int], None] = lambda _, __: None


def bulk_add(
    store: str | Path,
    paths: Sequence[str],
    *,
    config: Config | str | Path | Mapping[str, Any] | None = None,
    user_id: str | None = None,
    infer: bool = True,
    read: bool = True,
    actors: RayActors | None = None,
    window: int = WINDOW,
    now: datetime | None = None,
    progress: Progress | None = None,
) -> BulkReport:
    """Add all rows in JSON lines and Parquet files to a store, and process them.

    Args:
        paths: files, folders and patterns; see `rows` for the row format.
        user_id: the user for rows that name none.
        infer: queue messages that pass the gate for extraction.
        read: run the store's background jobs afterwards; if False they are left to a worker.
        actors: do the computation; if None, this process does it. With PostgreSQL they also store the results.
        window: number of rows planned together and computed in one run of the actors.
        now: overrides the clock.

    Raises `InvalidInputError` if a row in any file can't be stored; nothing is stored then.
    """
    began, told = time.monotonic(), progress or Progress()
    settings = config if isinstance(config, Config) else load_config(config)
    checked_count(window, "window")
    files = _checked(store, paths, settings, clock(now), user_id, told)
    total = sum(file.rows for file in files)
    models = BulkModels.load(settings)
    with Memory(store, config=settings, embedder=models.embedder, surprise_model=models.surprise_model) as memory:
        job = _Adding(memory, models, str(store), actors, infer=infer, now=now)
        done, users, at = Committed(), set[str](), 0
        for rows in windows(_rows(files, memory, clock(now), user_id), window):
            users.update(row.scope.user_id for row in rows)
            new = new_rows(memory, rows)
            known = len(rows) - sum(map(len, new.values()))
            done, at = done + Committed(known=known), at + known
            told.stored(at, total)
            for committed in job.run(packs(memory, new)):
                done, at = done + committed, at + committed.added + committed.known
                told.stored(at, total)
        jobs = _read(memory, settings, actors, told) if read else 0
        stats = memory.stats()
    counts = (done.added, done.written, done.deferred, done.known, done.asked)
    left = (jobs, stats.jobs_queued, stats.jobs_failed)
    return BulkReport(total, len(users), *counts, *left, round(time.monotonic() - began, 3))


class _Adding:
    """Computes and stores packs, in this process or in the actors."""

    def __init__(
        self,
        memory: Memory,
        models: BulkModels,
        store: str,
        actors: RayActors | None,
        *,
        infer: bool,
        now: datetime | None,
    ) -> None:
        self._actors = actors
        self._committer = Committer(memory, models, infer=infer, now=now)
        self._here = WeigherAndCommitter(Weigher(memory.config, models), self._committer)
        self._there = partial(Weigher.load, memory.config)
        self._all_there = partial(WeigherAndCommitter.load, store, memory.config, infer=infer, now=now)
        self._shared = is_postgres(store)

    def run(self, work: Sequence[Pack]) -> Iterator[Committed]:
        """Commit packs, and yield the result of each commit."""
        if self._actors is None:
            for pack in work:
                yield from self._here(pack)
        elif self._shared:
            yield from self._actors.each(self._all_there, work)
        else:  # a file has one writer
            for weighed in self._actors.each(self._there, work):
                yield self._committer(weighed)


def _checked(
    store: str | Path, paths: Sequence[str], config: Config, now: datetime, user_id: str | None, told: Progress
) -> list[CheckedFile]:
    files: list[CheckedFile] = []
    for path in files_of(paths):
        if is_of(str(store), path):
            raise InvalidInputError(f"{path} belongs to the store itself; name the files to add")
        files.append(check_file(path, config.limits, now, user_id=user_id))
        told.checked(sum(file.rows for file in files))
    return files


def _rows(files: Sequence[CheckedFile], memory: Memory, now: datetime, user_id: str | None) -> Iterator[BulkRow]:
    """Yield the rows as they will be stored: what is masked is masked before anything is computed."""
    for file in files:
        for row in read_rows(file.path, memory.config.limits, now, user_id=user_id):
            yield replace(row, message=memory.components.checked(row.message, now).message)


def _read(memory: Memory, config: Config, actors: RayActors | None, told: Progress) -> int:
    """Run the store's jobs; the language engine and the actors process many users at once."""

    def here(given: Sequence[Given]) -> Iterator[tuple[Given, Extraction]]:
        reader = reading.BulkReader(memory.components.tasks)
        for pack in reading.in_packs(given, reading.ASKED):
            for made in reader(pack):
                yield from made

    def there(given: Sequence[Given]) -> Iterator[tuple[Given, Extraction]]:
        assert actors is not None
        for made in actors.each(partial(reading.BulkReader.load, config), reading.in_packs(given, reading.PACK)):
            yield from made

    if not isinstance(memory.components.tasks, EmbeddedTasks):
        memory.components.read_many = here
    elif actors is not None:
        memory.components.read_many = there
    return memory.flush(progress=lambda ran: told.read(ran, ran + memory.stats().jobs_queued))
