"""Write the mean of the weights of several runs of one reader that began from the same weights.

    python -m train.reader.mean_weights FILE FILE... --out FILE

A later stage gains on its own data and loses a little on what came before it; the mean keeps most of both (the uniform
soup of Wortsman et al. 2022, "Model soups", section 2). Choose by development data.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor

from nscma_torch.core.errors import ConfigError
from nscma_torch.core.int8_tensors import dequantized, quantized
from nscma_torch.core.tensor_files import all_tensors, open_tensors


def mean_weights(paths: Sequence[Path]) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The mean of the tensors of each name, stored as the files store them, and the metadata that all files have.

    Raises:
        ModelError: a file holds no tensors.
        ConfigError: two files hold tensors of different names or shapes, or differ in their metadata.
    """
    runs: list[dict[str, Tensor]] = []
    metadata: list[dict[str, str]] = []
    int8 = False
    for path in paths:
        with open_tensors(path, "a reader", missing=f"there is no file {path}") as file:
            stored = all_tensors(file)
            runs.append(dequantized(stored))
            int8 |= runs[-1].keys() != stored.keys()
            metadata.append(file.metadata() or {})
    first = runs[0]
    shapes = [{name: tensor.shape for name, tensor in own.items()} for own in runs]
    for path, own, told in zip(paths[1:], shapes[1:], metadata[1:], strict=True):
        if own != shapes[0] or told != metadata[0]:
            raise ConfigError(f"{path} and {paths[0]} are of different models: give runs of one configuration")
    means = {
        name: torch.stack([own[name].float() for own in runs]).mean(0).to(each.dtype) for name, each in first.items()
    }
    return quantized(means) if int8 else means, metadata[0]


def main() -> None:
    """Read, average, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    means, metadata = mean_weights(arguments.files)
    save_file(means, arguments.out, metadata)


if __name__ == "__main__":
    main()
