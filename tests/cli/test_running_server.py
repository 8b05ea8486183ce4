"""Search, ask and add through a running server: same results, and only the server that the store's owner started."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
from typer.testing import CliRunner, Result

pytest.importorskip("fastapi")

from nscma_torch import Memory
from nscma_torch.cli import app, running_server
from nscma_torch.cli.served_memory import ServedMemory, UnstoredMessages
from nscma_torch.core.errors import StoreError
from nscma_torch.core.records import Answer, Message
from nscma_torch.server import announcing, notice
from nscma_torch.server.app import create_app
from nscma_torch.server.app_context import ServerSettings
from nscma_torch.server.notice import Notice, ResultInputs
from nscma_torch.server.results import AnswerOut
from nscma_torch.server.running import Serving, bound
from nscma_torch.server.tokens import TokenFile

if TYPE_CHECKING:
    from nscma_torch.cli.running_server import Line

CONFIG = '[embedder]\nmodel = "hash"\n[reading]\nmodel = "none"\nfacts = "none"\n[gate]\nrule = "everything"\n'
SAID = ("I moved to Porto in March.", "My sister Ines works at Bosch.", "I'm allergic to peanuts.")
STORE, FILE = Path("nscma.db"), Path("light.toml")
Run = Callable[..., Result]


def added(store: Path) -> None:
    at = {"timestamp": "2026-01-01", "name": "Ana"}
    with Memory(store, config=FILE) as memory:
        memory.add([{"role": "user", "content": text, **at} for text in SAID], user_id="ana")
        memory.add("Tom's own words.", user_id="tom", timestamp="2026-01-01")
        memory.flush()


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs `nscma …` on a store of three messages of ana's."""
    monkeypatch.chdir(tmp_path)
    FILE.write_text(CONFIG)
    for name in ("NSCMA_STORE", "NSCMA_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NSCMA_CONFIG", str(FILE))
    monkeypatch.setenv("NSCMA_USER", "ana")
    added(STORE)
    return lambda *arguments: CliRunner().invoke(app, list(arguments))


@pytest.fixture
def served(run: Run) -> Iterator[Notice]:
    """A server of that store, with its notice."""
    settings = ServerSettings(Path("nscma.db.tokens"), port=0)
    with Memory(STORE, config=FILE) as memory, bound(settings) as listening:
        made = Notice.of_this_process(f"http://127.0.0.1:{listening.getsockname()[1]}", ResultInputs.of(STORE, FILE))
        begun = threading.Event()
        server = Serving(create_app(memory, settings, route_groups=[announcing.route_group(made)]), begun.set)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        assert begun.wait(30)
        try:
            with announcing.announced(made, STORE):
                yield made
        finally:
            server.should_exit = server.force_exit = True
            thread.join()


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The stores that commands open themselves."""
    stores: list[Path] = []
    real = running_server.opened

    def noted(store: str, *arguments: Any, **named: Any) -> Any:
        stores.append(Path(store))
        return real(store, *arguments, **named)

    monkeypatch.setattr(running_server, "opened", noted)
    return stores


def comparable(text: str) -> Any:
    found = json.loads(text)
    if isinstance(found, dict):
        found.get("usage", {}).pop("seconds", None)
    return found


READS = (
    ("search", "Where does my sister work?", "-k", "2"),
    ("search", "Porto", "--as-of", "2020-01-01"),
    ("search", "Bosch", "--filter", "x=1"),
    ("ask", "Where does my sister work?"),
    ("ask", "Which submarine did Zebulon pilot?"),
    ("ask", "Where does Tom live?", "--user", "nobody"),
)


def test_the_results_are_those_of_this_process(run: Run, served: Notice, opened: list[Path]) -> None:
    assert served.answers == ResultInputs.of(STORE, FILE)
    for read in READS:
        there, there_as_json = run(*read), run(*read, "--json")
        assert opened == [], read
        here, here_as_json = run(*read, "--no-server"), run(*read, "--json", "--no-server")
        assert opened == [STORE, STORE]
        assert (there.exit_code, there.output) == (here.exit_code, here.output) and there.exit_code == 0, read
        assert comparable(there_as_json.stdout) == comparable(here_as_json.stdout), read
        opened.clear()
    assert "another user" not in run("search", "Porto", "--as-of", "2020-01-01").stderr
    assert "2 other users have" in run("search", "Porto", "--user", "nobody").stderr


LINES = (  # more than one request takes
    *({"role": "user", "content": f"Turn {number} is about Porto.", "session": number // 30} for number in range(69)),
    {
        "role": "assistant",
        "content": "Noted.",
        "name": "Bo",
        "timestamp": "2026-01-02T03:04:05Z",
        "shelf": [1, {"a": 2.5}],
    },
)
ADDS = (
    ("told.jsonl", "notes.md", "--agent", "helper", "--run", "r1"),
    ("told.jsonl", "--agent", "helper", "--run", "r1"),  # again: nothing is new
    ("--text", "Ok.", "I live in Gent.", "--role", "assistant", "--name", "Bo", "--timestamp", "2026-02-01"),
    ("--text", "My brother Tom sails.", "--no-infer"),
)


def test_what_is_added_through_the_server_is_what_this_process_adds(
    run: Run, served: Notice, opened: list[Path]
) -> None:
    assert served.url
    Path("told.jsonl").write_text("\n".join(map(json.dumps, LINES)))
    Path("notes.md").write_text("# Porto\n\nThe harbour is old.\n\n# Gent\n\nThe trams are new.\n")
    added(Path("other.db"))
    for line in ADDS:
        there, here = run("add", *line, "--json"), run("add", *line, "--json", "--store", "other.db")
        assert there.exit_code == here.exit_code == 0, (there.output, here.output)
        assert json.loads(there.stdout) == json.loads(here.stdout), line
        assert opened == [Path("other.db")] * len(opened)
    found = [json.loads(run("stats", "--json", "--store", name).stdout) for name in (str(STORE), "other.db")]
    assert found[0]["digest"] == found[1]["digest"] and found[0]["messages"] == 79
    sources = {one["source"] for one in json.loads(run("log", "--json").stdout)}
    assert sources == {None, "notes.md"}


def test_what_the_server_refuses_to_store_is_refused_here_in_the_same_words(run: Run, served: Notice) -> None:
    assert served.url
    for wrong in (("--text", "Fine.", " "), ("--text", "Fine.", "--role", "nobody"), ("nothing.txt",)):
        there, here = run("add", *wrong), run("add", *wrong, "--no-server")
        assert there.exit_code == here.exit_code == 1 and str(there.exception) == str(here.exception), wrong
    assert json.loads(run("stats", "--json").stdout)["messages"] == 4


class Refusing:
    """A line to a server that stores the first batch, and ends before it answers the second."""

    url = "http://127.0.0.1:9"

    def __init__(self, error: Exception) -> None:
        self.error, self.taken = error, 0

    def call(self, *_: str, messages: list[dict[str, Any]], **__: object) -> str:
        if self.taken:
            raise self.error
        self.taken = len(messages)
        beside: dict[str, Any] = {"hidden": [], "masked": []}
        added = [{"id": one["content"], "event": "ADD", "text": "", "decision": None, **beside} for one in messages]
        return json.dumps({"results": added})


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        (running_server.UnavailableError(), running_server.UnavailableError),
        (running_server.LostError(), StoreError),
    ],
)
def test_messages_that_a_server_did_not_store_are_still_waiting(error: Exception, raised: type[Exception]) -> None:
    messages = [Message("user", str(number)) for number in range(100)]
    line, waiting, sizes = Refusing(error), UnstoredMessages(messages), list[int]()
    results = ServedMemory(cast("Line", line)).add_many(waiting, user_id="ana", infer=True, progress=sizes.append)
    with pytest.raises(raised):
        list(results)
    assert sum(sizes) == sum(len(one.content) for one in messages[: line.taken]) and 0 < line.taken < 100
    assert list(waiting) == (messages[2 * line.taken :] if raised is StoreError else messages[line.taken :])


def test_a_process_that_goes_through_the_server_loads_neither_rows_nor_models(run: Run, served: Notice) -> None:
    assert served.url
    program = (
        "import json, sys; from nscma_torch.cli import app\n"
        "for line in json.loads(sys.argv[1]):\n"
        "    app(line, standalone_mode=False)\n"
        "    loaded = {'sqlalchemy', 'torch', 'fastapi', 'nscma_torch.api.memory'} & set(sys.modules)\n"
        "    print('loaded', *loaded, file=sys.stderr)"
    )
    Path("doc.md").write_text("# Porto\n\nThe harbour is old.\n")
    through = (READS[0], READS[3], ("add", "--text", "Ok."))
    # A file is compared with the rows that are stored of it, without models.
    lines = [*through, ("add", "doc.md"), (*READS[3], "--no-server")]
    line = [sys.executable, "-c", program, json.dumps(lines)]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    *first, document, here = (line for line in done.stderr.splitlines() if line.startswith("loaded"))
    assert first == ["loaded"] * len(through) and "torch" in here
    assert not {"torch", "fastapi"}.intersection(document.split()), done.stderr


@pytest.mark.parametrize("read", [("search", "Porto", "--kind", "nonsense"), ("search", " "), ("ask", "x" * 20_000)])
def test_what_is_wrong_is_said_in_the_same_words(run: Run, served: Notice, read: tuple[str, ...]) -> None:
    assert served.url
    there, here = run(*read), run(*read, "--no-server")
    assert there.exit_code == here.exit_code == 1
    assert str(there.exception) == str(here.exception)


def test_tokens(run: Run, served: Notice, opened: list[Path]) -> None:
    token, _ = TokenFile(Path("nscma.db.tokens")).add("ana", ["read"])
    found = run("search", "Bosch", "--json")
    assert opened == [STORE], "without a token the server tells nothing, and the file is the owner's to read"
    assert comparable(run("search", "Bosch", "--json", "--token", token).stdout) == comparable(found.stdout)
    assert len(opened) == 1
    for given, user in ((token, "tom"), ("nscma_unknown", "ana")):
        refused = run("search", "Bosch", "--token", given, "--user", user)
        assert (
            refused.exit_code == 1 and "--no-server" in str(refused.exception) and served.url in str(refused.exception)
        )
    assert len(opened) == 1
    assert "nothing found" in run("search", "Bosch", "--filter", "x=1", "--token", token).stdout
    assert len(opened) == 2, "the hint at other users is about the whole store"


def test_tokens_of_an_add(run: Run, served: Notice, opened: list[Path]) -> None:
    assert served.url
    tokens = TokenFile(Path("nscma.db.tokens"))
    own, _ = tokens.add("ana", ["read", "write"])
    anyones, _ = tokens.add(None, ["read", "write"])
    reading, _ = tokens.add(None, ["read"])
    line = ("add", "--text", "Ok.")
    assert run(*line, "--token", own).exit_code == 0
    assert opened == [STORE], "one user's token does not show the whole store, and the file is the owner's to read"
    opened.clear()
    assert run(*line, "--token", anyones).exit_code == 0 and opened == []
    for line, token in (
        (("add", "--text", "Ok.", "--user", "tom"), own),
        (("add", "--text", "Ok."), reading),
        (("ask", "Where?", "--user", "tom"), own),
        (("search", "Bosch"), "nscma_unknown"),
    ):
        refused = run(*line, "--token", token)
        assert refused.exit_code == 1 and "--no-server" in str(refused.exception), line
    assert opened == []


def test_a_server_that_would_answer_otherwise_is_not_asked(run: Run, served: Notice, opened: list[Path]) -> None:
    Path("other.toml").write_text(CONFIG + "[retrieval]\ntop_k = 1\n")
    assert len(json.loads(run("search", "Porto", "--json", "--config", "other.toml").stdout)) == 1
    assert len(opened) == 1
    path = notice.beside(STORE)
    for change in ({"program": "0.0.1"}, {"store": (1, 2)}, {"folder": "/elsewhere"}):
        replace(served, answers=replace(served.answers, **change)).write(path)
        assert running_server.server_of(STORE, FILE) is None, change
    served.write(path)
    assert running_server.server_of(STORE, FILE) == served


def test_whoever_else_has_the_port_is_sent_nothing(
    run: Run, served: Notice, opened: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The notice names a port on which another program listens now: it does not know the key."""
    asked: list[str] = []
    real = running_server.Line.request

    def noted(line: Any, method: str, path: str, body: str | None = None) -> tuple[int, bytes]:
        asked.append(path.partition("?")[0])
        return real(line, method, path, body)

    monkeypatch.setattr(running_server.Line, "request", noted)
    replace(served, key="00" * 32).write(notice.beside(STORE))
    assert run("search", "Porto").exit_code == 0
    assert (asked, opened) == ([notice.PROOF], [STORE])


def test_a_notice_of_another_owner_or_of_a_process_that_ended(served: Notice) -> None:
    path = notice.beside(STORE)
    path.chmod(0o644)
    assert notice.read(path) is None
    path.chmod(0o600)
    path.rename("own")
    path.symlink_to("own")
    assert notice.read(path) is None, "a link may lead to what somebody else can change"
    path.unlink()
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    replace(served, machine="elsewhere", pid=ended.pid, url="http://127.0.0.1:9").write(path)
    assert running_server.server_of(STORE, FILE) is None and path.exists(), "of another machine nothing is known"
    replace(served, pid=ended.pid).write(path)
    assert running_server.server_of(STORE, FILE) is None and not path.exists()
    path.write_text("no JSON")
    path.chmod(0o600)
    assert notice.read(path) is None


def test_the_notice_is_the_owners_and_goes_with_the_server(run: Run) -> None:
    path = notice.beside(STORE)
    first, second = (Notice.of_this_process("http://127.0.0.1:9", ResultInputs.of(STORE, None)) for _ in "12")
    assert first.key != second.key
    before = os.umask(0)
    try:
        with announcing.announced(first, STORE):
            assert path.stat().st_mode & 0o777 == 0o600
            assert notice.read(path) == first
            second.write(path)
        assert notice.read(path) == second, "a server that came later keeps its own"
    finally:
        os.umask(before)
    second.remove(path)
    assert list(Path().glob("*.server*")) == []


def test_an_answer_comes_back_with_what_of_it_is_quoted() -> None:
    answer = Answer("Bosch\nAna, 6 January 2026: My sister works at Bosch.", False, 0.9, (), quotes=1)

    class Replying:
        def call(self, *_: object, **__: object) -> str:
            return AnswerOut.model_validate(answer, from_attributes=True).model_dump_json()

    told = ServedMemory(cast("Line", Replying())).ask("Where does my sister work?", user_id="ana")
    assert told == answer and told.short == "Bosch"
