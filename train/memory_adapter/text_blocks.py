"""Plain text as blocks of tokens for language modelling."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from nscma_torch.core.errors import InvalidInputError


class TextBlocks:
    """Every *.txt of a folder, in one line of tokens; a block starts anywhere in it."""

    def __init__(self, folder: Path, tokenizer: Any, block: int) -> None:
        files = sorted(folder.glob("*.txt"))
        if not files:
            raise InvalidInputError(f"there is no *.txt in {folder}")
        texts = (path.read_text(encoding="utf-8") for path in files)
        ids = [id_ for text in texts for id_ in tokenizer(text, verbose=False)["input_ids"]]
        if len(ids) <= block:
            raise InvalidInputError(f"{folder} holds {len(ids)} tokens, a block needs {block + 1}")
        self._ids, self._block = torch.tensor(ids), block

    def batch(self, rows: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Tokens [rows, block], and the same as labels."""
        starts = torch.randint(len(self._ids) - self._block, (rows, 1), generator=generator)
        tokens = self._ids[starts + torch.arange(self._block)]
        return tokens, tokens.clone()
