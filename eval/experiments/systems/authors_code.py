"""The authors' own packages beside our systems, with a language model whose answers are fixed.

    make authors                                              # environments of their own, and this program
    python -m eval.experiments.systems.authors_code [--environments DIR] [--only mem0 …] [--out FILE]

What is compared is what the code does, not what a model writes: both sides ask a server on the loopback that answers
each prompt by a script. The facts of a conversation written by hand, and what is to be done about them, are the same
for both (`scripted_conversation`), and so are the vectors, of the bundled MiniLM. A package runs under the interpreter
DIR/.venv-NAME/bin/python, by its program in `packages`; one whose environment is not there is left out and named.

"Kept" counts what is there at the end, "in common" the equal texts among it. "Decisions" are what the scripted model
did when it was asked: it updates or deletes a memory only where it is shown it, so that a difference tells of what the
code shows. "Same hits" is the share of the best 5 that both find, and "same first" the queries with the same best one.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table

from eval.experiments.systems import (
    graphiti_pair,
    graphrag_index_pair,
    graphrag_pair,
    hipporag_pair,
    langmem_pair,
    mem0_pair,
)
from eval.experiments.systems.comparison import COLUMNS, Comparison, Outcome, as_json, rows
from nscma_torch.config import load_config
from nscma_torch.protocols import Embedder
from nscma_torch.text.embedder import load_embedder

_SHOWN = 6  # differing items of each side that are printed


@dataclass(frozen=True, slots=True)
class Pair:
    """The authors' code, run by the interpreter of an environment, and ours.

    Attributes:
        environment: its NAME, "" where it is that of the pair.
    """

    theirs: Callable[[Path, Embedder], Outcome]
    ours: Callable[[Embedder], Outcome]
    environment: str = ""


PAIRS: Mapping[str, Pair] = {
    "mem0-1": Pair(mem0_pair.theirs, mem0_pair.ours),
    "mem0": Pair(mem0_pair.theirs, mem0_pair.ours),
    "langmem": Pair(langmem_pair.theirs, langmem_pair.ours),
    "graphiti": Pair(graphiti_pair.theirs, graphiti_pair.ours),
    "graphrag": Pair(graphrag_pair.theirs, graphrag_pair.ours),
    "graphrag-index": Pair(graphrag_index_pair.theirs, graphrag_index_pair.ours, "graphrag"),
    "graphrag-index-all": Pair(graphrag_index_pair.theirs_of_all, graphrag_index_pair.ours, "graphrag"),
    "hipporag": Pair(hipporag_pair.theirs, hipporag_pair.ours),
    "hipporag-unfiltered": Pair(
        partial(hipporag_pair.theirs, filtered=False), partial(hipporag_pair.ours, filtered=False), "hipporag"
    ),
}


def interpreter(environments: Path, name: str) -> Path:
    """That of a pair's environment in a folder of `.venv-NAME`."""
    return environments.absolute() / f".venv-{PAIRS[name].environment or name}" / "bin" / "python"


def compared(name: str, python: Path, embedder: Embedder) -> Comparison:
    """Both runs of a pair. Raises ConfigError where the package's program fails."""
    pair = PAIRS[name]
    return Comparison(name, pair.theirs(python, embedder), pair.ours(embedder))


def main() -> None:
    """Print a table, and below it what differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--environments", type=Path, default=Path(), help="folder of .venv-NAME, one for each package")
    parser.add_argument("--only", nargs="+", choices=list(PAIRS), default=list(PAIRS), help="some of the packages")
    parser.add_argument("--out", type=Path, help="file for everything that was kept and found, as JSON")
    arguments = parser.parse_args()
    console = Console(width=150)
    embedder = load_embedder(load_config({}).embedder, torch.device("cpu"))
    found = []
    for name in arguments.only:
        python = interpreter(arguments.environments, name)
        if python.exists():
            found.append(compared(name, python, embedder))
        else:
            console.print(f"{name}: left out, {python} is not there")
    table = Table(*COLUMNS)
    for comparison in found:
        for row in rows(comparison):
            table.add_row(*row)
    console.print(table)
    for comparison in found:
        for side, texts in (("theirs", comparison.only_theirs), ("ours", comparison.only_ours)):
            more = f"; and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
            if texts:
                console.print(f"{comparison.system}, {side} alone: {'; '.join(texts[:_SHOWN])}{more}", highlight=False)
    if arguments.out:
        told = json.dumps([as_json(one) for one in found], ensure_ascii=False, indent=1)
        arguments.out.write_text(told, encoding="utf-8")


if __name__ == "__main__":
    main()
