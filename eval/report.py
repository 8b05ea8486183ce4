"""From the raw lines of a run to Markdown, CSV and PNG.

    python -m eval.report OUT --to DIR [--config FILE]

OUT holds `run.json` and `results.jsonl` (or `results.jsonl.gz`) as `eval.run` leaves them, or the `raw-*.jsonl` of a
run that has not ended, and `judged.jsonl` where `eval.judge` ran. DIR gets `report.md`, a CSV for each table and a PNG
for each figure. All tasks and systems have a table; the keys under [report] of the run's configuration name what else
there is: `babilong`, `updates`, `grid`, `sweeps`, `differences`; with --config those of that file. Every score has its
95 % bootstrap interval over samples and the cost beside it. Samples with an even index were open to tuning; claims
quote the odd ones.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from eval.harness.run_config import read_config
from eval.reporting import babilong, classes, differences, grid, origin, overview, sweeps, updates
from eval.reporting.report_part import Options, Part, known, read
from eval.reporting.results import Results, load
from eval.reporting.scores import interval_note
from nscma_torch.core.errors import ConfigError, NscmaError

OPTIONS: Mapping[str, Options] = {
    "babilong": babilong.Babilong(),
    "updates": updates.Updates(),
    "grid": grid.Grid(),
    "sweeps": sweeps.Sweeps(),
    "differences": differences.Differences(),
}


def _part(name: str, results: Results, values: Mapping[str, Any]) -> Part:
    match read(OPTIONS[name], values, name):
        case babilong.Babilong() as options:
            return babilong.part(results, options)
        case updates.Updates() as options:
            return updates.part(results, options)
        case grid.Grid() as options:
            return grid.part(results, options)
        case sweeps.Sweeps() as options:
            return sweeps.part(results, options)
        case differences.Differences() as options:
            return differences.part(results, options)
        case options:
            raise AssertionError(f"no part is made of {type(options).__name__}")


def check(given: Mapping[str, Any]) -> None:
    """ConfigError where the [report] of a configuration asks for parts, or options of them, that there are not."""
    wanted = given.get("report", {})
    if not isinstance(wanted, Mapping) or not all(isinstance(values, Mapping) for values in wanted.values()):
        raise ConfigError("[report] is a section of sections, such as [report.babilong]")
    unknown = wanted.keys() - OPTIONS.keys()
    if unknown:
        raise ConfigError(f"[report] knows {', '.join(OPTIONS)}, and not {', '.join(sorted(unknown))}")
    tasks, systems = ([own.get("name", "") for own in given.get(kind, ())] for kind in ("tasks", "systems"))
    for name, values in wanted.items():
        options = read(OPTIONS[name], values, name)
        for task in options.tasks:
            known(task, tasks, "task")
        if isinstance(options, differences.Differences) and options.reference:
            known(options.reference, systems, "system")


def report(results: Results) -> list[Part]:
    """All parts of a run's report. ConfigError where [report] asks for what there is not."""
    check(results.config)
    wanted: Mapping[str, Any] = results.config.get("report", {})
    named = [_part_of(name, results, wanted[name]) for name in OPTIONS if name in wanted]
    others = (classes.part(results), overview.failures(results))
    return [*named, overview.part(results), *(part for part in others if part is not None)]


def _part_of(name: str, results: Results, values: Mapping[str, Any]) -> Part:
    """A part, or why what was run so far makes none."""
    try:
        return _part(name, results, values)
    except ConfigError as error:
        if not results.missing:
            raise
        return Part(name.capitalize(), [], text=f"Not made of a part of the run: {error}")


def write(results: Results, folder: Path) -> Path:
    """Write all files; the path of the Markdown."""
    folder.mkdir(parents=True, exist_ok=True)
    parts = report(results)
    lines = [origin.head(results), "", *_remarks(results), ""]
    for part in parts:
        lines += [f"## {part.title}", "", *([part.text, ""] if part.text else [])]
        for figure in part.figures:
            figure.draw(folder / f"{figure.name}.png")
            lines += [f"![{figure.title}]({figure.name}.png)", ""]
        for table in part.tables:
            table.write_csv(folder)
            lines += [table.markdown(), ""]
    path = folder / "report.md"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def _remarks(results: Results) -> list[str]:
    """What holds for the whole report."""
    remarks = [f"# {results.config['title']}", ""] if "title" in results.config else []
    remarks += origin.remarks(results)
    if results.run["ended"] is None:
        remarks += ["**Not ended.** The run was interrupted or is still at work; started again, it goes on.", ""]
    if results.run.get("subset"):
        remarks += [f"**A part.** Done within {results.run['subset']['budget']}: {results.run['subset']['why']}.", ""]
    if results.missing:
        remarks += ["**Incomplete.** Of what the configuration plans, this is not run to the end; scores are over the "]
        remarks[-1] += "samples that there are:"
        remarks += ["", *(f"- {lacking}" for lacking in _lacking(results)), ""]
    remarks += [
        interval_note(results.seed),
        "",
        f"Failed: {len(results.failures)} of {sum(map(len, results.lines.values()))} samples; each counts as wrong.",
    ]
    remarks += ["", f"Language engine: {origin.engine_of(results)}."]
    for judge in results.judges:
        remarks += ["", f"Judge: {judge}."]
    return remarks


def _lacking(results: Results) -> list[str]:
    """A line for each task; systems that have equally many samples are named together."""
    by_task: dict[str, dict[str, list[str]]] = {}
    for lack in results.missing:
        by_task.setdefault(lack.task, {}).setdefault(str(lack), []).append(lack.system)
    told = {
        task: [f"{count} ({', '.join(systems)})" for count, systems in own.items()] for task, own in by_task.items()
    }
    return [f"{task}: {'; '.join(own)}" for task, own in told.items()]


def _told_by(results: Results, path: Path) -> Results:
    """The same results under title and [report] of another file."""
    given = read_config(path).given
    told = {key: given[key] for key in ("title", "report") if key in given}
    kept = {key: value for key, value in results.config.items() if key not in ("title", "report")}
    return replace(results, run={**results.run, "config": {**kept, **told}})


def main() -> None:
    """Write the report and say where it is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", metavar="OUT", type=Path, help="folder of the run")
    parser.add_argument("--config", type=Path, help="take title and [report] from this file, not from the run")
    parser.add_argument("--to", type=Path, required=True, help="folder for the report")
    arguments = parser.parse_args()
    try:
        results = load(arguments.run)
        path = write(results if arguments.config is None else _told_by(results, arguments.config), arguments.to)
    except NscmaError as error:
        parser.exit(1, f"eval.report: {error}\n")
    print(path)


if __name__ == "__main__":
    main()
