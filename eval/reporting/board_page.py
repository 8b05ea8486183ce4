"""The leaderboard as one HTML file that loads nothing: tables, plots as SVG, and what made them."""

from __future__ import annotations

from collections.abc import Sequence

from eval.reporting import costs, origin, plots
from eval.reporting.board import HALVES, Board, Row, Run
from eval.reporting.bootstrap import Interval
from eval.reporting.costs import Expense
from eval.reporting.markup import Child, Element, element, page
from eval.reporting.results import JUDGED
from eval.reporting.scores import categories_of, interval_note
from eval.reporting.tables import slug

_STYLE = """
:root { color-scheme: light dark; --page: #fff; --ink: #1b1f24; --soft: #5c6570; --rule: #d9dee3; --mark: #1f5fa8; }
@media (prefers-color-scheme: dark) {
  :root { --page: #14171b; --ink: #e4e7eb; --soft: #9aa4af; --rule: #333a42; --mark: #7fb2ee; }
}
body { margin: 0 auto; padding: 1rem; max-width: 112rem; background: var(--page); color: var(--ink);
  font: 16px/1.45 system-ui, sans-serif; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2.5rem; }
a { color: var(--mark); }
p, li { max-width: 46rem; } p.note, li, footer { color: var(--soft); font-size: .875rem; }
code { overflow-wrap: anywhere; }
div.table { overflow-x: auto; border-bottom: 1px solid var(--rule); }
table { border-collapse: collapse; font-size: .8125rem; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .6rem; border-top: 1px solid var(--rule); text-align: right; vertical-align: top;
  font-weight: normal; white-space: nowrap; }
thead th { color: var(--soft); vertical-align: bottom; white-space: normal; }
th.text, td.text { text-align: left; }
th.system { position: sticky; left: 0; background: var(--page); text-align: left; white-space: normal;
  min-width: 8rem; max-width: 15rem; }
small { display: block; color: var(--soft); font-size: .75rem; }
div.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(21rem, 100%), 1fr)); gap: 1.5rem; }
figure { margin: 1rem 0; } figcaption { color: var(--soft); font-size: .875rem; } svg { width: 100%; max-width: 32rem; }
svg text { fill: var(--ink); font: 12px system-ui, sans-serif; } svg text.tick { fill: var(--soft); font-size: 11px; }
svg .grid { stroke: var(--rule); } svg .bar { stroke: var(--mark); stroke-width: 2; }
svg .bar.all { stroke: var(--soft); stroke-width: 1.2; } svg .bar.faint { stroke-width: 1; opacity: .5; }
svg circle { fill: var(--mark); } svg circle.all { fill: var(--page); stroke: var(--soft); stroke-width: 1.5; }
"""


def html(boards: Sequence[Board], runs: Sequence[Run], title: str) -> str:
    """The page."""
    names = [f"{slug(board.title)}-{number}" for number, board in enumerate(boards)]
    links = [element("li", element("a", own.title, href=f"#{name}")) for own, name in zip(boards, names, strict=True)]
    sections = [_section(board, name) for board, name in zip(boards, names, strict=True)]
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", title),
        element("style", _STYLE),
    )
    body = element("body", element("h1", title), element("nav", element("ul", links)), sections, _made_of(runs))
    return page(element("html", head, body, lang="en"))


def _section(board: Board, name: str) -> Element:
    metric, rows = board.metrics[0], board.rows
    figures = [(plots.scores(rows, metric), f"{metric} with its interval")]
    for told, values in (
        ("seconds to read a sample and ask its questions", [_whole_seconds(row) for row in rows]),
        ("tokens of a sample", [_tokens(row.cost) for row in rows]),
    ):
        plot = plots.against(rows, metric, values, told)
        figures += [] if plot is None else [(plot, f"{metric} against {told}; numbers as in the table")]
    drawn = [element("figure", plot, element("figcaption", told)) for plot, told in figures]
    count = len({line.sample for entry in board.entries for line in entry.lines})
    told = f"{count} samples; {metric}, best first by the odd half. Differences are to {board.reference.label}."
    parts = [element("h2", board.title), element("p", told, class_="note"), _table(board), *_failed(board)]
    parts += _by_type(board)
    return element("section", parts, element("div", drawn, class_="plots"), id=name)


_ALIGNED = {"system": "system", **dict.fromkeys(("shown", "commit", "engine", "embedder"), "text")}


def _table(board: Board) -> Element:
    metric = board.metrics[0]
    heads = ["#", "system", *(f"{metric}, {half}" for half in HALVES), *(f"difference, {half}" for half in HALVES)]
    heads += ["shown", *(f"{name}, odd" for name in board.beside), "abstained", "LLM calls a sample"]
    heads += ["tokens a sample, in / out", "read, s a message", "ask, s p50 / p95", "samples", "questions", "failed"]
    heads += ["commit", "engine", "embedder"]
    return _grid(heads, [_cells(number, row, board) for number, row in enumerate(board.rows, start=1)])


def _grid(heads: Sequence[str], rows: Sequence[Sequence[Element]]) -> Element:
    """A table of rows of cells, which scrolls by itself."""
    named = [element("th", head, scope="col", class_=_ALIGNED.get(head, "")) for head in heads]
    body = [element("tr", cells) for cells in rows]
    table = element("table", element("thead", element("tr", named)), element("tbody", body))
    return element("div", table, class_="table", tabindex="0")


def _by_type(board: Board) -> list[Element]:
    """The main metric by type of question on the odd half, where a task has types."""
    types = categories_of([line for entry in board.entries for line in entry.lines])
    if len(types) < 2:
        return []
    metric = board.metrics[0]
    heads = ["system", *(f"{own or 'no type'}, odd" for own in types)]
    rows = [
        [
            element("th", row.entry.label, scope="row", class_="system"),
            *(_interval(row.entry.score(metric, "odd", (own,))) for own in types),
        ]
        for row in board.rows
    ]
    return [element("p", f"{metric} by type of question:", class_="note"), _grid(heads, rows)]


def _cells(number: int, row: Row, board: Board) -> list[Element]:
    entry, lines = row.entry, row.entry.lines
    read, ask, cost = entry.read_seconds(), entry.ask_seconds(), row.cost
    asked = [own for line in lines for own in line.questions]
    numbers = [
        *(("–", "–") if cost is None else (_calls(cost), _in_and_out(cost))),
        "–" if read is None else _seconds(read),
        "–" if ask is None else " / ".join(map(_seconds, ask)),
        str(entry.run.results.samples(entry.task, entry.system)),
        str(len(asked)),
        str(sum(entry.errors.values())),
    ]
    return [
        element("td", str(number)),
        element("th", entry.label, scope="row", class_="system"),
        *(_interval(row.scores[half]) for half in HALVES),
        *(_interval(row.apart.get(half)) for half in HALVES),
        element("td", row.shown.removesuffix(f" than {board.reference.label}") or "reference", class_="text"),
        *(_interval(row.beside[name]) for name in board.beside),
        element("td", f"{sum(own.abstained for own in asked)} of {len(asked)}"),
        *(element("td", told) for told in numbers),
        *(element("td", told, class_="text") for told in (entry.commits, entry.engine, entry.embedder)),
    ]


def _interval(value: Interval | None) -> Element:
    if value is None or not value.drawn:
        return element("td", "–" if value is None else str(value))
    shown, _, bounds = str(value).partition(" ")
    return element("td", shown, element("small", bounds))


def _failed(board: Board) -> list[Element]:
    """A line for each system of which a sample failed."""
    told = []
    for row in board.rows:
        errors = row.entry.errors
        if errors:
            kinds = ", ".join(f"{kind} {count}" for kind, count in errors.items())
            count = f"{sum(errors.values())} of {len(row.entry.lines)} samples failed"
            told.append(element("li", f"{row.entry.label}: {count} ({kinds})"))
    return [element("ul", told)] if told else []


def _made_of(runs: Sequence[Run]) -> Element:
    items = []
    for run in runs:
        head: list[Child] = [f"{run.name}: "]
        for number, part in enumerate(origin.head(run.results).split("`")):
            head.append(element("code", part) if number % 2 else part)
        ended = [] if run.results.run["ended"] else ["; not ended"]
        subset = run.results.run.get("subset")
        part_of = [f"; a part, within {subset['budget']}: {subset['why']}"] if subset else []
        judges = [f"; {JUDGED} by {judge}" for judge in run.results.judges]
        items.append(element("li", head, ended, part_of, judges))
    reasons = dict.fromkeys(reason for run in runs if (reason := origin.not_held_out(run.results)))
    notes = [*reasons, interval_note(runs[0].results.seed), _SHOWN, costs.NOTE]
    return element("footer", element("h2", "How it was made"), element("ul", items), [element("p", n) for n in notes])


_SHOWN = (
    "Differences are paired, over the samples that both have; “better” and “worse” hold on the odd half by Holm's "
    "correction over the table, “not shown” is no proof that there is none. A sample that failed counts as wrong. "
    "Seconds a question and a message are over what did not fail."
)


def _whole_seconds(row: Row) -> float | None:
    """To read a sample and ask all its questions."""
    whole = [line for line in row.entry.lines if line.error is None]
    if row.cost is None or not whole:
        return None
    return row.cost.read_seconds + row.cost.ask_seconds * sum(len(line.questions) for line in whole) / len(whole)


def _tokens(cost: Expense | None) -> float | None:
    return None if cost is None else cost.tokens_in + cost.tokens_out


def _calls(cost: Expense) -> str:
    return f"{cost.calls:,.1f}" if cost.calls else "0"


def _in_and_out(cost: Expense) -> str:
    return f"{cost.tokens_in:,.0f} / {cost.tokens_out:,.0f}"


def _seconds(seconds: float) -> str:
    return f"{seconds:,.0f}" if seconds >= 100 else f"{seconds:.2g}" if seconds >= 1e-4 else "0"
