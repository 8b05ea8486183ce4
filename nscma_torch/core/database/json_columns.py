"""JSON in text columns."""

from __future__ import annotations

import json
from typing import Any

from nscma_torch.core.errors import StoreFormatError


def decoded(text: str, kind: type = dict) -> Any:
    """Decode the JSON object, or with `list` the list, in a text column. Raises `StoreFormatError` if it is damaged."""
    try:
        value = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        value = None
    if not isinstance(value, kind):
        raise StoreFormatError(
            f"the store is damaged: a column contains {str(text)[:40]!r} instead of JSON; restore a copy, or export "
            f"what "
            "can be read with `nscma export`"
        )
    return value


def is_texts(text: str) -> bool:
    """Return True if a column's text is a JSON list of strings."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, list) and all(isinstance(item, str) for item in value)
