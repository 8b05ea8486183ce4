"""The JavaScript client is what the generator makes of the server's document, and has every operation."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from docs.clients.generate import CLIENT, document, files
from docs.clients.typescript import comment, interface, type_of, wrapped
from nscma_torch.api.operations import OPERATIONS

ROOT = Path(__file__).parents[3]


def test_the_generated_files_are_current() -> None:
    made = files(document())
    assert set(made) == {"nscma.js", "nscma.d.ts", "package.json"}
    for name, text in made.items():
        assert (CLIENT / name).read_text(encoding="utf-8") == text, f"{name} is out of date; run `make client`"


def test_every_operation_has_a_method() -> None:
    named = {one.id for one in OPERATIONS.values() if one.endpoint} | {"relations", "live", "ready", "metrics"}
    wanted = {re.sub("_(.)", lambda found: found[1].upper(), name) for name in named}
    for name in ("nscma.js", "nscma.d.ts"):
        text = (CLIENT / name).read_text(encoding="utf-8").partition("class NscmaClient")[2].partition("\n}\n")[0]
        found = re.findall(r"^  (\w+)\(", text, flags=re.MULTILINE)
        assert sorted(found) == sorted([*wanted, "constructor"]), name


def test_the_package_has_the_version_of_this_one() -> None:
    package = json.loads((CLIENT / "package.json").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert (package["version"], package["license"]) == (project["version"], project["license"])
    assert "dependencies" not in package
    assert all((CLIENT / name).is_file() for name in package["files"])


TIME = {"type": "string", "format": "date-time"}


@pytest.mark.parametrize(
    ("schema", "sent", "expected"),
    [
        ({"type": "integer"}, True, "number"),
        ({"$ref": "#/components/schemas/Fact"}, True, "Fact"),
        ({"$ref": "#/components/schemas/FactQuery-Input"}, True, "FactQueryInput"),
        ({"$ref": "#/components/schemas/FactQuery-Output"}, False, "FactQuery"),
        ({"anyOf": [TIME, {"type": "number"}, {"type": "null"}]}, True, "Time | null"),
        ({"anyOf": [TIME, {"type": "null"}]}, True, "string | Date | null"),
        (TIME, False, "string"),
        ({"enum": ["one", 'a "b"']}, False, r'"one" | "a \"b\""'),
        ({"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "null"}]}}, True, "(string | null)[]"),
        ({"type": "array", "prefixItems": [{"type": "string"}, {"type": "number"}]}, True, "[string, number]"),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, True, "{ [key: string]: number }"),
        ({"type": "object", "additionalProperties": True}, True, "{ [key: string]: unknown }"),
    ],
)
def test_types(schema: dict[str, Any], sent: bool, expected: str) -> None:
    assert type_of(schema, sent=sent) == expected


def test_an_unknown_kind_of_schema_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"no TypeScript type for the schema .*allOf"):
        type_of({"allOf": [{"type": "string"}]}, sent=True)


def test_what_may_be_left_out() -> None:
    """A request may leave out all that has a default; a response has it, unless it may be null."""
    fields = {"a": {"type": "string"}, "b": {"type": "integer", "default": 7}, "c": {"type": "null", "default": None}}
    schema = {"properties": fields, "required": ["a"]}
    assert interface("X", schema, sent=True).splitlines()[1:-1] == [
        "  a: string;",
        "  /** default: 7 */",
        "  b?: number;",
        "  c?: null;",
    ]
    assert interface("X", schema, sent=False).splitlines()[1:-1] == ["  a: string;", "  b: number;", "  c?: null;"]


def test_comments() -> None:
    assert comment("") == []
    assert comment("Ends */ here; None, True.") == ["/** Ends *\\/ here; null, true. */"]
    assert comment("One\nline.\n\nTwo.", indent="  ") == ["  /**", "   * One line.", "   *", "   * Two.", "   */"]
    assert all(len(line) <= 120 for line in [*comment("word " * 90, indent="  "), *wrapped("  x: " + "a | " * 90)])
