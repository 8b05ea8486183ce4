"""Erasing one message from a busy stream: each message is weighed once, and little of it under the write lock."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.database.database import ALL_USERS
from nscma_torch.core.errors import NotFoundError, StoreBusyError
from nscma_torch.core.records import Message, Scope
from nscma_torch.episodic.log import streams
from nscma_torch.ingest.gating import SERVED_ATTEMPTS
from nscma_torch.ingest.quotas import Quotas
from nscma_torch.ingest.writer import Writer
from nscma_torch.maintenance.eraser import Eraser
from nscma_torch.text.messages import CheckedMessage

Open = Callable[..., Memory]
NOW = datetime(2024, 9, 1, tzinfo=UTC)
SECRET = Message("user", "The locker code is zebra 4711.")


class Busy:
    """Record what is scored, and whether under the write lock; `happenings` come one per scoring."""

    def __init__(self, surprise_model: Any, happenings: Sequence[Callable[[], object]] = ()) -> None:
        self.surprise_model = surprise_model
        self.fingerprint = surprise_model.fingerprint
        self.happenings = list(happenings)
        self.scored: list[str] = []
        self.locked: list[str] = []
        self.under_lock = False

    def score(self, asked: Sequence[Sequence[str]], states: Sequence[bytes | None]) -> Any:
        texts = [text for messages in asked for text in messages]
        self.scored += texts
        self.locked += texts if self.under_lock else []
        if self.happenings:
            self.happenings.pop(0)()
        return self.surprise_model.score(asked, states)

    def watch(self, memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
        write = memory.components.database.write

        @contextmanager
        def watched(*whose: Any) -> Any:
            with write(*whose) as connection:
                self.under_lock = True
                try:
                    yield connection
                finally:
                    self.under_lock = False

        monkeypatch.setattr(memory.components.database, "write", watched)


def carried(memory: Memory, run_id: str | None = None) -> tuple[Any, ...]:
    with memory.components.database.read(ALL_USERS) as connection:
        stream = streams.load(connection, Scope("ada", None, run_id), None)
    return stream.proxy_fingerprint, stream.proxy_state, stream.gate_state


@pytest.mark.parametrize("losses", [0, 1, 2, 3])
def test_what_comes_meanwhile_is_all_that_another_try_weighs(
    losses: int, open_memory: Open, surprise_model: Any, conversation: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    told, late = conversation(12, seed=5, long=False), [f"Lamp {i} is in room {i + 20}." for i in range(losses)]
    rival, never = open_memory(), open_memory("never.db")
    ids = [added.id for added in rival.add_many([*told[:4], SECRET, *told[4:]], user_id="ada", now=NOW)]
    busy = Busy(surprise_model, [lambda text=text: rival.add(text, user_id="ada", now=NOW) for text in late])
    eraser = open_memory(surprise_model=busy)
    busy.watch(eraser, monkeypatch)
    eraser.erase(user_id="ada", memory_id=ids[4])
    list(never.add_many([*told, *late], user_id="ada", now=NOW))
    assert busy.scored == [message.content for message in told] + late, "each message once"
    assert busy.locked == late[2:], "only what came after the last of three tries"
    assert carried(rival) == carried(never)
    assert [e.text for e in rival.log(user_id="ada")] == [e.text for e in never.log(user_id="ada")]
    assert rival.verify() == []


def test_an_edit_meanwhile_is_seen(open_memory: Open, surprise_model: Any) -> None:
    rival, never = open_memory(), open_memory("never.db")
    ids = [added.id for added in rival.add(["I like tea.", SECRET, "I like jam."], user_id="ada", now=NOW)]
    busy = Busy(surprise_model, [lambda: rival.update(ids[0], "I like coffee.", user_id="ada")])
    open_memory(surprise_model=busy).erase(user_id="ada", memory_id=ids[1])
    never.add(["I like coffee.", "I like jam."], user_id="ada", now=NOW)
    assert carried(rival) == carried(never)


def test_replies_go_with_it_and_each_stream_is_weighed_once(
    open_memory: Open, surprise_model: Any, tmp_path: Path
) -> None:
    writer, never = open_memory(), open_memory("never.db")
    kept = ["I like tea.", "I like jam.", "I like rye."]
    first, secret, *_ = (added.id for added in writer.add([kept[0], SECRET, kept[1]], user_id="ada", now=NOW))
    for i in range(3):
        reply = Message("assistant", f"Locker zebra, {i}.", metadata={"evidence": [secret]})
        writer.add(reply, user_id="ada", run_id="other" if i == 2 else None, now=NOW)
    writer.add(kept[2], user_id="ada", now=NOW)
    writer.add("Elsewhere no problems found.", user_id="ada", run_id="other", now=NOW)
    busy = Busy(surprise_model)
    receipt = open_memory(surprise_model=busy).erase(user_id="ada", memory_id=secret)
    assert receipt.rows["episodes"] == 4 and receipt.found == 0
    assert sorted(busy.scored) == sorted([*kept, "Elsewhere no problems found."])
    never.add(kept, user_id="ada", now=NOW)
    never.add("Elsewhere no problems found.", user_id="ada", run_id="other", now=NOW)
    for run_id in (None, "other"):
        assert carried(writer, run_id) == carried(never, run_id)
    assert writer.get(first, user_id="ada") is not None and writer.verify() == []
    assert b"zebra" not in b"".join(path.read_bytes() for path in tmp_path.glob("store.db*"))


def served(memory: Memory) -> Eraser:
    parts = memory.components
    return Eraser(parts.database, parts.surprise_model, parts.gate, served=True)


def test_a_served_surprise_model_is_never_asked_under_the_lock(
    open_memory: Open, surprise_model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = [f"Lamp {i} is in room {i + 20}." for i in range(SERVED_ATTEMPTS - 1)]
    rival, never = open_memory(), open_memory("never.db")
    ids = [added.id for added in rival.add(["I like tea.", SECRET], user_id="ada", now=NOW)]
    busy = Busy(surprise_model, [lambda text=text: rival.add(text, user_id="ada", now=NOW) for text in late])
    memory = open_memory(surprise_model=busy)
    busy.watch(memory, monkeypatch)
    served(memory).episode("ada", ids[1])
    list(never.add_many(["I like tea.", *late], user_id="ada", now=NOW))
    assert busy.scored == ["I like tea.", *late] and busy.locked == []
    assert carried(rival) == carried(never)


def test_a_served_surprise_model_that_never_catches_up_erases_nothing(
    open_memory: Open, surprise_model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = [f"Lamp {i} is in room {i + 20}." for i in range(SERVED_ATTEMPTS)]
    rival = open_memory()
    ids = [added.id for added in rival.add(["I like tea.", SECRET], user_id="ada", now=NOW)]
    busy = Busy(surprise_model, [lambda text=text: rival.add(text, user_id="ada", now=NOW) for text in late])
    memory = open_memory(surprise_model=busy)
    busy.watch(memory, monkeypatch)
    with pytest.raises(StoreBusyError, match="nothing was erased"):
        served(memory).episode("ada", ids[1])
    assert busy.locked == [] and len(rival.log(user_id="ada")) == 2 + SERVED_ATTEMPTS


def test_a_served_surprise_model_writes_outside_of_the_lock_or_not_at_all(
    open_memory: Open, surprise_model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rival, sooner = open_memory(), SERVED_ATTEMPTS - 1
    for count, name in ((sooner, "I like tea."), (SERVED_ATTEMPTS, "I like jam.")):
        late = [f"Lamp {i} is {count}." for i in range(count)]
        busy = Busy(surprise_model, [lambda text=text: rival.add(text, user_id="ada", now=NOW) for text in late])
        memory = open_memory(surprise_model=busy)
        busy.watch(memory, monkeypatch)
        parts = memory.components
        writer = Writer(
            parts.database,
            parts.indexer,
            busy,
            parts.gate,
            parts.stages,
            embed_deferred=True,
            served=True,
            quotas=Quotas(parts.config.limits),
        )
        message = Message("user", name)
        if count == sooner:
            writer.add([CheckedMessage.of(message)], Scope("ada"), recorded_at=NOW)
        else:
            with pytest.raises(StoreBusyError, match="nothing was stored"):
                writer.add([CheckedMessage.of(message)], Scope("ada"), recorded_at=NOW)
        assert busy.locked == []
    texts = [episode.text for episode in rival.log(user_id="ada")]
    assert "I like tea." in texts and "I like jam." not in texts and rival.verify() == []


@pytest.mark.parametrize("whole", [True, False])
def test_an_erasure_whose_files_could_not_be_rewritten_is_finished_by_the_next(
    whole: bool, open_memory: Open, tmp_path: Path
) -> None:
    memory = open_memory(config={"store": {"busy_timeout": 0.1}})
    memory.add("Nothing of note.", user_id="bob")
    said = memory.add("The passphrase is quincunx-marmalade-77.", user_id="ada")[0].id
    wanted: dict[str, str] = {"user_id": "ada"} if whole else {"user_id": "ada", "memory_id": said}

    def left() -> bool:
        return any(b"quincunx-marmalade" in path.read_bytes() for path in tmp_path.iterdir() if path.is_file())

    with closing(sqlite3.connect(tmp_path / "store.db", isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM episodes").fetchall()
        with pytest.raises(StoreBusyError, match=r"are deleted, but .* could not be rewritten.* erase again"):
            memory.erase(**wanted)
    assert memory.get(said, user_id="ada") is None and left()
    receipt = memory.erase(**wanted)
    assert receipt.rows == {} and not left()
    with pytest.raises(NotFoundError):
        memory.erase(**wanted)
