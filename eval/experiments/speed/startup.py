"""What one command costs from start to end: processor seconds, and the packages that it imports.

    python -m eval.experiments.speed.startup [--repeats 5] [--served-alone]

Each command runs as a process of its own, on a store of the demo's first messages. Of its processor time (user and
system) the median is printed; packages are those outside the standard library that were loaded when it ended. The
commands of `SERVED` run once more beside `nscma serve` of that store.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shlex
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from itertools import islice
from pathlib import Path

from rich.console import Console
from rich.table import Table

MESSAGES = 12
SHOWN = frozenset(  # of the packages, those that cost something
    {
        *("faiss", "httpx2", "numpy", "pydantic", "rich", "safetensors", "snowballstemmer", "sqlalchemy"),
        *("tokenizers", "torch", "torch_geometric", "transformers", "typer"),
    }
)
COMMANDS = (
    *("--version", "--help", "log --help", "add --help", "ask --help"),
    *("log", "get ID", "history ID", "facts", "profile", "conflicts", "stats", "tree", "export copy.jsonl"),
    *("skills travel", "search Lisbon", "ask 'Where does Ines live?'", "ask 'What was said of the weather?'"),
    *("add --text Ok", "delete ID", "restore ID", "sleep"),
)
SERVED = (
    *("log", "history ID", "facts", "profile", "stats", "search Lisbon", "ask 'Where does Ines live?'"),
    *("add told.jsonl", "add --text Ok"),
)
STATEMENTS = (
    "import nscma_torch",
    "from nscma_torch import Scope",
    "from nscma_torch import label_propagation",
    "from nscma_torch import SurpriseGate",
    "from nscma_torch import NeuralMemory",
    "from nscma_torch import Memory",
)
_COMMAND = "from nscma_torch.cli import main; main()"
_LISTING = (
    "import atexit, sys; "
    "atexit.register(lambda: sys.stderr.write('\\n' + ' '.join({name.partition('.')[0] for name in sys.modules}))); "
)


def run(code: str, arguments: list[str], folder: Path) -> tuple[float, subprocess.CompletedProcess[str]]:
    """Processor seconds of a process that runs `code`, and what it printed; raises where it fails."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("NSCMA_")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # what is installed has its bytecode
    command = [sys.executable, "-c", code, *arguments]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, done


def packages(code: str, arguments: list[str], folder: Path) -> list[str]:
    """The packages of `SHOWN` that are loaded when it ends."""
    _, done = run(_LISTING + code, arguments, folder)
    return sorted(SHOWN & set(done.stderr.rpartition("\n")[2].split()))


def store(folder: Path) -> str:
    """Make a small store in the folder; returns the id of a message."""
    lines = resources.files("nscma_torch.demo").joinpath("conversation.jsonl").read_text(encoding="utf-8").splitlines()
    (folder / "told.jsonl").write_text("\n".join(islice(lines, MESSAGES)), encoding="utf-8")
    run(_COMMAND, ["add", "told.jsonl"], folder)
    _, done = run(_COMMAND, ["log", "--json"], folder)
    return str(json.loads(done.stdout)[0]["id"])


@contextmanager
def serving(folder: Path) -> Iterator[None]:
    """A server of the store in the folder, which has answered once."""
    command = [sys.executable, "-c", _COMMAND, "serve", "--port", "0", "--json"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            process.stdout.readline()
            run(_COMMAND, ["ask", "Where?"], folder)
            yield
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=120)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5, help="processes of each command; the median is printed")
    parser.add_argument("--served-alone", action="store_true", help="only the commands that go through a server")
    given = parser.parse_args()
    repeats, served_alone = given.repeats, given.served_alone
    table = Table("command", "processor s", "packages")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        memory_id = store(folder)
        rows = [(f"nscma {command}", _COMMAND, shlex.split(command)) for command in COMMANDS]
        rows += [(code, code, []) for code in STATEMENTS]

        def measure(shown: str, code: str, given: list[str]) -> None:
            arguments = [memory_id if argument == "ID" else argument for argument in given]
            seconds = [run(code, arguments, folder)[0] for _ in range(repeats)]
            found = " ".join(packages(code, arguments, folder)) or "none"
            table.add_row(shown, f"{statistics.median(seconds):.2f}", found)

        for row in rows if not served_alone else ():
            measure(*row)
        with serving(folder):
            for command in SERVED:
                measure(f"nscma {command} (served)", _COMMAND, shlex.split(command))
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
