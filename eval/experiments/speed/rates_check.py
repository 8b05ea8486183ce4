"""The plan of `nscma doctor --plan --users` against stores of other texts than its rates come from.

    python -m eval.experiments.speed.rates_check --data DIR --postgres ADDRESS [--rates FILE]

A conversation of LoCoMo and a chat of BEAM, of which nothing went into the rates, are stored and read as
`eval.experiments.speed.rates` does, and what they took stands beside what is predicted from the length of their
messages and their number alone.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table

from eval.experiments.speed.rates import Found, in_file, in_postgres, texts
from nscma_torch.config import Config
from nscma_torch.doctor.rates import Rates, load_rates
from nscma_torch.doctor.scale import scale, texts_of

_OTHER = {"LoCoMo conv-42": ("conv-42", 160), "BEAM chat 5": ("5", 16)}  # with the first messages


def rows(rates: Rates, file: Found, server: Found) -> Iterator[tuple[str, float, float]]:
    """Names, predicted and actual values."""
    length = file.text / file.messages
    planned = scale(Config(), rates, users=file.users, messages=file.messages, text=length)
    of = texts_of(rates, length)
    yield "SQLite file, MB", planned.value("SQLite file") / 1e6, sum(file.parts.values()) / 1e6
    yield "PostgreSQL, MB", planned.value("PostgreSQL") / 1e6, sum(server.parts.values()) / 1e6
    yield "units", planned.value("searchable units"), file.units
    yield "index on the device, MB", planned.value("index of a user") / 1e6, file.indexes / 1e6
    for stage in ("add", "read", "integrate"):
        yield f"{stage} in a file, processor s", planned.value(f"{stage}, of a processor"), file.seconds[stage]
    yield "all three in PostgreSQL, processor s", planned.value("PostgreSQL, 1 core"), sum(server.seconds.values())
    yield "written", of.written * file.messages, file.written
    yield "summaries", of.summaries * file.messages, file.summaries


def shown(name: str, found: Sequence[tuple[str, float, float]]) -> Table:
    """Predicted and actual side by side."""
    table = Table("", "predicted", "actual", "predicted / actual", title=name)
    for what, predicted, actual in found:
        table.add_row(what, f"{predicted:,.1f}", f"{actual:,.1f}", f"{predicted / actual:.2f}")
    return table


def main() -> None:
    """Print a table for each text."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder that holds locomo/ and beam/")
    parser.add_argument("--postgres", required=True, help="address of a server here: postgresql://…", metavar="ADDRESS")
    parser.add_argument("--rates", type=Path, metavar="FILE", help="else those that come with the package")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    rates = load_rates(arguments.rates)
    in_file(texts(arguments.data, ("conv-30",), 40))  # loads every model
    for name, (talk, most) in _OTHER.items():
        said = texts(arguments.data, (talk,), most)
        found = list(rows(rates, in_file(said), in_postgres(said, arguments.postgres)))
        Console(width=100).print(shown(f"{name}, its first {most} messages", found))


if __name__ == "__main__":
    main()
