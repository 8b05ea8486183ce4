"""Draws the learning curves of a run from its log: the mean loss of each part by batch, through all stages.

    python -m train.reader.learning_curve FILE.jsonl --out FILE.png

A part has a panel, a stage a colour. What a run did again after it was stopped counts once. Needs matplotlib.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

_COUNTS = {"stage", "batch", "of", "tokens/s"}  # what a line holds beside the losses
_COLORS = ("#1f5fa8", "#b5532c", "#3d8b4f", "#7a4fa0", "#6b6b6b", "#b8860b")
_ACROSS = 3  # panels

Points = list[tuple[int, float]]  # batches, counted through all stages, and the mean loss since the point before
Curves = dict[str, dict[str, Points]]  # by part and stage


def read_log(path: Path) -> Curves:
    """The curves of a log, in its order of stages.

    Raises:
        ValueError: it tells of no batch.
    """
    logged: dict[str, dict[int, dict[str, float]]] = {}
    for text in path.read_text(encoding="utf-8").splitlines():
        line = json.loads(text)
        logged.setdefault(line["stage"], {})[line["batch"]] = line
    if not logged:
        raise ValueError(f"{path} tells of no batch yet; train_reader writes the first after `log_every` batches")
    curves: Curves = {}
    begin = 0
    for stage, batches in logged.items():
        for batch, line in sorted(batches.items()):
            for part in line.keys() - _COUNTS:
                curves.setdefault(part, {}).setdefault(stage, []).append((begin + batch, line[part]))
        begin += max(batches)
    return dict(sorted(curves.items()))


def draw(curves: Curves, path: Path) -> None:
    """A panel for each part, as a picture whose kind the path's ending tells."""
    from matplotlib.figure import Figure

    down = -(-len(curves) // _ACROSS)
    figure = Figure(figsize=(4 * _ACROSS, 2.8 * down + 0.5), layout="constrained")
    panels = list(figure.subplots(down, _ACROSS, sharex=True, squeeze=False).flat)
    names = list(dict.fromkeys(stage for stages in curves.values() for stage in stages))
    lines = {}
    for ax, (part, stages) in zip(panels, curves.items(), strict=False):
        for stage, points in stages.items():
            color = _COLORS[names.index(stage) % len(_COLORS)]
            (lines[stage],) = ax.plot(*zip(*points, strict=True), color=color, marker=".", markersize=3, linewidth=1.2)
        ax.set(title=part, ylim=(0, 1.08 * max(loss for points in stages.values() for _, loss in points)))
        ax.tick_params(labelbottom=True)
        ax.grid(color="#dddddd", linewidth=0.6)
        ax.spines[["top", "right"]].set_visible(False)
    for ax in panels[len(curves) :]:
        ax.set_axis_off()
    panels[0].set_xlim(left=0)
    figure.supxlabel("batches", fontsize="medium")
    figure.supylabel("mean loss since the point before", fontsize="medium")
    figure.legend([lines[name] for name in names], names, loc="outside upper center", ncols=len(names), frameon=False)
    figure.savefig(path, dpi=130)


def main() -> None:
    """Draw a log."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("log", type=Path, help="FILE.jsonl that train_reader wrote")
    parser.add_argument("--out", type=Path, required=True, help="PNG file")
    arguments = parser.parse_args()
    draw(read_log(arguments.log), arguments.out)


if __name__ == "__main__":
    main()
