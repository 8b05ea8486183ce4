"""Shared parts of the networks that encode relations: MiniLM with low-rank updates, and relation vectors.

A relation is represented by the published encoder's vector for its words; a trained relation also has a learned vector
of its own. Legend: R relations, n texts, d width.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Self

import torch
from torch import Tensor, nn

from nscma_torch.core.errors import ModelError
from nscma_torch.core.tensor_files import all_tensors, open_tensors
from nscma_torch.text.embedders.low_rank import LowRank, add_changes, merge_changes
from nscma_torch.text.embedders.minilm import DIMENSION, MAX_TOKENS, MiniLM, bundled_folder, load_tokenizer, verify

RELATIONS = "relations"  # key of their names in the metadata of a file of weights


class RelationModel(nn.Module):
    """All-MiniLM-L6-v2 with low-rank updates, and relation vectors.

    Args:
        relations: names of the relations that have learned vectors.

    Raises:
        ModelNotFoundError: the encoder is not installed.
        ChecksumError: the encoder's files differ from the published ones.
    """

    RANK: ClassVar[int]  # of the changes

    def __init__(self, relations: Sequence[str]) -> None:
        super().__init__()
        folder = bundled_folder()
        verify(folder)
        self.tokenizer = load_tokenizer(folder)
        self.relations = tuple(relations)
        self.encoder = MiniLM.from_checkpoint(folder / "model.safetensors")
        add_changes(self.encoder, self.RANK)
        self.words = nn.Linear(DIMENSION, DIMENSION)
        self.relation = nn.Parameter(torch.zeros(len(relations), DIMENSION))

    @classmethod
    def from_file(cls, path: Path, holding: str, *, missing: str) -> Self:
        """Create a model from the relations and weights in a file written by `train/reader`; see `open_tensors`."""
        with open_tensors(path, holding, missing=missing) as file:
            model = cls(file.metadata()[RELATIONS].split())
            model.load(all_tensors(file), path)
        return model

    @torch.no_grad()
    def words_of(self, texts: Sequence[str]) -> Tensor:  # [n, d]
        """Return unit vectors for texts, computed by the encoder without its updates."""
        changes = [module for module in self.encoder.modules() if isinstance(module, LowRank)]
        kept = [module.b.clone() for module in changes]
        for module in changes:
            module.b.zero_()
        found = self.relation.new_empty(len(texts), DIMENSION)
        for number, text in enumerate(texts):
            ids = torch.tensor([self.tokenizer.encode(text).ids[:MAX_TOKENS]], device=found.device)
            found[number] = self.encoder(ids, torch.ones_like(ids, dtype=torch.bool))[0]
        for module, b in zip(changes, kept, strict=True):
            module.b.copy_(b)
        return found

    def vectors(
        self,
        words: Tensor,  # [R, d], unit vectors of the relations' words by the published encoder
        places: Tensor,  # [R] int64 among `relations`, -1 where it is none of them
        keep: Tensor | None = None,  # [R] bool: relations whose own vector is used; None: all
    ) -> Tensor:  # [R, d]
        """Return the relation vectors."""
        own = places >= 0 if keep is None else (places >= 0) & keep
        vectors: Tensor = self.words(words * math.sqrt(DIMENSION))
        return vectors + self.relation[places.clamp(min=0)] * own[:, None]

    def trained(self) -> dict[str, nn.Parameter]:
        """Return the trainable parameters by name."""
        return {name: p for name, p in self.named_parameters() if p.requires_grad}

    @torch.no_grad()
    def load(self, weights: Mapping[str, Tensor], source: Path) -> None:
        """Load weights. Raises `ModelError`, naming `source`, unless their names and shapes are those of `trained`."""
        own = self.trained()
        if {n: p.shape for n, p in own.items()} != {n: w.shape for n, w in weights.items()}:
            raise ModelError(
                f"{source} is not a {type(self).__name__} of this version; train it again with train/reader"
            )
        for name, parameter in own.items():
            parameter.copy_(weights[name])

    def merge(self) -> None:
        """Merge the encoder with its updates; the model then can't be trained further."""
        merge_changes(self.encoder)
        self.eval().requires_grad_(False)
