"""Training of the salience head: it learns what there is to learn, alike each time, and its zero knows the cost."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch

from nscma_torch.surprise.salience_head import SalienceHead
from train.gate.train_gate import judge, message_vectors, train, turns_of

CONFIG: dict[str, Any] = {
    "seed": 0, "epochs": 6, "batch": 32, "lr": 0.01, "weight_decay": 0.1, "noise": 0.5, "smoothing": 0.05, "cost": 1.0,
}  # fmt: skip


def made(n: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    vectors = torch.nn.functional.normalize(torch.randn(n, 24, generator=generator), dim=1)
    return vectors, vectors[:, 3] + vectors[:, 7].abs() > 0.15


def trained(**changed: Any) -> SalienceHead:
    torch.manual_seed(0)
    head = SalienceHead(24, "made")
    train(head, *made(1500, 1), made(400, 2), {**CONFIG, **changed})
    return head


def test_it_learns_and_logs_it(tmp_path: Path) -> None:
    torch.manual_seed(0)
    head = SalienceHead(24, "made")
    assert judge(head, *made(400, 2)) < 0.7
    rows = train(head, *made(1500, 1), made(400, 2), CONFIG, tmp_path / "log.jsonl")
    assert rows[-1]["loss"] < rows[0]["loss"] and rows[-1]["held-out AUC"] > 0.9
    assert [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()] == rows


def test_the_same_configuration_gives_the_same_weights() -> None:
    one, two = trained(), trained()
    for name, weight in one.state_dict().items():
        assert torch.equal(weight, two.state_dict()[name])


def test_the_cost_of_a_miss_moves_the_zero_alone() -> None:
    vectors, _ = made(20, 3)
    moved = trained(cost=2.0)(vectors) - trained()(vectors)
    assert torch.allclose(moved, torch.full_like(moved, math.log(2.0)), atol=1e-5)


def test_long_messages_are_embedded_by_their_chunks(embedder: Any) -> None:
    short = "My sister Ana lives in Oslo."
    vectors = message_vectors([short, " ".join([short] * 200)], embedder)
    assert vectors.shape == (2, embedder.dimension)
    assert torch.allclose(vectors.norm(dim=1), torch.ones(2))
    assert float(vectors[0] @ vectors[1]) > 0.9


@pytest.mark.parametrize("split", ["train", "held out"])
def test_the_configuration_names_its_dialogues(split: Any) -> None:
    wording = Path(__file__).parents[2] / "configs" / "train" / "dialogues.toml"
    config = {"wording": str(wording), "seed": 1, "train": 3, "held_out": 2, "turns": 10, "assistants": 0.5}
    assert len(turns_of(config, split)) == (30 if split == "train" else 20)
