"""The authors' package under its own interpreter: a program of `packages`, a request as JSON, and its answer."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from eval.experiments.systems.scripted_conversation import LINES, QUERIES, TOP_K, messages
from eval.experiments.systems.scripted_server import Script, scripted_server
from nscma_torch.errors import ConfigError
from nscma_torch.protocols import Embedder

PACKAGES = Path(__file__).parent / "packages"


def conversation(url: str) -> dict[str, Any]:
    """What a program gets that asks a model: the server, the conversation in exchanges, and the queries."""
    told = [
        {"name": one.name, "content": one.content, "time": one.timestamp.isoformat() if one.timestamp else None}
        for one in messages()
    ]
    exchanges = [told[start : start + LINES] for start in range(0, len(told), LINES)]
    return {"url": url, "exchanges": exchanges, "queries": list(QUERIES), "top_k": TOP_K}


def run_on_conversation(python: Path, program: str, script: Script, embedder: Embedder) -> tuple[dict[str, Any], int]:
    """The answer of a program that reads the conversation and asks the script, and the number of its model calls."""
    with scripted_server(script, embedder) as server:
        return run_package(python, program, conversation(server.url)), server.calls


def run_package(python: Path, program: str, request: Mapping[str, Any]) -> dict[str, Any]:
    """The answer of a program of `packages`, which gets an empty `folder` beside its request.

    Raises ConfigError with what the program said where it fails.
    """
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        told = json.dumps({**request, "folder": folder})
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "PYTHON"))}
        done = subprocess.run(
            [str(python), "-I", str(PACKAGES / program)],
            input=told,
            env={**kept, "OMP_NUM_THREADS": "1"},
            text=True,
            capture_output=True,
            check=False,
        )
    if done.returncode:
        raise ConfigError(f"{python} {program} ended with code {done.returncode}:\n{done.stderr[-4000:]}")
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer
