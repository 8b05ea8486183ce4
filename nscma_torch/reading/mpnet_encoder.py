"""The lower layers of MPNet in plain PyTorch, as the encoder of the bundled reader of answers.

MPNet (Song et al. 2020, arXiv:2004.09297) is a BERT encoder with relative position biases (Raffel et al. 2020, section
2.1) that all layers share. Its vocabulary is BERT's with five more tokens, so rows of tokens come from the
tokenizer of the bundled embedder.

Legend: B rows, L tokens of the longest row, H heads, d width of the hidden states.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer
from torch import Tensor, nn

from nscma_torch.core.int8_tensors import quantized
from nscma_torch.core.tensor_files import all_tensors, open_tensors
from nscma_torch.reading.reader_model import Encoder
from nscma_torch.text.embedders.minilm import (
    HEADS,
    POSITIONS,
    VOCABULARY,
    Layer,
    bundled_folder,
    load_tokenizer,
    renamed_layers,
    verify,
)

NAME = "mpnet"  # of the encoder, in the metadata of a weights file
LAYERS = 6
DIMENSION, FEED_FORWARD = 768, 3072
BUCKETS, FARTHEST = 32, 128  # of relative positions; tokens beyond share the last bucket
EPS = 1e-5
_OWN_TOKENS = 4  # of MPNet, before BERT's
_SPECIAL = {"[CLS]": 0, "[PAD]": 1, "[SEP]": 2}  # tokens of BERT, as ids of MPNet
_FIRST_POSITION = 2  # of the published position table; the rows before it are for padding


class MPNetEncoder(Encoder):
    """The lower `LAYERS` layers of MPNet; all of it is trained and saved, in one file.

    A new one has no weights: its parameters are on the meta device until they are loaded.

    Raises:
        ModelNotFoundError: the bundled embedder, whose tokenizer it uses, is not installed.
        ChecksumError: the embedder's files differ from the published ones.
    """

    pools_evidence = True

    def __init__(self) -> None:
        folder = bundled_folder()
        verify(folder, ["tokenizer.json"])
        super().__init__(load_tokenizer(folder), dimension=DIMENSION, max_tokens=POSITIONS)
        self.separator = self.tokenizer.encode("").ids[-1]
        with torch.device("meta"):
            # A table without initial numbers: drawing them on "meta" would import torch's compiler.
            self.word = nn.Embedding(VOCABULARY, DIMENSION, _weight=torch.empty(VOCABULARY, DIMENSION))
            self.position = nn.Embedding(POSITIONS, DIMENSION, _weight=torch.empty(POSITIONS, DIMENSION))
            self.norm = nn.LayerNorm(DIMENSION, EPS)
            self.relative = nn.Embedding(BUCKETS, HEADS, _weight=torch.empty(BUCKETS, HEADS))
            self.layers = nn.ModuleList(Layer(DIMENSION, FEED_FORWARD, EPS) for _ in range(LAYERS))
            self.passage = nn.Parameter(torch.empty(DIMENSION))  # added to the tokens after the question

    @classmethod
    def from_published(cls, folder: Path) -> MPNetEncoder:
        """Take the lower layers of all-mpnet-base-v2, whose `model.safetensors` is in `folder`.

        Raises:
            ModelNotFoundError: there is no such file.
            ModelError: the file holds another model.
        """
        encoder = cls()
        path = folder / "model.safetensors"
        with open_tensors(path, "all-mpnet-base-v2", missing=f"there is no {path}: download all-mpnet-base-v2") as file:
            own = {"passage": torch.zeros(DIMENSION)} | _renamed(all_tensors(file), encoder.tokenizer)
            encoder.load_state_dict(own, assign=True)
        return encoder

    def forward(
        self,
        ids: Tensor,  # [B, L] int64
        mask: Tensor,  # [B, L] bool, False at padding
        passage: Tensor,  # [B, L] bool, True at the tokens after the question
    ) -> Tensor:  # [B, L, d]
        *_, last = self.states(ids, mask, passage)
        return last

    def states(
        self,
        ids: Tensor,  # [B, L] int64
        mask: Tensor,  # [B, L] bool, False at padding
        passage: Tensor,  # [B, L] bool, True at the tokens after the question
    ) -> Iterator[Tensor]:  # [B, L, d]
        """Yield the hidden states of each layer, from the lowest; a layer is computed when it is asked for."""
        length = ids.shape[1]
        x: Tensor = self.norm(self.word(ids) + self.position.weight[:length] + passage.unsqueeze(-1) * self.passage)
        bias = self.relative(_buckets(length).to(ids.device)).permute(2, 0, 1)[None]  # [1, H, L, L]
        if not bool(mask.all()):
            bias = bias.masked_fill(~mask[:, None, None, :], float("-inf"))
        if torch.is_autocast_enabled(ids.device.type):
            dtype = torch.get_autocast_dtype(ids.device.type)
            x, bias = x.to(dtype), bias.to(dtype)
        for layer in self.layers:
            x = layer(x, bias)
            yield x

    def write(self, weights: dict[str, Tensor], path: Path) -> None:
        save_file(quantized(weights), path, metadata={"encoder": NAME})


def _buckets(length: int) -> Tensor:
    """Return the bucket of each pair of positions, [L, L] int64 (Raffel et al. 2020)."""
    place = torch.arange(length)
    gap = place[:, None] - place[None, :]  # query minus key
    half = BUCKETS // 2
    exact = half // 2
    far = exact + (
        torch.log(gap.abs().clamp(min=1) / exact) / torch.log(torch.tensor(FARTHEST / exact)) * (half - exact)
    ).long().clamp(max=half - exact - 1)
    return torch.where(gap < 0, half, 0) + torch.where(gap.abs() < exact, gap.abs(), far)


def _renamed(published: dict[str, Tensor], tokenizer: Tokenizer) -> dict[str, Tensor]:
    """Return the tensors of the published checkpoint by the names above, the words in BERT's order."""
    words = published["embeddings.word_embeddings.weight"]
    own = words[_OWN_TOKENS : _OWN_TOKENS + VOCABULARY].clone()
    for token, place in _SPECIAL.items():
        own[tokenizer.token_to_id(token)] = words[place]
    state = {
        "word.weight": own,
        "position.weight": published["embeddings.position_embeddings.weight"][_FIRST_POSITION:],
        "relative.weight": published["encoder.relative_attention_bias.weight"],
    }
    attention = {
        **{name: f"attention.attn.{name[0]}" for name in ("query", "key", "value")},
        "out": "attention.attn.o",
        "attention_norm": "attention.LayerNorm",
    }
    return state | renamed_layers(published, LAYERS, attention)
