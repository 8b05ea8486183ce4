"""/docs: the OpenAPI document as a plain page, without scripts or external requests."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.responses import HTMLResponse

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
_STYLE = """
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
summary { cursor: pointer; padding: .2rem 0 } code { font-size: .95em }
table { border-collapse: collapse; margin: .5rem 0 }
td, th { text-align: left; vertical-align: top; padding: .1rem .8rem .1rem 0 }
"""


def router_of(app: FastAPI) -> APIRouter:
    """Return the router that serves an application's documentation page."""
    router = APIRouter()

    @router.get("/docs", include_in_schema=False)
    async def docs() -> HTMLResponse:
        headers = {"content-security-policy": _POLICY, "x-content-type-options": "nosniff"}
        return HTMLResponse("".join(_page(app.openapi())), headers=headers)

    return router


def _page(document: dict[str, Any]) -> Iterator[str]:
    title = escape(f"{document['info']['title']} {document['info']['version']}")
    yield "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
    yield f"<title>{title}</title><style>{_STYLE}</style><h1>{title}</h1>"
    yield f"<p>{escape(document['info'].get('description', ''))} <a href=/openapi.json>openapi.json</a></p>"
    operations = [(path, method, one) for path, many in document["paths"].items() for method, one in many.items()]
    for tag in dict.fromkeys(one["tags"][0] for _, _, one in operations):
        yield f"<h2>{escape(tag)}</h2>"
        for path, method, one in operations:
            if one["tags"][0] == tag:
                yield from _operation(path, method, one, document)
    yield "</html>"


def _operation(path: str, method: str, operation: dict[str, Any], document: dict[str, Any]) -> Iterator[str]:
    rights = ", ".join(right for need in operation.get("security", []) for one in need.values() for right in one)
    yield f"<details><summary><code>{method.upper()} {escape(path)}</code> {escape(rights)}</summary>"
    yield f"<p>{escape(operation.get('description', ''))}</p>"
    rows = [(one["name"], one["schema"], one["required"]) for one in operation.get("parameters", [])]
    for content in operation.get("requestBody", {}).get("content", {}).values():
        body = _resolved(content["schema"], document)
        required = body.get("required", [])
        rows += [(name, schema, name in required) for name, schema in body.get("properties", {}).items()]
    if rows:
        yield "<table>"
        for name, schema, needed in rows:
            mark = " (required)" if needed else ""
            yield f"<tr><td><code>{escape(name)}</code>{mark}<td>{escape(_kind(schema))}"
            yield f"<td>{escape(schema.get('description', ''))}</tr>"
        yield "</table>"
    yield "</details>"


def _resolved(schema: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    name = schema.get("$ref", "").rpartition("/")[2]
    return document["components"]["schemas"][name] if name else schema


def _kind(schema: dict[str, Any]) -> str:
    """Describe a JSON schema's type in words."""
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_kind(one) for one in schema["anyOf"] if one.get("type") != "null"))
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    if "enum" in schema:
        return " | ".join(map(str, schema["enum"]))
    return str(schema.get("type", "any"))
