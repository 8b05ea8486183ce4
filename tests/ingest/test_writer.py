"""The write path under competition: a stream that moves meanwhile is weighed again, and nothing is stored twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.database.database import ALL_USERS
from nscma_torch.core.errors import NotFoundError, StateMismatchError, VectorError
from nscma_torch.core.records import Message, Scope
from nscma_torch.episodic.log import episodes, streams
from nscma_torch.surprise.byte_model.bundled_model import ByteSurpriseModel
from nscma_torch.text import messages
from nscma_torch.text.files import json_messages
from nscma_torch.text.messages import CheckedMessage

Open = Callable[..., Memory]
NOW = datetime(2024, 9, 1, tzinfo=UTC)


class Interrupted:
    """A surprise model during whose work something else happens: `happenings` are called one per scoring."""

    def __init__(self, surprise_model: Any, happenings: Sequence[Callable[[], object]]) -> None:
        self.surprise_model = surprise_model
        self.fingerprint = surprise_model.fingerprint
        self.happenings = list(happenings)
        self.scored = 0

    def score(self, streams: Sequence[Sequence[str]], states: Sequence[bytes | None]) -> Any:
        self.scored += 1
        if self.happenings:
            self.happenings.pop(0)()
        return self.surprise_model.score(streams, states)


@pytest.mark.parametrize("losses", [1, 2, 3])
def test_a_batch_that_lost_is_weighed_again_on_the_new_stream(
    losses: int, open_memory: Open, light_surprise: Any
) -> None:
    rival, alone = open_memory(surprise_model=light_surprise), open_memory("alone.db", surprise_model=light_surprise)
    rivals = [Message("user", f"The rival says {i}.") for i in range(losses)]
    surprise_model = Interrupted(light_surprise, [lambda m=m: rival.add(m, user_id="ada", now=NOW) for m in rivals])
    mine = [Message("user", "Mine comes last."), Message("user", "Both of mine.")]
    added = open_memory(surprise_model=surprise_model).add(mine, user_id="ada", now=NOW)
    assert surprise_model.scored == losses + 1
    assert [a.event for a in added] == ["ADD", "ADD"]
    assert [e.text for e in rival.log(user_id="ada")] == [m.content for m in (*rivals, *mine)]
    assert [e.position for e in rival.log(user_id="ada")] == list(range(losses + 2))
    for message in rivals:
        alone.add(message, user_id="ada", now=NOW)
    alone.add(mine, user_id="ada", now=NOW)
    assert rival.digest() == alone.digest(), "as if they had come one after the other"
    assert rival.verify() == []


def test_another_stream_does_not_disturb(open_memory: Open, light_surprise: Any) -> None:
    rival = open_memory(surprise_model=light_surprise)
    surprise_model = Interrupted(light_surprise, [lambda: rival.add("Another run.", user_id="ada", run_id="r")])
    open_memory(surprise_model=surprise_model).add("Mine.", user_id="ada")
    assert surprise_model.scored == 1


@pytest.mark.parametrize("losses", [1, 3])
def test_a_key_that_another_process_stored_meanwhile(losses: int, open_memory: Open, light_surprise: Any) -> None:
    """Also where it shows only once the write lock is held, and then nothing of the batch is left to store."""
    rival = open_memory(surprise_model=light_surprise)
    other = [lambda i=i: rival.add(f"Other {i}.", user_id="ada") for i in range(losses - 1)]
    same = [Message("user", "The same.", idempotency_key="k1"), Message("user", "As well.", idempotency_key="k2")]
    surprise_model = Interrupted(light_surprise, [*other, lambda: rival.add(same, user_id="ada")])
    added = open_memory(surprise_model=surprise_model).add(same, user_id="ada")
    assert [a.event for a in added] == ["NOOP", "NOOP"]
    assert [e.text for e in rival.log(user_id="ada")][-2:] == ["The same.", "As well."]
    assert len(rival.log(user_id="ada")) == losses + 1
    assert [a.id for a in added] == [e.id for e in rival.log(user_id="ada")[-2:]]


def test_a_decision_that_changes_in_the_second_weighing_still_gets_its_vector(
    open_memory: Open, light_surprise: Any
) -> None:
    """First a repetition, so deferred and not embedded; then the other one is gone, so it is written."""
    only_written = {"embedder": {"model": "hash", "deferred": False}}
    fact = "My sister Ana was born in Kyoto in 1984."
    rival = open_memory(config=only_written, surprise_model=light_surprise)
    first = rival.add(fact, user_id="ada", now=NOW)[0]
    assert first.decision is not None and first.decision.write
    surprise_model = Interrupted(light_surprise, [lambda: rival.erase(user_id="ada")])
    added = open_memory(config=only_written, surprise_model=surprise_model).add(fact, user_id="ada", now=NOW)[0]
    assert added.decision is not None and added.decision.write
    assert surprise_model.scored == 2
    with rival.components.database.read(ALL_USERS) as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM vectors").scalar_one() == 1


@pytest.mark.parametrize("damage", ["substr(proxy_state, 1, 300)", "CAST(proxy_state || x'00' AS BLOB)", "x''"])
def test_a_damaged_state_is_made_anew_from_the_log(
    open_memory: Open, surprise_model: ByteSurpriseModel, damage: str
) -> None:
    texts = ["My sister Ana was born in Kyoto.", "She moved to Lisbon in March.", "The cat is called Miso.", "好的。"]
    whole, damaged = (
        open_memory("whole.db", surprise_model=surprise_model),
        open_memory("damaged.db", surprise_model=surprise_model),
    )
    for text in texts[:2]:
        whole.add(text, user_id="ada", now=NOW)
        damaged.add(text, user_id="ada", now=NOW)
    with damaged.components.database.write(ALL_USERS) as connection:
        connection.exec_driver_sql(f"UPDATE streams SET proxy_state = {damage}")
        (state,) = connection.exec_driver_sql("SELECT proxy_state FROM streams").scalars()
    with pytest.raises(StateMismatchError, match="pass None" if state else "not written by surprise model"):
        surprise_model.score([[texts[2]]], [state])
    for text in texts[2:]:
        whole.add(text, user_id="ada", now=NOW)
        damaged.add(text, user_id="ada", now=NOW)
    assert damaged.digest() == whole.digest()


def test_each_document_has_a_stream_of_its_own(memory: Memory) -> None:
    sources = ["a.md", "a.md", None, "b.md", "a.md"]
    messages = [Message("document" if s else "user", f"Section {i}.", source=s) for i, s in enumerate(sources)]
    memory.add(messages, user_id="ada")
    log = memory.log(user_id="ada")
    assert [e.text for e in log] == [m.content for m in messages], "the log keeps the order in which they came"
    assert [(e.source, e.position) for e in log] == [("a.md", 0), ("a.md", 1), (None, 0), ("b.md", 0), ("a.md", 2)]
    assert memory.stats().streams == 3


def test_nothing_of_a_batch_is_stored_when_its_last_message_fails(
    open_memory: Open, embedder: Any, contents: Callable[[Path], Any], tmp_path: Path
) -> None:
    class FailsOn(type(embedder)):  # type: ignore[misc]
        def embed(self, texts: Sequence[str]) -> Any:
            vectors = super().embed(texts)
            for i, text in enumerate(texts):
                if "poison" in text:
                    vectors[i] = float("nan")
            return vectors

    memory = open_memory(embedder=FailsOn())
    memory.add("Before.", user_id="ada")
    before = contents(tmp_path / "store.db")
    with pytest.raises(VectorError):
        memory.add(["Fine.", "Also fine.", "poison"], user_id="ada")
    assert contents(tmp_path / "store.db") == before
    memory.add("After.", user_id="ada")
    assert [e.position for e in memory.log(user_id="ada")] == [0, 1]


def test_progress_adds_up_to_the_bytes_of_all_messages(open_memory: Open, light_surprise: Any) -> None:
    memory, heard = open_memory(surprise_model=light_surprise), list[int]()
    texts = ["好的。", "I live in Oslo.", *(f"Line {i}." for i in range(300))]
    said = [Message("user", text, source="a.md" if i > 200 else None) for i, text in enumerate(texts)]
    list(memory.add_many(said, user_id="ada", progress=heard.append))
    assert sum(heard) == sum(len(text.encode()) for text in texts) and min(heard) > 0 and len(heard) > 2
    known, heard = Message("user", "Known.", idempotency_key="k"), list[int]()
    for _ in range(2):
        list(memory.add_many([known], user_id="ada", progress=heard.append))
    assert heard == [6, 6]


def test_a_message_is_hashed_parsed_and_checked_once(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: Counter[str] = Counter()

    def counting(name: str, call: Callable[..., Any], counted: Callable[..., bool]) -> Callable[..., Any]:
        def called(*arguments: Any) -> Any:
            calls[name] += counted(*arguments)
            return call(*arguments)

        return called

    monkeypatch.setattr(
        episodes, "derive_id", counting("hash", streams.derive_id, lambda kind, *_: bool(kind == "text"))
    )
    for module in (json_messages, messages):
        parse = counting("time", module.parse_timestamp, lambda value: isinstance(value, str))
        monkeypatch.setattr(module, "parse_timestamp", parse)
    check = counting("metadata", json_messages.metadata_json, lambda _: True)
    for owner in (json_messages, episodes):
        monkeypatch.setattr(owner, "metadata_json", check, raising=False)
    said = {"role": "user", "content": "I moved to Porto.", "timestamp": "2024-08-01T10:00:00Z", "mood": "glad"}
    memory.add(said, user_id="ada", now=NOW)
    assert calls == {"hash": 1, "time": 1, "metadata": 1}


def test_a_check_that_fails_leaves_out_its_run_and_those_after_it(memory: Memory) -> None:
    calls = 0

    def check(connection: object) -> None:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise NotFoundError("gone")

    said = [Message("document", f"Section {i}.", source=source) for i, source in enumerate("aabc")]
    with pytest.raises(NotFoundError):
        memory.components.writer.add([*map(CheckedMessage.of, said)], Scope("ada"), recorded_at=NOW, check=check)
    assert [(one.text, one.source) for one in memory.log(user_id="ada")] == [("Section 0.", "a"), ("Section 1.", "a")]
    assert calls == 2


def test_a_state_of_another_surprise_model_is_made_anew_from_the_log(
    open_memory: Open, light_surprise: Any, light_token_surprise: Any
) -> None:
    open_memory(surprise_model=light_surprise).add(["One.", "Two."], user_id="ada", now=NOW)
    memory = open_memory(surprise_model=light_token_surprise)
    memory.add("Three.", user_id="ada", now=NOW)
    with memory.components.database.read(ALL_USERS) as connection:
        stream = streams.load(connection, Scope("ada"), None)
    (whole,) = light_token_surprise.score([["One.", "Two.", "Three."]], [None])
    assert (stream.proxy_fingerprint, stream.proxy_state) == ("light tokens", whole.state)
