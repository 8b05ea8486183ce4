"""Record requests as spans that continue the trace of the caller (header traceparent)."""

from __future__ import annotations

from opentelemetry.propagate import extract
from opentelemetry.trace import SpanKind
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from nscma_torch.telemetry import names
from nscma_torch.telemetry.recorder import Recorder

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_OTHER = "_OTHER"  # as the conventions name any other method
_LABELS = (names.HTTP_METHOD, names.SCHEME)


class TracingMiddleware:
    """ASGI middleware that records requests by route template, never by the actual path."""

    def __init__(self, app: ASGIApp, *, recorder: Recorder) -> None:
        self._app = app
        self._recorder = recorder

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = 500

        async def told(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        method = scope["method"] if scope["method"] in _METHODS else _OTHER
        running = self._recorder.begin(
            method if method != _OTHER else "HTTP",
            {names.HTTP_METHOD: method, names.SCHEME: scope.get("scheme", "http")},
            duration=names.REQUEST_SECONDS,
            labels=_LABELS,
            kind=SpanKind.SERVER,
            context=extract(dict(Headers(scope=scope))),
        )
        with running.whole():
            try:
                await self._app(scope, receive, told)
            finally:
                route = getattr(scope.get("route"), "path", None)  # the router has set it
                if route is not None:
                    running.label({names.HTTP_ROUTE: route})
                    running.span.update_name(f"{method} {route}")
                running.label({names.HTTP_STATUS: status})
                if status >= 500:
                    running.fail(str(status))
