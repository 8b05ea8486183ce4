"""What new text costs CAM and the systems that its paper sets beside it: CAM's figure (a).

    python -m eval.experiments.hierarchy.rebuild_time --data DIR [--start 120] [--more 320] [--sizes 32 80 160 320] \
        [--out DIR] [--cache DIR] [--systems NAME …]

A memory of `start` chunks of QMSum's meetings is there; the `more` that follow arrive in batches of each of the sizes,
one after another, and each system brings itself up to date after every batch as its own code does
(`arriving_batches`). Language tasks are the embedded ones. A call is a text that is read for what it says, or one that
is written of others; a model may be asked more than once for the first (HippoRAG 2 twice, GraphRAG once and for
gleanings). "New" calls are those that the system had never made before: what a cache of replies would leave. Tokens are
the embedder's. Seconds are the processor's, of this process and all its threads, one thread in torch; work that a cache
spared counts as it did when it was done. They depend on the machine: calls, and ratios to CAM, are the result.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import islice
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table

from eval.experiments.hierarchy.arriving_batches import ONLINE, SYSTEMS, Tally
from eval.harness.contract import Shared
from eval.harness.shared_components import equipped
from eval.systems.documents import default_chunker
from eval.tasks.qmsum import load
from nscma_torch import Message
from nscma_torch.protocols import Embedder

_COLOURS = ("#1f5fa8", "#6b6b6b", "#b5532c", "#2f8f5b", "#8a5fb0", "#c2991f", "#b03060")
_WARM_UP = 24  # chunks


@dataclass(frozen=True)
class Taken:
    """What one batch took.

    Attributes:
        before: chunks that were there.
        seconds: of the processor.
    """

    system: str
    batch: int
    before: int
    calls: int
    new_calls: int
    tokens_in: int
    tokens_out: int
    seconds: float


def chunks(data: Path, count: int, embedder: Embedder) -> list[Message]:
    """The first `count` chunks of QMSum's meetings, a message each; ValueError where there are fewer."""
    chunker = default_chunker(embedder)
    meetings = (document for split in ("test", "val") for document in load(data, split).documents)
    messages = (
        Message("document", chunk.text, source=meeting.name)
        for meeting in meetings
        for chunk in chunker.chunk(meeting.text)
    )
    found = list(islice(messages, count))
    if len(found) < count:
        raise ValueError(f"{data / 'qmsum'} holds {len(found)} chunks, and {count} are asked for")
    return found


def measure(
    system: str, shared: Shared, start: Sequence[Message], more: Sequence[Message], size: int
) -> Iterator[Taken]:
    """A row for each batch of so many chunks; the last one may be smaller and is left out."""
    tally = Tally()
    with tempfile.TemporaryDirectory() as folder, SYSTEMS[system](shared, tally, Path(folder)) as take:
        take(start)
        for first in range(0, len(more) - size + 1, size):
            tally.clear()
            began, spared = shared.time.clock(), shared.time.spared
            take(more[first : first + size])
            seconds = shared.time.clock() - began + shared.time.spared - spared
            given, written = (
                sum(shared.embedder.count_tokens([text for own in texts for text in own]))
                for texts in (tally.given, tally.written)
            )
            yield Taken(system, size, len(start) + first, len(tally.given), tally.new, given, written, seconds)


def mean(rows: Sequence[Taken], system: str, batch: int, value: Callable[[Taken], float]) -> float:
    """Of a system's batches of one size."""
    own = [value(row) for row in rows if (row.system, row.batch) == (system, batch)]
    return sum(own) / len(own)


def table(rows: Sequence[Taken]) -> Table:
    """Means of each size and system, and ratios to CAM where it was measured."""
    found = Table(
        "batch", "system", "calls", "new calls", "tokens in", "tokens out", "seconds", "calls / CAM", "s / CAM"
    )
    systems = dict.fromkeys(row.system for row in rows)
    for batch in sorted({row.batch for row in rows}):
        for system in systems:
            counts = (mean(rows, system, batch, get) for get in (_calls, _new, _given, _written))
            seconds = mean(rows, system, batch, _seconds)
            ratios = [
                f"{mean(rows, system, batch, get) / mean(rows, ONLINE, batch, get):.1f}x" if ONLINE in systems else ""
                for get in (_calls, _seconds)
            ]
            found.add_row(str(batch), system, *(f"{count:,.0f}" for count in counts), f"{seconds:.2f}", *ratios)
        found.add_section()
    return found


def _calls(row: Taken) -> float:
    return row.calls


def _new(row: Taken) -> float:
    return row.new_calls


def _given(row: Taken) -> float:
    return row.tokens_in


def _written(row: Taken) -> float:
    return row.tokens_out


def _seconds(row: Taken) -> float:
    return row.seconds


def plot(rows: Sequence[Taken], path: Path) -> None:
    """Calls, tokens and seconds of a batch against its size, a line for each system."""
    from matplotlib.figure import Figure

    batches = sorted({row.batch for row in rows})
    figure = Figure(figsize=(11.0, 4.2), layout="constrained")
    panels = figure.subplots(1, 3)
    shown = (
        ("calls of language tasks", _calls),
        ("tokens read and written", lambda row: row.tokens_in + row.tokens_out),
        ("processor seconds, embedded tasks", _seconds),
    )
    for panel, (label, value) in zip(panels, shown, strict=True):
        for system, colour in zip(dict.fromkeys(row.system for row in rows), _COLOURS, strict=False):
            own = [mean(rows, system, batch, value) for batch in batches]
            panel.plot(batches, own, color=colour, marker="o", linewidth=1.8, label=system)
        panel.set_xscale("log", base=2)
        panel.set_yscale("log")
        panel.set_xticks(batches, [str(batch) for batch in batches])
        panel.minorticks_off()
        panel.set_title(label, fontsize=10)
        panel.set_xlabel("new chunks")
        panel.grid(color="#dddddd", linewidth=0.6)
        panel.spines[["top", "right"]].set_visible(False)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=7, frameon=False)
    figure.savefig(path, dpi=160)


def write_csv(rows: Sequence[Taken], path: Path) -> None:
    """Every batch, a row each."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Taken)])
        writer.writeheader()
        writer.writerows(asdict(row) for row in rows)


def main() -> None:
    """Print the table; with --out, write plot and CSV."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder that holds qmsum/")
    parser.add_argument("--start", type=int, default=120, help="chunks that are there")
    parser.add_argument("--more", type=int, default=320, help="chunks that arrive")
    parser.add_argument("--sizes", type=int, nargs="+", default=[32, 80, 160, 320], help="chunks of a batch")
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=list(SYSTEMS), help="those to measure")
    parser.add_argument("--out", type=Path, help="folder for rebuild_time.png and rebuild_time.csv")
    parser.add_argument("--cache", type=Path, help="folder that keeps vectors for the next run")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    console = Console(width=160)
    rows: list[Taken] = []
    with equipped({}, device="cpu", seed=1, cache=arguments.cache, clock=time.process_time) as equipment:
        shared = equipment.shared
        messages = chunks(arguments.data, arguments.start + arguments.more, shared.embedder)
        start, more = messages[: arguments.start], messages[arguments.start :]
        for system in arguments.systems:
            list(measure(system, shared, more[:_WARM_UP], more[:_WARM_UP], _WARM_UP))
            for size in arguments.sizes:
                own = list(measure(system, shared, start, more, size))
                rows += own
                each = ", ".join(f"{row.calls} in {row.seconds:.1f} s" for row in own)
                console.print(f"{system}, batches of {size}: {each}")
            equipment.keep()
            if arguments.out is not None:  # after each system, so that a run that is stopped leaves what it measured
                arguments.out.mkdir(parents=True, exist_ok=True)
                plot(rows, arguments.out / "rebuild_time.png")
                write_csv(rows, arguments.out / "rebuild_time.csv")
    console.print(table(rows))


if __name__ == "__main__":
    main()
