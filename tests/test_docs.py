"""What is documented is true: commands, names, configuration keys, and the README's examples with their output."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

import nscma_torch
from nscma_torch.cli.options import app
from nscma_torch.core.config import Config, Section, default_toml

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PACKAGE = (ROOT / "nscma_torch" / "README.md").read_text(encoding="utf-8")
KERNELS = (ROOT / "kernels" / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", README + PACKAGE + KERNELS, flags=re.MULTILINE | re.DOTALL)


def commands() -> dict[str, object]:
    import nscma_torch.cli  # registers them

    assert nscma_torch.cli.main
    return dict(get_command(app).commands)  # type: ignore[attr-defined]


def test_the_front_page_is_one_screen() -> None:
    assert len(README.splitlines()) <= 150 and len(README.split()) <= 1280


def test_every_command_is_documented_and_explains_itself() -> None:
    for name, command in commands().items():
        assert f"nscma {name}" in PACKAGE, f"nscma {name} is not in nscma_torch/README.md"
        assert len(command.help.split()) >= 4, name  # type: ignore[attr-defined]
        for parameter in command.params:  # type: ignore[attr-defined]
            assert parameter.name == "help" or parameter.help, f"{name}: {parameter.name} has no help"


def test_every_public_name_is_documented() -> None:
    for name in nscma_torch.__all__:
        if name == "__version__":
            continue
        assert f"`{name}" in PACKAGE, f"{name} is not in nscma_torch/README.md"
        assert (getattr(nscma_torch, name).__doc__ or "").strip(), f"{name} has no docstring"


def test_every_public_method_has_a_docstring() -> None:
    for owner in (nscma_torch.Memory, nscma_torch.AsyncMemory):
        for name, member in vars(owner).items():
            if callable(member) and not name.startswith("_"):
                assert member.__doc__, f"{owner.__name__}.{name} has no docstring"


def test_every_config_key_says_what_it_is() -> None:
    def check(model: type[Section]) -> None:
        for name, field in model.model_fields.items():
            if isinstance(field.default, Section):
                assert (type(field.default).__doc__ or "").strip(), name
                check(type(field.default))
            else:
                assert field.description and field.description.endswith((".", "…")), f"{model.__name__}.{name}"

    check(Config)


def test_default_toml_equals_the_defaults() -> None:
    assert (ROOT / "configs" / "default.toml").read_text(encoding="utf-8") == default_toml()


CONFIGURATIONS = sorted(set((ROOT / "configs").glob("*.toml")) - {ROOT / "configs" / "relations.toml"})


@pytest.mark.parametrize("path", CONFIGURATIONS, ids=lambda path: path.name)
def test_shipped_configurations_load(path: Path) -> None:
    config = nscma_torch.load_config(path)
    if path.name == "default.toml":
        assert config == Config()


@pytest.mark.parametrize("code", [code for language, code in BLOCKS if language == "python"])
def test_readme_python_runs(code: str, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    shown = re.findall(r"# → (.*)", code)
    assert without_scores(done.stdout) == without_scores("\n".join(shown))


def test_readme_console_is_real(tmp_path: Path) -> None:
    """Each `$ nscma …` of the pages is run, in order, in one folder; its output is what they show."""
    shown = "\n".join(code for language, code in BLOCKS if language == "console")
    steps = re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n?)*)", shown, flags=re.MULTILINE)
    assert steps
    for command, expected in steps:
        line = re.sub(r"\bnscma (?=[a-z])", f"{shlex.quote(sys.executable)} -m nscma_torch ", command)
        done = subprocess.run(["bash", "-c", line], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, (command, done.stderr)
        assert without_scores(done.stdout) == without_scores(expected), command


def without_scores(text: str) -> list[str]:
    """Lines with every id and decimal fraction as #: scores differ in the last digit between machines. Dates stay."""
    return [re.sub(r"\b[0-9a-f]{8,32}\b|-?\d+\.\d+", "#", line).rstrip() for line in text.strip().splitlines()]
