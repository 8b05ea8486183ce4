"""train/reader/state: every label becomes an example, and what isn't labelled is no effect."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from nscma_torch.core.errors import InvalidInputError
from nscma_torch.reading.reader_model import CHANGES
from train.reader.examples import Example
from train.reader.state_examples import state_examples
from train.reader.state_files import read_state

GROUP: dict[str, Any] = {
    "speaker": "Mia",
    "earlier": ["I work at Ferro.", "I take tram 4 there.", "The pass for it is 40 a month.", "My desk mate is Jo."],
    "later": [{"text": "Quit today.", "effects": {"1": "ends", "2": "voids"}}, {"text": "What a day.", "effects": {}}],
    "rests": [[2, 1], [3, 2]],
}
HISTORY: dict[str, Any] = {
    "messages": [
        {"role": role, "name": name, "content": text, "timestamp": f"2026-03-0{day}T10:00:00+00:00"}
        for day, (role, name, text) in enumerate(
            [
                ("user", "Mia", "The gym is open to me as long as I work at Ferro."),
                ("assistant", "Bot", "Noted."),
                ("user", "Tom", "I like rain."),
                ("user", "Mia", "Ferro let me go."),
            ],
            start=1,
        )
    ],
    "deletions": [],
    "effects": [{"earlier": 1, "later": 4, "kind": "voids"}],
    "rests": [],
    "questions": [
        {"question": "Where do I train?", "type": "cascade", "answer": None, "void": ["gym"], "evidence": [1, 4]},
        {"question": "What does Tom like?", "type": "update", "answer": ["rain"], "void": [], "evidence": [3]},
        {"question": "Until when?", "type": "until", "answer": None, "void": [], "evidence": [1]},
    ],
}  # fmt: skip


def examples(folder: Path) -> list[Example]:
    rng = random.Random(0)
    return [example for group in read_state(folder) for example in state_examples(group, rng)]


def changes(found: list[Example]) -> Counter[tuple[str, str, str]]:
    return Counter(
        (one.question, one.passages[-1].passage.text, CHANGES[one.label])
        for one in found
        if one.task == "change" and one.label is not None
    )


def test_a_group_labels_all_of_its_pairs(tmp_path: Path) -> None:
    (tmp_path / "groups-01.jsonl").write_text(json.dumps(GROUP))
    found = changes(examples(tmp_path))
    job, tram, fare, desk = (f"Mia: {text}" for text in GROUP["earlier"])
    told = {key: count for key, count in found.items() if key[2] != "none"}
    assert told == {
        (job, "Quit today.", "ends"): 1,
        (tram, "Quit today.", "voids"): 1,
        (job, "I take tram 4 there.", "rests"): 1,
        (tram, "The pass for it is 40 a month.", "rests"): 1,
    }
    none = {key[:2] for key in found if key[2] == "none"}
    assert none >= {(fare, "Quit today."), (desk, "Quit today."), (job, "What a day."), (desk, "What a day.")}


def test_a_history_is_asked_with_all_of_its_evidence(tmp_path: Path) -> None:
    (tmp_path / "history-01.json").write_text(json.dumps(HISTORY))
    found = examples(tmp_path)
    texts = [message["content"] for message in HISTORY["messages"]]
    assert (f"Mia: {texts[0]}", texts[3], "voids") in changes(found)
    asked = {one.question: one for one in found if one.task == "read"}
    assert asked.keys() == {"Mia asks: Where do I train?", "Mia asks: What does Tom like?"}  # not the end in time
    unknown = asked["Mia asks: Where do I train?"]
    assert {texts[0], texts[3]} <= {one.passage.text for one in unknown.passages}
    assert not any(one.answers or one.holds for one in unknown.passages)
    assert any(one.answers for one in asked["Mia asks: What does Tom like?"].passages)


@pytest.mark.parametrize(
    "group",
    [
        GROUP | {"rests": [[2, 9]]},
        GROUP | {"rests": [[2, 2]]},
        GROUP | {"later": [{"text": "Quit.", "effects": {"9": "ends"}}]},
        GROUP | {"later": [{"text": "Quit.", "effects": {"1": "stops"}}]},
        {key: value for key, value in GROUP.items() if key != "later"},
    ],
    ids=["no such message", "on itself", "changes no message", "no such kind", "a key is missing"],
)
def test_a_wrong_group_is_refused(group: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "groups-01.jsonl").write_text(json.dumps(group))
    with pytest.raises(InvalidInputError, match=r"groups-01\.jsonl does not follow the form"):
        list(read_state(tmp_path))


def test_a_folder_without_groups_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="holds no history"):
        list(read_state(tmp_path))
