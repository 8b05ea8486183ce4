"""Generate the JavaScript client from the server's OpenAPI document (`make client`).

Writes `nscma.js`, `nscma.d.ts` and `package.json` into `docs/clients/javascript`. What all methods share is in
`template.js` and `template.d.ts`.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from docs.clients.method import Method
from docs.clients.typescript import Schema, interface, name_of, references

FOLDER = Path(__file__).parent
CLIENT = FOLDER / "javascript"
_MARK = re.compile(r"^ *// generated: (\w+)$", flags=re.MULTILINE)
_LEFT_OUT = frozenset({"mem0"})  # for mem0's own clients


def document() -> Schema:
    """Return the OpenAPI document of a server without further groups of routes (memory proxy, page)."""
    from nscma_torch.api.memory import Memory
    from nscma_torch.server.app import create_app
    from nscma_torch.server.app_context import ServerSettings

    config = {"device": "cpu", "embedder": {"model": "hash"}, "reading": {"model": "none"}}
    with tempfile.TemporaryDirectory() as folder, Memory(Path(folder) / "store.db", config=config) as memory:
        return create_app(memory, ServerSettings(Path(folder) / "tokens")).openapi()


def methods_of(described: Schema) -> list[Method]:
    """Return the client's methods, in the document's order."""
    return [
        Method(verb.upper(), path, one)
        for path, verbs in described["paths"].items()
        for verb, one in verbs.items()
        if not _LEFT_OUT & set(one["tags"])
    ]


def files(described: Schema) -> dict[str, str]:
    """Return the text of each generated file."""
    methods = methods_of(described)
    known = _named(methods, described)
    parts = {
        "methods": "\n\n".join(method.code() for method in methods),
        "declarations": "\n\n".join(method.declaration(known) for method in methods),
        "interfaces": "\n\n".join(_interfaces(methods, known)),
    }
    return {
        "nscma.js": _filled(FOLDER / "template.js", parts),
        "nscma.d.ts": _filled(FOLDER / "template.d.ts", parts),
        "package.json": json.dumps(_package(described["info"]["version"]), indent=2) + "\n",
    }


def _filled(template: Path, parts: dict[str, str]) -> str:
    return _MARK.sub(lambda mark: parts[mark[1]], template.read_text(encoding="utf-8"))


def _package(version: str) -> Schema:
    """Return npm's description of the package."""
    return {
        "name": "nscma-client",
        "version": version,
        "description": "Client of the NSCMA memory server",
        "license": "Apache-2.0",
        "type": "module",
        "sideEffects": False,
        "engines": {"node": ">=18"},
        "exports": {".": {"types": "./nscma.d.ts", "default": "./nscma.js"}},
        "types": "./nscma.d.ts",
        "files": ["nscma.js", "nscma.d.ts"],
    }


def _named(methods: Iterable[Method], described: Schema) -> dict[str, Schema]:
    """Return all schemas by the names of their interfaces, also those that stand in a response."""
    known = {name_of({"$ref": name}): one for name, one in described["components"]["schemas"].items()}
    inside = (method.result[1] for method in methods)
    return known | {one["title"]: one for one in inside if "properties" in one}


def _interfaces(methods: list[Method], known: dict[str, Schema]) -> Iterator[str]:
    """Yield the interfaces of all that methods send and return."""
    sent = _reached((method.body for method in methods), known)
    roots = (_root(method.result[1]) for method in methods)
    used = sent | _reached([{"$ref": "Problem"}, *roots], known)
    queries = {method.params: method.query for method in methods if method.params}
    for name, schema in queries.items():
        yield interface(name, schema, sent=True)
    for name, schema in known.items():
        if name in used:
            yield interface(name, schema, sent=name in sent)


def _root(schema: Schema) -> Schema:
    return {"$ref": schema["title"]} if "properties" in schema else schema


def _reached(roots: Iterable[Schema], known: dict[str, Schema]) -> set[str]:
    """Return the names of all interfaces that the values of these schemas may hold."""
    found: set[str] = set()
    waiting = [name for root in roots for name in references(root)]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += references(known[name])
    return found


def main() -> None:
    """Write the generated files."""
    for name, text in files(document()).items():
        (CLIENT / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
