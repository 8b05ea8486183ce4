"""What every report begins with: a table for each task, all systems and metrics; by category; and what failed."""

from __future__ import annotations

from eval.reporting import costs
from eval.reporting.report_part import Part
from eval.reporting.results import HALVES, Results, halved
from eval.reporting.scores import asking, categories_of, score
from eval.reporting.tables import Cell, Table, slug


def part(results: Results) -> Part:
    """One table for each task, and one by category for each that has several."""
    tables: list[Table] = []
    for task in results.tasks:
        tables.append(_task(results, task))
        categories = categories_of([line for system in results.systems[task] for line in results.lines[task, system]])
        if len(categories) > 1:
            tables.append(_categories(results, task, categories))
    return Part("All tasks and systems", tables, text=costs.NOTE)


def _task(results: Results, task: str) -> Table:
    """The main metric by half; the others on the odd half and on all."""
    main, *others = results.metrics[task]
    rows = []
    for system in results.systems[task]:
        lines = results.lines[task, system]
        row: dict[str, Cell] = {"system": system}
        row |= {f"{main}, {half}": score(halved(lines, half), main, results.seed) for half in HALVES}
        for metric in others:
            row |= {f"{metric}, {half}": score(halved(lines, half), metric, results.seed) for half in ("odd", "all")}
        questions = [asked for line in lines for asked in line.questions]
        row |= {"samples": results.samples(task, system), "questions": len(questions)}
        row |= {"abstained": sum(asked.abstained for asked in questions)}
        row |= {"notes": sum(bool(asked.note) for asked in questions)}
        row |= {"failed": sum(line.error is not None for line in lines)}
        rows.append(row | costs.columns(lines))
    return Table(f"task-{slug(task)}", task, rows)


def _categories(results: Results, task: str, categories: list[str]) -> Table:
    main = results.metrics[task][0]
    rows = []
    for category in categories:
        for half in HALVES:
            row: dict[str, Cell] = {"category": category or "(none)", "half": half}
            for system in results.systems[task]:
                row[system] = score(halved(results.lines[task, system], half), main, results.seed, (category,))
            rows.append(row)
        rows.append({"category": category or "(none)", "half": "all: seconds", **_seconds(results, task, category)})
    return Table(f"categories-{slug(task)}", f"{task}: {main} by category", rows, costs.SECONDS)


def _seconds(results: Results, task: str, category: str) -> dict[str, Cell]:
    return {system: costs.seconds(asking(results.lines[task, system], (category,))) for system in results.systems[task]}


def failures(results: Results) -> Part | None:
    """Every sample that failed, by name, and every one that a system lacks; None where there are none."""
    rows: list[dict[str, Cell]] = [
        {
            "task": line.task,
            "system": line.system,
            "sample": line.sample,
            "error": f"{line.error.type}: {line.error.message}",
        }
        for line in results.failures
        if line.error is not None
    ]
    rows += [
        {"task": lack.task, "system": lack.system, "sample": str(lack), "error": "not run to the end"}
        for lack in results.missing
    ]
    if not rows:
        return None
    return Part("What failed", [Table("failures", "Samples that failed count as wrong", rows)])
