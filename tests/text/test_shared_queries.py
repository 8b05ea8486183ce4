"""Questions that wait at the same time share a pass; each caller has the vector, or the error, of its own question."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

import pytest
import torch

from nscma_torch.core.errors import ModelError
from nscma_torch.text.embedders.hash_embedder import HashEmbedder
from nscma_torch.text.embedders.minilm_embedder import MiniLMEmbedder
from nscma_torch.text.embedders.shared_queries import SharedQueries

TEXTS = ["Who lives in Porto?", "kettle", "Which harp did the dentist tune in spring, and why?", "ok"]


class Noted(HashEmbedder):
    """Notes what each pass embeds, holds on to "held" until it is let go, and refuses what says "bad"."""

    def __init__(self) -> None:
        super().__init__()
        self.passes: list[list[str]] = []
        self.asked, self.go_on = threading.Event(), threading.Event()

    def embed_query(self, text: str) -> torch.Tensor:
        self.passes.append([text])
        if text == "held":
            self.asked.set()
            assert self.go_on.wait(60)
        if "bad" in text:
            raise ModelError(f"cannot embed {text!r}")
        return super().embed_query(text)

    def embed_queries(self, texts: Sequence[str]) -> torch.Tensor:
        self.passes.append(list(texts))
        if any("bad" in text for text in texts):
            raise ModelError(f"cannot embed {texts}")
        return self.embed(texts)


class Queue(deque):  # type: ignore[type-arg]
    """Tells when somebody has come to wait."""

    def __init__(self) -> None:
        super().__init__()
        self.come = threading.Semaphore(0)

    def append(self, asked: object) -> None:
        super().append(asked)
        self.come.release()


@contextmanager
def waiting(embedder: Noted, texts: Sequence[str], most: int = 16) -> Iterator[list[Future[torch.Tensor]]]:
    """Callers with these questions, who wait in this order for the one pass, which ends with the block."""
    shared = SharedQueries(embedder, most=most, passes=1)
    queue = shared._waiting = Queue()
    with ThreadPoolExecutor(len(texts) + 1) as pool:
        try:
            pool.submit(shared.embed_query, "held")
            assert embedder.asked.wait(60)
            callers = []
            for text in texts:
                callers.append(pool.submit(shared.embed_query, text))
                assert queue.come.acquire(timeout=60)
            embedder.go_on.set()
            yield callers
        finally:
            embedder.go_on.set()
    assert torch.equal(shared.embed_query("afterwards"), HashEmbedder().embed_query("afterwards")), "the pass is free"


def test_who_finds_a_pass_free_is_embedded_alone() -> None:
    embedder = Noted()
    shared = SharedQueries(embedder, most=16)
    for text in TEXTS:
        assert torch.equal(shared.embed_query(text), HashEmbedder().embed_query(text))
    assert embedder.passes == [[text] for text in TEXTS]


@pytest.mark.parametrize(("most", "sizes"), [(16, [4]), (3, [3, 1]), (2, [2, 2])])
def test_who_waits_at_the_same_time_shares_a_pass(most: int, sizes: list[int]) -> None:
    embedder = Noted()
    with waiting(embedder, TEXTS, most) as callers:
        vectors = [caller.result(60) for caller in callers]
    passes = embedder.passes[1:-1]
    assert [text for texts in passes for text in texts] == TEXTS and [len(texts) for texts in passes] == sizes
    for text, vector in zip(TEXTS, vectors, strict=True):
        assert torch.equal(vector, HashEmbedder().embed_query(text))
        assert vector.untyped_storage().nbytes() == vector.nbytes, "it holds no vector of another"


def test_one_question_that_fails_fails_no_other() -> None:
    embedder = Noted()
    with waiting(embedder, ["kettle", "a bad one", "harp"]) as callers:
        assert torch.equal(callers[0].result(60), HashEmbedder().embed_query("kettle"))
        with pytest.raises(ModelError, match=r"^cannot embed 'a bad one'$"):
            callers[1].result(60)
        assert torch.equal(callers[2].result(60), HashEmbedder().embed_query("harp"))


def test_an_embedder_that_fails_is_heard_by_every_caller() -> None:
    texts = [f"bad {i}" for i in range(4)]
    with waiting(Noted(), texts) as callers:
        for text, caller in zip(texts, callers, strict=True):
            with pytest.raises(ModelError, match=rf"^cannot embed '{text}'$"):
                caller.result(60)


def test_a_pass_that_is_interrupted_goes_to_the_next() -> None:
    embedder = Noted()

    def interrupted(texts: Sequence[str]) -> torch.Tensor:
        raise KeyboardInterrupt(texts)

    embedder.embed_queries = interrupted  # type: ignore[method-assign]
    with waiting(embedder, ["kettle", "harp"]) as callers:
        with pytest.raises(KeyboardInterrupt):
            callers[0].result(60)
        assert torch.equal(callers[1].result(60), HashEmbedder().embed_query("harp"))


def test_one_pass_that_hangs_holds_nobody_up() -> None:
    embedder = Noted()
    shared = SharedQueries(embedder, most=16)
    with ThreadPoolExecutor(2) as pool:
        held = pool.submit(shared.embed_query, "held")
        try:
            assert embedder.asked.wait(60)
            assert torch.equal(pool.submit(shared.embed_query, "kettle").result(60), embedder.embed(["kettle"])[0])
        finally:
            embedder.go_on.set()
        held.result(60)


def test_minilm_gives_in_company_what_it_gives_alone() -> None:
    """Within 1e-6 in any coordinate, whatever stands beside it: padding and blocks of sums make the difference."""
    embedder = MiniLMEmbedder()
    alone = torch.stack([embedder.embed_query(text) for text in TEXTS])
    for beside in ([], ["glacier " * 200], ["x"] * 20):
        company = embedder.embed_queries([*TEXTS, *beside])[: len(TEXTS)]
        assert float((company - alone).abs().max()) <= 1e-6
