"""Extras that are used together can be installed together, freely and with constraints.txt.

vLLM bounds many packages that our other extras need too. Its bounds are recorded here, so that the test at every commit
needs no network; `make prove` asks the registry for all.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
# Requires-Dist of vllm, 0.32.0 and 0.33.0, and of what it needs, where our requirements name the same package.
VLLM = {
    "0.32.0": {
        "torch": "==2.13.0",
        "triton": "==3.7.1",  # of torch
        "transformers": ">=5.16.1,<5.20.0",
        "tokenizers": ">=0.23.2",
        "safetensors": ">=0.6.2",
        "numpy": ">=1.25,<2.4",  # of mistral_common
        "fastapi": ">=0.133.0,<0.137.0",
        "starlette": ">=1.0.1",
        "pydantic": ">=2.12.0",
        "prometheus-client": ">=0.18.0",
        "pillow": ">=12.3.0",
        "llguidance": ">=1.7.0,<1.8.0",
        "huggingface-hub": ">=1.31.0",
        "aiohttp": ">=3.14.3",
        "requests": ">=2.33.0",
        "filelock": ">=3.20.3",
        "jsonschema": ">=4.23.0",
        "setuptools": ">=78.1.1,<81.0.0",
        "mcp": ">=2.0.0,<3.0.0",
        "opentelemetry-api": ">=1.27.0",
        "opentelemetry-sdk": ">=1.27.0",
        "bitsandbytes": ">=0.48.1",  # of vllm-bnb-plugin
    },
}
VLLM["0.33.0"] = VLLM["0.32.0"] | {
    "torch": "==2.14.0",
    "triton": ">=3.7",
    "transformers": ">=5.16.1,<5.21.0",
    "certifi": ">=2026.10.19",
    "aiohttp": ">=3.14.4",
    "multidict": ">=6.9.1",
    "pillow": ">=13.0.0",
    "orjson": ">=3.11.6",
    "mcp": ">=2.2.0,<3.0.0",
}
CONSTRAINED = "0.32.0"  # the release that constraints.txt admits: it pins torch
BESIDE_VLLM = ("hf", "http", "server", "faiss", "records", "postgres", "otel", "langgraph", "langchain", "llamaindex")
PAIRS = [
    *(("vllm", other) for other in BESIDE_VLLM),
    ("hf", "server"),
    ("hf", "faiss-gpu"),
    ("hf", "train"),
    ("hf", "eval"),
    ("server", "postgres"),
    ("langgraph", "langchain"),
    ("http", "ray"),
]


def required(*extras: str) -> list[Requirement]:
    """Our requirements with these extras."""
    lines = PROJECT["dependencies"] + [line for name in extras for line in PROJECT["optional-dependencies"][name]]
    return [Requirement(line) for line in lines]


def constraints() -> dict[str, str]:
    pins = (line.split("==") for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").split())
    return {canonicalize_name(name): version for name, version in pins}


def lowest(specifier: SpecifierSet) -> list[str]:
    """Versions that could satisfy a range: its bounds, and the next one after them."""
    bounds = [one.version for one in specifier if one.operator in (">=", "==", "<=")]
    return [*bounds, *(f"{bound}.9" for bound in bounds)]


@pytest.mark.parametrize("release", VLLM)
@pytest.mark.parametrize("other", BESIDE_VLLM)
def test_no_requirement_excludes_what_vllm_needs(release: str, other: str) -> None:
    for requirement in required("vllm", other):
        theirs = SpecifierSet(VLLM[release].get(canonicalize_name(requirement.name), ""))
        both = theirs & requirement.specifier
        assert not theirs or any(both.contains(version) for version in lowest(both)), f"{requirement}, vllm {theirs}"


def test_the_constraints_admit_vllm() -> None:
    pins = constraints()
    for name, theirs in VLLM[CONSTRAINED].items():
        assert name not in pins or SpecifierSet(theirs).contains(pins[name]), f"{name}=={pins[name]}, vllm {theirs}"


def test_the_constraints_admit_every_extra() -> None:
    pins = constraints()
    for requirement in required(*PROJECT["optional-dependencies"]):
        pin = pins.get(canonicalize_name(requirement.name))
        assert pin is None or requirement.specifier.contains(pin), f"{requirement}, constraints.txt has {pin}"


@pytest.mark.prove
@pytest.mark.parametrize("constrained", [False, True])
@pytest.mark.parametrize("pair", PAIRS, ids=",".join)
def test_the_registry_has_both(pair: tuple[str, str], constrained: bool, tmp_path: Path) -> None:
    """A dry run of pip in an empty folder, so that nothing that is installed here takes part."""
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--report"]
    command += [str(tmp_path / "report.json"), f"{ROOT}[{','.join(pair)}]"]
    command += ["--constraint", str(ROOT / "constraints.txt")] if constrained else []
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
