"""Near messages: the same however a stream is cut into calls, nothing without vectors, and no patchwork of words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import pytest
import torch
from torch import Tensor

from nscma_torch.api.memory import Memory
from nscma_torch.core.database.database import ALL_USERS
from nscma_torch.episodic.log import episodes
from nscma_torch.ingest import repetition_window
from nscma_torch.ingest.novelty import MUCH, Novelty, message_vectors

Open = Callable[..., Memory]
NOW = datetime(2024, 9, 1, tzinfo=UTC)
FACT = "My sister Ana lives in Porto and works at the harbour."
AGAIN = "At the harbour in Porto works my sister Ana, she lives there."
OTHER = "My sister Ana lives in Lisbon and works at the harbour."
TEXTS = ["Hello!", FACT, "How are you?", AGAIN, OTHER, FACT, "ok", f"{OTHER} She moved there in May. {FACT}", AGAIN]


def seen(memory: Memory) -> list[tuple[Any, Any, bool]]:
    with memory.components.database.read(ALL_USERS) as connection:
        stream = episodes.row_of(connection, 1)["stream_id"]
        own = [observation for _, _, observation in episodes.observations(connection, stream)]
    return [(observation["nearest"], observation["news"], observation["repeat"]) for observation in own]


@pytest.mark.parametrize("cuts", [[], [1], [4], [2, 3, 7], list(range(1, len(TEXTS)))])
def test_the_same_however_messages_are_cut_into_calls(
    cuts: Sequence[int], open_memory: Open, light_surprise: Any
) -> None:
    whole, cut = (
        open_memory("whole.db", surprise_model=light_surprise),
        open_memory("cut.db", surprise_model=light_surprise),
    )
    whole.add(TEXTS, user_id="ada", now=NOW)
    for start, end in pairwise([0, *cuts, len(TEXTS)]):
        cut.add(TEXTS[start:end], user_id="ada", now=NOW)
    assert seen(cut) == seen(whole)
    assert cut.digest() == whole.digest()


def test_what_is_said_twice_in_one_call_is_a_repeat_however_long_ago(
    open_memory: Open, light_surprise: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repetition_window, "LENGTH", 30)
    texts = [FACT, "The weather is fine today, I think.", f"> {FACT}\n\nok", FACT, FACT.upper()]
    for name, cuts in (("whole.db", [5]), ("cut.db", [1, 2, 3, 4, 5])):
        memory = open_memory(name, surprise_model=light_surprise)
        for start, end in pairwise([0, *cuts]):
            memory.add(texts[start:end], user_id="ada", now=NOW)
        assert [repeat for _, _, repeat in seen(memory)][:4] == [False, False, False, True], name


LONG = "A log line that says nothing of anybody. " * 3 + FACT


@pytest.mark.parametrize("cuts", [[], [1], [2], [3], [1, 2, 3]])
def test_of_a_message_longer_than_the_window_the_end_is_compared(
    cuts: Sequence[int], open_memory: Open, light_surprise: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repetition_window, "LENGTH", len(FACT) + 8)
    texts = ["Hello!", LONG, FACT, "ok", "Hello!"]
    memory = open_memory("-".join(map(str, cuts)) + ".db", surprise_model=light_surprise)
    windows: list[list[str]] = []
    score = Novelty.score
    monkeypatch.setattr(Novelty, "score", lambda *given: (windows.append(list(given[2])), score(*given))[1])
    for start, end in pairwise([0, *cuts, len(texts)]):
        memory.add(texts[start:end], user_id="ada", now=NOW)
    assert windows == [[], ["Hello!"], [LONG[-len(FACT) - 8 :]], [FACT], [FACT, "ok"]]
    vectors = memory.components.embedder.embed(texts)
    nearest = [max((float(vectors[j] @ vectors[i]) for j in js), default=0.0) for i, js in enumerate(NEARBY)]
    assert [cosine for cosine, _, _ in seen(memory)] == pytest.approx(nearest, abs=1e-3)


NEARBY: list[list[int]] = [[], [0], [1], [2], [2, 3]]  # of the messages above, those in the window of each


def test_what_it_sees_and_decides(open_memory: Open) -> None:
    memory = open_memory()
    decisions = [added.decision for added in memory.add(TEXTS, user_id="ada", now=NOW)]
    numbers = seen(memory)
    assert numbers[0] == (0.0, None, False)
    assert numbers[3][0] > 0.65 and numbers[3][1] == 0, "in other words"
    assert numbers[4][0] > 0.65 and numbers[4][1] >= 10, "another place"
    assert numbers[5] == (1.0, 0.0, True)
    written = {i for i, decision in enumerate(decisions) if decision is not None and decision.write}
    assert {1, 4} <= written and not {3, 5, 8} & written
    assert decisions[3] is not None and "in other words" in decisions[3].reason
    assert memory.replay(user_id="ada") == (len(TEXTS), [])


def test_without_vectors_of_deferred_messages_it_sees_nothing(open_memory: Open) -> None:
    memory = open_memory(config={"embedder": {"model": "hash", "deferred": False}})
    memory.add(TEXTS, user_id="ada", now=NOW)
    assert {number[:2] for number in seen(memory)} == {(None, None)}


def test_deleted_messages_are_not_compared_with(open_memory: Open) -> None:
    memory = open_memory()
    first = memory.add(FACT, user_id="ada", now=NOW)[0].id
    memory.add("ok", user_id="ada", now=NOW)
    memory.delete(first, user_id="ada")
    added = memory.add(AGAIN, user_id="ada", now=NOW)[0]
    assert added.decision is not None and added.decision.write
    assert seen(memory)[-1][0] < 0.5


def test_messages_of_several_chunks_have_the_mean_of_their_vectors() -> None:
    chunks = torch.nn.functional.normalize(torch.randn(5, 8, generator=torch.Generator().manual_seed(0)), dim=1)
    found = message_vectors([0, 2, 2, 2, 3], chunks, 5)
    assert torch.allclose(found[0], chunks[0]) and torch.allclose(found[3], chunks[4])
    assert torch.allclose(found[2], torch.nn.functional.normalize(chunks[1:4].mean(0), dim=0))
    assert not found[1].any() and not found[4].any()


def test_facts_are_not_made_up_of_the_words_of_several() -> None:
    one, two = (
        "I live in Rome with my wife. The weather is fine. We eat late.",
        "My boss lives in Oslo. It rains. It snows.",
    )
    same = torch.ones(1, 4) / 2
    look = lambda text, *past: Novelty(same.repeat(len(past), 1), same).score(text, past)  # noqa: E731
    assert look("I live in Rome. My boss lives in Oslo.", one, two) == (1.0, 0.0)
    assert look("We eat late in Rome.", f"{one} {two}")[1] != 0.0
    assert look("My boss lives in Rome.", one, two)[1] != 0.0


def at_cosine(cosine: float) -> Tensor:
    return torch.tensor([cosine, (1 - cosine**2) ** 0.5])


def test_only_near_messages_are_compared_the_nearest_first() -> None:
    new = torch.tensor([[1.0, 0.0]])

    def score(*past: tuple[str, float]) -> tuple[float, float | None]:
        return Novelty(torch.stack([at_cosine(cosine) for _, cosine in past]), new).score(
            FACT, [text for text, _ in past]
        )

    assert Novelty(torch.zeros(0, 2), new).score(FACT, []) == (0.0, None)
    assert score((FACT, 0.59)) == (0.59, None)
    assert score((FACT, 0.6000001)) == (0.6, 0.0)
    assert score((FACT, 0.7), ("Nothing else.", 0.123456)) == (0.7, 0.0)
    assert score(("Nothing.", 0.123456)) == (0.1235, None)
    others = [("Hello there, my friend.", 0.9)] * 7
    assert score((FACT, 0.8), *others)[1] == 0.0
    assert score((FACT, 0.8), *others, others[0])[1] == MUCH, "it is the ninth"
    assert score(("Hello there, my friend.", 0.9)) == (0.9, MUCH)
    much = "Audits revealed seventeen discrepancies across warehouse ledgers while Theodora negotiated freight tariffs."
    assert Novelty(torch.ones(1, 1), torch.ones(1, 1)).score(much, [FACT]) == (1.0, MUCH)


def test_a_message_is_compared_with_the_window_before_it() -> None:
    past, new = torch.stack([at_cosine(0.9), at_cosine(0.1)]), torch.stack([at_cosine(0.1), at_cosine(1.0)])
    both = Novelty(past, new)
    assert both.score("x", ["a", "b"])[0] == pytest.approx(1.0, abs=1e-3)
    assert both.score("x", ["b", "c"])[0] == pytest.approx(0.1, abs=1e-3)
    assert Novelty(torch.zeros(2, 1), new).score("x", ["a", "b"]) == (0.0, None), "nothing is known of the past"


@pytest.mark.parametrize("deferred", [True, False])
def test_after_erasure_the_gate_never_saw_it(deferred: bool, open_memory: Open, light_surprise: Any) -> None:
    config = {"embedder": {"model": "hash", "deferred": deferred}}
    saw, never = (open_memory(name, config=config, surprise_model=light_surprise) for name in ("saw.db", "never.db"))
    ids = [added.id for added in saw.add(["Hello!", FACT, *TEXTS], user_id="ada", now=NOW)]
    never.add(["Hello!", *TEXTS], user_id="ada", now=NOW)
    assert seen(saw)[3] != seen(never)[2]
    saw.erase(user_id="ada", memory_id=ids[1])
    assert seen(saw) == seen(never)
    saw.replay(user_id="ada", dry_run=False)
    assert [e.decision for e in saw.log(user_id="ada")] == [e.decision for e in never.log(user_id="ada")]


def test_after_erasure_what_another_stream_said_is_still_a_repeat(open_memory: Open, light_surprise: Any) -> None:
    memory = open_memory(surprise_model=light_surprise)
    first = memory.add("ok", user_id="ada", now=NOW)[0].id
    memory.add(FACT, user_id="ada", run_id="other", now=NOW)
    memory.add([f"> {FACT}", FACT], user_id="ada", now=NOW)
    memory.erase(user_id="ada", memory_id=first)
    with memory.components.database.read(ALL_USERS) as connection:
        stream = episodes.row_of(connection, 3)["stream_id"]
        found = [observation["repeat"] for _, _, observation in episodes.observations(connection, stream)]
    assert found == [True, True]
