"""Pictures of the report, each from intervals that its tables hold too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from eval.reporting.bootstrap import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLORS = ("#1f5fa8", "#b5532c", "#3d8b4f", "#7a4fa0", "#6b6b6b", "#c79a1e", "#2a9aa8", "#a83a6a")
_MARKERS = "os^Dv<>P"
_MOST_VERTICAL = 8  # groups of bars that are drawn side by side
_ASIDE = 0.03  # share of x by which a line stands beside the next, so that none hides another


@dataclass(frozen=True)
class Line:
    """A curve: one interval or number for each x, in order."""

    x: Sequence[float]
    y: Sequence[Interval | float]


@dataclass(frozen=True)
class Panel:
    """Axes of lines.

    Attributes:
        ticks: x and its label; () for matplotlib's own.
    """

    title: str
    x_label: str
    y_label: str
    lines: Mapping[str, Line]
    ticks: Sequence[tuple[float, str]] = ()
    log_x: bool = False
    log_y: bool = False
    share: bool = False


def curves(panels: Sequence[Panel], title: str, path: Path) -> None:
    """Panels side by side with one legend; bars of error are the intervals."""
    figure = _figure(5.0 * len(panels), 4.2)
    axes = figure.subplots(1, len(panels), squeeze=False)[0]
    names = list(dict.fromkeys(name for panel in panels for name in panel.lines))
    for panel, ax in zip(panels, axes, strict=True):
        for name, line in panel.lines.items():
            number = names.index(name)
            color, marker = _COLORS[number % len(_COLORS)], _MARKERS[number % len(_MARKERS)]
            values = [_value(y) for y in line.y]
            dashes = "-" if number < len(_COLORS) else "--"
            aside = 1 + _ASIDE * (number - (len(names) - 1) / 2) if panel.log_x else 1.0
            ax.errorbar(
                [x * aside for x in line.x],
                values,
                yerr=_errors(line.y),
                color=color,
                marker=marker,
                label=name,
                capsize=3,
                linestyle=dashes,
            )
        _dressed(ax, panel)
    _legend(figure, axes)
    figure.suptitle(title)
    figure.savefig(path, dpi=150, bbox_inches="tight")


def bars(groups: Mapping[str, Mapping[str, Interval]], title: str, label: str, path: Path) -> None:
    """Groups of bars, such as one for each system; in each the same bars, such as one for each metric.

    Many groups stand below each other, best first by their first bar, and few side by side as they are given.
    """
    names = list(dict.fromkeys(name for group in groups.values() for name in group))
    horizontal = len(groups) > _MOST_VERTICAL
    if horizontal:
        groups = dict(sorted(groups.items(), key=lambda own: -next(iter(own[1].values())).value))
        figure = _figure(7.5, 1.2 + 0.12 * len(groups) * (len(names) + 1))
    else:
        figure = _figure(max(5.0, 1.0 + 0.45 * len(groups) * (len(names) + 1)), 4.2)
    ax = figure.subplots()
    width = 0.8 / len(names)
    for number, name in enumerate(names):
        places = [i for i, group in enumerate(groups.values()) if name in group]
        values = [group[name] for group in groups.values() if name in group]
        errors = _errors(values)
        (ax.barh if horizontal else ax.bar)(
            [place + (number - (len(names) - 1) / 2) * width for place in places],
            [value.value for value in values],
            width,
            color=_COLORS[number % len(_COLORS)],
            label=name,
            capsize=2,
            error_kw={"linewidth": 0.9},
            xerr=errors if horizontal else None,
            yerr=None if horizontal else errors,
        )
    if horizontal:
        ax.set_yticks(range(len(groups)), list(groups))
        ax.invert_yaxis()
        ax.margins(y=0.01)
        ax.set_xlabel(label)
    else:
        ax.set_xticks(range(len(groups)), list(groups))
        if max(map(len, groups)) > 12:
            for tick in ax.get_xticklabels():
                tick.set(rotation=20, ha="right")
        ax.set_ylabel(label)
    _plain(ax)
    _legend(figure, [ax])
    figure.suptitle(title)
    figure.savefig(path, dpi=150, bbox_inches="tight")


def _figure(width: float, height: float) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def _dressed(ax: Axes, panel: Panel) -> None:
    if panel.log_x:
        ax.set_xscale("log")
    if panel.log_y:
        ax.set_yscale("log")
    if panel.share:
        ax.set_ylim(-0.02, 1.02)
    if panel.ticks:
        ax.set_xticks([x for x, _ in panel.ticks], [label for _, label in panel.ticks])
        ax.minorticks_off()
    ax.set(title=panel.title, xlabel=panel.x_label, ylabel=panel.y_label)
    _plain(ax)


def _plain(ax: Axes) -> None:
    ax.grid(color="#dddddd", linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def _legend(figure: Figure, axes: Sequence[Axes]) -> None:
    found = {name: line for ax in axes for line, name in zip(*ax.get_legend_handles_labels(), strict=True)}
    figure.legend(
        list(found.values()), list(found), fontsize="small", frameon=False, loc="outside lower center", ncols=4
    )


def _value(y: Interval | float) -> float:
    return y.value if isinstance(y, Interval) else y


def _errors(values: Sequence[Interval | float]) -> list[list[float]] | None:
    """Distances to the lower and the upper bound; a bound that there is not has none."""
    if not any(isinstance(value, Interval) for value in values):
        return None
    below, above = [], []
    for value in values:
        bounded = isinstance(value, Interval) and value.drawn > 1
        below.append(max(0.0, value.value - value.low) if isinstance(value, Interval) and bounded else 0.0)
        above.append(max(0.0, value.high - value.value) if isinstance(value, Interval) and bounded else 0.0)
    return [below, above]
