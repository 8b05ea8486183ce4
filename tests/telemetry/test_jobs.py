"""Background jobs have spans: of their own in a background worker, below the operation that runs them otherwise."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from opentelemetry.trace import StatusCode

from nscma_torch.api.memory import Memory
from nscma_torch.core.errors import ModelError
from tests.helpers.noting import EVERYTHING, NotedTasks, say

QUICK = {"poll": 0.02, "sleep_interval": 0.05, "backoff": 0.05}


def test_a_flush_has_its_jobs_below_it(observed: Memory, recorded: Any) -> None:
    observed.add(["{Ben|lives_in|Oslo}", "{Ben|lives_in|Rome}"], user_id="ana")
    observed.flush()
    (flush,), (extract,) = recorded.spans("flush"), recorded.spans("job extract")
    assert extract.parent.span_id == flush.context.span_id
    assert dict(extract.attributes) == {"nscma.job.kind": "extract", "nscma.job.count": 2}
    kinds = {point.attributes["nscma.job.kind"]: point.count for point in recorded.points("nscma.job.duration")}
    assert kinds == {"extract": 1, "curate": 1}


def test_a_job_that_fails_is_marked(open_observed: Callable[..., Memory], recorded: Any) -> None:
    tasks = NotedTasks()
    tasks.broken = "Oslo"
    memory = open_observed({"worker": {"max_attempts": 1}}, tasks=tasks)
    memory.add("{Ben|lives_in|Oslo}", user_id="ana")
    memory.flush()
    (span,) = recorded.spans("job extract")
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, None)
    assert span.attributes["error.type"] == ModelError.__name__ and not span.events
    assert recorded.points("nscma.job.duration")[0].attributes["error.type"] == ModelError.__name__


def test_a_background_worker_has_traces_of_its_own(open_observed: Callable[..., Memory], recorded: Any) -> None:
    memory = open_observed({"worker": QUICK}, background=True)
    memory.add("{Ben|lives_in|Oslo}", user_id="ana")
    give_up = time.monotonic() + 60
    while not (recorded.spans("job extract") and recorded.spans("job sleep")):
        assert time.monotonic() < give_up, [span.name for span in recorded.spans()]
        time.sleep(0.02)
    memory.close()
    (added,), (extract,), slept = (recorded.spans(n) for n in ("create_memory", "job extract", "job sleep"))
    assert extract.context.trace_id != added.context.trace_id
    assert extract.parent is None or extract.parent.span_id in {span.context.span_id for span in slept}
    assert slept[0].parent is None and slept[0].attributes["nscma.job.count"] == 1


def test_recording_changes_no_result(open_memory: Any, light_surprise: Any, recorded: Any) -> None:
    digests = []
    for name, enabled in (("off.db", False), ("on.db", True)):
        config = {**EVERYTHING, "telemetry": {"enabled": enabled}}
        memory = open_memory(name, config=config, surprise_model=light_surprise, tasks=NotedTasks())
        say(memory, "{Ben|lives_in|Oslo}")
        memory.flush()
        digests.append(memory.digest())
        assert bool(recorded.spans()) is enabled
    assert digests[0] == digests[1]
