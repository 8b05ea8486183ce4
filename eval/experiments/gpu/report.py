"""The report of a GPU check: one JSON and one Markdown file of the same contents."""

from __future__ import annotations

import importlib.metadata
import json
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import torch

from eval.experiments.gpu.part import Row
from eval.harness.machine import chip_name

ROOT = Path(__file__).parents[3]
_PACKAGES = ("torch", "triton", "transformers", "torch-geometric", "bitsandbytes")


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a part ended: `reason` says why it was skipped or failed."""

    name: str
    status: Literal["passed", "failed", "skipped"]
    reason: str
    seconds: float
    rows: Sequence[Row]


def origin(device: torch.device, quick: bool) -> dict[str, Any]:
    """Where, when and of what a report was made."""
    found: dict[str, Any] = {"made_at": datetime.now(UTC).isoformat(timespec="seconds"), "commit": _commit()}
    found |= {"device": chip_name(device), "kind": device.type, "shapes": "tiny" if quick else "whole"}
    if device.type == "cuda":
        properties = torch.cuda.get_device_properties(device)
        found["memory"] = f"{properties.total_memory / 2**30:.1f} GiB"
        found["capability"] = f"{properties.major}.{properties.minor}"
        found["cuda"] = torch.version.cuda
    return found | {"packages": {name: _version(name) for name in _PACKAGES}}


def write(outcomes: Sequence[Outcome], made: Mapping[str, Any], folder: Path) -> tuple[Path, Path]:
    """Write `<device>.json` and `<device>.md`."""
    folder.mkdir(parents=True, exist_ok=True)
    stem = re.sub(r"[^a-z0-9]+", "-", str(made["device"]).lower()).strip("-")
    paths = folder / f"{stem}.json", folder / f"{stem}.md"
    whole = {**made, "parts": [asdict(outcome) for outcome in outcomes]}
    paths[0].write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
    paths[1].write_text(markdown(outcomes, made), encoding="utf-8")
    return paths


def markdown(outcomes: Sequence[Outcome], made: Mapping[str, Any]) -> str:
    """The report as a page: the origin, a line for each part, a table for each part with rows."""
    packages = ", ".join(f"{name} {number or 'not installed'}" for name, number in made["packages"].items())
    lines = [f"# {made['device']}", "", "| | |", "|---|---|"]
    lines += [f"| {key} | {value} |" for key, value in made.items() if key not in ("device", "packages")]
    lines += [f"| packages | {packages} |", "", "| part | | seconds | |", "|---|---|---|---|"]
    lines += [f"| {o.name} | {o.status} | {o.seconds:.0f} | {_cell(o.reason)} |" for o in outcomes]
    for outcome in outcomes:
        if outcome.rows:
            lines += ["", f"## {outcome.name}", "", "| what | shape | dtype | measured |", "|---|---|---|---|"]
            lines += [_line(row) for row in outcome.rows]
    return "\n".join(lines) + "\n"


def _line(row: Row) -> str:
    values = "; ".join(f"{name} {_number(value)}" for name, value in row.values.items())
    return f"| {row.what} | {row.shape} | {row.dtype} | {values} |"


def _number(value: float | int | str) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _cell(text: str) -> str:
    """The last line of a text, as the cell of a table."""
    last = text.strip().splitlines()[-1:] or [""]
    return last[0].replace("|", "\\|")


def _commit() -> str:
    """Of the checkout, with "changed" where files differ from it; outside of one "unknown"."""
    try:
        head, changed = (
            subprocess.run(["git", *command], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
            for command in (("rev-parse", "HEAD"), ("status", "--porcelain", "--untracked-files=no"))
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return head + (", changed" if changed else "")


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
