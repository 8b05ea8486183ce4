"""The reads of `Memory` over a server's endpoints, under the same names, for commands that print what they find."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from nscma_torch.cli.through_server import ElsewhereError
from nscma_torch.errors import ForbiddenError
from nscma_torch.records import Answer, Episode, Evidence, Hit, Scope, Unit, Usage

if TYPE_CHECKING:
    from nscma_torch.cli.through_server import Line

_MOST_HITS = 10_000  # that an endpoint takes as top_k
_MOST_MESSAGES = 1_000_000  # that one takes as limit


@dataclass(frozen=True, slots=True)
class Counts:
    """What is told where nothing was found."""

    messages: int
    users: int


class ServedMemory:
    """What of a memory the commands read through its server."""

    def __init__(self, line: Line) -> None:
        self._line = line

    def search(self, query: str, *, user_id: str, explain: bool = False, **options: Any) -> list[Hit]:
        """As `Memory.search`, but that reasons (`explain`) are the retriever's, which is not at hand."""
        if explain:
            raise ElsewhereError
        told = self._line.asked("POST", "/v1/search", query=query, user_id=user_id, **_sent(options))
        return [_hit(one, user_id) for one in json.loads(told)]

    def ask(self, question: str, *, user_id: str, **options: Any) -> Answer:
        """As `Memory.ask`, without the facts and the walk that the answer was read off from."""
        told = json.loads(self._line.asked("POST", "/v1/ask", question=question, user_id=user_id, **_sent(options)))
        evidence = tuple(
            Evidence(_hit(one["hit"], user_id), one["text"], one["start"], one["end"], one["score"])
            for one in told["evidence"]
        )
        return Answer(
            told["text"], told["abstained"], told["confidence"], evidence,
            trace=tuple(told["trace"]), usage=Usage(**told["usage"]), notes=tuple(told["notes"]), quotes=told["quotes"],
        )  # fmt: skip

    def log(self, *, user_id: str, limit: int | None = None, **options: Any) -> list[Episode]:
        """As `Memory.log`."""
        from pydantic import TypeAdapter

        if (limit or 0) > _MOST_MESSAGES:
            raise ElsewhereError
        asked = {name: str(one).lower() if isinstance(one, bool) else one for name, one in options.items()}
        told = self._line.asked("GET", "/v1/log", user_id=user_id, limit=limit or _MOST_MESSAGES, **asked)
        found = TypeAdapter(list[Episode]).validate_json(told)
        if limit is None and len(found) == _MOST_MESSAGES:  # there may be more
            raise ElsewhereError
        return found

    def stats(self, *, user_id: str | None = None) -> Counts:
        """Of `Memory.stats` the number of messages of a user, or of the store's users: 0 where the token hides it."""
        try:
            path = "/v1/store/stats" if user_id is None else "/v1/stats"
            told = json.loads(self._line.asked("GET", path, user_id=user_id))
        except ForbiddenError:
            return Counts(messages=0, users=0)
        return Counts(messages=told["messages"], users=told.get("users", 1))

    def ids_alike(self, *, user_id: str, what: str, digits: int) -> list[str]:
        """The user's ids that share their first digits with another one, in order."""
        told = self._line.asked("GET", "/v1/ids/alike", user_id=user_id, kind=what, digits=digits)
        return list(json.loads(told))


def _sent(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options as JSON says them. Raises `ElsewhereError` for what an endpoint would refuse."""
    if (options.get("top_k") or 0) > _MOST_HITS:
        raise ElsewhereError
    return {name: one.isoformat() if isinstance(one, datetime) else one for name, one in options.items()}


def _hit(told: Mapping[str, Any], user_id: str) -> Hit:
    unit = Unit(
        told["unit_id"], Scope(user_id, told["agent_id"], told["run_id"]), told["kind"], told["text"],
        tuple(told["episode_ids"]), datetime.fromisoformat(told["occurred_at"]), told["role"], told["name"],
        told["session"], told["source"], metadata=told["metadata"],
    )  # fmt: skip
    return Hit(unit, told["score"], told["parts"], told["renewed"])
