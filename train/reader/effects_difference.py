"""Write a reader that was trained further as a small file of its difference from where it began.

    python -m train.reader.effects_difference BASE TUNED --out FILE [--rank N]

`nscma_torch/reading/weights/effects.safetensors` is what the stage "effects" of `configs/train/reader.toml` changed:
`Reader.changes` uses it, and everything else the base.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from safetensors.torch import save_file
from torch import Tensor

from nscma_torch.core.errors import ConfigError
from nscma_torch.core.int8_tensors import dequantized
from nscma_torch.core.tensor_files import all_tensors, open_tensors
from nscma_torch.reading.low_rank import difference


def weights_of(path: Path) -> dict[str, Tensor]:
    """Return a reader's tensors, int8 ones as float32. Raises `ModelError` if the file holds no tensors."""
    with open_tensors(path, "a reader", missing=f"there is no file {path}") as file:
        return dequantized(all_tensors(file))


def write(base: Path, tuned: Path, out: Path, rank: int) -> None:
    """Write the difference.

    Raises:
        ConfigError: the files hold tensors of different names or shapes.
    """
    first, then = weights_of(base), weights_of(tuned)
    if {name: own.shape for name, own in first.items()} != {name: own.shape for name, own in then.items()}:
        raise ConfigError(f"{tuned} and {base} are of different models: give runs of one configuration")
    save_file(difference(first, then, rank), out)


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base", type=Path)
    parser.add_argument("tuned", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--rank", type=int, default=64)
    arguments = parser.parse_args()
    write(arguments.base, arguments.tuned, arguments.out, arguments.rank)


if __name__ == "__main__":
    main()
