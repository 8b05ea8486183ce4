"""The operations of the OpenAPI document, each with a request that fits it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

LINES = "application/x-ndjson"
PUBLIC = {"live", "ready", "prove"}  # they tell nothing of anybody


@dataclass
class Operation:
    """One operation: `rights` are those that the document names."""

    id: str
    method: str
    path: str
    rights: list[str]
    params: dict[str, Any] = field(default_factory=dict)
    body: dict[str, Any] | None = None
    lines: bool = False
    takes_user: bool = False

    def at(self, ids: dict[str, str]) -> str:
        """The path, with ids in their places."""
        return self.path.format(**ids)

    def request(self, ids: dict[str, str], user: str | None = None) -> dict[str, Any]:
        """A request that fits, which names a user where one is given and the operation takes one."""
        named = {"user_id": user} if user is not None and self.takes_user else {}
        params = {name: ids.get(name, value) for name, value in self.params.items()}
        request: dict[str, Any] = {"method": self.method, "url": self.at(ids), "params": params}
        if self.lines:
            request |= {"content": '{"role": "user", "content": "One line."}\n', "headers": {"content-type": LINES}}
        if self.body is not None:
            body = {name: ids.get(name, value) for name, value in self.body.items()}
            return request | {"json": {**body, **named}}
        return request | {"params": {**params, **named}}


def operations(document: dict[str, Any]) -> Iterator[Operation]:
    """All of them."""
    for path, methods in document["paths"].items():
        for method, said in methods.items():
            rights = [right for need in said.get("security", []) for scopes in need.values() for right in scopes]
            one = Operation(said["operationId"], method.upper(), path, rights)
            queries = {each["name"]: each for each in said.get("parameters", []) if each["in"] == "query"}
            one.params = {name: sample(each["schema"], document) for name, each in queries.items() if each["required"]}
            one.takes_user = "user_id" in queries
            for kind, content in said.get("requestBody", {}).get("content", {}).items():
                one.lines = kind != "application/json"  # a file that the page reads may be lines too
                if not one.lines:
                    one.body = sample(content["schema"], document)
                    one.takes_user = "user_id" in resolved(content["schema"], document).get("properties", {})
            if one.id == "timeline":
                one.params["relation"] = "lives_in"
            if one.id == "erase":
                one.body = {"memory_id": "…"}
            if one.id in ("update", "mem0_update"):
                one.body = {"text": "Another text."}
            if one.id in ("chat_completions", "anthropic_messages"):
                one.body = {"messages": [{"role": "user", "content": "Where is my instrument?"}]}
            if one.id == "responses":
                one.body = {"input": "Where is my instrument?"}
            yield one


def resolved(schema: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    name = schema.get("$ref", "").rpartition("/")[2]
    found: dict[str, Any] = document["components"]["schemas"][name] if name else schema
    return found


def sample(schema: dict[str, Any], document: dict[str, Any]) -> Any:
    """The least that fits a schema."""
    schema = resolved(schema, document)
    if "anyOf" in schema:
        return sample(schema["anyOf"][0], document)
    if "enum" in schema:
        return schema["enum"][0]
    match schema.get("type"):
        case "object":
            required = schema.get("required", [])
            return {name: sample(schema["properties"][name], document) for name in required}
        case "array":
            return [sample(schema["items"], document)]
        case "boolean":
            return True
        case "integer" | "number":
            return 1
    return "some text"
