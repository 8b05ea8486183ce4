"""train/reader/mean_weights.py: the mean of weights, and runs that do not belong together."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor

from nscma_torch.core.errors import ConfigError
from train.reader.mean_weights import mean_weights


def written(path: Path, relations: str = "likes", **tensors: Tensor) -> Path:
    save_file(tensors, path, {"relations": relations})
    return path


def test_the_mean_is_of_each_tensor_in_its_precision(tmp_path: Path) -> None:
    one = written(tmp_path / "1", a=torch.tensor([1.0, 3.0]), b=torch.tensor([[2.0]], dtype=torch.bfloat16))
    two = written(tmp_path / "2", a=torch.tensor([2.0, 5.0]), b=torch.tensor([[4.0]], dtype=torch.bfloat16))
    mean, metadata = mean_weights([one, two])
    assert metadata == {"relations": "likes"}
    assert mean["a"].tolist() == [1.5, 4.0]
    assert mean["b"].tolist() == [[3.0]]
    assert mean["b"].dtype == torch.bfloat16


def test_runs_of_different_models_have_no_mean(tmp_path: Path) -> None:
    one, other = written(tmp_path / "1", a=torch.zeros(2)), written(tmp_path / "2", a=torch.zeros(3))
    with pytest.raises(ConfigError, match="of different models"):
        mean_weights([one, other])


def test_runs_of_other_relations_have_no_mean(tmp_path: Path) -> None:
    one, other = written(tmp_path / "1", a=torch.zeros(2)), written(tmp_path / "2", "likes owns", a=torch.zeros(2))
    with pytest.raises(ConfigError, match="of different models"):
        mean_weights([one, other])
