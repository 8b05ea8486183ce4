"""TypeScript types of JSON schemas, as the OpenAPI document has them; an unknown kind of schema is an error."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator
from typing import Any

Schema = dict[str, Any]
WIDTH = 120
_WHOLE: dict[str, Any] = {"break_long_words": False, "break_on_hyphens": False}
_VALUES = {"None": "null", "True": "true", "False": "false"}
_PYTHON = re.compile(r"\b(?:None|True|False)\b")
_PLAIN = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}


def name_of(schema: Schema) -> str:
    """Return the name of the interface that a schema refers to; empty if it refers to none."""
    name = str(schema.get("$ref", "")).rpartition("/")[2]
    return name.removesuffix("-Output").replace("-Input", "Input")


def references(schema: Any) -> Iterator[str]:
    """Yield the names of all interfaces in a schema, as often as they stand in it."""
    if isinstance(schema, dict):
        if name := name_of(schema):
            yield name
        for inner in schema.values():
            yield from references(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from references(inner)


def type_of(schema: Schema, *, sent: bool) -> str:
    """Return the type of a schema's values. Raises `ValueError` for an unknown kind of schema.

    Args:
        sent: the client sends the value, so a time may also be a `Date`.
    """
    if name := name_of(schema):
        return name
    if "anyOf" in schema:
        kinds = " | ".join(dict.fromkeys(type_of(one, sent=sent) for one in schema["anyOf"]))
        return kinds.replace("string | Date | number", "Time")
    if "enum" in schema:
        return " | ".join(json.dumps(value) for value in schema["enum"])
    kind = schema.get("type")
    if kind == "array":
        return _array(schema, sent=sent)
    if kind == "object" and "properties" not in schema:
        inner = schema.get("additionalProperties")
        values = type_of(inner, sent=sent) if isinstance(inner, dict) and inner else "unknown"
        return f"{{ [key: string]: {values} }}"
    if kind == "string" and schema.get("format") == "date-time" and sent:
        return "string | Date"
    if kind in _PLAIN:
        return _PLAIN[kind]
    raise ValueError(f"no TypeScript type for the schema {json.dumps(schema)[:200]}; add its kind to type_of")


def _array(schema: Schema, *, sent: bool) -> str:
    if "prefixItems" in schema:
        return "[" + ", ".join(type_of(one, sent=sent) for one in schema["prefixItems"]) + "]"
    inner = type_of(schema["items"], sent=sent)
    return f"({inner})[]" if " | " in inner else f"{inner}[]"


def interface(name: str, schema: Schema, *, sent: bool) -> str:
    """Return the declaration of an object's interface.

    A response has every field, except one that may be null and has a default: it may be left out.
    """
    needed = set(schema.get("required", []))
    lines = [*comment(schema.get("description", "")), f"export interface {name} {{"]
    for key, one in schema.get("properties", {}).items():
        kind = type_of(one, sent=sent)
        optional = key not in needed and (sent or kind.endswith("null"))
        lines += comment(_field(one, sent=sent), indent="  ")
        lines += wrapped(f"  {key}{'?' * optional}: {kind};")
    if schema.get("additionalProperties") is True:
        lines.append("  [key: string]: unknown;")
    return "\n".join([*lines, "}"])


def _field(schema: Schema, *, sent: bool) -> str:
    """Return a field's description, in a request with its default unless that is empty, false or zero."""
    told, default = schema.get("description", ""), schema.get("default")
    if not sent or not default:
        return str(told)
    return f"{told}{'; ' * bool(told)}default: {json.dumps(default)}"


def comment(text: str, indent: str = "") -> list[str]:
    """Return the lines of a doc comment with a text's paragraphs; none for an empty text."""
    said = _PYTHON.sub(lambda word: _VALUES[word[0]], text.replace("*/", "*\\/"))
    paragraphs = [" ".join(part.split()) for part in said.split("\n\n") if part]
    if len(paragraphs) < 2 and len(indent) + len(said) + len("/**  */") <= WIDTH:
        return [f"{indent}/** {one} */" for one in paragraphs]
    lines: list[str] = []
    for one in paragraphs:
        lines += ["", *textwrap.wrap(one, WIDTH - len(indent) - len(" * "), **_WHOLE)]
    return [f"{indent}/**", *(f"{indent} * {line}".rstrip() for line in lines[1:]), f"{indent} */"]


def wrapped(line: str) -> list[str]:
    """Return a declaration as lines of at most `WIDTH` characters, broken at spaces."""
    indent = " " * (len(line) - len(line.lstrip()) + 2)
    return textwrap.wrap(line, WIDTH, subsequent_indent=indent, **_WHOLE)
