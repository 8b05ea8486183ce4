"""Bulk adds of many users against `add_many` of one user after the other, on LoCoMo; digests are compared.

    python -m eval.experiments.speed.bulk_speed --data DIR [--messages 40] [--rounds 2] [--kill]

Every conversation is a user, and their rows are mixed in one file. Three ways to the same store take turns in each
round, each a process of its own, which is timed from its start to its end, imports and loading of models included:
`add_many` user by user with one `flush` in the end, `bulk_add` in one process, and `bulk_add` over two actors of Ray.
`inside` counts without what starting takes: from the first message that is added. Ratios of the medians are the result;
times depend on the machine and on what else it does. With `--kill` the two bulk adds are killed (SIGKILL) once half of
the messages are stored, and run again; the digest must be that of the others.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.table import Table

from eval.tasks.locomo import load
from nscma_torch import Memory, Message
from nscma_torch.bulk import bulk_add
from nscma_torch.bulk.actors import RayActors
from nscma_torch.bulk.adding import Progress

WAYS = ("add_many", "bulk", "bulk --ray")
_ACTORS = 2
_NOW = datetime(2026, 11, 1, tzinfo=UTC)


def write_rows(data: Path, messages: int, file: Path) -> int:
    """The first messages of every conversation, in turns; the number of rows."""
    conversations = load(data)
    rows = [
        {
            "user_id": conversation.name,
            "id": str(number),
            "role": said.role,
            "name": said.name,
            "content": said.content,
            "session": said.session,
            "timestamp": None if said.timestamp is None else said.timestamp.isoformat(),
        }
        for number in range(messages)
        for conversation in conversations
        for said in conversation.messages[number : number + 1]
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return len(rows)


def add_user_by_user(store: Path, file: Path) -> float:
    """What bulk is compared with; seconds from the first message on."""
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    with Memory(store) as memory:
        began = time.perf_counter()
        for user in dict.fromkeys(row["user_id"] for row in rows):
            said = [
                Message(
                    row["role"],
                    row["content"],
                    datetime.fromisoformat(row["timestamp"]) if row["timestamp"] else None,
                    row["name"],
                    row["session"],
                    idempotency_key=row["id"],
                )
                for row in rows
                if row["user_id"] == user
            ]
            list(memory.add_many(said, user_id=user, now=_NOW))
        memory.flush()
        return time.perf_counter() - began


def run(way: str, store: Path, file: Path, kill_at: int) -> dict[str, object]:
    """One way, in this process: the digest, and seconds without the start."""
    if way == "add_many":
        inside, asked = add_user_by_user(store, file), 0
    else:

        def stored(done: int, _: int) -> None:
            if kill_at and done >= kill_at:
                os.kill(os.getpid(), signal.SIGKILL)

        actors = RayActors(actors=_ACTORS) if way == "bulk --ray" else None
        try:
            report = bulk_add(store, [str(file)], actors=actors, now=_NOW, progress=Progress(stored=stored))
        finally:
            if actors is not None:
                actors.close()
        inside, asked = report.seconds, report.asked
    with Memory(store) as memory:
        return {"digest": memory.digest(), "inside": inside, "asked": asked, "problems": memory.verify()}


def timed(way: str, file: Path, store: Path, *, kill_at: int = 0) -> tuple[float, dict[str, object] | None]:
    """Seconds of a process that goes one way, and what it printed; None where it was killed."""
    own = ["--run", way, "--file", str(file), "--store", str(store), "--kill-at", str(kill_at)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "eval.experiments.speed.bulk_speed", *own],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
        check=False,
    )
    seconds = time.perf_counter() - began
    if done.returncode == -signal.SIGKILL:
        return seconds, None
    done.check_returncode()
    said: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return seconds, said


def main() -> None:
    """Print the rates and their ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder that holds locomo/")
    parser.add_argument("--messages", type=int, default=40, help="of each conversation")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS)
    parser.add_argument("--kill", action="store_true", help="kill the bulk adds half-way, and run them again")
    parser.add_argument("--run", choices=WAYS, help=argparse.SUPPRESS)
    for name in ("--file", "--store"):
        parser.add_argument(name, type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--kill-at", type=int, default=0, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.run:
        print(json.dumps(run(arguments.run, arguments.store, arguments.file, arguments.kill_at)))
        return
    if arguments.data is None:
        parser.error("--data is needed")
    compare(arguments.data, arguments.messages, arguments.rounds, arguments.ways, kill=arguments.kill)


def compare(data: Path, messages: int, rounds: int, ways: Sequence[str], *, kill: bool) -> None:
    """Rounds in which the ways take turns."""
    console = Console(width=120)
    wall: dict[str, list[float]] = {way: [] for way in ways}
    inside: dict[str, list[float]] = {way: [] for way in ways}
    digests: set[object] = set()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.jsonl"
        rows = write_rows(data, messages, file)
        for number in range(rounds):
            for way in ways:
                store = Path(folder) / f"{number} {way}.db"
                if kill and way != "add_many":
                    _, killed = timed(way, file, store, kill_at=rows // 2)
                    assert killed is None, "it was to be killed half-way"
                seconds, said = timed(way, file, store)
                assert said is not None and not said["problems"], said
                wall[way].append(seconds)
                inside[way].append(float(str(said["inside"])))
                digests.add(said["digest"])
                console.print(f"round {number}, {way}: {seconds:.1f} s, asked in commits {said['asked']}")
    table = Table("way", "messages/s", "inside", "against the first", "inside")
    first = ways[0]
    for way in ways:
        middle, within = statistics.median(wall[way]), statistics.median(inside[way])
        against = statistics.median(wall[first]) / middle, statistics.median(inside[first]) / within
        table.add_row(way, f"{rows / middle:.2f}", f"{rows / within:.2f}", *(f"{one:.2f}x" for one in against))
    again = ", killed half-way and run again (rates are of the second run)" if kill else ""
    console.print(f"{rows} messages of {rows // messages} users, medians of {rounds} rounds{again}")
    console.print(table)
    console.print("digests are equal" if len(digests) == 1 else f"[bold red]{len(digests)} digests[/]")


if __name__ == "__main__":
    main()
