"""Searches do not wait for each other's questions, none is torn by a write, and nothing is computed for nobody."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import pytest
import torch
from sqlalchemy import Connection

from nscma_torch.api.memory import Memory
from nscma_torch.core.errors import NotFoundError, StoreBusyError
from nscma_torch.episodic.index.user_index import UserIndex
from nscma_torch.search import search
from nscma_torch.search.search import Searcher
from nscma_torch.text.embedders.hash_embedder import HashEmbedder

Open = Callable[..., Memory]
NOW = datetime(2024, 9, 1, tzinfo=UTC)


class HeldEmbedder(HashEmbedder):
    """Holds on to a question that speaks of a glacier until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.go_on = threading.Event(), threading.Event()

    def embed_query(self, text: str) -> torch.Tensor:
        if "glacier" in text:
            self.asked.set()
            assert self.go_on.wait(60)
        return super().embed_query(text)


class HeldQueries(HeldEmbedder):
    """The same, and callers share passes."""

    def embed_queries(self, texts: Sequence[str]) -> torch.Tensor:
        return torch.stack([self.embed_query(text) for text in texts])


@pytest.mark.parametrize("kind", [HeldEmbedder, HeldQueries])
def test_nobody_waits_while_a_question_is_embedded(
    kind: type[HeldEmbedder], open_memory: Open, light_surprise: Any
) -> None:
    embedder = kind()
    memory = open_memory(embedder=embedder, surprise_model=light_surprise)
    for user in ("ada", "bob"):
        memory.add("The kettle is blue.", user_id=user)
    with ThreadPoolExecutor(2) as pool:
        held = pool.submit(memory.search, "Where is the glacier, or the kettle?", user_id="ada")
        try:
            assert embedder.asked.wait(60)
            for user in ("ada", "bob"):
                assert pool.submit(memory.search, "kettle", user_id=user).result(30)
            memory.add("The kettle is green now.", user_id="ada")
        finally:
            embedder.go_on.set()
        assert {hit.text for hit in held.result(60)} == {"The kettle is blue.", "The kettle is green now."}


class NotedLock:
    """A lock that tells when somebody waits for it."""

    def __init__(self) -> None:
        self._lock, self.waited = threading.Lock(), threading.Event()
        self.acquire, self.release = self._lock.acquire, self._lock.release

    def __enter__(self) -> None:
        self.waited.set()
        self._lock.acquire()

    def __exit__(self, *error: object) -> None:
        self._lock.release()


def test_an_index_that_is_brought_up_to_date_holds_up_nobody_else(
    open_memory: Open, light_surprise: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While one search reads the index of ada and one waits for it: bob is searched and written, and ada is written."""
    memory = open_memory(surprise_model=light_surprise)
    for user in ("ada", "bob"):
        memory.add("The kettle is blue.", user_id=user)
        assert memory.search("kettle", user_id=user)
        memory.add("The kettle is old.", user_id=user)
    lock = memory.components.searcher.indexes._users["ada"].lock = NotedLock()  # type: ignore[assignment]
    reading, go_on = threading.Event(), threading.Event()
    catch_up = UserIndex.catch_up

    def held(index: UserIndex, connection: Connection) -> None:
        if index.user_id == "ada":
            reading.set()
            assert go_on.wait(60)
        catch_up(index, connection)

    monkeypatch.setattr(UserIndex, "catch_up", held)
    with ThreadPoolExecutor(3) as pool:
        own = [pool.submit(memory.search, "kettle", user_id="ada")]
        try:
            assert reading.wait(60)
            own.append(pool.submit(memory.search, "kettle", user_id="ada"))
            assert lock.waited.wait(60)
            assert pool.submit(memory.search, "kettle", user_id="bob").result(30)
            for user in ("ada", "bob"):
                pool.submit(memory.add, "The harp is green.", user_id=user).result(30)
            assert len(pool.submit(memory.search, "kettle or harp", user_id="bob").result(30)) == 3
        finally:
            go_on.set()
        assert all(len(one.result(60)) >= 2 for one in own)


def test_searches_of_one_user_do_not_wait_for_each_other(open_memory: Open, light_surprise: Any) -> None:
    """The lock of an index is for who changes it: while nothing was written, no search takes it."""
    memory = open_memory(surprise_model=light_surprise)
    memory.add("The kettle is blue.", user_id="ada")
    assert memory.search("kettle", user_id="ada")
    with ThreadPoolExecutor(1) as pool, memory.components.searcher.indexes._users["ada"].lock:
        assert pool.submit(memory.search, "blue", user_id="ada").result(30)
        other = pool.submit(memory.add, "The kettle is green.", user_id="ada")
        assert other.result(30)
    assert len(memory.search("kettle", user_id="ada")) == 2


def erase(memory: Memory, **what: str) -> None:
    """Erase; once more, as the error says, where somebody was reading while the file was to be rewritten."""
    for again in range(200):
        try:
            memory.erase(**what)
        except StoreBusyError:
            continue
        except NotFoundError:
            assert again, "nothing was there to erase"  # the erasure of another user has rewritten the file since
        return
    raise AssertionError("somebody always reads")


def script(memory: Memory, user: str) -> list[list[tuple[str, float]]]:
    """What a user finds between additions, deletions and erasures of their own."""
    found, ids = [], []
    for i in range(8):
        ids += [memory.add(f"{user} hangs {i} lanterns on shelf {i % 3}.", user_id=user, now=NOW)[0].id]
        if i == 3:
            erase(memory, user_id=user, memory_id=ids.pop(0))
        if i % 4 == 2:
            memory.delete(ids.pop(), user_id=user, now=NOW)
        if i == 5:
            erase(memory, user_id=user)
            ids = []
        for question in (f"lanterns on shelf {i % 3}", f"Who hangs {i} lanterns?"):
            hits = memory.search(question, user_id=user, now=NOW)
            found.append([(hit.text, hit.score) for hit in hits])
    return found


def test_many_users_at_once_find_what_each_finds_alone(open_memory: Open, light_surprise: Any) -> None:
    """Five users in threads of their own, with passes shared and room for about two indexes."""
    users = [f"user {i}" for i in range(5)]
    config = {"gate": {"rule": "everything"}}
    alone = open_memory("alone.db", surprise_model=light_surprise, config=config)
    expected = {user: script(alone, user) for user in users}
    size = alone.components.searcher.indexes.nbytes // len(users)
    together = open_memory(
        "together.db",
        surprise_model=light_surprise,
        embedder=HeldQueries(),
        config={**config, "index": {"max_bytes": 2 * size}},
    )
    with ThreadPoolExecutor(len(users)) as pool:
        found = dict(zip(users, pool.map(lambda user: script(together, user), users), strict=True))
    assert found == expected
    assert all(any(own) for own in found.values())
    kept = together.components.searcher.indexes
    assert 1 <= len(kept.users()) < len(users)
    assert kept.nbytes <= 2 * size or len(kept.users()) == 1
    assert kept.nbytes == sum(own.nbytes for own in kept._users.values())


def test_a_name_that_comes_up_while_a_question_is_embedded_counts(open_memory: Open, light_surprise: Any) -> None:
    """The question is read again with the names that the memory holds when it is answered."""
    embedder = HeldEmbedder()
    memory = open_memory(embedder=embedder, surprise_model=light_surprise)
    memory.add({"role": "user", "name": "Kim", "content": "I saw a glacier."}, user_id="ada")
    with ThreadPoolExecutor(1) as pool:
        held = pool.submit(memory.search, "Did Robin see a glacier?", user_id="ada")
        assert embedder.asked.wait(60)
        memory.add({"role": "user", "name": "Robin", "content": "I saw a glacier."}, user_id="ada")
        embedder.go_on.set()
        assert [hit.unit.name for hit in held.result(60)] == ["Robin", "Kim"]


def test_searches_beside_writes_find_what_one_after_the_other_finds(open_memory: Open, light_surprise: Any) -> None:
    memory = open_memory(surprise_model=light_surprise, config={"gate": {"rule": "everything"}})
    ids = [memory.add(f"Shelf {i} holds {i} lanterns.", user_id="ada", now=NOW)[0].id for i in range(30)]
    done = threading.Event()

    def look(number: int) -> int:
        count = 0
        while not done.is_set() or not count:
            text = f"Shelf {number} holds {number} lanterns."
            assert memory.search(text, user_id="ada", now=NOW, top_k=3)[0].text == text
            count += 1
        return count

    with ThreadPoolExecutor(4) as pool:
        looking = [pool.submit(look, number) for number in (20, 23, 26, 29)]
        try:
            for i in range(8):
                memory.update(ids[i], f"Drawer {i} is empty.", user_id="ada", now=NOW)
                memory.delete(ids[8 + i], user_id="ada", now=NOW)
                memory.add(f"Box {i} holds rope.", user_id="ada", now=NOW)
        finally:
            done.set()
        assert all(one.result(60) for one in looking)
    asked = {"user_id": "ada", "now": NOW, "top_k": 40}
    other = open_memory(surprise_model=light_surprise)
    found = [(hit.text, pytest.approx(hit.score, rel=1e-5)) for hit in memory.search("Shelf of lanterns", **asked)]
    assert [(hit.text, hit.score) for hit in other.search("Shelf of lanterns", **asked)] == found


def test_support_is_computed_where_it_is_asked_for(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    answerability = search.answerability
    monkeypatch.setattr(search, "answerability", lambda *arguments: calls.append(1) or answerability(*arguments))
    memory.add("The kettle is blue.", user_id="ada")
    assert memory.search("kettle", user_id="ada") and not calls
    memory.ask("Which harp did the dentist tune?", user_id="ada")
    assert len(calls) == 1


def test_no_question_is_ranked_twice(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Links ask a second question only where titles lead somewhere."""
    asked = []
    rank = Searcher.rank

    def noted(searcher: Searcher, text: str, *more: Any, **options: Any) -> Any:
        asked.append(text)
        return rank(searcher, text, *more, **options)

    monkeypatch.setattr(Searcher, "rank", noted)
    memory.add("The kettle of Ana Ruiz is blue.", user_id="ada")
    memory.search("Whose kettle is blue?", user_id="ada", strategy="links")
    assert len(asked) == 1
    for name, text in (("Kettle", "It came from Oslo Harbour."), ("Oslo Harbour", "A place of Mira Lund's.")):
        memory.add({"role": "document", "name": name, "content": text}, user_id="ada")
    memory.search("Where did the Kettle come from?", user_id="ada", strategy="links")
    assert len(asked) == len(set(asked)) == 3
