"""Values that fit a JSON schema, of the kinds that the OpenAPI document has; an unknown kind fails."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st

from tests.server.operations import resolved

_TEXTS = st.text(max_size=30) | st.sampled_from(["Where do I live?", "ana", "I live in Porto.", "好的", "x" * 2000])
_KEYS = st.text(max_size=8)
_ANY: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | _TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=3),
    max_leaves=5,
)


def fitting(schema: dict[str, Any], document: dict[str, Any], depth: int = 0) -> st.SearchStrategy[Any]:
    """Such values; those of schemas that name themselves end after a few turns."""
    schema = resolved(schema, document)
    choices = schema.get("anyOf", schema.get("oneOf"))
    if choices is not None:
        return st.one_of([fitting(one, document, depth) for one in choices])
    if "enum" in schema or "const" in schema:
        return st.sampled_from(schema.get("enum", [schema.get("const")]))
    match schema.get("type"):
        case None:
            return _ANY
        case "object":
            return _objects(schema, document, depth)
        case "array":
            most = 0 if depth > 3 else min(3, schema.get("maxItems", 3))
            least = schema.get("minItems", 0)
            return st.lists(
                fitting(schema.get("items", {}), document, depth + 1), min_size=least, max_size=max(least, most)
            )
        case "string":
            return _strings(schema)
        case "integer":
            return st.integers(*_bounds(schema, 1, -(2**70), 2**70))
        case "number":
            least, most = _bounds(schema, 1e-9, None, None)
            return st.floats(least, most, allow_nan=False, allow_infinity=False)
        case "boolean":
            return st.booleans()
        case "null":
            return st.none()
    raise AssertionError(f"a schema of an unknown kind: {schema}")


def _objects(schema: dict[str, Any], document: dict[str, Any], depth: int) -> st.SearchStrategy[Any]:
    known = schema.get("properties", {})
    if not known:
        return st.dictionaries(_KEYS, _ANY, max_size=3)
    required = schema.get("required", [])
    own = {name: fitting(one, document, depth + 1) for name, one in known.items() if depth < 4 or name in required}
    needed = {name: one for name, one in own.items() if name in required}
    return st.fixed_dictionaries(needed, optional={name: one for name, one in own.items() if name not in required})


def _strings(schema: dict[str, Any]) -> st.SearchStrategy[str]:
    if schema.get("format") == "date-time":
        times = st.datetimes(timezones=st.just(UTC)) | st.just(datetime(2026, 1, 1, tzinfo=UTC))
        return times.map(datetime.isoformat)
    if schema.get("format") == "date":
        return st.dates().map(str)
    if "pattern" in schema:
        return st.from_regex(schema["pattern"], fullmatch=True)
    least, most = schema.get("minLength", 0), schema.get("maxLength", 2000)
    return _TEXTS.filter(lambda text: least <= len(text) <= most)


def _bounds(schema: dict[str, Any], step: Any, least: Any, most: Any) -> tuple[Any, Any]:
    least = schema.get("minimum", schema["exclusiveMinimum"] + step if "exclusiveMinimum" in schema else least)
    return least, schema.get("maximum", schema["exclusiveMaximum"] - step if "exclusiveMaximum" in schema else most)
