"""Messages sent to a server in batches, so that what it does not take can be stored here."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any

from nscma_torch.cli.through_server import ElsewhereError, LostError
from nscma_torch.core.errors import StoreError
from nscma_torch.core.records import Added, Decision, Message

if TYPE_CHECKING:
    from nscma_torch.cli.through_server import Line

_MOST = 64  # messages of a request
_MOST_BYTES = 1 << 20  # of the texts of a request, but for the last of them


class Waiting(Iterator[Message]):
    """Messages that are not stored yet; those that were taken can be put back."""

    def __init__(self, messages: Iterable[Message]) -> None:
        self._messages = iter(messages)

    def __next__(self) -> Message:
        return next(self._messages)

    def put_back(self, messages: Iterable[Message]) -> None:
        """They come next again."""
        self._messages = chain(messages, self._messages)

    def batch(self) -> list[Message]:
        """The next ones, as many as go into a request: they are of one document, or of none."""
        batch: list[Message] = []
        size = 0
        for message in self:
            if batch and message.source != batch[0].source:
                self.put_back([message])
                break
            batch.append(message)
            size += _size(message)
            if len(batch) == _MOST or size > _MOST_BYTES:
                break
        return batch


def sent(
    line: Line, waiting: Waiting, *, infer: bool, progress: Callable[[int], None], **scope: str | None
) -> Iterator[Added]:
    """Yield the result of each message; `progress` is called with the bytes of each stored batch.

    Raises `ElsewhereError` where the server stores no more: what it did not store is in `waiting`, with what it may
    have stored where a retry adds nothing. Else that is a `StoreError`.
    """
    while batch := waiting.batch():
        try:
            told = line.asked(
                "POST", "/v1/messages", messages=[_said(one) for one in batch], source=batch[0].source, infer=infer,
                **scope,
            )  # fmt: skip
        except LostError as error:
            if not all(one.idempotency_key for one in batch):
                raise StoreError(
                    f"the server at {line.url} did not say whether it stored {len(batch)} messages; look with "
                    "`nscma log`, and add those that are not there"
                ) from error
            waiting.put_back(batch)
            raise
        except ElsewhereError:
            waiting.put_back(batch)
            raise
        progress(sum(map(_size, batch)))
        for one in json.loads(told)["results"]:
            decision = one["decision"]
            yield Added(one["id"], one["event"], one["text"], None if decision is None else Decision(**decision))


def _said(message: Message) -> dict[str, Any]:
    """A message as the endpoint takes it."""
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
