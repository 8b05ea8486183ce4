"""Runs systems on tasks, over any number of processes, and goes on where it was interrupted.

    python -m eval.run --config configs/eval/X.toml --data DIR --out DIR [--cache DIR]
    torchrun --nproc-per-node N -m eval.run --config configs/eval/X.toml --data DIR --out DIR [--cache DIR]
        [--limit N] [--samples PATTERN …] [--systems NAME …] [--tasks NAME …] [--retry-failed] [--threads N]
        [--system CLASS …] [--task CLASS …] [--budget 2h]

A rank takes the next sample that nobody has, opens a memory for each system in turn, has it read the sample's messages
and asks its questions; systems that would store the same share a store, at its full cost each. What came of it is
one JSON line in OUT/raw-<rank>.jsonl, on disk before the next is begun (`units`, `raw_lines`). Killed and started
again, with as many ranks or others, a run does what is not done. When all ranks are through, rank 0 writes
OUT/results.jsonl, sorted, and OUT/run.json.

A sample that fails is a line with its error, listed at the end, and the exit status is 1; --retry-failed does those
again. An engine that is down, a fault of the configuration, a package that is missing or a full disk would fail every
sample: it stops the run with exit status 2 and leaves no line.

--budget does the largest balanced part that it can in that time (`eval.harness.budget`); run.json says which, and why.

No result depends on which rank did it: what is drawn is seeded by (seed, task, sample). Seconds are wall-clock; what
a cache spared is added under "cached", so that their sum is that of a run without one. Several nodes need one OUT,
on a file system that they share, and the same checkout and data. Memories are made where TMPDIR says.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import torch
from rich.console import Console
from rich.markup import escape

from eval.harness.budget import REFUSED, Batch, Budget, read_budget
from eval.harness.contract import Shared, System, Task
from eval.harness.plan import Plan, make_plan, state, subset
from eval.harness.progress import list_failures, shown
from eval.harness.ranks import Ranks
from eval.harness.raw_lines import Key, Line, RawLines, cut_torn, read_all, write_results
from eval.harness.run_config import RunConfig, check_names, read_config
from eval.harness.run_record import RunRecord, alone, check_config
from eval.harness.sample_run import Group, Stopped, failed, head, left, measured, seed_all, unasked
from eval.harness.shared_components import Equipment, equipped
from eval.report import check as check_report
from nscma_torch.core.errors import ConfigError, NscmaError, StoreFullError

MakeTask = Callable[[Mapping[str, Any], Path], Task]
MakeSystem = Callable[[Mapping[str, Any], Shared], System]
Made = tuple[System, Equipment]


@dataclass(frozen=True)
class Options:
    """What the command line says beside the configuration.

    Attributes:
        limit: samples of each task, the first ones; None for all.
        samples: patterns as of file names, "qa[12]-*"; of those samples the ones whose id matches one. () for all.
        tasks, systems: names of those to run; () for all.
        own_tasks, own_systems: classes that are added to the configuration, `package.module:Class`.
        retry_failed: whether units that failed are done again.
        budget: the time that the run may take, such as 2h; None for any.
    """

    config: Path
    data: Path
    out: Path
    cache: Path | None = None
    limit: int | None = None
    samples: Sequence[str] = ()
    tasks: Sequence[str] = ()
    systems: Sequence[str] = ()
    own_tasks: Sequence[str] = ()
    own_systems: Sequence[str] = ()
    retry_failed: bool = False
    budget: str | None = None

    @property
    def command(self) -> str:
        """That runs the same again, with DATA and OUT for the folders."""
        words = ["python", "-m", "eval.run", "--config", str(self.config), "--data", "DATA", "--out", "OUT"]
        words += [] if self.limit is None else ["--limit", str(self.limit)]
        words += [] if self.budget is None else ["--budget", self.budget]
        named = {"--samples": self.samples, "--tasks": self.tasks, "--systems": self.systems}
        for option, names in {**named, "--task": self.own_tasks, "--system": self.own_systems}.items():
            words += [option, *names] if names else []
        return shlex.join(words)


def run(options: Options, make_task: MakeTask, make_system: MakeSystem, console: Console) -> int:
    """This rank's share of a run; returns the exit status, on all ranks but the first 0.

    Raises ConfigError for a configuration that is none, or another one than the folder's.
    """
    config = read_config(options.config, tasks=options.own_tasks, systems=options.own_systems)
    check_report(config.given)
    if options.limit is not None and options.limit < 1:
        raise ConfigError(f"--limit is {options.limit}; it must be at least 1")
    seconds = None if options.budget is None else read_budget(options.budget)
    check_names(options.tasks, config.tasks, "--tasks names")
    check_names(options.systems, config.systems, "--systems names")
    ranks = Ranks(config.memory.get("device", "auto"))
    try:
        tasks = {
            name: make_task(section, options.data)
            for name, section in config.tasks.items()
            if not options.tasks or name in options.tasks
        }
        planned = list(_groups(options, config, tasks))
        if options.samples and not planned:
            wanted = " ".join(options.samples)
            raise ConfigError(
                f"--samples {wanted} matches no id of a sample, such as {next(iter(tasks.values())).ids()[0]!r}"
            )
        if ranks.rank == 0:
            with alone(options.out):
                return _led(options, config, ranks, planned, seconds, tasks, make_system, console)
        plan = ranks.agreed(None)
        if check_config(options.out, config) is None:
            raise ConfigError(f"rank {ranks.rank} finds no run in {options.out}: all nodes must share that folder")
        _work(options, config, ranks, plan, tasks, make_system)
        ranks.add("finished")
        return 0
    finally:
        ranks.leave()


def _led(
    options: Options,
    config: RunConfig,
    ranks: Ranks,
    planned: Sequence[Group],
    seconds: float | None,
    tasks: Mapping[str, Task],
    make_system: MakeSystem,
    console: Console,
) -> int:
    """The share of rank 0: it plans, works as the others do, waits for them and sums up."""
    samples = {name: len(task.ids()) for name, task in tasks.items()}
    cut_torn(options.out)
    record = RunRecord(options.out, config, options.command, ranks.size, samples)
    if record.mixed:
        console.print("[yellow]part of these results was made at another commit; run.json says which[/]")
    before = read_all(options.out)
    done = {key for key, line in before.items() if line["error"] is None or not options.retry_failed}
    stamp = {"config": config.sha256, "commit": record.commit, "attempt": record.attempt}
    plan = ranks.agreed(make_plan(planned, before, done, stamp, budget=seconds, same=record.same, ranks=ranks.size))
    total = sum(plan.units.values())
    console.print(f"{total} units to do, {sum(len(g.systems) for g in planned) - total} done, {ranks.size} ranks")
    pace, budget = plan.pace(ranks), plan.budget(ranks)
    with shown(console, total, lambda: state(ranks, pace, budget)):
        _work(options, config, ranks, plan, tasks, make_system)
        ranks.add("finished")
        while ranks.add("finished", 0) < ranks.size:
            sleep(0.1)
    lines = read_all(options.out)
    write_results(options.out, list(lines.values()))
    return _summed_up(options, ranks, planned, lines, record, console)


def _summed_up(
    options: Options,
    ranks: Ranks,
    planned: Sequence[Group],
    lines: Mapping[Key, Line],
    record: RunRecord,
    console: Console,
) -> int:
    keys = [key for group in planned for key in group.keys()]  # noqa: SIM118 - not a mapping
    failures = [lines[key] for key in keys if key in lines and lines[key]["error"] is not None]
    if failures:
        list_failures(console, failures)
    missing = sum(key not in lines for key in keys)
    if ranks.stopped is not None:
        console.print(f"[red]stopped with {missing} units left:[/] {escape(ranks.stopped)}", highlight=False)
        console.print("When that is mended, run the same command again: it goes on from here.")
        return 2
    why = ranks.told(REFUSED)
    assert why or not missing, f"{missing} units were neither done nor did they fail"
    part = None
    if why:
        part = subset(why, str(options.budget), planned, left(planned, lines))
        console.print(f"a part, of {missing} units less, within {options.budget}: {escape(why)}", highlight=False)
    record.end(part)
    return 1 if failures else 0


def _groups(options: Options, config: RunConfig, tasks: Mapping[str, Task]) -> Iterator[Group]:
    """All that was asked for, in an order that never changes."""
    for name, task in tasks.items():
        systems = tuple(s for s in config.systems_of(name) if not options.systems or s in options.systems)
        for index, sample in enumerate(task.ids()[: options.limit]):
            if not options.samples or any(fnmatchcase(sample, pattern) for pattern in options.samples):
                yield Group(name, sample, index, systems)


def _work(
    options: Options,
    config: RunConfig,
    ranks: Ranks,
    plan: Plan,
    tasks: Mapping[str, Task],
    make_system: MakeSystem,
) -> None:
    """Do batches that no other rank has taken, until there are none, the run is stopped or its time is up."""
    if not plan.batches:
        return
    pace, budget = plan.pace(ranks), plan.budget(ranks)
    with RawLines(options.out, ranks.rank) as raw, ExitStack() as stack:
        systems = _made(options, config, ranks, plan.systems, make_system, stack)
        for group in _taken(plan.batches, ranks, budget):
            try:
                for line in _lines(group, tasks, systems, config.seed):
                    raw.append({**line, **plan.stamp})
                    pace.note((line["task"], line["system"]), line["took"])
                    ranks.add("failed", int(line["error"] is not None))
                    ranks.add("done")
                for equipment in _equipment(systems.values()):
                    equipment.keep()
            except Stopped as stopped:
                ranks.stop(str(stopped))
            except (OSError, StoreFullError) as error:
                ranks.stop(f"{type(error).__name__}: {error}")


def _made(
    options: Options,
    config: RunConfig,
    ranks: Ranks,
    names: Collection[str],
    make_system: MakeSystem,
    stack: ExitStack,
) -> dict[str, Made]:
    """The systems of these names; those whose [memory] is the same share models and engine."""
    equipment: dict[str, Equipment] = {}
    made = {}
    for name in config.systems:
        if name not in names:
            continue
        memory = config.memory_of(name)
        key = json.dumps(memory, sort_keys=True, default=str)
        if key not in equipment:
            own = equipped(memory, device=ranks.device, seed=config.seed, cache=options.cache)
            equipment[key] = stack.enter_context(own)
        made[name] = make_system(config.options_of(name), equipment[key].shared), equipment[key]
    return made


def _equipment(systems: Iterable[Made]) -> list[Equipment]:
    """That of some systems, each once."""
    return list({id(own): own for _, own in systems}.values())


def _taken(batches: Sequence[Batch], ranks: Ranks, budget: Budget | None) -> Iterator[Group]:
    """The samples that this rank does, one after the other."""
    while ranks.stopped is None and (place := ranks.add("taken") - 1) < len(batches):
        batch = batches[place]
        if budget is not None and budget.over(batch):
            return
        if budget is not None and not budget.admits(batch):
            continue
        for number, group in enumerate(batch.groups):
            if ranks.stopped is None:
                yield group
            if budget is not None and not number:
                budget.measured(batch)


def _lines(group: Group, tasks: Mapping[str, Task], systems: Mapping[str, Made], seed: int) -> Iterator[dict[str, Any]]:
    """A line for each unit of a group."""
    task, sample = tasks[group.task], None
    unanswered: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="eval-") as folders, ExitStack() as stack:
        used = _equipment(systems[name] for name in group.systems)
        for equipment in used:
            stack.enter_context(equipment.sample())
        for number, name in enumerate(group.systems):
            folder = Path(folders) / str(number)
            folder.mkdir()
            began = perf_counter()
            seed_all(seed, group.task, group.sample)
            try:
                if sample is None:
                    sample = task.sample(group.sample)
                    for equipment in used:
                        equipment.shared.reader.begin(sample.summary_words)
                    unanswered = unasked(task, sample)
                system, equipment = systems[name]
                rest = measured(sample, task, system, equipment.time, folder)
            except Exception as error:  # noqa: BLE001 - whatever a sample does to a system becomes its line
                rest = failed(error, unanswered)
            yield {**head(group, task, name, seed=seed), **rest, "took": perf_counter() - began}


def main() -> None:
    """Run what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", type=Path, required=True, help="one of configs/eval")
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--out", type=Path, required=True, help="folder of the results")
    parser.add_argument("--cache", type=Path, help="folder that keeps vectors and surprise for other runs and ranks")
    parser.add_argument("--limit", type=int, help="the first so many samples of each task alone")
    parser.add_argument("--samples", nargs="+", default=(), help="only these, by id or by a pattern such as 'qa[12]-*'")
    parser.add_argument("--tasks", nargs="+", default=(), help="only these, by name")
    parser.add_argument("--systems", nargs="+", default=(), help="only these, by name")
    for option, what in (("task", "a task of your own"), ("system", "a system of your own, or a memory provider")):
        told = f"{what}, beside those of the configuration: package.module:Class"
        parser.add_argument(f"--{option}", dest=f"own_{option}s", nargs="+", default=(), metavar="CLASS", help=told)
    parser.add_argument("--budget", metavar="TIME", help="as much as can be done in 2h, 30m or 90s, balanced")
    parser.add_argument("--retry-failed", action="store_true", help="do again what failed")
    parser.add_argument("--threads", type=int, default=1, help="threads of torch in each rank; 1 repeats bit for bit")
    arguments = vars(parser.parse_args())
    if arguments["threads"] < 1:
        parser.error(f"--threads is {arguments['threads']}; it must be at least 1")
    torch.set_num_threads(arguments.pop("threads"))
    from eval.systems.catalogue import make_system
    from eval.tasks.catalogue import make_task

    try:
        status = run(Options(**arguments), make_task, make_system, Console())
    except KeyboardInterrupt:
        print("interrupted; what is done is kept, and the same command goes on from there", file=sys.stderr)
        status = 130
    except (NscmaError, OSError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        status = 2
    sys.exit(status)


if __name__ == "__main__":
    main()
