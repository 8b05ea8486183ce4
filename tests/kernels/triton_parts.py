"""Runs a part of a test file as a program of its own: Triton decides when kernels are defined whether it interprets."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

_ROOT = str(Path(__file__).parents[2])


def run(file: str, part: str) -> str:
    """What `file` prints when it is run with the argument `part`; "interpret" runs Triton's interpreter."""
    path = os.pathsep.join([_ROOT, *filter(None, [os.environ.get("PYTHONPATH")])])
    interpret = "1" if part == "interpret" else "0"
    environment = {**os.environ, "PYTHONPATH": path, "TRITON_INTERPRET": interpret, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, file, part], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
