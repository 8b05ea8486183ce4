"""Whether everything that runs on a GPU is right there, and how fast it is: one report, within nine minutes.

    python -m eval.experiments.gpu.check [--out kernels/results] [--parts NAME …] [--device cpu --quick]

Each part runs in a process of its own, with a limit of time. Parts that measure no time run beside each other first,
the others one after another. A part whose packages are missing is skipped, and the report says why; where a part fails,
the exit status is 1. `--quick` has tiny shapes, and `--device cpu` lets Triton's interpreter run the kernels: that
tests this program, not a GPU. Nothing is fetched from a network.

Not yet measured on a GPU.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path

import torch

from eval.experiments.gpu.part import Part, Row
from eval.experiments.gpu.parts import PARTS
from eval.experiments.gpu.report import ROOT, Outcome, origin, write

_TOLD = 1500  # characters of what a failed part printed last


class Check:
    """Runs parts until the time is over.

    Args:
        quick: tiny shapes; a part then has no limit of its own.
        program: what runs one part, before its arguments.
    """

    def __init__(
        self,
        device: torch.device,
        *,
        quick: bool,
        seconds: float,
        workers: int,
        program: Sequence[str] = (sys.executable, "-m", "eval.experiments.gpu.check"),
    ) -> None:
        self._device = device
        self._quick = quick
        self._end = time.monotonic() + seconds
        self._workers = workers
        self._program = program

    def outcomes(self, parts: Sequence[Part]) -> list[Outcome]:
        """Of all parts, in their order."""
        with ThreadPoolExecutor(self._workers) as pool:
            together = {part.name: pool.submit(self._outcome, part) for part in parts if not part.timed}
            ended = {name: future.result() for name, future in together.items()}
        for part in parts:
            if part.timed:
                ended[part.name] = self._outcome(part)
        return [ended[part.name] for part in parts]

    def _outcome(self, part: Part) -> Outcome:
        missing = [package for package in part.needs if find_spec(package) is None]
        if missing:
            outcome = Outcome(part.name, "skipped", f"not installed: {', '.join(missing)}", 0.0, [])
        elif self._quick and not part.quick:
            outcome = Outcome(part.name, "skipped", "has no tiny shapes", 0.0, [])
        else:
            outcome = self._run(part)
        print(f"{outcome.status:8} {part.name:32} {outcome.seconds:5.0f} s  {outcome.reason[-200:]}", flush=True)
        return outcome

    def _run(self, part: Part) -> Outcome:
        left = self._end - time.monotonic()
        limit = left if self._quick else min(part.seconds, left)
        if limit <= 0:
            return Outcome(part.name, "failed", "no time was left for it", 0.0, [])
        with tempfile.TemporaryDirectory() as folder:
            rows = Path(folder) / "rows.jsonl"
            command = [*self._program, "--part", part.name, "--rows", str(rows)]
            command += ["--device", str(self._device), *(["--quick"] if self._quick else [])]
            begin = time.monotonic()
            status, said = _ended(command, self._environment(part), limit)
            took = time.monotonic() - begin
            lines = rows.read_text(encoding="utf-8").splitlines() if rows.exists() else []
            made = [Row(**json.loads(line)) for line in lines]
        if status is None:
            return Outcome(part.name, "failed", f"it did not end within {limit:.0f} s", took, made)
        return Outcome(part.name, "failed" if status else "passed", said.strip()[-_TOLD:] if status else "", took, made)

    def _environment(self, part: Part) -> dict[str, str]:
        path = os.pathsep.join([str(ROOT), str(ROOT / "kernels"), *filter(None, [os.environ.get("PYTHONPATH")])])
        own = {"PYTHONPATH": path, "HF_HUB_OFFLINE": "1"}
        if part.interpreted and self._device.type == "cpu":
            own["TRITON_INTERPRET"] = "1"
        return {**os.environ, **own}


def _ended(command: Sequence[str], environment: dict[str, str], limit: float) -> tuple[int | None, str]:
    """Exit status of a process, and what it said; None where it, with all that it started, had to be killed."""
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            said, _ = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return None, ""
    return process.returncode, said


def measure(part: Part, device: torch.device, quick: bool, rows: Path) -> None:
    """Run one part here, and append its rows to a file as they come."""
    with rows.open("a", encoding="utf-8") as file:
        for row in part.load()(device, quick):
            file.write(json.dumps(asdict(row)) + "\n")
            file.flush()


def main() -> None:
    """Run the parts, write the report, and exit with 1 where one failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [part.name for part in PARTS]
    parser.add_argument("--out", type=Path, default=ROOT / "kernels" / "results", help="folder of the report")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--quick", action="store_true", help="tiny shapes, in a minute or two")
    parser.add_argument("--minutes", type=float, default=8.5, help="after which no part begins and none goes on")
    parser.add_argument("--workers", type=int, default=min(6, os.cpu_count() or 1), help="untimed parts at once")
    parser.add_argument("--parts", nargs="+", choices=names, default=names, metavar="NAME", help=", ".join(names))
    parser.add_argument("--part", choices=names, help=argparse.SUPPRESS)  # in this process, into --rows
    parser.add_argument("--rows", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    device = torch.device(arguments.device)
    if device.type == "cuda" and not torch.cuda.is_available():
        parser.error("torch sees no CUDA device; --device cpu --quick tests this program without one")
    if arguments.part:
        (part,) = (part for part in PARTS if part.name == arguments.part)
        measure(part, device, arguments.quick, arguments.rows)
        return
    check = Check(device, quick=arguments.quick, seconds=60 * arguments.minutes, workers=arguments.workers)
    outcomes = check.outcomes([part for part in PARTS if part.name in arguments.parts])
    paths = write(outcomes, origin(device, arguments.quick), arguments.out)
    print(*(f"wrote {path}" for path in paths), sep="\n")
    sys.exit(any(outcome.status == "failed" for outcome in outcomes))


if __name__ == "__main__":
    main()
