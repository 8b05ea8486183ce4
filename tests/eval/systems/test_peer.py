"""Packages behind a pipe: what they find is read and ranked, and what is wrong with an environment is said at once."""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
import torch

from eval.systems import peer
from eval.systems.catalogue import make_system
from eval.systems.embedding_server import EmbeddingServer
from eval.systems.peer import VERSIONS
from nscma_torch.core.errors import ConfigError, StoreError
from nscma_torch.text.embedders.hash_embedder import HashEmbedder
from tests.eval.systems.rig import ASKED, SAID, ShowingReader, conversation, reading, shared

ROOT = Path(__file__).parents[3]
QUESTION = "How many degrees is the kiln set to?"


@pytest.fixture
def python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An interpreter that serves `fake_store.py`, whatever package it is asked for."""
    monkeypatch.setattr(peer, "VERSIONS", dict.fromkeys(VERSIONS, version("pydantic")))
    program = tmp_path / "python"
    here = Path(__file__).parent
    program.write_text(f'#!/bin/sh\nserve=$1\nshift 2\nPYTHONPATH={here} exec {sys.executable} "$serve" fake "$@"\n')
    program.chmod(0o755)
    return str(program)


def test_what_a_package_finds_is_read_and_the_ranking_goes_on(tmp_path: Path, python: str) -> None:
    run = shared()
    section = {"kind": "peer", "package": "coremem", "python": python, "top_k": 2}
    messages = [
        replace(message, content=" " if i == 1 else message.content) for i, message in enumerate(conversation())
    ]
    system = make_system(section, run)
    for name in ("one", "two"):  # a process serves one sample after the other
        folder = tmp_path / name
        folder.mkdir()
        with system.open(folder) as session:
            assert set(session.read(messages).seconds) == {"ingest"}
            reply = session.ask(QUESTION, options=(), now=ASKED)
            assert session.store_bytes() == (folder / "messages").stat().st_size
        assert reply.text == f"{SAID[2]} | {SAID[5]}"  # without the name that was stored before them
        assert set(reply.cost.seconds) == {"retrieve", "read"}
        assert reply.evidence is not None and reply.evidence[:2] == (2, 5) and sorted(reply.evidence) == [0, 2, 3, 4, 5]
        assert not (folder / "messages").exists(), "the store was closed"
    assert isinstance(run.reader, ShowingReader) and [len(passages) for passages in run.reader.handed] == [2, 2]


def test_arguments_and_the_time_of_the_question_reach_the_search(tmp_path: Path, python: str) -> None:
    section = {"kind": "peer", "package": "mem0", "python": python, "top_k": 1, "arguments": {"newest": True}}
    with reading(section, shared(), tmp_path / "store", conversation()) as session:
        before = conversation()[4].timestamp
        assert before is not None
        assert session.ask(QUESTION, options=(), now=before).evidence == (3, 2, 1, 0)


def test_a_package_that_fails_ends_its_process_and_the_next_sample_has_another(
    tmp_path: Path, python: str, capfd: pytest.CaptureFixture[str]
) -> None:
    system = make_system({"kind": "peer", "package": "mempalace", "python": python}, shared())
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        with pytest.raises(StoreError, match="mempalace ended with code 1"), system.open(tmp_path / name) as session:
            session.read(conversation())
            session.ask("Break", options=(), now=ASKED)
    said = capfd.readouterr()
    assert said.err.count("RuntimeError: it broke") == 2 and "printed by a package" in said.err and not said.out


def test_what_is_wrong_with_an_environment_is_said_before_anything_runs(tmp_path: Path, python: str) -> None:
    section = {"kind": "peer", "package": "brainmem"}
    with pytest.raises(ConfigError, match="needs python"):
        make_system(section, shared())
    with pytest.raises(ConfigError, match="needs package"):
        make_system({"kind": "peer", "python": python}, shared())
    for path in (str(tmp_path / "none"), sys.executable):  # no interpreter, and one without the package
        with pytest.raises(ConfigError, match=r"`make brainmem` makes \.venv-brainmem"):
            make_system({**section, "python": path}, shared())


def test_another_version_than_is_pinned_is_refused(python: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peer, "VERSIONS", VERSIONS)
    with pytest.raises(ConfigError, match=r"has brainmem .*, and 0\.3\.0 is what this is written for"):
        make_system({"kind": "peer", "package": "brainmem", "python": python}, shared())


def test_the_makefile_installs_the_versions_that_the_stores_are_written_for() -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    installed = dict(re.findall(r"^INSTALL_(\w+) := \w+==(\S+)", text, flags=re.MULTILINE))
    assert installed == dict(VERSIONS)


def test_the_run_embeds_for_packages() -> None:
    embedder = HashEmbedder()
    server = EmbeddingServer(embedder)
    long = "Sentence after sentence. " * embedder.max_tokens
    body = json.dumps({"model": "any", "input": [SAID[0], long]}).encode()
    with urlopen(Request(f"{server.url}/v1/embeddings", body)) as answer:
        one, other = (torch.tensor(item["embedding"]) for item in json.load(answer)["data"])
    assert torch.allclose(one, embedder.embed([SAID[0]])[0].cpu()) and other.shape == (embedder.dimension,)


@pytest.mark.parametrize("package", VERSIONS)
def test_a_real_package_finds_what_was_said(tmp_path: Path, package: str) -> None:
    python = os.environ.get(f"{package.upper()}_PYTHON")
    if python is None:
        pytest.skip(f"needs {package.upper()}_PYTHON, an interpreter with {package}")
    system = make_system({"kind": "peer", "package": package, "python": python, "top_k": 3}, shared())
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        with system.open(tmp_path / name) as session:
            session.read(conversation())
            replies = [session.ask(QUESTION, options=(), now=ASKED) for _ in range(2)]
            assert session.store_bytes() > 1000
        assert replies[0].evidence == replies[1].evidence, "asking changes nothing"
        assert replies[0].evidence is not None and 2 in replies[0].evidence[:3] and SAID[2][:-1] in replies[0].text
