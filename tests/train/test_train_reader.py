"""train/reader/train_reader.py: it learns what it is shown, and a run that was stopped ends as one that was not."""

from __future__ import annotations

import json
import random
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
from pydantic import ValidationError
from safetensors.torch import load_file

from nscma_torch.reading.reader import Reader
from nscma_torch.reading.reader_input import InputPassage
from train.reader import public_sets
from train.reader.dialogue_examples import dialogue_examples
from train.reader.dialogue_text import read_dialogues
from train.reader.examples import Example
from train.reader.recipe import Recipe
from train.reader.train_reader import Training

DIALOGUE = """== c-1 | friends
-- 2025-03-02 18:40
1 Maya: we painted the shed green on monday
2 Tom: and the fence?
3 Maya: the fence stays brown
? single What colour is the shed? | green | 1 | stale: brown
? single What colour is the fence? | brown | 3 | stale: green
= holds 1 | the shed | is | green
"""
RECIPE: dict[str, Any] = {
    "base": "minilm",
    "start": "",
    "teacher": "",
    "seed": 1,
    "max_tokens": [48],
    "most_rows": 4,
    "batch_tokens": 128,
    "bfloat16": False,
    "weight_decay": 0.0,
    "clip": 1.0,
    "ema": 0.9,
    "log_every": 2,
    "save_every": 4,
    "weights": {
        "span": 1.0,
        "evidence": 1.0,
        "answerable": 1.0,
        "kind": 0.5,
        "stance": 1.0,
        "change": 1.0,
        "teacher": 1.0,
    },
    "stages": [
        {
            "name": "one",
            "learning_rate": 2e-3,
            "warmup": 2,
            "stop_after": 0,
            "public_share": 0.0,
            "dialogue_epochs": 1,
            "exchange_epochs": 0,
            "unlabelled_epochs": 0,
        },
    ],
}


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> list[Example]:
    path = tmp_path_factory.mktemp("dialogues") / "one.txt"
    path.write_text(DIALOGUE, encoding="utf-8")
    rng = random.Random(0)
    (dialogue,) = read_dialogues(path)
    return [example for _ in range(30) for example in dialogue_examples(dialogue, rng)]


def trained(out: Path, examples: list[Example]) -> Training:
    training = Training(Recipe.model_validate(RECIPE), torch.device("cpu"), out)
    training.run(examples)
    return training


def test_a_run_that_was_stopped_ends_as_one_that_was_not(
    tmp_path: Path, examples: list[Example], monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.set_num_threads(1)
    trained(tmp_path / "whole", examples)
    steps = Training._step
    done = 0

    def stop(self: Training, *args: object) -> dict[str, float]:
        nonlocal done
        done += 1
        if done == 6:
            raise KeyboardInterrupt
        return steps(self, *args)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(Training, "_step", stop)
        with pytest.raises(KeyboardInterrupt):
            trained(tmp_path / "parts", examples)
    trained(tmp_path / "parts", examples)
    whole, parts = load_file(tmp_path / "whole"), load_file(tmp_path / "parts")
    assert whole.keys() == parts.keys()
    assert all(torch.equal(whole[name], parts[name]) for name in whole)
    lines = [json.loads(line) for line in (tmp_path / "whole.jsonl").read_text(encoding="utf-8").splitlines()]
    assert lines[-1]["span"] < lines[0]["span"] / 2, "it learns"

    reader = Reader.from_pretrained(tmp_path / "whole")
    passages = [
        InputPassage("we painted the shed green on monday", "Maya"),
        InputPassage("the fence stays brown", "Maya"),
    ]
    (read,) = reader.read(["Maya asks: What colour is the fence?"], [passages])
    assert read.spans[0].text == "brown" and read.spans[0].passage == 1


def test_a_set_that_is_named_has_its_own_share(monkeypatch: pytest.MonkeyPatch) -> None:
    held = [Example(f"{name}/a.json", "read", "who?", ()) for name in ("qamr", "gap") for _ in range(200)]
    monkeypatch.setattr(public_sets, "public_examples", lambda *_: iter(held))
    drawn = public_sets.drawn_examples(Path(), random.Random(1), 0.1, {"gap": 1.0})
    counted = Counter(example.source for example in drawn)
    assert counted["gap/a.json"] == 200
    assert 5 < counted["qamr/a.json"] < 40


def test_a_share_of_a_set_that_there_is_not_is_an_error() -> None:
    stage = {**RECIPE["stages"][0], "public_shares": {"squad3": 1.0}}
    with pytest.raises(ValidationError, match="no public set is named squad3: there are counterfactual_nli, gap"):
        Recipe.model_validate({**RECIPE, "stages": [stage]})


@pytest.mark.parametrize("name", ["reader", "minilm_reader", "facts", "teacher", "taught"])
def test_the_configurations_are_recipes(name: str) -> None:
    text = (Path(__file__).parents[2] / f"configs/train/{name}.toml").read_text(encoding="utf-8")
    recipe = Recipe.model_validate(tomllib.loads(text))
    assert recipe.stages and bool(recipe.teacher) == (name == "taught")
