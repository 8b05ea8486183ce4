"""Adapt messages from other programs for storage, and report the changes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from nscma_torch.api.validation import checked_message
from nscma_torch.compat.exports.foreign import Foreign
from nscma_torch.compat.mem0.scopes import scope_of
from nscma_torch.core.config import LimitsConfig
from nscma_torch.core.errors import InvalidInputError
from nscma_torch.text.surrogates import joined_pairs

_HALF = re.compile("[\ud800-\udfff]")


def fitted(one: Foreign, limits: LimitsConfig, now: datetime) -> Foreign | InvalidInputError:
    """Return a message that can be stored: its text is cut to `limits.max_message_bytes`, and a future time is removed.

    Lone surrogates become U+FFFD. If the message still can't be stored, returns the error.
    """
    message, faults = one.message, list(one.faults)
    text = _whole(message.content)
    if text != message.content:
        faults.append("its text contains a lone surrogate, which was replaced by U+FFFD")
    data = text.encode()
    if len(data) > limits.max_message_bytes:
        text = data[: limits.max_message_bytes].decode(errors="ignore")
        faults.append(
            f"its text has {len(data):,} bytes and was cut to limits.max_message_bytes = {limits.max_message_bytes:,}; "
            "to keep all of it, raise the limit and import it into another store"
        )
    when = message.timestamp
    if when is not None and when - now > timedelta(seconds=limits.max_clock_skew):
        faults.append(f"its time {when.isoformat()} is in the future; it was stored without a time")
        when = None
    made = replace(
        message,
        content=text,
        timestamp=when,
        name=_whole(message.name),
        session=_whole(message.session),
        source=_whole(message.source),
        metadata=_whole(message.metadata),
        idempotency_key=_whole(message.idempotency_key),
    )
    try:
        checked_message(made, limits, now)
        scope_of(one.ids)
    except InvalidInputError as error:
        return error
    return replace(one, message=made, faults=tuple(faults))


def _whole(value: Any) -> Any:
    """Replace each lone surrogate in a JSON value."""
    if isinstance(value, str):
        return value if value.isascii() else _HALF.sub("\ufffd", joined_pairs(value))
    if isinstance(value, Mapping):
        return {_whole(key): _whole(inner) for key, inner in value.items()}
    return [_whole(inner) for inner in value] if isinstance(value, list) else value
