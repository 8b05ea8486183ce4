"""Use any transformers encoder for the reader (ModernBERT, DeBERTa, …).

Nothing is downloaded, and no remote code is run.

All layers of the encoder are trained. The reader is saved as a folder with the weights, the encoder's configuration and
its tokenizer, so loading it needs neither the base model nor a hub.

Legend: B rows, L tokens of the longest row, d width of the encoder's hidden states.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import save_file
from tokenizers import Tokenizer
from torch import Tensor, nn

from nscma_torch.core.errors import ModelError, ModelNotFoundError
from nscma_torch.core.extras import require
from nscma_torch.reading.reader_input import PADDED_TO
from nscma_torch.reading.reader_model import Encoder
from nscma_torch.text.embedders.minilm import load_tokenizer
from nscma_torch.text.embedders.model_folder import model_folder

WEIGHTS, CONFIG, TOKENIZER = "reader.safetensors", "config.json", "tokenizer.json"
LEAST_TOKENS = 128  # of a row, for a long question, a passage's speaker and day, and some of its text
_PURPOSE = "a reader on an encoder of transformers"


class TransformersEncoder(Encoder):
    """A model loaded by `transformers.AutoModel`, from a base model to be trained or from a trained reader's folder.

    Raises:
        ModelError: the model isn't an encoder, its rows are too short, or its tokenizer has a different vocabulary.
    """

    def __init__(self, model: Any, tokenizer: Tokenizer, source: Path) -> None:
        if model.config.is_encoder_decoder:
            raise ModelError(f"{source} has a decoder as well; a reader needs an encoder-only model, such as BERT")
        words, positions = model.get_input_embeddings(), _positions(model)
        if tokenizer.get_vocab_size() > words.num_embeddings:
            raise ModelError(
                f"the tokenizer in {source} has {tokenizer.get_vocab_size()} tokens, the encoder "
                f"{words.num_embeddings}: they belong to different models"
            )
        if positions < LEAST_TOKENS:
            raise ModelError(f"{source} has {positions} token positions; a reader needs at least {LEAST_TOKENS}")
        super().__init__(tokenizer, dimension=model.config.hidden_size, max_tokens=positions - positions % PADDED_TO)
        self.model = model
        if getattr(model, "pooler", None) is not None:
            model.pooler.requires_grad_(False)  # its output is not read: the reader's heads have their own
        self.passage = nn.Parameter(torch.zeros(words.embedding_dim))  # added to the words after the question

    @classmethod
    def from_base(cls, name: str) -> TransformersEncoder:
        """Load a base model to be trained, from a folder or by its name in the local Hugging Face cache.

        Raises:
            MissingDependencyError: transformers is not installed.
            ModelNotFoundError: the model isn't on this machine.
            ModelError: the model can't be used.
        """
        transformers = require("transformers", extra="hf", purpose=_PURPOSE)
        folder = model_folder(name, kind="encoder", purpose=_PURPOSE)
        with _loading(folder):
            tokenizer = transformers.AutoTokenizer.from_pretrained(
                folder, local_files_only=True, trust_remote_code=False
            )
            model, loading = transformers.AutoModel.from_pretrained(
                folder,
                dtype=torch.float32,
                local_files_only=True,
                trust_remote_code=False,
                output_loading_info=True,
            )
        if not tokenizer.is_fast:
            raise ModelError(
                f"the tokenizer of {folder} has no fast version, which is needed to map tokens to characters: "
                "choose another base"
            )
        missing = sorted(name for name in loading["missing_keys"] if not name.startswith("pooler."))
        if missing:  # transformers fills them with random numbers
            raise ModelError(f"{folder} lacks weights of its model: {', '.join(missing[:3])} ({len(missing)} in all)")
        own: Tokenizer = tokenizer.backend_tokenizer
        own.no_truncation()
        own.no_padding()
        return cls(model, own, folder)

    @classmethod
    def from_reader(cls, folder: Path) -> TransformersEncoder:
        """Load a trained reader's encoder, without its weights.

        Raises:
            MissingDependencyError: transformers is not installed.
            ModelNotFoundError: a file is missing.
            ModelError: a file has invalid contents.
        """
        for name in (WEIGHTS, CONFIG, TOKENIZER):
            if not (folder / name).is_file():
                raise ModelNotFoundError(f"no {name} in {folder}: it is not a reader; create one with train/reader")
        transformers = require("transformers", extra="hf", purpose=_PURPOSE)
        with _loading(folder):
            config = transformers.AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
            model = transformers.AutoModel.from_config(config, dtype=torch.float32, trust_remote_code=False)
        try:
            tokenizer = load_tokenizer(folder)
        except Exception as error:  # tokenizers raises no narrower one
            raise ModelError(f"{folder / TOKENIZER} has no valid tokenizer: {error}") from error
        return cls(model, tokenizer, folder)

    def forward(
        self,
        ids: Tensor,  # [B, L] int64
        mask: Tensor,  # [B, L] bool, False at padding
        passage: Tensor,  # [B, L] bool, True at the tokens after the question
    ) -> Tensor:  # [B, L, d]
        words = self.model.get_input_embeddings()(ids) + passage.unsqueeze(-1) * self.passage
        hidden: Tensor = self.model(inputs_embeds=words, attention_mask=mask.long()).last_hidden_state
        return hidden

    def write(self, weights: dict[str, Tensor], path: Path) -> None:
        path.mkdir(parents=True, exist_ok=True)
        self.model.config.save_pretrained(path)
        self.tokenizer.save(str(path / TOKENIZER))
        save_file({name: w.to(torch.bfloat16) for name, w in weights.items()}, path / WEIGHTS)


@contextmanager
def _loading(folder: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, ImportError, SafetensorError) as error:
        raise ModelError(f"{folder} cannot be loaded as an encoder: {error}") from error


def _positions(model: Any) -> int:
    """Return the maximum number of tokens in a row.

    RoBERTa-like models number positions from the padding id plus one.
    """
    for name, table in model.named_modules():
        if name.endswith("position_embeddings") and isinstance(table, nn.Embedding) and table.padding_idx is not None:
            return table.num_embeddings - table.padding_idx - 1
    positions: int = getattr(model.config, "max_position_embeddings", 0)
    return positions
