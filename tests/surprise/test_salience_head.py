"""The salience head: what it says of plain messages, what it refuses, and that its weights come back as they went."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from eval.metrics.retrieval_metrics import auc
from nscma_torch.core.config import EmbedderConfig
from nscma_torch.core.errors import ModelError, ModelNotFoundError, VectorError
from nscma_torch.surprise.salience_head import MOST, STEP, SalienceHead
from nscma_torch.text.embedders.embedder import load_embedder

FACTS = [
    "Our landlord Piotr is raising the rent to 900 from March.",
    "my niece just started swimming lessons in Ghent",
    "I can't eat walnuts, they make my throat swell.",
    "We drove to the coast on Saturday and the car broke down near Brest.",
    "Oh nice! I finally handed in my thesis about river birds yesterday.",
    "Grandma left me her sewing machine.",
    "I'd like to open a tiny bookshop one day",
]
EMPTY = [
    "That sounds wonderful, I'm so glad for you!",
    "haha yes exactly",
    "Thanks a lot, it really helps to hear that.",
    "How did it go? Tell me everything!",
    "You can do it, just keep believing in yourself!",
    "It's always good to take a break now and then.",
    "Sure! Let's talk again soon, take care.",
]


@pytest.fixture
def head() -> SalienceHead:
    torch.manual_seed(4)
    return SalienceHead(12, "twelve")


def unit(n: int, d: int) -> torch.Tensor:
    return torch.nn.functional.normalize(torch.randn(n, d, generator=torch.Generator().manual_seed(n)), dim=1)


def test_the_bundled_head_tells_facts_from_small_talk() -> None:
    head, embedder = SalienceHead.load(), load_embedder(EmbedderConfig(model="all-MiniLM-L6-v2", dtype="float32"))
    assert head.embedder == embedder.fingerprint
    assert 2_000 < sum(weight.numel() for weight in head.parameters()) < 10_000
    odds = head.log_odds(embedder.embed([*FACTS, *EMPTY]))
    assert auc(odds, [True] * len(FACTS) + [False] * len(EMPTY)) >= 0.95


def test_log_odds_are_bounded_steps_that_rounding_does_not_move(head: SalienceHead) -> None:
    vectors = unit(200, 12)
    odds = head.log_odds(vectors)
    assert all(abs(value) <= MOST and value % STEP == 0 for value in odds)
    assert max(abs(a - b) for a, b in zip(odds, head(vectors).tolist(), strict=True)) <= STEP / 2 + 1e-6
    with torch.no_grad():
        head.outer.bias += 100.0
    assert set(head.log_odds(vectors)) == {MOST}
    assert head.log_odds(vectors[:0]) == []


def test_weights_and_embedder_survive_saving(head: SalienceHead, tmp_path: Path) -> None:
    head.save(tmp_path / "head.safetensors")
    other = SalienceHead.load(tmp_path / "head.safetensors")
    assert (other.embedder, other.dimension) == ("twelve", 12)
    assert torch.equal(other(unit(5, 12)), head(unit(5, 12)))


@pytest.mark.parametrize("shape", [(3, 11), (12,), (2, 3, 12)])
def test_other_vectors_are_refused(head: SalienceHead, shape: tuple[int, ...]) -> None:
    with pytest.raises(VectorError, match="12"):
        head.log_odds(torch.zeros(shape))


def test_unusable_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError, match=r"train/gate/train_gate\.py"):
        SalienceHead.load(tmp_path / "none.safetensors")
    bad = tmp_path / "bad.safetensors"
    bad.write_bytes(b"not weights")
    with pytest.raises(ModelError, match="salience head"):
        SalienceHead.load(bad)
    save_file({"inner.weight": torch.zeros(1)}, bad)
    with pytest.raises(ModelError, match="salience head"):
        SalienceHead.load(bad)
    save_file({"inner.weight": torch.zeros(1)}, bad, metadata={"salience_head": '{"dimension": 3, "embedder": "x"}'})
    with pytest.raises(ModelError, match="salience head"):
        SalienceHead.load(bad)
