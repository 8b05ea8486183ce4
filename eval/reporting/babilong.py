"""BABILong by length: NSCMA's Table 1, what longer texts cost in accuracy, and how work and store grow with them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

from pydantic import Field

from eval.reporting import costs
from eval.reporting.bootstrap import Interval
from eval.reporting.figures import Line as Curve
from eval.reporting.figures import Panel, bars, curves
from eval.reporting.report_part import Figure, Options, Part
from eval.reporting.results import HALVES, Line, Results, halved
from eval.reporting.scores import asking, categories_of, difference, score
from eval.reporting.tables import Cell, Shown, Table


class Babilong(Options):
    """Each task of the run is one length."""

    categories: tuple[str, ...] = Field(("qa1", "qa2", "qa3"), description="Of the mean; the others stand beside it.")
    multi_hop: tuple[str, ...] = Field(
        ("qa2", "qa3"), description="Of a second mean, that of NSCMA's Table 1, where they are some of `categories`."
    )


def part(results: Results, options: Babilong) -> Part:
    """Tables and figures over the tasks, shortest text first."""
    tasks = sorted(options.tasks_of(results), key=lambda task: _size(results, task))
    systems = list(dict.fromkeys(system for task in tasks for system in results.systems[task]))
    metric = options.metric_of(results, tasks[0])
    mean_of = ", ".join(options.categories)
    tables = [
        *_pivots(results, options, tasks, systems, metric),
        Table("babilong-tasks", f"{metric} by length and task", _long(results, options, tasks, systems), costs.NOTE),
    ]
    if falls := _falls(results, options, tasks, systems):
        tables.append(
            Table("babilong-difference", f"From {tasks[0]} to longer texts: mean of {mean_of}", falls, _FALLS)
        )
    if growth := _growth(results, options, tasks, systems):
        tables.append(Table("babilong-growth", f"Growth with the text, samples of {mean_of}", growth, _GROWTH))
    known = results, options, tasks, systems
    if len(systems) > _MOST_CURVES:
        figures = [Figure("babilong", f"{metric} by length", partial(_draw_bars, *known))]
    else:
        figures = [
            Figure("babilong", f"{metric} by length", partial(_draw_scores, *known)),
            Figure("babilong-cost", "Cost by length", partial(_draw_costs, *known)),
        ]
    return Part("BABILong by length", tables, figures)


_MOST_CURVES = 16  # of a figure that can be read
_NONE = "–: of that length there is no sample of one of them, or none for that system."
_FALLS = (
    "The long text's mean less the short one's, over questions that both ask (the same sample, question and answer): "
    "each differs in the text around it alone."
)
_GROWTH = (
    "The exponent e of cost ~ size^e from one length to the next; 1 is linear, 0 does not grow, below 0 it falls. Size "
    "is bytes of text read. Costs are means over the samples that both lengths have, over all of each where there are "
    "none (0). A length without text around the statements is left out: its store is as small as one is."
)


def _size(results: Results, task: str) -> float:
    """Mean bytes of what one sample has to read."""
    return _mean_size([line for system in results.systems[task] for line in results.lines[task, system]])


def _mean_size(lines: Sequence[Line]) -> float:
    """Of what did not fail."""
    whole = [line.bytes for line in lines if line.error is None]
    return sum(whole) / max(1, len(whole))


def _of(results: Results, task: str, system: str) -> Sequence[Line]:
    return results.lines.get((task, system), ())


def _scored(results: Results, options: Babilong, task: str, system: str, half: str) -> Interval:
    lines = halved(_of(results, task, system), half)
    return score(lines, options.metric_of(results, task), results.seed, options.categories)


def _pivots(
    results: Results, options: Babilong, tasks: Sequence[str], systems: Sequence[str], metric: str
) -> list[Table]:
    """One for the categories, and one for those of several hops where these are fewer."""
    tables = []
    wanted = {"babilong": options.categories}
    if options.multi_hop and set(options.multi_hop) < set(options.categories):
        wanted["babilong-multi-hop"] = options.multi_hop
    for name, categories in wanted.items():
        own = options.model_copy(update={"categories": categories})
        rows = _pivot(results, own, tasks, systems)
        gaps = any(isinstance(cell, Interval) and not cell.drawn for row in rows for cell in row.values())
        title = f"{metric} by length, mean of {', '.join(categories)}"
        tables.append(Table(name, title, rows, f"{costs.SECONDS} {_NONE}" if gaps else costs.SECONDS))
    return tables


def _pivot(results: Results, options: Babilong, tasks: Sequence[str], systems: Sequence[str]) -> list[dict[str, Cell]]:
    """The paper's table: a row for each system and half, for each length a score and its cost."""
    rows = []
    for half in ("odd", "all", "even"):
        for system in systems:
            row: dict[str, Cell] = {"system": system, "half": half}
            for task in tasks:
                row[task] = _scored(results, options, task, system, half)
                asked = asking(halved(_of(results, task, system), half), options.categories)
                row[f"{task}: seconds"] = costs.seconds(asked)
            rows.append(row)
    return rows


def _long(results: Results, options: Babilong, tasks: Sequence[str], systems: Sequence[str]) -> list[dict[str, Cell]]:
    every = categories_of([line for task in tasks for system in systems for line in _of(results, task, system)])
    rows = []
    for task in tasks:
        for system in results.systems[task]:
            lines = _of(results, task, system)
            row: dict[str, Cell] = {"length": task, "system": system}
            row |= {f"mean, {half}": _scored(results, options, task, system, half) for half in HALVES}
            metric = options.metric_of(results, task)
            row |= {f"{own or '(none)'}, all": score(lines, metric, results.seed, (own,)) for own in every}
            rows.append(row | costs.columns(lines))
    return rows


def _falls(results: Results, options: Babilong, tasks: Sequence[str], systems: Sequence[str]) -> list[dict[str, Cell]]:
    """From a system's shortest text to each longer one; a row only where both ask some of all categories."""
    rows = []
    metric = options.metric_of(results, tasks[0])
    for system in systems:
        first, *longer = [task for task in tasks if _of(results, task, system)] or [""]
        for task in longer:
            short, long = _same(_of(results, first, system), _of(results, task, system))
            asked = {question.category for line in short for question in line.questions}
            if asked.issuperset(options.categories):
                row: dict[str, Cell] = {"system": system, "from": first, "to": task}
                for half in HALVES:
                    pair = halved(long, half), halved(short, half)
                    row[f"difference, {half}"] = difference(*pair, metric, results.seed, options.categories)
                for told, lines in (("from: seconds", short), ("to: seconds", long)):
                    row[told] = costs.seconds(asking(lines, options.categories))
                rows.append(row)
    return rows


def _same(short: Sequence[Line], long: Sequence[Line]) -> tuple[list[Line], list[Line]]:
    """The lines that ask the same in both."""
    asked = {line.sample: [(q.question, tuple(q.answers)) for q in line.questions] for line in long}
    shared = {s.sample for s in short if asked.get(s.sample) == [(q.question, tuple(q.answers)) for q in s.questions]}
    return [line for line in short if line.sample in shared], [line for line in long if line.sample in shared]


_MEASURES = {"read s": "seconds to read", "ask s": "seconds to ask", "store MB": "store, MB"}


def _grown(
    results: Results, options: Babilong, tasks: Sequence[str], system: str, measure: str
) -> list[tuple[float, float]]:
    """(bytes read, cost) of each length where the cost is above 0."""
    found = []
    for task in tasks:
        lines = asking(_of(results, task, system), options.categories)
        cell = costs.columns(lines)[measure]
        if isinstance(cell, Shown) and cell.value > 0:
            found.append((_size(results, task), cell.value))
    return found


def _growth(results: Results, options: Babilong, tasks: Sequence[str], systems: Sequence[str]) -> list[dict[str, Cell]]:
    """A row for each system and two lengths of its that follow each other."""
    rows = []
    for system in systems:
        lengths = {task: _whole(results, options, task, system) for task in tasks if not _bare(results, task)}
        for (short, first), (long, second) in pairwise((task, lines) for task, lines in lengths.items() if lines):
            pair = shared = _same(first, second)
            if not shared[0]:
                pair = first, second
            row: dict[str, Cell] = {"system": system, "step": f"{short.split()[-1]} → {long.split()[-1]}"}
            row |= {told: _exponent(*pair, measure) for measure, told in _MEASURES.items()}
            rows.append(row | {"samples of both": len(shared[0])})
    return rows


def _bare(results: Results, task: str) -> bool:
    """Whether its samples are the statements alone, by the configuration."""
    return any(own.get("name") == task and own.get("length") == 0 for own in results.config.get("tasks", ()))


def _whole(results: Results, options: Babilong, task: str, system: str) -> list[Line]:
    """What did not fail, of the categories."""
    return [line for line in asking(_of(results, task, system), options.categories) if line.error is None]


def _exponent(short: Sequence[Line], long: Sequence[Line], measure: str) -> Cell:
    """None where a cost is not above 0, or the texts are of one size."""
    cells = [costs.columns(lines)[measure] for lines in (short, long)]
    first, second = [cell.value if isinstance(cell, Shown) else 0.0 for cell in cells]
    sizes = _mean_size(short), _mean_size(long)
    if min(first, second, *sizes) <= 0 or sizes[0] == sizes[1]:
        return None
    slope = math.log(second / first) / math.log(sizes[1] / sizes[0])
    return Shown(slope, f"{round(slope, 2) + 0.0:.2f}")  # no -0.00


def _ticks(results: Results, tasks: Sequence[str]) -> list[tuple[float, str]]:
    return [(_size(results, task), task.split()[-1]) for task in tasks]


def _draw_bars(results: Results, options: Babilong, tasks: Sequence[str], systems: Sequence[str], path: Path) -> None:
    """The odd half, a bar for each length, the longest first."""
    groups = {}
    for system in systems:
        found = {task: _scored(results, options, task, system, "odd") for task in reversed(tasks)}
        groups[system] = {task: value for task, value in found.items() if value.samples}
    bars(
        {system: own for system, own in groups.items() if own},
        "BABILong, odd samples",
        _label(results, options, tasks[0]),
        path,
    )


def _draw_scores(results: Results, options: Babilong, tasks: Sequence[str], systems: Sequence[str], path: Path) -> None:
    panels = []
    for half in ("odd", "all"):
        lines = {}
        for system in systems:
            have = [task for task in tasks if _of(results, task, system)]
            values = [_scored(results, options, task, system, half) for task in have]
            points = [(_size(results, task), v) for task, v in zip(have, values, strict=True) if v.samples]
            if points:
                lines[system] = Curve(*cast(Any, zip(*points, strict=True)))
        common: dict[str, Any] = {"ticks": _ticks(results, tasks), "log_x": True, "share": True}
        panels.append(
            Panel(f"{half} samples", "length of the text", _label(results, options, tasks[0]), lines, **common)
        )
    curves(panels, "BABILong", path)


def _label(results: Results, options: Babilong, task: str) -> str:
    return f"{options.metric_of(results, task)}, mean of {', '.join(options.categories)}"


def _draw_costs(results: Results, options: Babilong, tasks: Sequence[str], systems: Sequence[str], path: Path) -> None:
    panels = []
    for measure, told in _MEASURES.items():
        lines = {}
        for system in systems:
            if points := _grown(results, options, tasks, system, measure):
                lines[system] = Curve(*cast(Any, zip(*points, strict=True)))
        ticks = _ticks(results, tasks)
        panels.append(Panel(told, "length of the text", told, lines, ticks=ticks, log_x=True, log_y=True))
    curves(panels, "Cost of a sample by length", path)
