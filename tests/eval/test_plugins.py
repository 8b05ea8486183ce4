"""Systems, tasks and providers of your own, named by their class."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from rich.console import Console

from eval.harness.plugins import plugin
from eval.run import Options, run
from eval.systems.catalogue import make_system
from eval.systems.provider import Document
from eval.tasks.catalogue import make_task
from nscma_torch.core.errors import ConfigError
from nscma_torch.examples.evaluate_your_system import LastMention, Parcels
from tests.eval.systems.rig import ASKED, SAID, ShowingReader, conversation, places, shared

CONFIG = """
memory = { device = "cpu", embedder = { model = "hash" } }
systems = [{ kind = "bm25", name = "BM25", top_k = 1 }]
"""


class Mine:
    """A provider that keeps everything and finds the newest, and a document that nobody ingested."""

    opened: tuple[Any, ...] = ()
    closed = False

    def __init__(self, newest: int = 1) -> None:
        self._newest = newest
        self._documents: list[Document] = []

    def prepare(self, store_dir: Path, unit_ids: set[str] | None = None) -> None:
        Mine.opened = (store_dir, unit_ids)

    def ingest(self, documents: list[Document]) -> None:
        self._documents += documents

    def retrieve(
        self, query: str, k: int = 10, user_id: str | None = None, query_timestamp: str | None = None
    ) -> tuple[list[Document], None]:
        assert query and k >= 50 and user_id == self._documents[0].user_id and query_timestamp
        return [*reversed(self._documents[-self._newest :]), Document("?", "A fact of mine.")], None

    def cleanup(self) -> None:
        Mine.closed = True


class YourParcels(Parcels):
    def __init__(self, section: object, data: Path) -> None:
        assert section and data.is_dir()


class Nothing:
    def __init__(self, section: object, shared: object) -> None:
        assert section and shared


class YourMention(LastMention):
    def __init__(self, section: object, shared: object) -> None:
        assert section and shared


@pytest.fixture(autouse=True)
def module(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """These classes under a name that can be imported."""
    own = ModuleType("yours")
    for found in (Mine, YourParcels, YourMention, Nothing):
        setattr(own, found.__name__, found)
    monkeypatch.setitem(sys.modules, "yours", own)
    yield


def test_a_provider_is_a_system(tmp_path: Path) -> None:
    run_ = shared()
    section = {"kind": "yours:Mine", "name": "mine", "top_k": 3, "arguments": {"newest": 2}}
    system = make_system(section, run_)
    with system.open(tmp_path) as session:
        session.read(conversation())
        reply = session.ask("Where?", options=(), now=ASKED)
    assert isinstance(run_.reader, ShowingReader) and Mine.opened == (tmp_path, {"reader"}) and Mine.closed
    assert [passage.text for passage in run_.reader.handed[0]] == [SAID[5], SAID[4], "A fact of mine."]
    assert places(reply) == (5, 4), "what was not ingested stands for no place"


def test_a_run_takes_classes_from_the_command_line(tmp_path: Path) -> None:
    config = tmp_path / "run.toml"
    config.write_text(CONFIG, encoding="utf-8")
    options = Options(
        config, tmp_path, tmp_path / "out", own_tasks=["yours:YourParcels"], own_systems=["yours:YourMention"]
    )
    assert run(options, make_task, make_system, Console(quiet=True)) == 0
    text = (options.out / "results.jsonl").read_text(encoding="utf-8")
    lines = [json.loads(line) for line in text.splitlines()]
    recalls = {(line["system"], one["scores"]["recall"]) for line in lines for one in line["questions"]}
    assert recalls == {("BM25", 0.0), ("YourMention", 1.0)}
    assert "--system yours:YourMention" in options.command and "--task yours:YourParcels" in options.command


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("nowhere.at_all:Mine", "no module 'nowhere'"),
        ("yours:Other", "no class Other"),
        ("yours:", "names no class"),
        ("yours:Nothing", "makes no system"),
    ],
)
def test_what_is_no_class_is_one_clear_error(kind: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        make_system({"kind": kind}, shared())


def test_the_error_of_a_module_of_yours_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken_of_yours.py").write_text("import a_package_that_is_missing\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigError, match="cannot be imported: No module named 'a_package_that_is_missing'"):
        plugin("broken_of_yours:Mine")
