"""Values of a wrong type or size where a program hands them in: one clear error each, and the store as it was."""

from __future__ import annotations

import gc
import math
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from nscma_torch.api.async_memory import AsyncMemory
from nscma_torch.api.memory import Memory
from nscma_torch.controller.controller import Controller
from nscma_torch.core.config import load_config
from nscma_torch.core.database import forks_and_file_locks
from nscma_torch.core.errors import (
    ConfigError,
    EmptyTextError,
    EncodingError,
    InvalidInputError,
    NscmaError,
    StoreAccessError,
    TimestampError,
)
from nscma_torch.core.records import Answer, FactQuery
from nscma_torch.neural import attach_memory
from nscma_torch.text.calendar.timestamps import parse_timestamp

HASH = {"device": "cpu", "embedder": {"model": "hash"}, "hierarchy": {"enabled": False}}
ADA = {"user_id": "ada"}
HUGE = 10**30
OF_A_MEMORY: dict[str, tuple[Callable[[Any], Any], type[NscmaError], str]] = {
    "add bytes": (lambda m: m.add(b"hi", **ADA), InvalidInputError, "got bytes"),
    "add_many nothing": (lambda m: [*m.add_many(None, **ADA)], InvalidInputError, "iterable of messages, got NoneType"),
    "add_many a number": (lambda m: [*m.add_many(5, **ADA)], InvalidInputError, "iterable of messages, got int"),
    "add_many bytes": (lambda m: [*m.add_many(b"hi", **ADA)], InvalidInputError, "iterable of messages, got bytes"),
    "infer": (lambda m: m.add("I like tea.", infer="no", **ADA), InvalidInputError, "infer is 'no'"),
    "infer of many": (lambda m: [*m.add_many(["tea"], infer=0, **ADA)], InvalidInputError, "infer is 0"),
    "log": (lambda m: m.log(limit=HUGE, **ADA), InvalidInputError, "at most"),
    "get_all": (lambda m: m.get_all(limit=HUGE, **ADA), InvalidInputError, "at most"),
    "top_k": (lambda m: m.search("tea", top_k=HUGE, **ADA), InvalidInputError, "at most"),
    "deferred": (lambda m: m.log(deferred="no", **ADA), InvalidInputError, "deferred is 'no'"),
    "explain": (lambda m: m.search("tea", explain="no", **ADA), InvalidInputError, "explain is 'no'"),
    "strategy": (lambda m: m.search("tea", strategy=[], **ADA), InvalidInputError, r"unknown strategy \[\]"),
    "no strategy": (lambda m: m.search("tea", strategy="", **ADA), InvalidInputError, "unknown strategy ''"),
    "follows": (lambda m: m.ask("and before that?", follows="Rome", **ADA), InvalidInputError, "Answer, got str"),
    "import a path": (lambda m: m.import_("backup.jsonl"), InvalidInputError, "an open file, got str"),
    "import a number": (lambda m: m.import_(5), InvalidInputError, "an open file, got int"),
    "erase": (lambda m: m.erase(memory_id=[], **ADA), InvalidInputError, "memory_id must be of type str, got list"),
    "gate": (lambda m: m.replay(gate=5, **ADA), InvalidInputError, "must map keys to values, got int"),
    "empty gate": (lambda m: m.replay(gate=[], **ADA), InvalidInputError, "must map keys to values, got list"),
    "skill": (lambda m: m.add_skill("\ud800", trigger="a", steps=["b"], **ADA), EncodingError, "lone surrogate"),
    "step": (lambda m: m.add_skill("a", trigger="a", steps=["\ud800"], **ADA), EncodingError, "lone surrogate"),
    "limit": (lambda m: m.decisions(limit="5", **ADA), InvalidInputError, "limit"),
    "limit of 0": (lambda m: m.decisions(limit=0, **ADA), InvalidInputError, "at least 1"),
    "limit of True": (lambda m: m.decisions(limit=True, **ADA), InvalidInputError, "at least 1"),
    "top_k of skills": (lambda m: m.find_skills("a release", top_k="3", **ADA), InvalidInputError, "top_k"),
    "half a result": (lambda m: m.search("tea", top_k=2.5, **ADA), InvalidInputError, "top_k"),
    "question": (lambda m: m.ask(5, **ADA), InvalidInputError, "the question"),
    "no question": (lambda m: m.ask(" ", **ADA), EmptyTextError, "the question is empty"),
    "query": (lambda m: m.search(None, **ADA), InvalidInputError, "the query must be a string, got NoneType"),
    "no query": (lambda m: m.search(" ", **ADA), EmptyTextError, "the query is empty"),
    "situation": (lambda m: m.find_skills(5, **ADA), InvalidInputError, "the situation"),
    "no situation": (lambda m: m.find_skills(" ", **ADA), EmptyTextError, "the situation is empty"),
    "subject": (lambda m: m.timeline(5, "lives_in", **ADA), InvalidInputError, "the subject"),
    "no subject": (lambda m: m.timeline(" ", "lives_in", **ADA), EmptyTextError, "the subject is empty"),
    "relation": (lambda m: m.timeline("user", 5, **ADA), InvalidInputError, "the relation"),
    "no relation": (lambda m: m.timeline("user", " ", **ADA), EmptyTextError, "the relation is empty"),
    "helpful": (lambda m: m.feedback("some id", helpful="no", **ADA), InvalidInputError, "helpful"),
    "success": (lambda m: m.skill_outcome("some id", success=1, **ADA), InvalidInputError, "success"),
    "archived": (lambda m: m.skills(archived=5, **ADA), InvalidInputError, "archived"),
    "erase a skill": (lambda m: m.erase(skill_id=5, **ADA), InvalidInputError, "skill_id"),
    "threshold": (lambda m: m.search("tea", threshold="0.3", **ADA), InvalidInputError, "it must be a finite number"),
    "threshold NaN": (lambda m: m.search("tea", threshold=math.nan, **ADA), InvalidInputError, "threshold is nan"),
    "kinds": (
        lambda m: m.search("tea", kinds="chunk", **ADA),
        InvalidInputError,
        "kinds is 'chunk'; it must be a list",
    ),
    "no kinds": (lambda m: m.search("tea", kinds=(), **ADA), InvalidInputError, r"kinds is \(\); it must be a list"),
    "kind": (lambda m: m.search("tea", kinds=["chunks"], **ADA), InvalidInputError, "unknown kind 'chunks'"),
}


def test_arguments_of_methods(filled: Memory, untouched: Any) -> None:
    for name, (call, error, said) in OF_A_MEMORY.items():
        print(name)
        with untouched(error, match=said):
            call(filled)


@pytest.mark.parametrize("store", [123, None, b"x.db", [], 2.5], ids=repr)
def test_a_store_is_a_path(store: Any) -> None:
    with pytest.raises(InvalidInputError, match=f"store must be the path of a file, got {type(store).__name__}"):
        Memory(store, config=HASH)
    with pytest.raises(StoreAccessError, match="the path of the store is empty"):
        AsyncMemory("", config=HASH)


@pytest.mark.parametrize("part", ["embedder", "surprise_model", "tasks"])
def test_parts_are_checked_before_the_store_is_made(part: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=f"{part} must be of type .*, got str"):
        Memory(tmp_path / "new.db", config=HASH, **{part: "hash"})  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_a_controller_takes_a_memory_and_an_engine(filled: Memory) -> None:
    wrong: Any
    for wrong in (None, "chat.db", object()):
        with pytest.raises(InvalidInputError, match="memory must be of type Memory"):
            Controller(wrong, user_id="ada")
    for wrong in (5, "gpt", object()):
        with pytest.raises(InvalidInputError, match="engine must be of type LanguageEngine"):
            Controller(filled, wrong, user_id="ada")


@pytest.mark.parametrize("model", [None, "gpt2", 5, object], ids=repr)
def test_a_memory_is_attached_to_a_module(model: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"model must be a torch\.nn\.Module"):
        attach_memory(model)


@pytest.mark.parametrize("value", [date.min, date.max, "0001-01-01", "9999-12-31T23:59:59"], ids=repr)
def test_a_time_at_the_end_of_the_calendar_is_named_as_such(value: object) -> None:
    with pytest.raises(TimestampError, match="lies outside the years 1 to 9999"):
        parse_timestamp(value)


@pytest.mark.parametrize("inner", [1 << 63, [-(1 << 63) - 1], {"a": 1 << 90}])
def test_metadata_that_could_not_be_read_back(inner: Any, filled: Memory, untouched: Any) -> None:
    with untouched(InvalidInputError, "64 bits"):
        filled.add({"role": "user", "content": "Hi Ann.", "metadata": {"n": inner}}, **ADA)
    deep: Any = 1
    for level in range(300):
        deep = {"a": deep} if level % 2 else [deep]
    with untouched(InvalidInputError, "nested deeper than 64 levels"):
        filled.add({"role": "user", "content": "Hi Ann.", "metadata": {"n": deep}}, **ADA)
    filled.add({"role": "user", "content": "Hi Ann.", "metadata": {"n": [1 << 62, {"a": [True, None]}]}}, **ADA)


@pytest.mark.parametrize("path", [("nowhere",), ("lives_in", "nowhere"), ()])
def test_a_question_that_follows_an_unknown_relation(path: tuple[str, ...], filled: Memory) -> None:
    before = Answer("", True, 0.0, (), query=FactQuery("object", path, "Marta"))
    with pytest.raises(InvalidInputError, match="must be in the schema, got"):
        filled.ask("And before that?", follows=before, **ADA)


def test_a_clock_before_1970_is_refused(filled: Memory, untouched: Any) -> None:
    early = datetime(1969, 7, 20, tzinfo=UTC)
    for call in (
        lambda: filled.add("I live in Porto.", now=early, **ADA),
        lambda: filled.search("Porto", now=early, **ADA),
        lambda: filled.ask("Where do I live?", now=early, **ADA),
        lambda: filled.sleep(now=early),
    ):
        with untouched(TimestampError, "before 1970; set this machine's clock"):
            call()
    filled.facts(as_of=early, known_at=early, **ADA)
    filled.add("I was born then.", timestamp=early, **ADA)


def test_a_clock_skew_of_any_size(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="max_clock_skew"):
        load_config({"limits": {"max_clock_skew": 1e300}})
    late = datetime(9999, 12, 29, tzinfo=UTC)
    with Memory(tmp_path / "skewed.db", config={**HASH, "limits": {"max_clock_skew": 3.2e11}}) as memory:
        memory.add("I live in Porto.", timestamp=late, now=late - timedelta(days=900_000), **ADA)
        assert memory.search("Porto", now=late, **ADA)[0].text == "I live in Porto."
        assert memory.ask("Where do I live?", now=late, **ADA).text == "Porto"


def test_connections_that_the_garbage_collector_closes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It clears weak references before it finalises: the first connection closed must not count for all."""
    failures: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", failures.append)
    path = tmp_path / "store.db"
    file = forks_and_file_locks.created(path)
    cycle: list[Any] = [forks_and_file_locks.connect(path, file) for _ in range(3)]
    cycle.append(cycle)
    del cycle
    gc.collect()
    assert failures == []
    assert file not in forks_and_file_locks._files
