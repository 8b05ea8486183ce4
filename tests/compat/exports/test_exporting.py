"""What is written for mem0 and MemPalace, read back: by themselves where they are installed, else by their rules."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from nscma_torch.cli import app
from nscma_torch.compat.exports.exporting import export_to
from nscma_torch.compat.exports.importing import read_export
from nscma_torch.errors import EmptyTextError, InvalidInputError, StoreAccessError
from nscma_torch.memory import Memory
from nscma_torch.records import Message

AT = datetime(2026, 3, 1, 10, tzinfo=UTC)
SAID = [
    Message(
        "user", "I love climbing.\nAnd <tea>.", AT, "Ana", session="c1", metadata={"category": "hobby", "role": "x"}
    ),
    Message("assistant", "好的，noted.", AT + timedelta(minutes=1), session="c1"),
    Message("user", "> quoted, then more", AT + timedelta(minutes=2), session="c1"),
    Message("assistant", "One.", AT + timedelta(days=2), session="c1"),
    Message("assistant", "Two.", AT + timedelta(days=2, minutes=1), session="c1"),
    Message("user", "Without a session.", AT, session=None),
    Message("user", "A session of that name.", AT, session="messages"),
    Message("user", "And of this one.", AT, session="../../etc/passwd"),
    Message("system", "You are kind.", AT, session="c1"),
    Message("document", "A page.", AT, source="notes/a.md"),
    Message("document", "Its second page.", AT, source="notes/a.md"),
]


@pytest.fixture
def filled(open_memory: Callable[..., Memory], light_proxy: Any) -> Memory:
    """A memory of Ana's, one message of Ben's for an agent, and one that was deleted."""
    memory = open_memory(proxy=light_proxy)
    memory.add(SAID, user_id="ana")
    memory.add("Ben's.", user_id="ben", agent_id="bot", timestamp=AT, expiration_date="2931-01-01T00:00:00+00:00")
    (gone,) = memory.add("Deleted.", user_id="ben")
    memory.delete(gone.id, user_id="ben")
    return memory


def as_mem0_does(calls: list[dict[str, Any]], folder: Path) -> Path:
    """The store that mem0 2.2.1 would write: `add` with `infer=False` makes a payload of a message like this."""
    stored = {}
    for number, call in enumerate(calls):
        ids = {name: call[name] for name in ("user_id", "agent_id", "run_id") if name in call}
        more = {"expiration_date": call["expiration_date"]} if "expiration_date" in call else {}
        for said in call["messages"]:
            assert set(call) <= {"messages", "metadata", "infer", "expiration_date", *ids} and call["infer"] is False
            own = {key: value for key, value in call["metadata"].items() if key not in (*ids, "actor_id")}
            payload = own | ids | more | {"role": said["role"], "data": said["content"], "hash": "x"}
            payload |= {"actor_id": said["name"]} if "name" in said else {}
            payload |= {"updated_at": own["created_at"], "text_lemmatized": "x"}
            stored[f"m{number:03}"] = payload
    path = folder / "faiss.json"
    path.write_text(json.dumps({"docstore": stored}))
    return path


def by_mem0_itself(calls: list[dict[str, Any]], folder: Path) -> Path:
    """The same by the package, over a local Qdrant store, with vectors that mean nothing."""

    class Vectors:
        config = None

        def embed(self, text: str, _: object = None) -> list[float]:
            draw = random.Random(text)
            return [draw.uniform(-1, 1) for _ in range(8)]

    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("MEM0_TELEMETRY", "False"), ("OPENAI_API_KEY", "x"), ("MEM0_DIR", str(folder / "own"))):
            patch.setenv(name, value)  # before it is imported: it would call home
        pytest.importorskip("mem0")
        pytest.importorskip("qdrant_client")
        import mem0.memory.main as main

        patch.setattr(main.EmbedderFactory, "create", staticmethod(lambda *_, **__: Vectors()))
        store = {"path": str(folder / "q"), "collection_name": "mem0", "embedding_model_dims": 8, "on_disk": True}
        config = {
            "vector_store": {"provider": "qdrant", "config": store},
            "history_db_path": str(folder / "history.db"),
        }
        memory = main.Memory.from_config(config)
        for call in calls:
            assert memory.add(**call)["results"]
        memory.close()
    return folder / "q"


@pytest.mark.parametrize("loaded", [as_mem0_does, by_mem0_itself])
def test_mem0_has_what_was_said(filled: Memory, tmp_path: Path, loaded: Callable[..., Path]) -> None:
    made = export_to("mem0", filled, tmp_path / "all.jsonl")
    calls = [json.loads(line) for line in (tmp_path / "all.jsonl").read_text().splitlines()]
    assert (made.messages, made.files, made.left_out) == (len(calls), 1, 1) == (len(SAID), 1, 1)
    assert (tmp_path / "all.jsonl").stat().st_mode & 0o777 == 0o600
    back = read_export("mem0", loaded(calls, tmp_path))
    expected = [one for one in SAID if one.role != "system"]
    anas = [one for one in back if one.ids["user_id"] == "ana"]
    told = {(one.message.content, one.message.role, one.message.name, one.message.timestamp) for one in anas}
    assert told == {(one.content, one.role, one.name, one.timestamp) for one in expected} and len(anas) == len(expected)
    (ben,) = [one for one in back if one.ids["user_id"] == "ben"]
    assert ben.ids == {"user_id": "ben", "agent_id": "bot"} and ben.message.content == "Ben's."
    assert ben.expires_at == datetime(2931, 1, 1, tzinfo=UTC)
    (first,) = [one.message for one in anas if one.message.name]
    assert first.metadata["category"] == "hobby" and first.metadata["nscma_role"] == "x"
    assert first.metadata["session"] == "c1" and first.metadata["nscma_id"]
    assert {one.message.metadata.get("source") for one in anas if one.message.role == "document"} == {"notes/a.md"}


def transcripts(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file())


def test_mempalace_gets_transcripts(filled: Memory, tmp_path: Path) -> None:
    """Lines of Claude Code's form, two turns and more a file; else a text with its day. Nothing leaves the folder."""
    made = export_to("mempalace", filled, tmp_path / "out" / "palace")
    files = {path.relative_to(tmp_path / "out" / "palace").as_posix(): path for path in transcripts(tmp_path / "out")}
    assert (made.messages, made.files, made.left_out) == (len(SAID), len(files), 1)
    assert len(files) == 7 and sum(path.startswith("ben/") for path in files) == 1
    entries = [json.loads(line) for line in files["ana/c1-2026-03-01.jsonl"].read_text().splitlines()]
    assert [(one["type"], one["timestamp"], one["message"]["content"]) for one in entries] == [
        ("user", "2026-03-01T10:00:00+00:00", "Ana: I love climbing.\nAnd <tea>."),
        ("assistant", "2026-03-01T10:01:00+00:00", "好的，noted."),
        ("user", "2026-03-01T10:02:00+00:00", "> quoted, then more"),
    ]
    assert files["ana/c1-2026-03-03.txt"].read_text() == "[2026-03-03]\n\nassistant: One.\n\nassistant: Two.\n"
    assert files["ana/+messages-2026-03-01.txt"].read_text() == "[2026-03-01]\n\nuser: Without a session.\n"
    assert files["ana/messages-2026-03-01.txt"].read_text() == "[2026-03-01]\n\nuser: A session of that name.\n"
    (document,) = (path for name, path in files.items() if "document+" in name)
    assert document.read_text() == "[2026-03-01] notes/a.md\n\nA page.\n\nIts second page.\n"
    assert not any("Deleted." in path.read_text() for path in files.values())
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in files.values())


def test_mempalace_itself_takes_every_text(filled: Memory, tmp_path: Path) -> None:
    pytest.importorskip("mempalace")
    pytest.importorskip("chromadb")
    from mempalace.convo_miner import _extract_authored_at, chunk_exchanges, scan_convos
    from mempalace.normalize import normalize_conversations

    export_to("mempalace", filled, tmp_path / "palace")
    found = scan_convos(str(tmp_path / "palace"))
    assert sorted(map(Path, found)) == [*transcripts(tmp_path / "palace")]
    drawers = [
        drawer["content"]
        for path in found
        for one in normalize_conversations(str(path))
        for drawer in chunk_exchanges(one)
    ]
    for said in SAID:
        held = any(line in drawer for drawer in drawers for line in said.content.splitlines()[:1])
        assert held is (said.role != "system"), said.content
    assert not any('"timestamp"' in drawer for drawer in drawers)  # no transcript was taken for a plain text
    days = {Path(path).name: _extract_authored_at(path) for path in found}
    assert days["c1-2026-03-01.jsonl"] == "2026-03-01T10:02:00+00:00"


def test_one_user_alone(filled: Memory, tmp_path: Path) -> None:
    export_to("mem0", filled, tmp_path / "ben.jsonl", user_id="ben")
    export_to("mempalace", filled, tmp_path / "ben", user_id="ben")
    assert "climbing" not in (tmp_path / "ben.jsonl").read_text() and "ana" not in (tmp_path / "ben.jsonl").read_text()
    assert [path.parent.name for path in transcripts(tmp_path / "ben")] == ["ben"]


def test_what_is_not_exported(filled: Memory, tmp_path: Path) -> None:
    (tmp_path / "there").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    for kind, name, user, error, words in (
        ("zep", "new", None, InvalidInputError, "kinds are mem0, mempalace"),
        ("mem0", "there", None, StoreAccessError, "there already"),
        ("mempalace", "there", None, StoreAccessError, "there already"),
        ("mem0", "link", None, StoreAccessError, "there already"),
        ("mem0", "new", "nobody", EmptyTextError, "no message to export of nobody"),
    ):
        with pytest.raises(error, match=words):
            export_to(kind, filled, tmp_path / name, user_id=user)
    filled.add("x", user_id="a b")
    with pytest.raises(InvalidInputError, match="white space"):
        export_to("mem0", filled, tmp_path / "new")
    assert (tmp_path / "there").read_text() == "mine" and not (tmp_path / "new").exists()
    assert not (tmp_path / "elsewhere").exists()


def test_the_command(filled: Memory, tmp_path: Path) -> None:
    (tmp_path / "light.toml").write_text('embedder.model = "hash"\nreading.model = "none"\n')
    where = ["--store", str(filled.components.database.path), "--config", str(tmp_path / "light.toml")]
    done = CliRunner().invoke(app, ["export", str(tmp_path / "p"), "--to", "mempalace", *where])
    assert done.exit_code == 0 and f"exported {len(SAID)} messages for mempalace" in done.output
    assert "1 that mempalace takes no role of" in done.output
    done = CliRunner().invoke(app, ["export", str(tmp_path / "m"), "--to", "mem0", "--user", "ben", "--json", *where])
    assert json.loads(done.stdout) == {"file": str(tmp_path / "m"), "messages": 1, "files": 1, "left_out": 0}
    assert CliRunner().invoke(app, ["export", "--to", "mem0", *where]).exit_code == 2


if __name__ == "__main__":  # with the packages of another environment: python tests/…/test_exporting.py FOLDER
    sys.path.append(sys.argv[1])
    sys.exit(pytest.main(["-q", __file__]))
