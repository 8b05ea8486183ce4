"""From the raw lines of one or more runs to one page of tables and plots: who is best on each task, and at what cost.

    python -m eval.leaderboard OUT… --to DIR [--reference NAME] [--title TITLE]

Each OUT is a folder as `eval.report` takes it. DIR gets `index.html`, which needs nothing else: no script, no file
beside it, no network. Systems of several runs stand in one table where they were asked the same questions of the same
samples. They are sorted by their score on the odd half, each with its 95 % interval and its paired difference to the
reference; what failed is named below its table.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from eval.reporting.board import Run, boards
from eval.reporting.board_page import html
from eval.reporting.results import load
from nscma_torch.core.errors import NscmaError

TITLE = "Memory systems by task"


def write(folders: Sequence[Path], to: Path, *, reference: str = "", title: str = TITLE) -> Path:
    """Write the page; its path. InvalidInputError where a folder holds no run, or no task has the reference."""
    names = [folder.resolve().name for folder in folders]
    runs = [
        Run(name if names.count(name) == 1 else str(folder), load(folder))
        for folder, name in zip(folders, names, strict=True)
    ]
    text = html(boards(runs, reference), runs, title)
    to.mkdir(parents=True, exist_ok=True)
    path = to / "index.html"
    path.write_text(text, encoding="utf-8", errors="xmlcharrefreplace")
    return path


def main() -> None:
    """Write the page and say where it is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", metavar="OUT", type=Path, nargs="+", help="folder of a run")
    parser.add_argument("--to", type=Path, required=True, help="folder for the page")
    parser.add_argument("--reference", default="", help="system that the others are compared with")
    parser.add_argument("--title", default=TITLE, help="what stands above the page")
    arguments = parser.parse_args()
    try:
        path = write(arguments.runs, arguments.to, reference=arguments.reference, title=arguments.title)
    except NscmaError as error:
        parser.exit(1, f"eval.leaderboard: {error}\n")
    print(path)


if __name__ == "__main__":
    main()
