"""The page over 50,000 messages and 800 facts: what each view takes, and how much it loads. Run by `make prove`."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.records import Message
from nscma_torch.server.view import room
from tests.conftest import LIGHT
from tests.helpers.noting import DEFERRED, NotedTasks, day
from tests.server.conftest import Served
from tests.server.view.browser import VIEWS, Browser, Page

MESSAGES, WITH_FACTS = 50_000, 800
MOST_BYTES = 300_000  # of all that a view loads of the memory
CITIES = ("Oslo", "Porto", "Kyoto", "Bonn", "Lima", "Rome", "Quito")


def fill(path: Path, proxy: Any, embedder: Any) -> None:
    """Most of it deferred; of 500 people where they live, and who moved."""
    parts = {"proxy": proxy, "embedder": embedder, "tasks": NotedTasks()}
    many = (
        Message(
            "user",
            f"On day {i // 50} we spoke of harbour {i % 97} and boat {i}.",
            day(i / 50),
            f"Speaker {i % 7}",
            f"s{i // 100}",
        )
        for i in range(MESSAGES - WITH_FACTS)
    )
    facts = (
        Message(
            "user",
            f"{{Person {i % 500}|lives_in|{CITIES[(i + i // 500) % 7]}}}, says {i}.",
            day(i / 3),
            "Ana",
            "people",
        )
        for i in range(WITH_FACTS)
    )
    with Memory(path, config={**LIGHT, **DEFERRED}, **parts) as memory:
        for _ in memory.add_many(many, user_id="default"):
            pass
    with Memory(path, config={**LIGHT, "gate": {"rule": "everything"}}, **parts) as memory:
        for _ in memory.add_many(facts, user_id="default"):
            pass
        memory.flush()


@pytest.mark.prove
def test_the_page_stays_quick(
    chromium: Browser,
    listening: Callable[..., tuple[Served, int]],
    light_proxy: Any,
    embedder: Any,
    tmp_path: Path,
) -> None:
    """Prints seconds from the choice of a view until it is filled, its requests, and their bytes."""
    began = time.perf_counter()
    fill(tmp_path / "store.db", light_proxy, embedder)
    print(f"\n{MESSAGES:,} messages stored, {WITH_FACTS:,} read, in {time.perf_counter() - began:.0f} s")
    _, port = listening(rooms=[room])
    page = Page(chromium, f"http://127.0.0.1:{port}")
    page.open("", fresh=True)
    for width in (1400, 380):
        for view in VIEWS:
            page.open("erasure" if view != "erasure" else "", width=width)
            page.run("performance.clearResourceTimings()")
            began = time.perf_counter()
            page.open("search?q=harbour+boat+17" if view == "search" else view, width=width)
            seconds = time.perf_counter() - began
            loaded = [one for one in page.run(LOADED) if "/v1/stats" not in one[0]]
            size = sum(one[1] for one in loaded)
            slowest = max((one[2] for one in loaded), default=0.0)
            print(
                f"{width:5} {view or 'overview':10} {seconds:6.2f} s  {len(loaded)} requests  {size / 1000:6.1f} kB  "
                f"slowest {slowest / 1000:.2f} s"
            )
            assert size < MOST_BYTES
            page.shot(f"fifty-thousand-{view or 'overview'}-{width}")
    assert f"of {MESSAGES:,}" in (page.open("gate") or page.text(".pager"))
    began = time.perf_counter()
    page.one(".pager button", "Older").click()
    page.until(lambda: "–49,960 of" in page.text(".pager") or "–49,900 of" in page.text(".pager"))
    page.settle()
    print(f"a page back: {time.perf_counter() - began:.2f} s")
    assert page.messages() == []
    page.leave()


LOADED = """
return performance.getEntriesByType("resource").filter((one) => one.name.includes("/v1/"))
  .map((one) => [one.name, one.encodedBodySize, one.duration]);
"""
