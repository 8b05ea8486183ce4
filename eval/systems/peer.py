"""Memory packages of others as they are installed, each in an environment of its own, none with a language model.

A package stores the messages whole and cuts them as it does; what it finds for a question goes to the reader that all
systems share, as the text that it gives. `peers/NAME_store.py` says how each is used, `peers/serve.py` what passes
through the pipe, and `make peers` makes the environments. They embed with the run's embedder where they take another
than their own; coremem takes only a folder, and is given that of all-MiniLM-L6-v2 whatever the run embeds with.

What is read is what the package returns where it is asked for `top_k` results. Evidence are the messages that these are
of, best first, followed by those of a search for more, for recall alone: what that takes is not counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from pydantic import Field

from eval.harness.contract import Cost, Passage, Reply, Session, Shared
from eval.systems.costs import Meter, together, uncounted
from eval.systems.documents import RANKED, UNDATED, said
from eval.systems.embedding_server import EmbeddingServer
from eval.systems.files import folder_bytes
from eval.systems.options import options_of
from eval.systems.peer_process import PeerProcess
from nscma_torch.core.config import Section
from nscma_torch.core.errors import ConfigError
from nscma_torch.core.records import Message
from nscma_torch.text.embedders.minilm import bundled_folder

VERSIONS: Mapping[str, str] = MappingProxyType(
    {"mempalace": "3.11.0", "coremem": "0.17.1", "brainmem": "0.3.0", "mem0": "2.2.1"}
)  # that their stores are written for
_PROGRAM = Path(__file__).parent / "peers" / "serve.py"


class PeerOptions(Section):
    """Options of kind peer."""

    package: Literal["mempalace", "coremem", "brainmem", "mem0"] = Field("mempalace", description="Whose memory it is.")
    python: str = Field(min_length=1, description="Interpreter that has the package.")
    top_k: int = Field(5, gt=0, description="Results that are read.")
    arguments: dict[str, Any] = Field({}, description="Further arguments of the package's search.")


class PeerSession:
    """A package at work on one sample.

    Args:
        folder: where it keeps its files.
    """

    def __init__(self, process: PeerProcess, options: PeerOptions, shared: Shared, folder: Path) -> None:
        self._process = process
        self._options = options
        self._shared = shared
        self._folder = folder
        self._messages: Sequence[Message] = ()

    def read(self, messages: Sequence[Message]) -> Cost:
        """Store all messages that say something."""
        self._messages = messages
        given = [_given(place, message) for place, message in enumerate(messages) if message.content.strip()]
        meter = Meter()
        with meter.stage("ingest"):
            self._process.ask({"do": "add", "messages": given})
        return meter.cost()

    def ask(self, question: str, *, options: Sequence[str], now: datetime) -> Reply:
        """Search, and have what is found read."""
        meter, top_k = Meter(), self._options.top_k
        with meter.stage("retrieve"):
            found = self._search(question, top_k, now)
        passages = [self._passage(result) for result in found]
        reply = self._shared.reader.answer(question, passages, options=options, now=now)
        with uncounted(self._shared.time):
            more = self._search(question, max(RANKED, top_k), now)
        evidence = dict.fromkeys(place for result in (*found, *more) for place in result["places"])
        return replace(reply, evidence=tuple(evidence), cost=together(meter.cost(), reply.cost))

    def _search(self, question: str, top_k: int, now: datetime) -> list[dict[str, Any]]:
        asked = {
            "do": "query",
            "text": question,
            "top_k": top_k,
            "now": _iso(now),
            "arguments": self._options.arguments,
        }
        found: list[dict[str, Any]] = self._process.ask(asked)["found"]
        return found

    def _passage(self, result: Mapping[str, Any]) -> Passage:
        """A result as part of the first message that it is of, without the name that was put before it."""
        place = result["places"][0]
        message = self._messages[place]
        text = result["text"].removeprefix(f"{message.name}: ")
        return Passage(place, message, text, max(0, message.content.find(text)))

    def store_bytes(self) -> int:
        """Of the files in its folder."""
        return folder_bytes(self._folder)


def _given(place: int, message: Message) -> dict[str, Any]:
    return {
        "place": place,
        "content": message.content,
        "said": said(Passage(place, message, message.content)),
        "name": message.name,
        "role": message.role,
        "session": message.session,
        "at": _iso(message.timestamp or UNDATED),
    }


def _iso(at: datetime) -> str:
    return at.astimezone(UTC).isoformat()


class Peer:
    """A package as a system; one process serves all samples."""

    def __init__(
        self, name: str, options: PeerOptions, shared: Shared, process: PeerProcess, embeddings: EmbeddingServer
    ) -> None:
        self.name = name
        self.options = options
        self._shared = shared
        self._process = process
        self._embeddings = embeddings  # ends with this object

    @contextmanager
    def open(self, folder: Path) -> Iterator[Session]:
        """A session over an empty store."""
        self._process.ask({"do": "open", "folder": str(folder)})
        try:
            yield PeerSession(self._process, self.options, self._shared, folder)
        finally:
            self._process.close()


def make_peer(section: Mapping[str, Any], shared: Shared) -> Peer:
    """Kind peer. Raises `ConfigError` where the package cannot be started, or is another version than is pinned."""
    missing = [key for key in ("package", "python") if key not in section]
    if missing:
        raise ConfigError(f"system {section['name']!r} of kind 'peer' needs {missing[0]}; see eval/systems/peer.py")
    options = options_of(PeerOptions(python=str(section["python"])), section)
    package = options.package
    embeddings = EmbeddingServer(shared.embedder)
    process = PeerProcess(options.python, [_PROGRAM, package, embeddings.url, bundled_folder()], package, package)
    found = process.check()
    if found != VERSIONS[package]:
        raise ConfigError(
            f"python = {options.python!r} has {package} {found}, and {VERSIONS[package]} is what this is written for; "
            f"`make {package}` installs it"
        )
    return Peer(section["name"], options, shared, process, embeddings)
