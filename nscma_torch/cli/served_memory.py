"""`Memory` over a server's endpoints, under the same names, as far as commands go through it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from nscma_torch.cli.sending import Waiting, sent
from nscma_torch.cli.through_server import ElsewhereError
from nscma_torch.core.errors import ForbiddenError
from nscma_torch.core.records import (
    Added,
    Answer,
    Episode,
    Evidence,
    Fact,
    HistoryEvent,
    Hit,
    ProfileLine,
    Scope,
    Stats,
    Unit,
    Usage,
)

if TYPE_CHECKING:
    from nscma_torch.cli.through_server import Line

_MOST_HITS = 10_000  # that an endpoint takes as top_k
_MOST_MESSAGES = 1_000_000  # that one takes as limit
_LOOK = 0.5  # seconds between two looks at how much is queued


class ServedMemory:
    """Client of a served memory, with the methods the commands use."""

    def __init__(self, line: Line) -> None:
        self._line = line

    def search(self, query: str, *, user_id: str, explain: bool = False, **options: Any) -> list[Hit]:
        """Call `Memory.search` on the server. Raises `ElsewhereError` with `explain`: it needs a local retriever."""
        if explain:
            raise ElsewhereError
        told = self._line.asked("POST", "/v1/search", query=query, user_id=user_id, **_sent(options))
        return [_hit(one, user_id) for one in json.loads(told)]

    def ask(self, question: str, *, user_id: str, **options: Any) -> Answer:
        """Call `Memory.ask` on the server; the answer lacks its facts and graph walk."""
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
        """Call `Memory.log` on the server."""
        if (limit or 0) > _MOST_MESSAGES:
            raise ElsewhereError
        told = self._line.asked("GET", "/v1/log", user_id=user_id, limit=limit or _MOST_MESSAGES, **options)
        found: list[Episode] = _records(list[Episode], told)
        if limit is None and len(found) == _MOST_MESSAGES:  # there may be more
            raise ElsewhereError
        return found

    def facts(self, *, user_id: str, **options: Any) -> list[Fact]:
        """Call `Memory.facts` on the server."""
        found: list[Fact] = _records(
            list[Fact], self._line.asked("GET", "/v1/facts", user_id=user_id, **_sent(options))
        )
        return found

    def open_relations(self) -> frozenset[str]:
        """The relations whose facts are told in the words of a message."""
        return frozenset(one["name"] for one in json.loads(self._line.asked("GET", "/v1/relations")) if one["open"])

    def profile(self, *, user_id: str, agent_id: str | None = None) -> list[ProfileLine]:
        """Call `Memory.profile` on the server."""
        told = self._line.asked("GET", "/v1/profile", user_id=user_id, agent_id=agent_id)
        found: list[ProfileLine] = _records(list[ProfileLine], told)
        return found

    def history(self, memory_id: str, *, user_id: str) -> list[HistoryEvent]:
        """Call `Memory.history` on the server."""
        told = self._line.asked("GET", f"/v1/messages/{quote(memory_id, safe='')}/history", user_id=user_id)
        found: list[HistoryEvent] = _records(list[HistoryEvent], told)
        return found

    def stats(self, *, user_id: str | None = None) -> Stats:
        """Call `Memory.stats` on the server: counters of the server's process, including those of the whole store.

        Raises `ElsewhereError` for a token of this user alone, and `ForbiddenError` for one of another.
        """
        try:
            found: Stats = _records(Stats, self._line.asked("GET", "/v1/store/stats", user_id=user_id))
        except ForbiddenError:
            if user_id is not None:
                self._line.asked("GET", "/v1/stats", user_id=user_id)
            raise ElsewhereError from None
        return found

    def digest(self, *, user_id: str | None = None) -> str:
        """Call `Memory.digest` on the server."""
        path = "/v1/store/digest" if user_id is None else "/v1/digest"
        return str(json.loads(self._line.asked("GET", path, user_id=user_id))["digest"])

    def messages_and_users(self, user_id: str) -> tuple[int, int]:
        """Return the user's message count and the number of users (0 if the token may not see it)."""
        counts = []
        for path, whose, name in (("/v1/stats", user_id, "messages"), ("/v1/store/stats", None, "users")):
            try:
                counts.append(int(json.loads(self._line.asked("GET", path, user_id=whose))[name]))
            except ForbiddenError:
                counts.append(0)
        return counts[0], counts[1]

    def add_many(self, messages: Waiting, **options: Any) -> Iterator[Added]:
        """Call `Memory.add_many` on the server; see `sending.sent` for what is left if it fails midway."""
        return sent(self._line, messages, **options)

    def flush(self, *, progress: Callable[[int], None]) -> int:
        """Process queued jobs together with the server's own worker; `progress` is called with the number done."""
        from concurrent.futures import ThreadPoolExecutor, wait

        with ThreadPoolExecutor(1) as pool:
            ended = pool.submit(self._line.asked, "POST", "/v1/store/flush")
            queued = self.stats().jobs_queued
            while not wait([ended], _LOOK).done:
                progress(max(0, queued - self.stats().jobs_queued))
        return int(json.loads(ended.result())["count"])

    def ids_beginning(self, *, user_id: str, what: str, digits: str) -> list[str]:
        """The user's ids that begin with these digits, in order; at most 8."""
        return list(json.loads(self._line.asked("GET", "/v1/ids/beginning", user_id=user_id, kind=what, digits=digits)))

    def ids_alike(self, *, user_id: str, what: str, digits: int) -> list[str]:
        """The user's ids that share their first digits with another one, in order."""
        told = self._line.asked("GET", "/v1/ids/alike", user_id=user_id, kind=what, digits=digits)
        return list(json.loads(told))


def _sent(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options as JSON says them. Raises `ElsewhereError` for what an endpoint would refuse."""
    if (options.get("top_k") or 0) > _MOST_HITS:
        raise ElsewhereError
    return {name: one.isoformat() if isinstance(one, datetime) else one for name, one in options.items()}


def _records(kind: Any, told: bytes) -> Any:
    """Records that a server wrote as JSON."""
    from pydantic import TypeAdapter

    return TypeAdapter(kind).validate_json(told)


def _hit(told: Mapping[str, Any], user_id: str) -> Hit:
    unit = Unit(
        told["unit_id"], Scope(user_id, told["agent_id"], told["run_id"]), told["kind"], told["text"],
        tuple(told["episode_ids"]), datetime.fromisoformat(told["occurred_at"]), told["role"], told["name"],
        told["session"], told["source"], metadata=told["metadata"],
    )  # fmt: skip
    return Hit(unit, told["score"], told["parts"], told["renewed"])
