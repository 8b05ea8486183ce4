"""The `Memory` methods used by `search`, `ask` and `add`, implemented through a server's endpoints."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from itertools import chain
from typing import TYPE_CHECKING, Any

from nscma_torch.cli.running_server import LostError, UnavailableError
from nscma_torch.core.errors import ForbiddenError, StoreError
from nscma_torch.core.records import Added, Answer, Decision, Evidence, Hit, Message, Scope, Stats, Unit, Usage

if TYPE_CHECKING:
    from nscma_torch.cli.running_server import Line

_MAX_HITS = 10_000  # that an endpoint takes as top_k
_MAX_MESSAGES = 64  # of a request
_MAX_BYTES = 1 << 20  # of the texts of a request, except for the last of them


class UnstoredMessages(Iterator[Message]):
    """Messages that aren't stored yet; a batch can be put back."""

    def __init__(self, messages: Iterable[Message]) -> None:
        self._messages = iter(messages)

    def __next__(self) -> Message:
        return next(self._messages)

    def put_back(self, messages: Iterable[Message]) -> None:
        """Put messages back at the front."""
        self._messages = chain(messages, self._messages)

    def batch(self) -> list[Message]:
        """Return the next messages for one request: either all from one document, or none from a document."""
        batch: list[Message] = []
        size = 0
        for message in self:
            if batch and message.source != batch[0].source:
                self.put_back([message])
                break
            batch.append(message)
            size += _size(message)
            if len(batch) == _MAX_MESSAGES or size > _MAX_BYTES:
                break
        return batch


class ServedMemory:
    """A memory opened by a server. Each method raises `UnavailableError` if the store must be opened here."""

    def __init__(self, line: Line) -> None:
        self._line = line

    def search(self, query: str, *, user_id: str, explain: bool, **options: Any) -> list[Hit]:
        """Search like `Memory.search`. `explain` needs the retriever, so the command must open the store for it."""
        assert not explain, "the command opens the store for --explain"
        found = self._line.call("search", query=query, user_id=user_id, **_sent(options))
        return [_hit(one, user_id) for one in json.loads(found)]

    def ask(self, question: str, *, user_id: str, **options: Any) -> Answer:
        """Answer like `Memory.ask`, but without the answer's facts and query."""
        found = json.loads(self._line.call("ask", question=question, user_id=user_id, **_sent(options)))
        evidence = tuple(
            Evidence(_hit(one["hit"], user_id), one["text"], one["start"], one["end"], one["score"])
            for one in found["evidence"]
        )
        return Answer(
            found["text"], found["abstained"], found["confidence"], evidence, trace=tuple(found["trace"]),
            usage=Usage(**found["usage"]), notes=tuple(found["notes"]), quotes=found["quotes"],
        )  # fmt: skip

    def stats(self, *, user_id: str | None = None) -> Stats:
        """Return counts like `Memory.stats`, for the server's process. They also cover the whole store.

        Raises `UnavailableError` if the token is limited to this user, and `ForbiddenError` if it belongs to another
        user.
        """
        from pydantic import TypeAdapter

        try:
            found = self._line.call("stats_of_store", user_id=user_id)
        except ForbiddenError:
            if user_id is not None:
                self._line.call("stats", user_id=user_id)
            raise UnavailableError from None
        return TypeAdapter(Stats).validate_json(found)

    def add_many(
        self, messages: UnstoredMessages, *, infer: bool, progress: Callable[[int], None], **scope: str | None
    ) -> Iterator[Added]:
        """Store messages like `Memory.add_many`, in several requests; `progress` is called with the bytes in each.

        Raises `UnavailableError` if the server stops storing, leaving the rest in `messages`, and `StoreError` if it is
        unknown whether a batch was stored.
        """
        while batch := messages.batch():
            told = [_message(one) for one in batch]
            try:
                found = self._line.call("add", messages=told, source=batch[0].source, infer=infer, **scope)
            except LostError as error:
                raise StoreError(
                    f"the server at {self._line.url} did not answer whether it stored {len(batch)} messages; see "
                    "`nscma log`, or add the file again: known messages are skipped"
                ) from error
            except UnavailableError:
                messages.put_back(batch)
                raise
            progress(sum(map(_size, batch)))
            for one in json.loads(found)["results"]:
                decision = one["decision"]
                known = None if decision is None else Decision(**decision)
                yield Added(one["id"], one["event"], one["text"], known, tuple(one["hidden"]), tuple(one["masked"]))

    def flush(self, *, progress: Callable[[int], None]) -> int:  # noqa: ARG002 - the server does not report progress
        """Run background jobs like `Memory.flush`, alongside the server's own worker."""
        return int(json.loads(self._line.call("flush"))["count"])


def _sent(options: Mapping[str, Any]) -> dict[str, Any]:
    """Convert options to JSON. Raises `UnavailableError` if the number of hits exceeds the endpoint's limit."""
    if (options.get("top_k") or 0) > _MAX_HITS:
        raise UnavailableError
    return {name: one.isoformat() if isinstance(one, datetime) else one for name, one in options.items()}


def _message(message: Message) -> dict[str, Any]:
    """Convert a message to the endpoint's format."""
    said = {
        "role": message.role,
        "content": message.content,
        "timestamp": None if message.timestamp is None else message.timestamp.isoformat(),
        "name": message.name,
        "session": message.session,
        "metadata": dict(message.metadata) or None,
        "idempotency_key": message.idempotency_key,
    }
    return {name: value for name, value in said.items() if value is not None}


def _size(message: Message) -> int:
    return len(message.content.encode(errors="replace"))


def _hit(found: Mapping[str, Any], user_id: str) -> Hit:
    unit = Unit(
        found["unit_id"], Scope(user_id, found["agent_id"], found["run_id"]), found["kind"], found["text"],
        tuple(found["episode_ids"]), datetime.fromisoformat(found["occurred_at"]), found["role"], found["name"],
        found["session"], found["source"], metadata=found["metadata"],
    )  # fmt: skip
    return Hit(unit, found["score"], found["parts"], found["renewed"])
