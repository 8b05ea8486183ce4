"""The JSON objects that `--json` prints; docs/json_output.toml lists their keys."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

from nscma_torch.core.records import Added, Answer, Episode, Hit


def jsonable(value: Any) -> Any:
    """Convert records and times to JSON-serialisable values."""
    match value:
        case Hit():
            return jsonable(value.to_dict())
        case Answer():
            return answer_object(value)
        case Episode():
            return episode_object(value)
        case date():
            return value.isoformat()
        case Path():
            return str(value)
        case Mapping():
            return {str(key): jsonable(item) for key, item in value.items()}
        case list() | tuple():
            return [jsonable(item) for item in value]
    if dataclasses.is_dataclass(value):
        return {field.name: jsonable(getattr(value, field.name)) for field in dataclasses.fields(value)}
    return value


def answer_object(answer: Answer) -> dict[str, Any]:
    """Build the object for an answer, with its evidence."""
    evidence = [
        {**jsonable(item.hit), "text": item.text, "start": item.start, "end": item.end, "score": item.score}
        for item in answer.evidence
    ]
    return {
        "answer": answer.text,
        "abstained": answer.abstained,
        "confidence": answer.confidence,
        "evidence": evidence,
        "trace": list(answer.trace),
        "notes": list(answer.notes),
        "usage": jsonable(answer.usage),
    }


def episode_object(episode: Episode) -> dict[str, Any]:
    """Build the object for a message, with `write` and `reason` from the gate's decision at the top level."""
    fields = {field.name: jsonable(getattr(episode, field.name)) for field in dataclasses.fields(episode)}
    decision = episode.decision
    fields["write"] = None if decision is None else decision.write
    fields["reason"] = None if decision is None else decision.reason
    return fields


def added_object(results: list[Added], *, updated: int = 0, hidden: int = 0) -> dict[str, Any]:
    """Build the object for an addition: counts, and each message's id with its decision."""
    return {**added_counts(results, updated=updated, hidden=hidden), "results": jsonable(results)}


def added_counts(results: list[Added], *, updated: int = 0, hidden: int = 0) -> dict[str, int]:
    """Count messages by outcome: added, written and deferred (neither if the gate wasn't used), already known, updated
    and hidden.
    """
    new = [item for item in results if item.event == "ADD"]
    written = sum(item.decision is not None and item.decision.write for item in new)
    return {
        "added": len(new),
        "written": written,
        "deferred": sum(item.decision is not None and not item.decision.write for item in new),
        "known": len(results) - len(new) - updated,
        "updated": updated,
        "hidden": hidden,
    }
