"""A system of this project on the scripted conversation, asking the same server over the same protocol."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from eval.experiments.systems.scripted_conversation import ASKED, QUERIES, messages
from eval.experiments.systems.scripted_server import CONTEXT, MODEL, Body, Script, scripted_server
from eval.harness.contract import Passage, Reply, Shared
from eval.harness.fakes import IndifferentProxy
from eval.systems.baseline import Finder
from eval.systems.documents import default_chunker, passages_of
from eval.systems.language import Language
from nscma_torch.llm.engines.openai_http import OpenAIEngine
from nscma_torch.protocols import Embedder


class NoReader:
    """Nothing is answered here: what is compared is what a system keeps and finds."""

    def begin(self, summary_words: int) -> None:
        """Nothing is asked for, either."""

    def answer(self, question: str, passages: object, **rest: object) -> Reply:
        """Raises AssertionError."""
        raise AssertionError(f"{question!r} was to be answered from {passages} with {rest}")

    def forget(self) -> None:
        """Nothing is kept from one question to the next."""


@dataclass(frozen=True, slots=True)
class OurRun:
    """What one of our systems is made of here.

    Attributes:
        passages: of the conversation, a message each.
    """

    language: Language
    embedder: Embedder
    passages: list[Passage]


@contextmanager
def our_run(script: Script, embedder: Embedder) -> Iterator[tuple[OurRun, list[int]]]:
    """The pieces, and a list that holds the number of model calls once the block has ended."""
    calls: list[int] = []
    with scripted_server(script, embedder) as server:
        engine = OpenAIEngine(server.url, server="other", model=MODEL, context=CONTEXT, concurrency=1)
        shared = Shared({}, embedder, IndifferentProxy(), engine, NoReader(), 1)
        try:
            yield OurRun(Language(shared, engine), embedder, passages_of(messages(), default_chunker(embedder))), calls
            calls.append(server.calls)
        finally:
            engine.close()


def texts_found(system: Finder) -> list[list[str]]:
    """For each query the texts that a system finds, best first."""
    return [[one.text for one in system.find(query, ASKED).passages] for query in QUERIES]


def data_of(body: Body) -> dict[str, Any]:
    """The data block of a prompt of ours (`nscma_torch.llm.prompts.quoting`)."""
    data: dict[str, Any] = json.loads(body["messages"][-1]["content"].split("\n", 1)[1])
    return data
