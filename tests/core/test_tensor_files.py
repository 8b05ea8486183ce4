"""Files of tensors: read as they were written, or refused with one error that says why."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from nscma_torch.core.errors import ModelError, ModelNotFoundError
from nscma_torch.core.tensor_files import all_tensors, open_tensors


def test_every_tensor_is_read(tmp_path: Path) -> None:
    save_file({"a": torch.arange(3), "b": torch.ones(2, 2)}, tmp_path / "two", metadata={"made": "here"})
    with open_tensors(tmp_path / "two", "two tensors", missing="") as file:
        found = all_tensors(file)
        assert file.metadata() == {"made": "here"}
    assert found.keys() == {"a", "b"} and found["a"].tolist() == [0, 1, 2]


def test_a_missing_file_is_told_with_the_remedy(tmp_path: Path) -> None:
    for path in (tmp_path / "none", tmp_path):
        with (
            pytest.raises(ModelNotFoundError, match="train it first"),
            open_tensors(path, "x", missing="train it first"),
        ):
            pass


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no tensors")
    with (
        pytest.raises(ModelError, match="text does not contain a head"),
        open_tensors(tmp_path / "text", "a head", missing=""),
    ):
        pass
    save_file({"a": torch.arange(3)}, tmp_path / "one")
    for error in (KeyError("w"), TypeError("w"), ValueError("w"), RuntimeError("w")):
        with (
            pytest.raises(ModelError, match="one does not contain a head"),
            open_tensors(tmp_path / "one", "a head", missing=""),
        ):
            raise error
