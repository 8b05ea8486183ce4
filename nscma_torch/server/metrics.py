"""Prometheus metrics at /metrics: requests, durations, job queue, failures. Labels contain no texts or user names."""

from __future__ import annotations

import time
from collections.abc import Iterator

from fastapi import APIRouter, Response
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from nscma_torch.server.access import Reader
from nscma_torch.server.app_context import AppContext, Context, RouteGroup

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 120.0)  # seconds


class RequestMetrics:
    """Request metrics of one application."""

    def __init__(self, context: AppContext) -> None:
        self.registry = CollectorRegistry()
        named = ("method", "route")
        self.requests = Counter("nscma_requests", "Requests answered", (*named, "status"), registry=self.registry)
        self.seconds = Histogram(
            "nscma_request_seconds", "Seconds from the head of a request to the end of its answer", named,
            buckets=_BUCKETS, registry=self.registry,
        )  # fmt: skip
        self.running = Gauge("nscma_requests_running", "Requests at work", registry=self.registry)
        self.registry.register(_OfStore(context))


class _OfStore(Collector):
    """Counts from the store, read when the metrics are requested."""

    def __init__(self, context: AppContext) -> None:
        self._context = context

    def describe(self) -> Iterator[Metric]:
        """Yield nothing, because registration must not read the store."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        context = self._context
        stats = context.memory.stats()
        alive = sum(worker.alive for worker in stats.workers)
        values = {
            "nscma_jobs_queued": ("Background jobs that wait", stats.jobs_queued),
            "nscma_jobs_failed": ("Background jobs that failed for good", stats.jobs_failed),
            "nscma_workers_alive": ("Background workers that are alive", alive),
            "nscma_workers_dead": ("Background workers that stopped without reporting it", len(stats.workers) - alive),
            "nscma_messages": ("Messages in the store", stats.messages),
            "nscma_users": ("Users in the store", stats.users),
            "nscma_store_bytes": ("Size of the store's files", stats.file_bytes),
            "nscma_calls_pending": (
                "Calls of the memory that run or wait",
                context.work.pending + context.slow.pending,
            ),
        }
        for name, (said, value) in values.items():
            yield GaugeMetricFamily(name, said, value=float(value))


class MetricsMiddleware:
    """ASGI middleware that counts requests by route template, never by the actual path."""

    def __init__(self, app: ASGIApp, *, measures: RequestMetrics) -> None:
        self._app = app
        self._measures = measures

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status, began = "500", time.perf_counter()

        async def told(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = str(message["status"])
            await send(message)

        with self._measures.running.track_inprogress():
            try:
                await self._app(scope, receive, told)
            finally:
                method = scope["method"] if scope["method"] in _METHODS else "other"
                route = str(getattr(scope.get("route"), "path", "other"))  # the router has set it
                self._measures.requests.labels(method, route, status).inc()
                self._measures.seconds.labels(method, route).observe(time.perf_counter() - began)


def route_group(measures: RequestMetrics) -> RouteGroup:
    """Serve the path /metrics."""
    router = APIRouter(tags=["health"])

    @router.get("/metrics", operation_id="metrics", response_class=Response)
    async def metrics(caller: Reader, context: Context) -> Response:
        """Return the metrics in Prometheus format."""
        caller.any_user()
        text = await context.work.run(generate_latest, measures.registry)
        return Response(text, media_type=CONTENT_TYPE_LATEST)

    return RouteGroup((router,))
