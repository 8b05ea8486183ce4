"""A pytest plugin that notes for each test its processor time and which functions of given files it calls."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Generator, Iterator, Set
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

Function = tuple[str, str]  # path from the root of the checkout, qualified name


@dataclass(frozen=True)
class Calls:
    """What one test did."""

    seconds: float  # of processor time, set-up of its fixtures included
    functions: frozenset[Function]


class CallRecorder:
    """Fills `calls` by node id. What a fixture's set-up calls counts for every test that uses the fixture."""

    def __init__(self, root: Path, files: Set[str]) -> None:
        self.calls: dict[str, Calls] = {}
        self._root, self._files = f"{root}/", files
        self._seen: dict[int, CodeType] = {}
        self._of_fixtures: dict[int, frozenset[Function]] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        start = time.process_time()
        with self._recording() as seen:
            result = yield
        functions = self._functions(seen)
        for fixtures in getattr(item, "_fixtureinfo").name2fixturedefs.values():  # noqa: B009 - pytest has no public way
            functions |= self._of_fixtures.get(id(fixtures[-1]), frozenset())
        self.calls[item.nodeid] = Calls(time.process_time() - start, functions)
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, Any, Any]:
        outer, self._seen = self._seen, {}
        result = yield
        self._of_fixtures[id(fixturedef)] = self._functions(self._seen)
        outer.update(self._seen)
        self._seen = outer
        return result

    @contextmanager
    def _recording(self) -> Iterator[dict[int, CodeType]]:
        self._seen = {}
        sys.setprofile(self._note)
        threading.setprofile(self._note)
        try:
            yield self._seen
        finally:
            sys.setprofile(None)
            threading.setprofile(None)

    def _note(self, frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            self._seen.setdefault(id(frame.f_code), frame.f_code)

    def _functions(self, seen: dict[int, CodeType]) -> frozenset[Function]:
        named = ((code.co_filename.removeprefix(self._root), code.co_qualname) for code in list(seen.values()))
        return frozenset(function for function in named if function[0] in self._files)
