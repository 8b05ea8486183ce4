"""`train.memory_adapter`: it trains, logs, resumes to the same weights, saves, and runs in two processes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from nscma_torch import attach_memory
from nscma_torch.core.errors import ConfigError, InvalidInputError
from train.memory_adapter.recall_task import RecallTask
from train.memory_adapter.train_adapter import load_base, run
from train.memory_adapter.windows import Losses, window_losses

ROOT = Path(__file__).parents[2]
WORDS = ("the", "tide", "came", "in", "at", "noon")


def small(steps: int, name: str = "memory_recall") -> dict[str, Any]:
    """A demonstration's configuration, tiny."""
    config = tomllib.loads((ROOT / f"configs/train/{name}.toml").read_text(encoding="utf-8"))
    config["recall"] |= {"steps": 4, "batch": 2, "hidden": 16, "distance": 4}
    config["memory"] |= {"dim": 16, "segment": 8}
    config["data"] |= {"curriculum": [[8, 12]], "measure": [8]}
    config["train"] |= {"steps": steps, "batch": 2, "log_every": 1, "measure_every": 2, "save_every": 2}
    return config


def rows(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


def test_recall_batches_ask_for_what_was_said() -> None:
    task = RecallTask()
    tokens, labels = task.batch(5, 40, torch.Generator().manual_seed(0))
    assert tokens.shape == labels.shape == (5, 5 * task.pairs + 40) and int(tokens.max()) < task.vocabulary
    for row, label in zip(tokens.tolist(), labels.tolist(), strict=True):
        said = dict(zip(row[0:16:2], row[1:16:2], strict=True))
        asked = [i for i, answer in enumerate(label) if answer != -100]
        assert len(said) == len(asked) == task.pairs
        assert all(row[i - 2] == 0 and said[row[i - 1]] == row[i] == label[i] for i in asked)
    again, _ = task.batch(5, 40, torch.Generator().manual_seed(1))
    assert not torch.equal(tokens, again)


def test_training_resumes_to_the_same_weights(tmp_path: Path) -> None:
    run(small(4), None, tmp_path / "whole", cpu=True)
    (tmp_path / "parts").mkdir()
    (tmp_path / "whole" / "base").rename(tmp_path / "parts" / "base")
    run(small(2), None, tmp_path / "parts", cpu=True)
    run(small(4), None, tmp_path / "parts", cpu=True)
    log = rows(tmp_path / "parts")
    assert [row["step"] for row in log if "loss" in row] == [1, 2, 3, 4]
    whole, parts = (load_file(tmp_path / name / "memory.safetensors") for name in ("whole", "parts"))
    assert whole.keys() == parts.keys() and all(torch.equal(whole[name], parts[name]) for name in whole)
    assert log[-1] == {"after detach": True, "weights bit-identical": True}
    assert log[-2]["with memory"].keys() == {"8"}


def test_retrieval_trains_too(tmp_path: Path) -> None:
    run(small(1, "memory_retrieval"), None, tmp_path, cpu=True)
    assert rows(tmp_path)[-1] == {"after detach": True, "weights bit-identical": True}
    assert json.loads((tmp_path / "memory_config.json").read_text())["memory"]["kind"] == "retrieval"


def text_config(folder: Path, name: str, texts: Sequence[str]) -> dict[str, Any]:
    """A configuration for text, with a tiny base model and texts in `folder`."""
    vocabulary = Tokenizer(models.WordLevel({word: i for i, word in enumerate(["[UNK]", *WORDS])}, unk_token="[UNK]"))
    vocabulary.pre_tokenizer = pre_tokenizers.Whitespace()
    base = folder / "base"
    PreTrainedTokenizerFast(tokenizer_object=vocabulary).save_pretrained(base)
    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    torch.manual_seed(0)
    LlamaForCausalLM(LlamaConfig(vocab_size=7, **sizes, pad_token_id=0)).save_pretrained(base)
    (folder / "texts").mkdir()
    for number, text in enumerate(texts):
        (folder / "texts" / f"{number}.txt").write_text(text)
    config = tomllib.loads((ROOT / f"configs/train/{name}.toml").read_text(encoding="utf-8"))
    config["model"] |= {"base": str(base), "dtype": "float32"}
    config["memory"] |= {"layers": "all", "dim": 8, "heads": 2, "segment": 8}
    config["data"] |= {"folder": "texts", "block": 24}
    config["train"] |= {"steps": 3, "log_every": 1}
    return config


def test_plain_text_trains_too(tmp_path: Path) -> None:
    config = text_config(tmp_path, "memory_adapter", ["the tide came in at noon\n" * 9])
    run(config, tmp_path, tmp_path / "out", cpu=True)
    losses = [row["loss"] for row in rows(tmp_path / "out")]
    assert len(losses) == 3 and losses[2] < losses[0]
    with pytest.raises(ConfigError, match="--data"):
        run(config, None, tmp_path / "out", cpu=True)
    with pytest.raises(InvalidInputError, match="a block needs 1001"):
        run(config | {"data": config["data"] | {"block": 1000}}, tmp_path, tmp_path / "out", cpu=True)


def test_a_memory_carries_text_across_windows(tmp_path: Path) -> None:
    """Half of each sequence repeats the other half, which a window of 16 tokens can't see."""
    random = torch.Generator().manual_seed(0)
    lines = [" ".join(WORDS[int(i)] for i in torch.randint(6, (16,), generator=random)) for _ in range(40)]
    texts = ["".join(f"{line} {line} " for line in lines), "".join(f"{line} {line} " for line in lines[::-1])]
    config = text_config(tmp_path, "memory_windows", texts)
    config["data"] |= {"block": 32, "window": 16, "held_out": 1, "measured": 4}
    config["train"] |= {"steps": 40, "lr": 0.03, "batch": 4, "log_every": 40}
    run(config, tmp_path, tmp_path / "out", cpu=True)
    measured = rows(tmp_path / "out")[-1]
    assert measured["sequences"] == 4
    assert measured["carried"] < measured["emptied at each window"] < measured["nats without memory"]
    with pytest.raises(InvalidInputError, match="2 are held out"):
        run(config | {"data": config["data"] | {"held_out": 2}}, tmp_path, tmp_path / "out", cpu=True)
    with pytest.raises(ConfigError, match="needs window"):
        del config["data"]["window"]
        run(config, tmp_path, tmp_path / "out", cpu=True)


def test_a_window_alone_sees_nothing_before_it(tmp_path: Path) -> None:
    config = text_config(tmp_path, "memory_windows", ["the tide"])
    model = load_base(config["model"]).eval()
    tokens, others = torch.tensor([[1, 2, 3, 4, 5, 6]]), torch.tensor([[3, 2, 1, 4, 5, 6]])
    apart = window_losses(model, tokens, 3)
    assert apart.shape == (2,) and torch.equal(apart[1], window_losses(model, others, 3)[1])
    memory = attach_memory(model, kind="retrieval", dim=8, segment=1)
    for parameter in memory.parameters():
        torch.nn.init.normal_(parameter)
    carried = [window_losses(model, text, 3, memory)[1] for text in (tokens, others)]
    assert not torch.equal(*carried)
    found = Losses(alone=[2.0, 3.0], emptied=[1.9, 2.9], carried=[1.5, 2.5]).row()
    assert found["change, all"] == [-0.5, -0.5, -0.5] and found["change, what it carries"] == [-0.4, -0.4, -0.4]


@pytest.mark.prove
def test_two_processes_train_one_memory(tmp_path: Path) -> None:
    text = (ROOT / "configs/train/memory_recall.toml").read_text(encoding="utf-8")
    text = text.replace("steps = 400", "steps = 4").replace("batch = 32", "batch = 2")
    text = re.sub(r"measure = \[.*\]", "measure = [32]", text)
    (tmp_path / "config.toml").write_text(text, encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--nproc-per-node",
        "2",
        "-m",
        "train.memory_adapter.train_adapter",
    ]
    arguments = ["--config", str(tmp_path / "config.toml"), "--out", str(tmp_path / "out"), "--steps", "2", "--cpu"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([*command, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert rows(tmp_path / "out")[-1] == {"after detach": True, "weights bit-identical": True}


@pytest.mark.prove
@pytest.mark.parametrize("name", ["memory_recall", "memory_retrieval"])
def test_recall_at_1024_from_chance_to_nine_in_ten(name: str, tmp_path: Path) -> None:
    """Two layers with a window of 128 tokens: attention reaches 254 tokens back."""
    config = tomllib.loads((ROOT / f"configs/train/{name}.toml").read_text(encoding="utf-8"))
    run(config, None, tmp_path, cpu=True)
    *_, accuracy, detached = rows(tmp_path)
    assert accuracy["without memory"]["64"] >= 0.9
    assert accuracy["without memory"]["1024"] < 0.1 <= 0.9 <= accuracy["with memory"]["1024"]
    assert detached == {"after detach": True, "weights bit-identical": True}
