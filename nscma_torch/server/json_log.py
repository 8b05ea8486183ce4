"""Write log records as lines of JSON. The text of an exception isn't written, since it may quote a stored text."""

from __future__ import annotations

import json
import logging
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, TextIO

_OURS = "nscma"  # logger whose events are written from INFO on, others' from WARNING on


class JsonFormatter(logging.Formatter):
    """Formats a record as one JSON object: time, level, logger, message; trace and span, if it belongs to one.

    An exception among the arguments of the message is replaced by its class. One that is logged with its traceback is
    written as its class (`error`) and the places it passed (`stack`).
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the line for a record, without a line break."""
        fields: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": _message(record),
            **_trace(),
        }
        if record.exc_info and record.exc_info[1] is not None:
            error = record.exc_info[1]
            frames = traceback.extract_tb(error.__traceback__)
            fields["error"] = type(error).__name__
            fields["stack"] = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
        return json.dumps(fields)


@contextmanager
def json_log(stream: TextIO | None = None) -> Iterator[None]:
    """Write the log as JSON lines to a stream, stderr by default, instead of as text."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter())
    root, ours = logging.getLogger(), logging.getLogger(_OURS)
    before, level = list(root.handlers), ours.level
    root.handlers[:] = [handler]
    ours.setLevel(logging.INFO)
    try:
        yield
    finally:
        ours.setLevel(level)
        root.handlers[:] = before


def _message(record: logging.LogRecord) -> str:
    """Return a record's message, with exceptions by their class."""
    if isinstance(record.msg, BaseException):
        return type(record.msg).__name__
    if not record.args:
        return str(record.msg)
    if isinstance(record.args, Mapping):
        return str(record.msg) % {name: _without_text(value) for name, value in record.args.items()}
    return str(record.msg) % tuple(map(_without_text, record.args))


def _without_text(value: object) -> object:
    return type(value).__name__ if isinstance(value, BaseException) else value


def _trace() -> dict[str, str]:
    """Return the ids of the trace and span in which a record is made; nothing if it is made in none."""
    trace = sys.modules.get("opentelemetry.trace")  # without it there is no span
    if trace is None:
        return {}
    context = trace.get_current_span().get_span_context()
    if not context.is_valid:
        return {}
    return {"trace_id": f"{context.trace_id:032x}", "span_id": f"{context.span_id:016x}"}
