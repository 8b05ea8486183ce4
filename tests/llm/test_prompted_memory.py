"""Prompted tasks behind a memory, over a server that misbehaves: no fact is lost silently, and none is made up."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.errors import ConfigError, EngineUnavailableError
from nscma_torch.core.records import Message
from tests.helpers.misbehaving_server import Fault, MisbehavingServer
from tests.helpers.noting import NotedTasks, day
from tests.llm.scripted import data_of, extraction, statement

MIXED = {
    Fault.NONE: 2.0,
    Fault.SLOW: 1.0,
    Fault.TRUNCATED: 1.0,
    Fault.BLANKS: 1.0,
    Fault.PROSE: 1.0,
    Fault.WRONG_TYPES: 1.0,
    Fault.EMPTY: 1.0,
    Fault.NO_CHOICES: 1.0,
    Fault.NOT_JSON: 1.0,
    Fault.BUSY: 1.0,
    Fault.BROKEN: 1.0,
    Fault.HANG: 0.2,
    Fault.HALF_CLOSED: 1.0,
}
CITIES = ("Oslo", "Porto", "Kyoto", "Lima", "Accra", "Turin", "Perth")


def name(i: int) -> str:
    """A name of its own for each number, no part of another."""
    digest = hashlib.sha256(str(i).encode()).digest()
    return "".join("BDFGKLMNPRSTVZ"[b % 14] + "aeiou"[b // 14 % 5] for b in digest[:6]).capitalize()


def reader(body: Mapping[str, Any]) -> str:
    """What a good model writes: it reads "NAME lives in CITY." and sums up by naming names."""
    data = data_of(body["messages"])
    if "sentences" in data:
        read = []
        for number, sentence in data["sentences"].items():
            found = re.fullmatch(r"(\w+) lives in (\w+)\.", sentence)
            if found:
                read.append(statement(found[1], "lives_in", found[2], sentence=int(number)))
        return json.dumps(extraction(*read))
    if "sides" in data:
        return json.dumps({"right": next(int(i) for i, said in data["sides"].items() if "Oslo" in said[0]["text"])})
    texts = [text if isinstance(text, str) else text["text"] for text in data["texts"]]
    return json.dumps({"summary": " and ".join(sorted({text.split()[0] for text in texts}))})


def configured(url: str, *, timeout: float = 5.0, hierarchy: bool = False) -> dict[str, Any]:
    return {
        "device": "cpu",
        "embedder": {"model": "hash"},
        "gate": {"rule": "everything"},
        "hierarchy": {"enabled": hierarchy},
        "reading": {"instead_of_model": 1.0},
        "llm": {"engine": "http", "base_url": url, "server": "vllm", "attempts": 2, "timeout": timeout}
        | {"concurrency": 8, "max_tokens": 400, "context": 16384},
    }


def said(count: int) -> list[Message]:
    return [
        Message(
            "user",
            f"{name(i)} lives in {CITIES[i * 5 % 7]}.",
            day(i / 24),
            "Kim",
            f"s{i // 40}",
            idempotency_key=str(i),
        )
        for i in range(count)
    ]


def told(memory: Memory) -> dict[str, str]:
    return {fact.subject: fact.object for fact in memory.facts(user_id="ada")}


def rounds(
    folder: Path, count: int, surprise_model: Any, faults: Mapping[Fault, float], *, hierarchy: bool, seed: int
) -> dict[str, int]:
    """Have `count` messages read over a misbehaving server, then what failed once it behaves."""
    right = {name(i): CITIES[i * 5 % 7] for i in range(count)}
    assert len(right) == count
    with MisbehavingServer(reader, faults=faults, seed=seed) as server:
        hasty = configured(server.url, timeout=1.0, hierarchy=hierarchy)
        with Memory(folder / "store.db", config=hasty, surprise_model=surprise_model) as memory:
            list(memory.add_many(said(count), user_id="ada", now=day(100)))
            for _ in range(1 if hierarchy else count):  # a flush ends with the first reply that does not come in time
                memory.flush()
                if not memory.stats().jobs_queued:
                    break
            stats, first = memory.stats(), told(memory)
            waiting = [one for one in memory.log(user_id="ada") if not one.encoded]
        met = dict(server.met)
        made_up = {one: place for one, place in first.items() if right.get(one) != place}
        missing = set(right) - set(first)
        lost = missing - {one.text.split()[0] for one in waiting}
        assert not made_up
        assert not lost
        assert set(met) == set(faults), "every fault was met"
        if not hierarchy:
            assert (stats.jobs_failed, stats.jobs_queued) == (len(waiting), 0)
        assert len(stats.failures) >= 1
        assert stats.language_work["ungrounded"] == 0
        server.behave()
        with Memory(
            folder / "store.db", config=configured(server.url, hierarchy=hierarchy), surprise_model=surprise_model
        ) as memory:
            retried = memory.retry_failed()
            assert retried == stats.jobs_failed, "what failed was kept when the store was closed"
            memory.flush()
            after = memory.stats()
            assert (after.jobs_failed, after.jobs_queued, after.failures) == (0, 0, ())
            assert bool(after.units.get("summary")) == hierarchy
            assert told(memory) == right
            assert memory.verify() == []
            mended = memory.digest()
        if not hierarchy:
            with Memory(folder / "smooth.db", config=configured(server.url), surprise_model=surprise_model) as memory:
                list(memory.add_many(said(count), user_id="ada", now=day(100)))
                memory.flush()
                assert mended == memory.digest(), "as if the server had behaved from the beginning"
    return {"messages": count, "replies": sum(met.values()), "requests": stats.language_work["requests"]} | {
        "facts at once": len(first),
        "failed, listed": len(waiting),
        "mended once it behaves": len(right) - len(first),
        "lost": len(lost),
        "made up": len(made_up),
    }


def test_a_memory_over_a_misbehaving_server(tmp_path: Path, light_surprise: Any) -> None:
    faults = {Fault.NONE: 1.0, Fault.TRUNCATED: 2.0, Fault.PROSE: 1.0, Fault.WRONG_TYPES: 1.0, Fault.EMPTY: 2.0}
    counts = rounds(tmp_path, 20, light_surprise, faults, hierarchy=False, seed=4)
    assert counts["failed, listed"] >= 1
    assert counts["facts at once"] >= 1


def test_a_hierarchy_over_a_misbehaving_server(tmp_path: Path, light_surprise: Any) -> None:
    faults = {Fault.NONE: 1.0, Fault.TRUNCATED: 1.0, Fault.BLANKS: 1.0, Fault.NO_CHOICES: 1.0}
    rounds(tmp_path, 16, light_surprise, faults, hierarchy=True, seed=1)


@pytest.mark.prove
def test_a_memory_over_a_thousand_mixed_replies(tmp_path: Path, light_surprise: Any) -> None:
    counts = rounds(tmp_path, 320, light_surprise, MIXED, hierarchy=False, seed=0)
    print("\n" + ", ".join(f"{what}: {count}" for what, count in counts.items()))
    assert counts["replies"] >= 1000
    assert (counts["lost"], counts["made up"]) == (0, 0)


def test_a_server_that_is_away_stops_nothing_that_needs_no_model(tmp_path: Path, light_surprise: Any) -> None:
    with MisbehavingServer(reader) as server:
        url = server.url
    with Memory(tmp_path / "store.db", config=configured(url), surprise_model=light_surprise) as memory:
        memory.add(said(1), user_id="ada", now=day(1))
        assert [hit.text for hit in memory.search("Who lives in Oslo?", user_id="ada", now=day(1))] == [
            said(1)[0].content
        ]
        assert memory.stats().language == f"http at {url}"
        memory.flush()
        stats = memory.stats()
        assert (stats.jobs_queued, stats.jobs_failed) == (1, 0), "it is tried again by the next flush"
        assert "EngineUnavailableError" in stats.failures[0]
        answer = memory.ask("Who lives in Oslo?", user_id="ada", now=day(1))
        assert said(1)[0].content in answer.text and answer.evidence
        assert answer.notes[0] == "1 message not yet read"
        assert answer.notes[1].startswith("answered without the language model: ")
        for _ in range(2):
            memory.flush()
        assert (memory.stats().jobs_queued, memory.stats().jobs_failed) == (0, 1), "worker.max_attempts"


def test_a_fault_of_the_configuration_is_no_outage(tmp_path: Path, light_surprise: Any) -> None:
    with MisbehavingServer(reader) as server:
        config = configured(server.url)
        config["llm"]["api_key_env"] = "NSCMA_TEST_NO_SUCH_KEY"
        with Memory(tmp_path / "store.db", config=config, surprise_model=light_surprise) as memory:
            memory.add(said(1), user_id="ada", now=day(1))
            with pytest.raises(ConfigError, match="NSCMA_TEST_NO_SUCH_KEY, which is not set"):
                memory.ask("Who lives in Oslo?", user_id="ada", now=day(1))


def test_a_server_that_hangs_is_waited_for_once(tmp_path: Path, light_surprise: Any) -> None:
    """Not once for each attempt of each message, nor for each that waits for a free slot."""
    with MisbehavingServer(reader, faults={Fault.HANG: 1.0}) as server:
        config = configured(server.url, timeout=0.5, hierarchy=True)
        config["llm"]["concurrency"] = 1
        with Memory(tmp_path / "store.db", config=config, surprise_model=light_surprise) as memory:
            memory.add(said(3), user_id="ada", now=day(1))
            memory.flush()
            assert server.met[Fault.HANG] == 2, "llm.attempts of one request"
            assert memory.stats().jobs_queued == 3 and "no byte came in time" in memory.stats().failures[0]
            assert memory.sleep(now=day(2)).failures
            answer = memory.ask("Who lives in Oslo?", user_id="ada", now=day(2))
            assert answer.notes[-1].startswith("answered without the language model: ")
        server.behave()
        with Memory(tmp_path / "store.db", config=configured(server.url), surprise_model=light_surprise) as memory:
            memory.flush()
            assert len(told(memory)) == 3 and memory.stats().failures == ()


def test_the_engine_starts_when_it_is_needed_and_ends_with_the_memory(tmp_path: Path, light_surprise: Any) -> None:
    with MisbehavingServer(reader) as server:
        memory = Memory(tmp_path / "store.db", config=configured(server.url), surprise_model=light_surprise)
        memory.add(said(1), user_id="ada", now=day(1))
        assert memory.stats().language_work == {}
        memory.flush()
        assert told(memory) == {name(0): "Oslo"}
        stats = memory.stats()
        assert stats.language == "http/double"
        assert stats.language_work["requests"] == 1
        engine = memory.components.engine
        memory.close()
        assert engine is not None
        with pytest.raises(EngineUnavailableError, match="closed"):
            engine.generate([])


@pytest.mark.parametrize("fault", [Fault.WRONG_TYPES, Fault.BROKEN])
def test_a_dispute_over_a_misbehaving_server(tmp_path: Path, light_surprise: Any, fault: Fault) -> None:
    with (
        MisbehavingServer(reader) as server,
        Memory(tmp_path / "store.db", config=configured(server.url), surprise_model=light_surprise) as memory,
    ):
        for place, who, at in (("Oslo", "Ann", 8), ("Lima", "Carl", 9)):
            memory.add(Message("user", f"Bob lives in {place}.", day(at), who), user_id="ada", now=day(at))
        memory.flush()
        assert len(memory.conflicts(user_id="ada")) == 1
        server.misbehave({fault: 1.0})
        report = memory.sleep(user_id="ada", now=day(10))
        assert (report.settled, report.disputed, len(report.failures)) == (0, 1, 1)
        assert "Error: " in report.failures[0]
        assert memory.stats().language_work["failed"] == 1
        assert {fact.object for fact in memory.facts(user_id="ada")} == {"Oslo", "Lima"}
        server.behave()
        report = memory.sleep(user_id="ada", now=day(10))
        assert (report.settled, report.disputed, report.failures) == (1, 0, ())
        assert told(memory) == {"Bob": "Oslo"}
        (verdict,) = [one for one in memory.decisions(user_id="ada") if "found that the other side holds" in one.reason]
        memory.undo(verdict.id, user_id="ada", now=day(11))
        assert len(memory.conflicts(user_id="ada")) == 1
        assert memory.sleep(user_id="ada", now=day(11)).disputed == 1, "it is not asked for again"
        assert memory.verify() == []


def test_tasks_that_are_given_come_first(tmp_path: Path, light_surprise: Any) -> None:
    config = configured("http://127.0.0.1:9")
    with Memory(tmp_path / "store.db", config=config, surprise_model=light_surprise, tasks=NotedTasks()) as memory:
        memory.add(said(1), user_id="ada", now=day(1))
        memory.flush()
        assert memory.stats().jobs_failed == 0
        assert memory.stats().language == "NotedTasks"


@pytest.mark.parametrize(
    ("section", "problem"),
    [
        ({"model": "x"}, "engine 'embedded' does not use model"),
        ({"engine": "http", "quantization": "nf4"}, "engine 'http' does not use quantization"),
        ({"engine": "magic"}, "'embedded', 'http'"),
        ({"engine": "http", "temprature": 1}, "did you mean 'llm.temperature'"),
    ],
)
def test_a_section_that_cannot_be_is_refused(section: dict[str, Any], problem: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=re.escape(problem)):
        Memory(tmp_path / "store.db", config={"llm": section})


def test_a_question_is_answered_without_a_model_whose_replies_cannot_be_used(
    tmp_path: Path, light_surprise: Any
) -> None:
    """As with an absent server, with a note that names no class."""
    with MisbehavingServer(lambda _: "I would rather talk about the weather.") as server:
        with Memory(tmp_path / "store.db", config=configured(server.url), surprise_model=light_surprise) as memory:
            memory.add("The spare key hangs in the shed.", user_id="ada", now=day(1))
            answer = memory.ask("Where does the spare key hang?", user_id="ada", now=day(2))
        assert "shed" in answer.text
        assert answer.notes[-1].startswith("answered without the language model: the model's reply cannot be used: ")
        assert "Form" not in answer.notes[-1] and "Answer" not in answer.notes[-1] and "Error" not in answer.notes[-1]


def test_a_key_that_is_not_set_is_said_to_be(
    tmp_path: Path, light_surprise: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NSCMA_TEST_KEY", raising=False)
    with MisbehavingServer(reader) as server:
        config = configured(server.url)
        config["llm"] |= {"api_key_env": "NSCMA_TEST_KEY"}
        with Memory(tmp_path / "store.db", config=config, surprise_model=light_surprise) as memory:
            memory.add(said(1), user_id="ada", now=day(1))
            memory.flush()
            assert "NSCMA_TEST_KEY, which is not set" in memory.stats().failures[0]
            monkeypatch.setenv("NSCMA_TEST_KEY", "sesame")
            memory.retry_failed()
            memory.flush()
            assert told(memory) == {name(0): "Oslo"}
        assert {headers["Authorization"] for headers in server.headers} == {"Bearer sesame"}
