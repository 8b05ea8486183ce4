"""Methods of the JavaScript client, each from one operation of the OpenAPI document."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from docs.clients.typescript import Schema, comment, type_of, wrapped

JSON, LINES = "application/json", "application/x-ndjson"
_SCOPES = {  # names of interfaces that many methods share, by their fields
    ("user_id",): "UserParams",
    ("user_id", "agent_id"): "AgentParams",
    ("user_id", "agent_id", "run_id"): "RunParams",
}


def camel(name: str) -> str:
    """Return a name in JavaScript's spelling: `get_all` becomes `getAll`."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


@dataclass(frozen=True)
class Method:
    """One operation as a method.

    Args:
        verb: the HTTP method.
        path: the path, with the names of its arguments in braces.
        operation: the document's description.
    """

    verb: str
    path: str
    operation: dict[str, Any]

    @property
    def name(self) -> str:
        """Return the method's name, which is the operation's."""
        return camel(self.operation["operationId"])

    @property
    def places(self) -> list[str]:
        """Return the names of the arguments in the path."""
        return [camel(one["name"]) for one in self._parameters("path")]

    @property
    def query(self) -> Schema:
        """Return the query's parameters as the schema of an object, without null, which a query cannot say."""
        found = self._parameters("query")
        fields = {one["name"]: _without_null(one["schema"]) for one in found}
        return {"properties": fields, "required": [one["name"] for one in found if one["required"]]}

    @property
    def params(self) -> str:
        """Return the name of the interface of the query's parameters; empty if there are none."""
        names = tuple(self.query["properties"])
        return _SCOPES.get(names, f"{self.name[0].upper()}{self.name[1:]}Params") if names else ""

    @property
    def body(self) -> Schema:
        """Return the schema of a JSON body; empty if there is none."""
        content: Schema = self.operation.get("requestBody", {}).get("content", {})
        return dict(content.get(JSON, {}).get("schema", {}))

    @property
    def sends_lines(self) -> bool:
        """Return True if the body is JSON lines."""
        return LINES in self.operation.get("requestBody", {}).get("content", {})

    @property
    def result(self) -> tuple[str, Schema]:
        """Return the media type of a successful response and its schema; both are empty for plain text."""
        content = self._success[1].get("content", {})
        return next(((kind, one["schema"]) for kind, one in content.items()), ("", {}))

    @property
    def _success(self) -> tuple[str, Schema]:
        return next((status, one) for status, one in self.operation["responses"].items() if status.startswith("2"))

    def _parameters(self, place: str) -> list[Schema]:
        return [one for one in self.operation.get("parameters", []) if one["in"] == place]

    def code(self) -> str:
        """Return the method in JavaScript."""
        named = self.places
        possible = {"lines": self.sends_lines, "body": self.body, "params": self.params}
        given = [name for name, used in possible.items() if used]
        quote = "`" if named else '"'
        path = re.sub(r"{(\w+)}", lambda place: f"${{segment({camel(place[1])})}}", self.path)
        parts = ", ".join([*given, *self._accepted()])
        call = f'this.#{self._reader()}("{self.verb}", {quote}{path}{quote}, {{ {parts} }}, options)'
        arguments = ["body = {}" if name == "body" else name for name in (*named, *given, "options")]
        lines = [*self._comment(), f"  {self.name}({', '.join(arguments)}) {{"]
        return "\n".join([*lines, f"    return {call.replace('{  }', '{}')};", "  }"])

    def declaration(self, bodies: dict[str, Schema]) -> str:
        """Return the method's declaration in TypeScript.

        Args:
            bodies: the schemas that the document names, by the names of their interfaces.
        """
        arguments = [f"{camel(one['name'])}: {type_of(one['schema'], sent=True)}" for one in self._parameters("path")]
        if self.sends_lines:
            arguments.append("lines: Lines")
        if self.body:
            kind = type_of(self.body, sent=True)
            arguments.append(f"body{_mark(bodies[kind])}: {kind}")
        if self.params:
            arguments.append(f"params{_mark(self.query)}: {self.params}")
        arguments.append("options?: RequestOptions")
        line = f"  {self.name}({', '.join(arguments)}): {self._returned()};"
        return "\n".join([*self._comment(), *wrapped(line)])

    def _reader(self) -> str:
        """Return the name of the client's function that reads the response."""
        kind, schema = self.result
        if kind == LINES:
            return "lines" if schema.get("type") == "string" else "objects"
        return "json" if kind == JSON else "text"

    def _returned(self) -> str:
        kind, schema = self.result
        if kind == LINES:
            return f"AsyncGenerator<{schema['title'] if 'properties' in schema else 'string'}, void, undefined>"
        if kind == JSON:
            return f"Promise<{type_of(schema, sent=False)}>"
        return "Promise<void>" if self._success[0] == "204" else "Promise<string>"

    def _accepted(self) -> Iterator[str]:
        """Yield the option for the statuses of errors that have the result as their body and no problem."""
        responses = self.operation["responses"].items()
        found = [status for status, one in responses if status[0] in "45" and JSON in one.get("content", {})]
        if found:
            yield f"accepted: [{', '.join(found)}]"

    def _comment(self) -> list[str]:
        rights = [right for need in self.operation.get("security", []) for one in need.values() for right in one]
        right = f"; needs the right `{'`, `'.join(rights)}`" if rights else "; needs no token"
        told = f"{self.operation['description']}\n\n`{self.verb} {self.path}`{right}"
        if self.result[0] == LINES:
            thrown = "; an `error` in a line is thrown" if self._reader() == "objects" else ""
            told += f"\n\nThe request is sent when the first line is asked for{thrown}."
        return comment(told, indent="  ")


def _mark(schema: Schema) -> str:
    """Return the mark of an argument that may be left out, as all of its fields may."""
    return "" if schema.get("required") else "?"


def _without_null(schema: Schema) -> Schema:
    kinds = [one for one in schema.get("anyOf", []) if one.get("type") != "null"]
    return {**schema, "anyOf": kinds} if kinds else schema
