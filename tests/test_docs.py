"""The documentation is true: commands, options, names, configuration keys, and examples with their output."""

from __future__ import annotations

import json
import pkgutil
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib import util
from pathlib import Path
from types import ModuleType

import pytest
from typer.testing import CliRunner

import nscma_torch
from nscma_torch.cli import app
from nscma_torch.core.config import Config, Section, default_toml, load_config
from nscma_torch.text.files.json_messages import parse_message

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = {path: path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs").glob("*.md"))}
ELSEWHERE = {"integrations.md", "migration.md", "extending.md"}  # their examples run in tests of their own
DOCUMENTS = (README, *(text for path, text in PAGES.items() if path.name not in ELSEWHERE))
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", "\n".join(DOCUMENTS), flags=re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def hooks() -> ModuleType:
    """docs/hooks.py, which generates parts of the pages."""
    spec = util.spec_from_file_location("docs_hooks", ROOT / "docs" / "hooks.py")
    assert spec is not None and spec.loader is not None
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_front_page_is_one_screen() -> None:
    assert len(README.splitlines()) <= 90 and len(README.split()) <= 720


def test_every_command_explains_itself(hooks: ModuleType) -> None:
    for name, command in hooks.all_commands():
        assert len(command.help.split()) >= 4, name
        for parameter in command.params:
            assert parameter.name == "help" or parameter.help, f"{name}: {parameter.name} has no help"


def test_commands_in_documents_exist(hooks: ModuleType) -> None:
    """Every `nscma COMMAND --option` of a page names a command with that option."""
    known = {
        name: {word for one in command.params for word in (*one.opts, *one.secondary_opts)}
        for name, command in hooks.all_commands()
    }
    lines = list(command_lines())
    assert len(lines) > 40
    for line in lines:
        words = line.split()
        name = next((" ".join(words[:size]) for size in (2, 1) if " ".join(words[:size]) in known), None)
        assert name is not None, f"nscma {line}: no such command"
        for option in re.findall(r"(?<=\s)--?[a-z][\w-]*", line):
            assert option in known[name] | {"--help"}, f"nscma {line}: no option {option}"


def command_lines() -> Iterator[str]:
    """Every call of `nscma` in a block or in code marks, without the program's name."""
    for text in (README, *PAGES.values()):
        for _, block in re.findall(r"^```(sh|console)\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL):
            yield from re.findall(r"^(?:\$ )?(?:\S*/)?nscma ([a-z][^#\n]*)", block, flags=re.MULTILINE)
        yield from re.findall(r"`nscma ([a-z][^`]*)`", text)


def test_generated_parts(hooks: ModuleType) -> None:
    assert set(hooks.MARK.findall("\n".join(PAGES.values()))) == set(hooks.PARTS)
    parts = {name: part() for name, part in hooks.PARTS.items()}
    names = set(re.findall(r"^::: [\w.]+\.(\w+)$", parts["python-api"], flags=re.MULTILINE))
    assert names == set(nscma_torch.__all__) - {"__version__"}
    assert "### nscma bulk add\n" in parts["commands"] and "| `--idempotency" not in parts["commands"]
    assert set(re.findall(r"^### nscma (.+)$", parts["commands"], flags=re.MULTILINE)) == {
        name for name, _ in hooks.all_commands()
    }
    assert "| `search` | `POST /v1/search` | `recall` | read |" in parts["operations"]
    sections = set(re.findall(r"^### \[(.+)\]$", parts["configuration"], flags=re.MULTILINE))
    assert sections == set(re.findall(r"^\[(.+)\]$", default_toml(), flags=re.MULTILINE))


def test_mcp_tools_name_their_rights() -> None:
    from nscma_torch.api.operations import OPERATIONS

    rows = re.findall(r"^\| `(\w+)` \| ([^|]+) \| (?:yes|no) \|", PAGES[ROOT / "docs" / "mcp.md"], flags=re.MULTILINE)
    needed: dict[str, set[str]] = {}
    for operation in OPERATIONS.values():
        if operation.mcp and "://" not in operation.mcp:
            needed.setdefault(operation.mcp, set()).add(operation.right)
    assert {tool: set(re.findall(r"\b(?:read|write|erase)\b", rights)) for tool, rights in rows} == needed


def test_every_public_name_has_a_docstring() -> None:
    for name in set(nscma_torch.__all__) - {"__version__"}:
        assert (getattr(nscma_torch, name).__doc__ or "").strip(), f"{name} has no docstring"
    for owner in (nscma_torch.Memory, nscma_torch.AsyncMemory):
        for name, member in vars(owner).items():
            if callable(member) and not name.startswith("_"):
                assert member.__doc__, f"{owner.__name__}.{name} has no docstring"


def test_the_steps_of_the_architecture_exist() -> None:
    """Functions named from `nscma_torch` downwards, such as `ingest.writer.Writer.add`."""
    page = PAGES[ROOT / "docs/extending.md"].partition("## How to add")[0]
    steps = [name for name in re.findall(r"`([a-z_]+(?:\.\w+){2,})`", page) if not name.endswith((".py", ".toml"))]
    assert len(steps) > 20
    for step in steps:
        assert callable(pkgutil.resolve_name(f"nscma_torch.{step}")), step


def test_every_config_key_says_what_it_is() -> None:
    def check(model: type[Section]) -> None:
        for name, field in model.model_fields.items():
            if isinstance(field.default, Section):
                assert (type(field.default).__doc__ or "").strip(), name
                check(type(field.default))
            else:
                assert field.description and field.description.endswith((".", "…")), f"{model.__name__}.{name}"

    check(Config)


def test_keys_in_documents_exist() -> None:
    """Every `section.key` in code marks is a key of the configuration."""
    known = {f"{section}.{key}" for section, key in keys_of(Config(), "")}
    sections = {key.rpartition(".")[0] for key in known} - {""}
    for path, text in PAGES.items():
        for named in re.findall(r"`([a-z_]+(?:\.[a-z_]+)+)(?: = [^`]*)?`", text):
            if named.rpartition(".")[0] in sections:
                assert named in known, f"{path.name}: no key {named}"


def keys_of(section: Section, name: str) -> Iterator[tuple[str, str]]:
    for key in type(section).model_fields:
        value = getattr(section, key)
        if isinstance(value, Section):
            yield from keys_of(value, f"{name}.{key}" if name else key)
        else:
            yield name, key


def test_default_toml_equals_the_defaults() -> None:
    assert (ROOT / "configs" / "default.toml").read_text(encoding="utf-8") == default_toml()


CONFIGURATIONS = sorted(set((ROOT / "configs").glob("*.toml")) - {ROOT / "configs" / "relations.toml"})


@pytest.mark.parametrize("path", CONFIGURATIONS, ids=lambda path: path.name)
def test_shipped_configurations_load(path: Path) -> None:
    config = load_config(path)
    if path.name == "default.toml":
        assert config == Config()


@pytest.mark.parametrize("code", [code for language, code in BLOCKS if language == "toml"])
def test_documented_configurations_load(code: str) -> None:
    assert load_config(tomllib.loads(code)) != Config()


def test_documented_json(hooks: ModuleType) -> None:
    """A message of a page can be added, and a client can start the server that a page configures."""
    values = [json.loads(code) for language, code in BLOCKS if language == "json"]
    [server] = [value["mcpServers"]["nscma"] for value in values if "mcpServers" in value]
    [message] = [parse_message(value) for value in values if "role" in value]
    assert (message.name, message.session, message.metadata) == ("Ana", "monday", {})
    command = dict(hooks.all_commands())[server["args"][0]]
    assert not {word for word in server["args"] if word.startswith("-")} - {
        name for one in command.params for name in one.opts
    }


# Runs each block of a list in a folder of its own, and prints what each has printed.
PROGRAM = """
import contextlib, io, json, os, sys
printed = []
for number, code in enumerate(json.load(sys.stdin)):
    os.mkdir(str(number))
    with contextlib.chdir(str(number)), contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile(code, f"<block {number}>", "exec"), {"__name__": "__main__"})
    printed.append(out.getvalue())
print(json.dumps(printed))
"""


def test_documented_python_runs(tmp_path: Path) -> None:
    blocks = [code for language, code in BLOCKS if language == "python"]
    command, given = [sys.executable, "-c", PROGRAM], json.dumps(blocks)
    done = subprocess.run(command, cwd=tmp_path, input=given, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for code, printed in zip(blocks, json.loads(done.stdout), strict=True):
        shown = re.findall(r"# → (.*)", code)
        assert without_scores(printed) == without_scores("\n".join(shown)), code


def test_the_console_example_is_real(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each `$ nscma …` of README and quick start is run, in order, in one folder; the output is as shown."""
    monkeypatch.chdir(tmp_path)
    assert not any("```console" in text for path, text in PAGES.items() if path.name != "index.md")
    pages = README + PAGES[ROOT / "docs" / "index.md"]
    shown = "\n".join(re.findall(r"^```console\n(.*?)^```", pages, flags=re.MULTILINE | re.DOTALL))
    steps = re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n?)*)", shown, flags=re.MULTILINE)
    assert steps
    for command, expected in steps:
        program, *arguments = shlex.split(command)
        done = CliRunner().invoke(app, arguments)
        assert (program, done.exit_code) == ("nscma", 0), (command, done.output)
        assert without_scores(done.stdout) == without_scores(expected), command


def without_scores(text: str) -> list[str]:
    """Lines with every id and decimal fraction as #: scores differ in the last digit between machines. Dates stay."""
    return [re.sub(r"\b[0-9a-f]{8,32}\b|-?\d+\.\d+", "#", line).rstrip() for line in text.strip().splitlines()]
