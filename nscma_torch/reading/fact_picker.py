"""Tells which relations a message may state, so that the reader is asked about few.

The bundled encoder with a low-rank change of its layers (Hu et al. 2021, LoRA, equation 3) and a linear head over the
mean of the message's hidden states. Legend: B rows, L tokens of the longest, R relations, d width, r rank.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from nscma_torch.errors import ModelError
from nscma_torch.reading.reader_input import PADDED_TO, Packer, Passage, padded_rows, target_tokens
from nscma_torch.tensor_files import all_tensors, open_tensors
from nscma_torch.text.minilm import DIMENSION, POSITIONS, MiniLM, bundled_folder, load_tokenizer, verify

WEIGHTS = Path(__file__).with_name("weights") / "picker.safetensors"
RELATIONS = "relations"  # key of their names in the metadata of a file of weights
ASKED = "what is told?"  # what stands in the place of a question in a row
RANK = 16
SCALE = 8.0  # length of a message's mean hidden state before the head
_CPU_TOKENS = 2048  # of a batch on a CPU, padding included


class LowRank(nn.Module):
    """A linear layer W with a change of rank r that is trained: W x + B A x."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.linear = linear
        self.a = nn.Parameter(torch.randn(RANK, linear.in_features) / math.sqrt(linear.in_features))
        self.b = nn.Parameter(torch.zeros(linear.out_features, RANK))

    def forward(self, x: Tensor) -> Tensor:
        changed: Tensor = self.linear(x) + (x @ self.a.T) @ self.b.T
        return changed

    def merged(self) -> nn.Linear:
        """One linear layer that does the same."""
        linear = nn.Linear(self.linear.in_features, self.linear.out_features)
        linear.weight = nn.Parameter(self.linear.weight + self.b @ self.a)
        linear.bias = self.linear.bias
        return linear


class PickerModel(nn.Module):
    """The network, to be trained or, when `merge` was called, to be used."""

    def __init__(self, relations: Sequence[str]) -> None:
        super().__init__()
        folder = bundled_folder()
        verify(folder)
        self.tokenizer = load_tokenizer(folder)
        self.relations = tuple(relations)
        self.encoder = MiniLM.from_checkpoint(folder / "model.safetensors")
        for layer in self.encoder.layers:
            for name in ("qkv", "out", "up", "down"):
                setattr(layer, name, LowRank(getattr(layer, name)))
        self.head = nn.Linear(DIMENSION, len(relations))
        nn.init.constant_(self.head.bias, -4.0)  # few relations are stated

    def forward(
        self,
        ids: Tensor,  # [B, L] int64
        mask: Tensor,  # [B, L] bool, False at padding
        target: Tensor,  # [B, L] bool, the tokens of the message itself
    ) -> Tensor:  # [B, R]
        """Logits that a message states something of each relation."""
        encoder = self.encoder
        x = encoder.norm(encoder.word(ids) + encoder.position.weight[: ids.shape[1]])
        attention = None if bool(mask.all()) else mask[:, None, None, :]
        for layer in encoder.layers:
            x = layer(x, attention)
        mean = (x * target[..., None]).float().sum(1)
        logits: Tensor = self.head((nn.functional.normalize(mean, dim=-1) * SCALE).to(self.head.weight.dtype))
        return logits.float()

    def trained(self) -> dict[str, nn.Parameter]:
        """What training changes, by name."""
        return {name: p for name, p in self.named_parameters() if p.requires_grad}

    @torch.no_grad()
    def load(self, weights: Mapping[str, Tensor], source: Path) -> None:
        """Take over weights of the names and shapes of `trained`; ModelError, which names `source`, for others."""
        own = self.trained()
        if {n: p.shape for n, p in own.items()} != {n: w.shape for n, w in weights.items()}:
            raise ModelError(f"{source} is no picker of this version; train it again by train/reader/train_picker")
        for name, parameter in own.items():
            parameter.copy_(weights[name])

    @torch.no_grad()
    def merge(self) -> None:
        """Make one of each layer and its change, which saves time and can no longer be trained."""
        for layer in self.encoder.layers:
            for name in ("qkv", "out", "up", "down"):
                setattr(layer, name, getattr(layer, name).merged())
        self.eval().requires_grad_(False)


class FactPicker:
    """A trained `PickerModel`, merged."""

    def __init__(self, model: PickerModel) -> None:
        model.merge()
        self._model = model
        self._device = model.head.weight.device
        self._packer = Packer(model.tokenizer, POSITIONS)
        self._multiple = PADDED_TO if model.head.weight.dtype == torch.bfloat16 else 1

    @classmethod
    def from_pretrained(
        cls, weights: Path | None = None, *, device: str | torch.device = "cpu", dtype: torch.dtype = torch.float32
    ) -> FactPicker:
        """The bundled picker, or one that `train/reader/train_picker` wrote.

        Raises:
            ModelNotFoundError: a file is missing.
            ModelError: what is there is no picker of this version.
            ChecksumError: the bundled encoder's files are not the published ones.
        """
        path = weights or WEIGHTS
        remedy = "install nscma-torch again" if weights is None else "give a file that train/reader wrote"
        with open_tensors(path, "a picker", missing=f"the picker's weights are missing: {path}; {remedy}") as file:
            model = PickerModel(file.metadata()[RELATIONS].split())
            model.load(all_tensors(file), path)
        return cls(model.to(torch.device(device), dtype))

    @property
    def relations(self) -> tuple[str, ...]:
        """The relations that it was trained to pick, by name."""
        return self._model.relations

    @torch.no_grad()
    def picks(self, messages: Sequence[Sequence[Passage]]) -> Tensor:
        """The probability that the last passage of each list states something of each of `relations`, [n, R].

        The passages before it are what it is understood by.
        """
        rows = [self._packer.rows(ASKED, own)[0] for own in messages]
        found = torch.empty(len(rows), len(self.relations))
        order = sorted(range(len(rows)), key=lambda i: len(rows[i].ids))
        while order:
            size = len(order) if self._device.type != "cpu" else max(1, _CPU_TOKENS // len(rows[order[-1]].ids))
            batch, order = order[-size:], order[:-size]
            own = [rows[i] for i in batch]
            ids, mask, _ = padded_rows(own, self._multiple)
            parts = (ids, mask, target_tokens(own, ids.shape[1]))
            found[batch] = self._model(*(part.to(self._device) for part in parts)).sigmoid().cpu()
        return found
