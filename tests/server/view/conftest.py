"""A filled memory, and a real Chromium that looks at it (Debian: apt-get install chromium chromium-driver)."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")

from nscma_torch.api.memory import Memory
from nscma_torch.core.records import Message
from nscma_torch.server.view import route_group
from tests.conftest import LIGHT
from tests.helpers.noting import NotedTasks, day
from tests.server.conftest import Served
from tests.server.view.browser import Browser, Page


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """One browser for all tests. Skips, and says so, where there is none."""
    pytest.importorskip("selenium", reason="Selenium is not installed: the page is not tested in a browser")
    for program in ("chromium", "chromedriver"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed: the page is not tested in a browser")
    browser = Browser()
    yield browser
    browser.close()


@pytest.fixture(scope="session")
def lived(tmp_path_factory: pytest.TempPathFactory, light_surprise: Any, embedder: Any) -> Path:
    """A store with `life` in it, for tests to copy."""
    path = tmp_path_factory.mktemp("lived") / "store.db"
    config = {**LIGHT, "gate": {"rule": "everything"}}
    with Memory(path, config=config, surprise_model=light_surprise, embedder=embedder, tasks=NotedTasks()) as memory:
        life(memory)
    return path


@pytest.fixture
def page(
    chromium: Browser, listening: Callable[..., tuple[Served, int]], lived: Path, tmp_path: Path
) -> Iterator[Callable[..., tuple[Page, Served]]]:
    """`page(fill, config=…)`: a server over a memory that `fill` has filled, or `life`, and its page, unopened."""
    opened: list[Page] = []

    def open_(fill: Callable[[Memory], object] | None = None, **options: Any) -> tuple[Page, Served]:
        if fill is None:
            shutil.copy(lived, tmp_path / "store.db")
        served, port = listening(route_groups=[route_group], **options)
        if fill is not None:
            fill(served.memory)
        opened.append(Page(chromium, f"http://127.0.0.1:{port}"))
        return opened[-1], served

    yield open_
    for one in opened:
        one.leave()


def life(memory: Memory, user: str = "default", messages: int = 50) -> None:
    """A conversation that states facts, changes some, and contradicts itself once; read, with a hierarchy."""
    said = [
        "🏠 I live in Oslo {Ana|lives_in|Oslo}.",
        "We moved, I live in Porto now {Ana|lives_in|Porto}.",
        "My sister is Marta {Ana|sibling|Marta}, she works at Bosch {Marta|works_at|Bosch}.",
        "I like jazz {Ana|likes|jazz} and tea {Ana|likes|tea}.",
    ]
    said += [f"On day {i} we spoke of the harbour and of boat number {i}." for i in range(len(said), messages - 2)]
    stored = [
        Message("user" if by == "Ana" else "assistant", text, day(i), by, f"week {i // 7}")
        for i, text in enumerate(said)
        for by in ["Ana" if i < 4 or i % 2 == 0 else "Nova"]
    ]
    list(memory.add_many(stored, user_id=user))
    for name, where in (("Ben", "Bonn"), ("Cleo", "Kyoto")):  # two who both say it on one day, of a third
        memory.add(Message("user", f"{{Dora|lives_in|{where}}} says {name}.", day(60), name), user_id=user)
    memory.flush()
