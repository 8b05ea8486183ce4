"""An engine that records every request: its task, tokens, seconds, and whether the reply is usable.

The task is the title of the reply's schema, which is the name of the reply form. Requests of a batch run concurrently,
so each is charged an equal share of the batch's seconds.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from nscma_torch.core.errors import EngineError, ReplyError
from nscma_torch.llm.engines.contract import LanguageEngine, Reply, Request
from nscma_torch.llm.engines.engine_wrapper import WrappedEngine
from nscma_torch.llm.engines.structured import ReplyForm, fill, schema_of

_REMARK = "Your last reply could not be used: "  # begins the remark that `structured.fill` adds to a retry


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """A request and its outcome.

    Attributes:
        step: the part of the run that sent it.
        task: the name of the reply form.
        retry: True for the second request after an unusable reply.
        valid: True if the reply fills the form.
        final: True if the reply is invalid and no retry follows, so the task fails.
        tokens_in, tokens_out: 0 if there was no reply.
        problem: the reason why the reply is invalid, or the engine's error.
    """

    step: str
    task: str
    retry: bool
    valid: bool
    final: bool
    tokens_in: int
    tokens_out: int
    seconds: float
    problem: str
    reply: str


class RecordingEngine(WrappedEngine):
    """`LanguageEngine` that records the requests to another one, and closes it.

    Args:
        out: file to which each record is appended as a line of JSON; None to only keep them.

    Attributes:
        step: name of the current part of the run.
        records: all requests so far.
    """

    def __init__(
        self, engine: LanguageEngine, out: Path | None = None, *, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        super().__init__(engine)
        self.step = ""
        self.records: list[RecordedRequest] = []
        self._out = out
        self._clock = clock
        self._lock = threading.Lock()

    def generate(self, requests: Sequence[Request]) -> list[Reply | EngineError]:
        """Return one result per request, in order."""
        begun = self._clock()
        results = super().generate(requests)
        seconds = (self._clock() - begun) / max(1, len(requests))
        records = [self._record(*pair, seconds) for pair in zip(requests, results, strict=True)]
        with self._lock:
            self.records += records
            if self._out is not None:
                with self._out.open("a", encoding="utf-8") as file:
                    file.writelines(json.dumps(asdict(one), ensure_ascii=False) + "\n" for one in records)
        return results

    def _record(self, request: Request, result: Reply | EngineError, seconds: float) -> RecordedRequest:
        problem = _problem(request, result)
        retry = _REMARK in request.turns[-1].content
        again = isinstance(result, Reply | ReplyError) and not retry
        reply = result if isinstance(result, Reply) else Reply("", 0, 0, finished=False)
        return RecordedRequest(
            self.step,
            "free text" if request.schema is None else request.schema["title"],
            retry,
            not problem,
            bool(problem) and not again,
            reply.prompt_tokens,
            reply.completion_tokens,
            round(seconds, 3),
            problem,
            reply.text,
        )


class _SameReply(WrappedEngine):
    """Returns one reply to every request."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(None)
        self._reply = reply

    def generate(self, requests: Sequence[Request]) -> list[Reply | EngineError]:
        return [self._reply for _ in requests]


def _problem(request: Request, result: Reply | EngineError) -> str:
    """Return the reason why a result doesn't fill the requested form, or "" if it does."""
    if isinstance(result, EngineError):
        return str(result)
    if request.schema is None:
        return "" if result.finished else "cut off"
    (filled,), _ = fill(_SameReply(result), _form_of(request.schema), [request])
    return str(filled) if isinstance(filled, EngineError) else ""


def _form_of(schema: Mapping[str, Any]) -> type[ReplyForm]:
    """Return the form with this schema, which `fill` takes from `schema_of`."""
    named = (form for form in _forms(ReplyForm) if form.__name__ == schema["title"])
    return next(form for form in named if schema_of(form) is schema)


def _forms(base: type[ReplyForm]) -> Iterator[type[ReplyForm]]:
    for form in base.__subclasses__():
        yield form
        yield from _forms(form)
