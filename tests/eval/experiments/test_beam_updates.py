"""BEAM's reader, and how ranked messages are judged, on two small chats."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eval.experiments.facts.beam_updates import LANES, judge, measure, shares
from eval.tasks.beam import Pair, load
from nscma_torch.text.hash_embedder import HashEmbedder

_SAID = (
    "The kiln is set to 900 degrees.",
    "Noted.",
    "I have never fired porcelain.",
    "Understood.",
    "The kiln is now set to 1100 degrees.",
    "Changed.",
    "Yesterday I fired porcelain for the third time.",
    "Lovely.",
)


def _chat(folder: Path, updates: list[dict[str, Any]], contradictions: list[dict[str, Any]]) -> None:
    (folder / "probing_questions").mkdir(parents=True)
    turns = [
        {"id": 10 + i, "role": "user" if i % 2 == 0 else "assistant", "content": text, "time_anchor": None}
        for i, text in enumerate(_SAID)
    ]
    turns[0] |= {"content": f"{_SAID[0]} ->-> 1,N/A", "time_anchor": "March-15-2024"}
    turns[4] |= {"time_anchor": "April-05-2024"}
    batches = [{"batch_number": i + 1, "turns": [turns[4 * i : 4 * i + 4]]} for i in range(2)]
    (folder / "chat.json").write_text(json.dumps(batches))
    probes = {"knowledge_update": updates, "contradiction_resolution": contradictions, "abstention": []}
    (folder / "probing_questions" / "probing_questions.json").write_text(json.dumps(probes))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    def update(original: list[int], updated: list[int]) -> dict[str, Any]:
        sources = {"original_info": original, "updated_info": updated}
        return {"question": "To how many degrees is the kiln set?", "source_chat_ids": sources}

    sources = {"first_statement": [12], "second_statement": [16]}
    contradiction = {"question": "Have I fired porcelain?", "source_chat_ids": sources}
    folder = tmp_path / "beam" / "100K"
    _chat(folder / "2", [update([10], [14]), update([10], [])], [contradiction])
    _chat(folder / "10", [update([10, 99], [10])], [])
    return tmp_path


def test_chats_are_read_in_order_of_their_number(data: Path) -> None:
    first, second = load(data)
    assert (first.name, second.name) == ("2", "10")
    assert [message.content for message in first.messages] == list(_SAID)
    days = [message.timestamp.date().isoformat() for message in first.messages if message.timestamp]
    assert days == ["2024-03-15"] * 4 + ["2024-04-05"] * 4
    assert first.asked_at.date().isoformat() == "2024-04-06"
    assert [(pair.category, pair.first, pair.second) for pair in first.pairs] == [
        ("knowledge_update", frozenset({0}), frozenset({4})),
        ("contradiction_resolution", frozenset({2}), frozenset({6})),
    ]
    assert first.malformed == ("2 knowledge_update 1",) and not second.malformed
    assert second.pairs[0].together and not first.pairs[0].together


def test_a_missing_update_is_a_miss_and_newest_first_sorts_by_date() -> None:
    pair = Pair("knowledge_update", "?", frozenset({3, 4}), frozenset({20}))
    found = judge(pair, [7, 3, 20])
    assert (found.found, found.first, found.newest_first, found.both) == (True, False, True, True)
    assert judge(pair, [20, 3]).first is True
    missed = judge(pair, [3, 7])
    assert (missed.found, missed.first, missed.newest_first, missed.both) == (False, False, False, False)
    assert judge(pair, [*range(30, 41), 20]).found is False
    assert judge(Pair("knowledge_update", "?", frozenset({20}), frozenset({20})), [20]).first is None


def test_shares_are_over_the_pairs_that_can_tell() -> None:
    update = Pair("knowledge_update", "?", frozenset({1}), frozenset({2}))
    same = Pair("knowledge_update", "?", frozenset({2}), frozenset({2}))
    contradiction = Pair("contradiction_resolution", "?", frozenset({1}), frozenset({2}))
    found = [judge(update, [2, 1]), judge(update, [1]), judge(same, [2]), judge(contradiction, [2, 5, 1])]
    assert list(shares(found).values()) == [pytest.approx(2 / 3), 0.5, 0.5, 1.0]


def test_every_lane_setting_is_measured(data: Path) -> None:
    chat = load(data)[0]
    measured = measure(chat, HashEmbedder())
    assert list(measured) == list(LANES)
    for judged in measured.values():
        assert [found.pair for found in judged] == chat.pairs
    assert all(found.found for found in measured["hybrid"])
