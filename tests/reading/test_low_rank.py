"""A tuned model is restored from its base and a small difference."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from nscma_torch.core.errors import ConfigError
from nscma_torch.core.int8_tensors import dequantized
from nscma_torch.reading.low_rank import LEFT, difference, with_difference
from train.reader.effects_difference import weights_of, write


def models(rank: int) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    """Return a base, and a model that differs by a matrix of this rank, a bias and nothing else."""
    random = torch.Generator().manual_seed(0)
    base = {
        "weight": torch.randn(160, 128, generator=random),
        "bias": torch.randn(160, generator=random),
        "same": torch.randn(160, 128, generator=random),
    }
    change = torch.randn(160, rank, generator=random) @ torch.randn(rank, 128, generator=random) / 10
    return base, {**base, "weight": base["weight"] + change, "bias": base["bias"] + 1}


def test_a_change_of_that_rank_is_restored_nearly_exactly() -> None:
    base, tuned = models(8)
    found = difference(base, tuned, 8)
    assert not any(name.startswith("same") for name in found)
    assert found["weight" + LEFT].shape == (160, 8)
    restored = with_difference(base, dequantized(found))
    assert restored.keys() == base.keys() and torch.equal(restored["bias"], tuned["bias"])
    assert torch.equal(restored["same"], base["same"])
    error = (restored["weight"] - tuned["weight"]).norm() / (tuned["weight"] - base["weight"]).norm()
    assert error < 0.02
    coarse = with_difference(base, dequantized(difference(base, tuned, 2)))
    assert (coarse["weight"] - tuned["weight"]).norm() > 10 * (restored["weight"] - tuned["weight"]).norm()


def test_files_of_different_models_are_refused(tmp_path: Path) -> None:
    base, tuned = models(2)
    save_file(base, tmp_path / "base.safetensors")
    save_file(tuned | {"new": torch.zeros(2)}, tmp_path / "tuned.safetensors")
    with pytest.raises(ConfigError, match="different models"):
        write(tmp_path / "base.safetensors", tmp_path / "tuned.safetensors", tmp_path / "out.safetensors", 2)
    save_file(tuned, tmp_path / "tuned.safetensors")
    write(tmp_path / "base.safetensors", tmp_path / "tuned.safetensors", tmp_path / "out.safetensors", 8)
    restored = with_difference(base, weights_of(tmp_path / "out.safetensors"))
    assert torch.allclose(restored["bias"], tuned["bias"])
