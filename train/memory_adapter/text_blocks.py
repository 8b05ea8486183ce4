"""Plain text as blocks of tokens for language modelling."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from nscma_torch.core.errors import InvalidInputError


def text_files(folder: Path, held_out: int = 0) -> tuple[list[Path], list[Path]]:
    """The *.txt of a folder: those to train on, and the last `held_out`, by name."""
    files = sorted(folder.glob("*.txt"))
    if len(files) <= held_out:
        raise InvalidInputError(f"there are {len(files)} *.txt in {folder}, and {held_out} are held out")
    return files[: len(files) - held_out], files[len(files) - held_out :]


class TextBlocks:
    """Text files in one line of tokens; a block starts anywhere in it.

    Args:
        files: the texts.
        tokenizer: of the base model.
        block: tokens of a block.
        most: so many characters of each file are read; None for all.
    """

    def __init__(self, files: Sequence[Path], tokenizer: Any, block: int, most: int | None = None) -> None:
        texts = (path.read_text(encoding="utf-8")[:most] for path in files)
        ids = [id_ for text in texts for id_ in tokenizer(text, verbose=False)["input_ids"]]
        if len(ids) <= block:
            raise InvalidInputError(f"{len(files)} texts hold {len(ids)} tokens, a block needs {block + 1}")
        self._ids, self._block = torch.tensor(ids), block

    def batch(self, rows: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Tokens [rows, block], and the same as labels."""
        starts = torch.randint(len(self._ids) - self._block, (rows, 1), generator=generator)
        tokens = self._ids[starts + torch.arange(self._block)]
        return tokens, tokens.clone()

    def spread(self, number: int) -> list[Tensor]:
        """`number` blocks [1, block] at equal distances."""
        last = len(self._ids) - self._block
        starts = [last * place // max(number - 1, 1) for place in range(number)]
        return [self._ids[None, start : start + self._block] for start in starts]
