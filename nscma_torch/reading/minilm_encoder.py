"""The encoder of the bundled reader of facts: the embedder's frozen lower layers, and its retrained upper layers."""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from nscma_torch.reading.reader_model import Encoder
from nscma_torch.text.embedders.minilm import (
    DIMENSION,
    LAYERS,
    POSITIONS,
    MiniLM,
    bundled_folder,
    load_tokenizer,
    verify,
)

NAME = "minilm"  # of the encoder, in the metadata of a weights file
TRAINED_LAYERS = 4  # the upper ones


class MiniLMEncoder(Encoder):
    """All-MiniLM-L6-v2; only the trained layers are saved, in one file.

    Raises:
        ModelNotFoundError: the encoder is not installed.
        ChecksumError: the encoder's files differ from the published ones.
    """

    def __init__(self) -> None:
        folder = bundled_folder()
        verify(folder)
        super().__init__(load_tokenizer(folder), dimension=DIMENSION, max_tokens=POSITIONS)
        published = MiniLM.from_checkpoint(folder / "model.safetensors")
        self.word, self.position, self.norm = published.word, published.position, published.norm
        self.lower = published.layers[: LAYERS - TRAINED_LAYERS]
        self.upper = published.layers[LAYERS - TRAINED_LAYERS :].requires_grad_(True)
        self.passage = nn.Parameter(torch.zeros(DIMENSION))  # added to the tokens after the question

    def forward(
        self,
        ids: Tensor,  # [B, L] int64
        mask: Tensor,  # [B, L] bool, False at padding
        passage: Tensor,  # [B, L] bool, True at the tokens after the question
    ) -> Tensor:  # [B, L, d]
        x: Tensor = self.norm(self.word(ids) + self.position.weight[: ids.shape[1]])
        attention = None if bool(mask.all()) else mask[:, None, None, :]
        for layer in self.lower:
            x = layer(x, attention)
        x = x + passage.unsqueeze(-1) * self.passage
        for layer in self.upper:
            x = layer(x, attention)
        return x

    def write(self, weights: dict[str, Tensor], path: Path) -> None:
        save_file({name: w.to(torch.bfloat16) for name, w in weights.items()}, path, metadata={"encoder": NAME})
