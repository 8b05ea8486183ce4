"""Generated parts of the pages: commands, JSON output, configuration keys, operations and public Python names.

A page holds `<!-- generated: NAME -->`; the build puts the part there. `NAME` is a key of `PARTS`.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

MARK = re.compile(r"^<!-- generated: ([\w-]+) -->$", flags=re.MULTILINE)
JSON_OUTPUT = Path(__file__).parent / "json_output.toml"
COMMON = {"help", "json", "store", "config", "user", "agent", "run", "token", "no_server"}  # told once, above the list


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Fill in the generated parts of a page (called by mkdocs)."""
    return MARK.sub(lambda mark: PARTS[mark[1]](), markdown)


def table(*columns: str, rows: Iterator[list[str]] | list[list[str]]) -> str:
    """Format a Markdown table."""
    lines = [list(columns), ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |" for line in lines)


def all_commands() -> Iterator[tuple[str, Any]]:
    """All commands of `nscma` with their full names; those of a group follow it."""
    from typer.main import get_command

    from nscma_torch.cli import app

    for name, command in get_command(app).commands.items():  # type: ignore[attr-defined]
        inner = getattr(command, "commands", {})
        if not inner or command.invoke_without_command:
            yield name, command
        yield from ((f"{name} {own}", one) for own, one in inner.items())


def commands() -> str:
    """Generate one section for each command: its help, arguments and options."""
    parts = []
    for name, command in all_commands():
        own = [one for one in command.params if one.name not in COMMON]
        words = [one.metavar or one.name.upper() for one in own if one.param_type_name == "argument"]
        rows = [[option_names(one), one.help or "", default_of(one)] for one in own]
        usage = " ".join(["nscma", name, *words])
        parts.append(f"### nscma {name}\n\n`{usage}`\n\n{command.help}")
        if rows:
            parts.append(table("option", "meaning", "default", rows=rows))
    return "\n\n".join(parts)


def option_names(parameter: Any) -> str:
    """The spellings of an option, or the name of an argument."""
    if parameter.param_type_name == "argument":
        return f"`{parameter.metavar or parameter.name.upper()}`"
    names = [*parameter.opts, *parameter.secondary_opts]
    return ", ".join(f"`{name}`" for name in names)


def default_of(parameter: Any) -> str:
    """The default of an option as a table shows it; empty for flags that are off and options without one."""
    value = parameter.default
    if parameter.required:
        return "required"
    return "" if value is None or value is False or callable(value) else f"`{value}`"


def json_output() -> str:
    """Generate the tables of `--json`: the object of each command, and the keys of each object."""
    data = tomllib.loads(JSON_OUTPUT.read_text(encoding="utf-8"))
    printed = [[f"`{name}`", f"`{kind}`", *(note or [""])] for name, (kind, *note) in data["commands"].items()]
    parts = [table("command", "prints", "", rows=printed)]
    for name, keys in data["objects"].items():
        rows = [[f"`{key}`", kind, *(note or [""])] for key, (kind, *note) in keys.items()]
        parts.append(f"#### {name}\n\n" + table("key", "type", "meaning", rows=rows))
    return "\n\n".join(parts)


def configuration() -> str:
    """Generate one table for each section of the configuration."""
    from nscma_torch.core.config import Config

    return "\n\n".join(section_tables(Config(), ""))


def section_tables(section: Any, name: str) -> Iterator[str]:
    """The tables of a section and of the sections inside it."""
    from nscma_torch.core.config import Section

    fields = type(section).model_fields
    inner = [key for key in fields if isinstance(getattr(section, key), Section)]
    rows = [
        [f"`{key}`", f"`{json.dumps(getattr(section, key), ensure_ascii=False)}`", field.description or ""]
        for key, field in fields.items()
        if key not in inner
    ]
    title = f"### [{name}]\n\n{(type(section).__doc__ or '').strip()}\n\n" if name else ""
    if rows:
        yield title + table("key", "default", "meaning", rows=rows)
    for key in inner:
        yield from section_tables(getattr(section, key), f"{name}.{key}" if name else key)


def operations() -> str:
    """Generate one table of operations for each group: endpoint, MCP tool or resource, and right."""
    from nscma_torch.api.operations import GROUPS

    parts = []
    for group, found in GROUPS.items():
        rows = [
            [f"`{one.name}`", f"`{one.verb} {one.path}`", f"`{one.mcp}`" if one.mcp else "", right_of(one)]
            for one in found
            if one.endpoint
        ]
        parts.append(f"#### {group.capitalize()}\n\n" + table("`Memory`", "REST", "MCP", "right", rows=rows))
    return "\n\n".join(parts)


def right_of(operation: Any) -> str:
    """The right that an operation needs, and what else."""
    further = f"; {operation.unless_dry_run} without `dry_run`" if operation.unless_dry_run else ""
    return operation.right + further + (", any user" if operation.store else "")


def python_api() -> str:
    """Generate the reference of every public name from its docstring (by mkdocstrings)."""
    import nscma_torch

    grouped = {name for names in GROUPS.values() for name in names}
    groups = {**GROUPS, "Records and results": sorted(nscma_torch._HOME.keys() - grouped)}
    return "\n\n".join(
        f"## {title}\n\n" + "\n\n".join(f"::: {nscma_torch._HOME[name]}.{name}" for name in names)
        for title, names in groups.items()
    )


GROUPS = {  # all other public names are records
    "Memory": ("Memory", "AsyncMemory"),
    "Conversations": ("Controller", "ControllerAnswer", "Learnt"),
    "Configuration and errors": ("Config", "load_config", "Relation", "Schema", "load_relations", "NscmaError"),
    "PyTorch modules": (
        *("SurpriseGate", "SurpriseGateState", "Gating", "NeuralMemory", "NeuralMemoryState"),
        *("RetrievalMemory", "Recalled", "attach_memory", "AttachedMemory"),
    ),
    "Graph operations": (
        *("knn_graph", "ego_split", "update_split", "PersonaGraph", "label_propagation", "personalized_pagerank"),
        *("EgoSplit", "LabelPropagation"),
    ),
}
PARTS: dict[str, Callable[[], str]] = {
    "commands": commands,
    "json-output": json_output,
    "configuration": configuration,
    "operations": operations,
    "python-api": python_api,
}
