"""Errors are of mem0's kinds, and nothing is stored then."""

from __future__ import annotations

import pytest

from nscma_torch.compat.mem0 import exceptions
from nscma_torch.core.errors import NscmaError

ANA = {"user_id": "ana"}


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda m: m.add("x"), exceptions.ValidationError, "At least one of 'user_id', 'agent_id', or 'run_id'"),
        (lambda m: m.add(5, **ANA), exceptions.ValidationError, "messages must be str, dict, or list"),
        (lambda m: m.add(["x"], **ANA), exceptions.ValidationError, "messages must be str, dict, or list"),
        (lambda m: m.add("x", memory_type="y", **ANA), exceptions.ValidationError, "procedural_memory"),
        (lambda m: m.add("x", user_id=" "), ValueError, "cannot be empty"),
        (lambda m: m.add("x", user_id="a b"), ValueError, "cannot contain whitespace"),
        (lambda m: m.add("x", expiration_date="soon", **ANA), ValueError, "YYYY-MM-DD"),
        (lambda m: m.add("x", expiration_date=5, **ANA), ValueError, "YYYY-MM-DD"),
        (lambda m: m.add("x", timestamp="soon", **ANA), ValueError, "not a time"),
        (lambda m: m.add("x", metadata={"a": {1}}, **ANA), ValueError, "JSON"),
        (lambda m: m.add("x", metadata=["a"], **ANA), ValueError, "metadata must be a dict"),
        (lambda m: m.add([{"role": "user", "content": 5}], **ANA), ValueError, "content"),
        (lambda m: m.add([{"content": "x"}], **ANA), ValueError, "role"),
        (lambda m: m.add([{"role": "user", "content": "x"}, {"role": "x", "content": "y"}], **ANA), ValueError, "role"),
        (lambda m: m.search("x"), ValueError, "filters must contain at least one of"),
        (lambda m: m.search("x", filters={"a": 1}), ValueError, "filters must contain at least one of"),
        (lambda m: m.search("x", filters=["user_id"]), ValueError, "filters must be a dict"),
        (lambda m: m.search("x", filters={"user_id": "*"}), ValueError, "limited to one user"),
        (lambda m: m.search("x", filters=ANA, user_id="bob"), ValueError, "give one of them"),
        (lambda m: m.search("  ", filters=ANA), ValueError, "Invalid query"),
        (lambda m: m.search(None, filters=ANA), ValueError, "Invalid query"),
        (lambda m: m.search("x", filters=ANA, threshold=2), ValueError, "Invalid threshold"),
        (lambda m: m.search("x", filters=ANA, threshold="high"), ValueError, "threshold must be"),
        (lambda m: m.search("x", filters=ANA, top_k=-1), ValueError, "Invalid top_k"),
        (lambda m: m.search("x", filters=ANA, top_k=True), ValueError, "top_k must be"),
        (lambda m: m.search("x", filters=ANA | {"a": {"like": 1}}), ValueError, "operator: like"),
        (lambda m: m.search("x", filters=ANA | {"a": {}}), ValueError, "is empty"),
        (lambda m: m.search("x", filters=ANA | {"OR": []}), ValueError, "OR operator requires"),
        (lambda m: m.search("x", filters=ANA | {"NOT": {"a": 1}}), ValueError, "NOT operator requires"),
        (lambda m: m.search("x", filters=ANA | {"AND": [1]}), ValueError, "AND operator requires"),
        (lambda m: m.search("x", filters=ANA | {"a": {"in": "b"}}), ValueError, "takes a list"),
        (lambda m: m.search("x", filters=ANA | {"a": {"contains": 1}}), ValueError, "takes a string"),
        (lambda m: m.get_all(), ValueError, "filters must contain at least one of"),
        (lambda m: m.get_all(filters=ANA, top_k="5"), ValueError, "top_k must be"),
        (lambda m: m.delete_all(), ValueError, "reset"),
        (lambda m: m.delete("nobody's"), exceptions.MemoryNotFoundError, "nobody's not found"),
        (lambda m: m.delete("nobody's"), ValueError, "nobody's not found"),
        (lambda m: m.update("nobody's", "x"), ValueError, "nobody's not found"),
        (lambda m: m.update("nobody's"), ValueError, "At least one of text, metadata, or expiration_date"),
    ],
)
def test_bad_input(m, call, kind, words):
    before = m.nscma.digest()
    with pytest.raises(kind, match=words) as raised:
        call(m)
    assert isinstance(raised.value, NscmaError)
    assert m.nscma.digest() == before


def test_an_error_has_the_fields_of_mem0(m):
    with pytest.raises(exceptions.MemoryError) as raised:
        m.add("x")
    error = raised.value
    assert error.error_code == "VALIDATION_001"
    assert error.details == {"provided_ids": {"user_id": None, "agent_id": None, "run_id": None}}
    assert error.message and error.suggestion


def test_what_was_deleted_is_not_found(m):
    key = m.add("I moved to Porto.", **ANA)["results"][0]["id"]
    m.delete(key)
    for call in (lambda: m.delete(key), lambda: m.update(key, "x")):
        with pytest.raises(ValueError, match="not found"):
            call()


def test_all_names_are_classes_of_errors():
    assert all(issubclass(getattr(exceptions, name), NscmaError) for name in exceptions.__all__)
