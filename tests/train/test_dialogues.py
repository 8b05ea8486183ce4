"""Made-up dialogues: seeded, labelled by what was said, and in two splits that share no wording."""

from __future__ import annotations

import random
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from train.gate.dialogues import Grammar, dialogue, dialogues, to_listener

WORDING = Path(__file__).parents[2] / "configs" / "train" / "dialogues.toml"


@pytest.fixture(scope="module")
def wording() -> dict[str, Any]:
    return tomllib.loads(WORDING.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def grammar(wording: dict[str, Any]) -> Grammar:
    return Grammar(wording, "train")


def test_the_same_seed_makes_the_same_dialogues(grammar: Grammar) -> None:
    assert dialogues(grammar, 5, 6, 20, 0.5) == dialogues(grammar, 5, 6, 20, 0.5)
    assert dialogues(grammar, 5, 6, 20, 0.5) != dialogues(grammar, 6, 6, 20, 0.5)


def test_the_splits_share_no_template_and_no_filling(wording: dict[str, Any]) -> None:
    marked = {
        "pools": {name: [f"{name}{i}" for i, _ in enumerate(own)] for name, own in wording["pools"].items()},
        **{
            part: {
                name: {**own, "say": [f"{part}.{name}.{i}" for i, _ in enumerate(own["say"])]} for name, own in kinds
            }
            for part, kinds in (("facts", wording["facts"].items()), ("empty", wording["empty"].items()))
        },
    }
    used = []
    for split in ("train", "held out"):
        own = Grammar(marked, split)  # type: ignore[arg-type]
        turns = [turn.text for made in dialogues(own, 1, 60, 40, 0.3) for turn in made]
        used.append(set(re.findall(r"(?:facts|empty)\.\w+\.\d+", " ".join(turns).lower())))
        assert len(used[-1]) > 50
    assert not used[0] & used[1]


def test_everything_is_filled_in(grammar: Grammar) -> None:
    for made in dialogues(grammar, 2, 80, 40, 0.3):
        for turn in made:
            assert turn.text.strip()
            assert not re.search(r"[{}\[\]|]", turn.text), turn.text
            assert turn.question is None or turn.speaker in turn.question


def test_only_turns_that_say_something_new_are_needed(grammar: Grammar) -> None:
    made = dialogues(grammar, 3, 80, 40, 0.3)
    kinds: dict[str, set[bool]] = {}
    for turn in (turn for own in made for turn in own):
        kinds.setdefault(turn.kind, set()).add(turn.question is not None)
    assert {kind for kind, needed in kinds.items() if needed == {True}} == set(grammar.kinds)
    assert {"echo", "restatement", "assistant", "praise", "task"} <= {
        k for k, needed in kinds.items() if not any(needed)
    }
    share = sum(turn.question is not None for own in made for turn in own) / sum(map(len, made))
    assert 0.3 < share < 0.5


def test_a_restatement_says_what_its_speaker_said_before(grammar: Grammar) -> None:
    seen = 0
    for made in dialogues(grammar, 4, 60, 40, 0.0):
        for i, turn in enumerate(made):
            if turn.kind == "restatement":
                words = set(re.findall(r"\w+", turn.text.lower())) - {"like", "i", "said", "as", "told", "you", "am"}
                before = " ".join(other.text.lower() for other in made[:i] if other.speaker == turn.speaker)
                assert len(words & set(re.findall(r"\w+", before))) >= 0.8 * len(words), turn.text
                seen += 1
    assert seen > 10


def test_wording_is_varied(grammar: Grammar) -> None:
    texts = [turn.text for own in dialogues(grammar, 6, 100, 40, 0.25) for turn in own]
    assert len(set(texts)) > 0.95 * len(texts)
    lengths = sorted(len(text) for text in texts)
    assert lengths[len(texts) // 20] < 30 and lengths[-len(texts) // 20] > 200


def test_an_assistant_tells_nothing_of_itself(grammar: Grammar) -> None:
    made = dialogue(grammar, random.Random(1), 40, assistant=True)
    assert {turn.question for turn in made if turn.speaker == "Assistant"} == {None}
    assert any(turn.question for turn in made)


@pytest.mark.parametrize(
    ("said", "heard"),
    [
        ("I sold my car", "you sold your car"),
        ("My aunt and I were there, it was ours", "your aunt and you were there, it was ours"),
        ("I was late, so they left me", "you were late, so they left you"),
        ("I'm off to Miami", "you're off to Miami"),
    ],
)
def test_to_listener(said: str, heard: str) -> None:
    assert to_listener(said) == heard
