"""Each example, run as a program, prints what its docstring shows; the notebook is the program, with its output."""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import json
import runpy
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

FOLDER = Path(__file__).parents[2] / "nscma_torch" / "examples"
PROGRAMS = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "__init__")
LINES = 60  # of code, the docstring at the head and blank lines left out
HAS_VLLM_CARD = torch.cuda.is_available() and importlib.util.find_spec("vllm") is not None


@pytest.fixture(autouse=True)
def default_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Nothing of the environment decides; nothing is left where it is run."""
    monkeypatch.delenv("NSCMA_STORE", raising=False)
    monkeypatch.chdir(tmp_path)
    yield
    assert not list(tmp_path.iterdir()), "an example leaves files"


def run(name: str, capsys: pytest.CaptureFixture[str]) -> str:
    sys.modules.pop(f"nscma_torch.examples.{name}", None)
    runpy.run_module(f"nscma_torch.examples.{name}", run_name="__main__")
    return capsys.readouterr().out


def shown(name: str) -> str:
    """The indented block at the end of the docstring, after "prints:"."""
    documentation = ast.get_docstring(ast.parse((FOLDER / f"{name}.py").read_text(encoding="utf-8"))) or ""
    head, _, block = documentation.rpartition("\n\n    ")
    assert head.endswith("prints:"), f"{name}: the docstring ends with what the program prints"
    return textwrap.dedent("    " + block).strip() + "\n"


@pytest.mark.filterwarnings("ignore:`torch.jit.script`:DeprecationWarning")  # importing torch_geometric
@pytest.mark.parametrize("name", PROGRAMS)
def test_prints_what_its_docstring_shows(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    if name == "vllm_on_one_card" and HAS_VLLM_CARD:
        pytest.skip("would load two models onto the card")
    assert run(name, capsys) == shown(name)


@pytest.mark.parametrize("name", PROGRAMS)
def test_is_short_and_names_its_command(name: str) -> None:
    source = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
    tree = ast.parse(source)
    assert f"python -m nscma_torch.examples.{name}\n" in (ast.get_docstring(tree) or "")
    code = source.splitlines()[tree.body[0].end_lineno :]
    assert sum(bool(line.strip()) for line in code) <= LINES


def test_the_notebook_is_the_program_and_its_output() -> None:
    with _imports_from(Path(__file__).parent):
        from make_notebook import NOTEBOOK, PROGRAM, build
    made = build(PROGRAM.read_text(encoding="utf-8"))
    assert json.loads(NOTEBOOK.read_text(encoding="utf-8")) == made, "run python tests/examples/make_notebook.py"
    printed = [line for cell in made["cells"] for output in cell.get("outputs", ()) for line in output["text"]]
    assert "".join(printed) == shown("chat_memory")


@contextlib.contextmanager
def _imports_from(folder: Path) -> Iterator[None]:
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
