"""Tokenize messages for a surprise model, without special tokens, and return each token's end as a byte offset."""

from __future__ import annotations

import hashlib
import json
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

from nscma_torch.core.errors import EmptyTextError, EncodingError, ModelError
from nscma_torch.core.extras import require
from nscma_torch.llm.loading import CausalLM, tokenizer_files
from nscma_torch.text.embedders.model_folder import model_folder

if TYPE_CHECKING:
    from transformers import BatchEncoding, PreTrainedTokenizerFast

END_OF_MESSAGE = "\n"

_PURPOSE = "the tokenizer of a surprise model"
_SETTINGS = ("generation_config.json", "config.json")  # what names the end of a text, the first of them that there is


class MessageTokenizer:
    """A model's tokenizer. Special tokens spelled out in a message are read as plain text.

    Args:
        name: name of the model, for error messages.
        first: the id of the beginning-of-text token.
        vocabulary: the number of ids.
        digest: hexadecimal digest of the tokenizer's files.
    """

    def __init__(
        self, tokenizer: PreTrainedTokenizerFast, *, name: str, first: int, vocabulary: int, digest: str
    ) -> None:
        self._tokenizer = tokenizer
        self.name = name
        self.first = first
        self.vocabulary = vocabulary
        self.digest = digest

    @classmethod
    def of(cls, loaded: CausalLM) -> MessageTokenizer:
        """Return the tokenizer of a loaded model; `digest` covers its weights too."""
        first = _first(loaded.tokenizer, loaded.eos)
        return cls(
            loaded.tokenizer, name=loaded.name, first=first, vocabulary=loaded.vocabulary, digest=loaded.digest()
        )

    @classmethod
    def load(cls, name: str | Path) -> MessageTokenizer:
        """Load the tokenizer of a model folder, or of a name in the local Hugging Face cache, without weights.

        Raises:
            MissingDependencyError: transformers is not installed.
            ModelNotFoundError: the model isn't on this machine.
            ModelError: there is no fast tokenizer, or it defines no beginning- or end-of-text token.
        """
        transformers = require("transformers", extra="hf", purpose=_PURPOSE)
        folder = model_folder(str(name), kind="tokenizer", purpose=_PURPOSE)
        files = list(tokenizer_files(folder))
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
        except (OSError, ValueError, KeyError, TypeError, RuntimeError, ImportError) as error:
            raise ModelError(f"{folder} has no loadable tokenizer: {error}") from error
        if not tokenizer.is_fast:
            raise ModelError(f"{name} has no fast tokenizer (tokenizer.json); save one in its folder")
        digest = hashlib.sha256()
        for path in files:
            digest.update(path.name.encode() + hashlib.sha256(path.read_bytes()).digest())
        ends = {tokenizer.eos_token_id, *_ends(folder)} - {None}
        if not ends and tokenizer.bos_token_id is None:
            raise ModelError(f"{name} defines no beginning- or end-of-text token in its tokenizer_config.json; set one")
        first = _first(tokenizer, frozenset(ends))
        return cls(tokenizer, name=str(name), first=first, vocabulary=len(tokenizer), digest=digest.hexdigest())

    def read(self, message: str) -> tuple[list[int], list[int]]:
        """Return the token ids of a message and its line feed, never empty, and each token's end as a byte offset.

        Raises:
            EmptyTextError: the message is the empty string.
            EncodingError: the message has no UTF-8 form because of a lone surrogate.
            ModelError: the tokenizer returns no tokens for it.
        """
        if not message:
            raise EmptyTextError("an empty message has no surprise: skip it before scoring")
        text = message + END_OF_MESSAGE
        try:
            total = len(text.encode())
        except UnicodeEncodeError as error:
            raise EncodingError(f"the message is not valid Unicode text ({error}): decode it as UTF-8 first") from error
        encoded = self._encode(text)
        ids: list[int] = encoded["input_ids"]
        if not ids:
            raise ModelError(f"the tokenizer of {self.name} produces no token for {message[:40]!r}")
        bytes_before = [0, *accumulate(len(char.encode()) for char in text)]
        ends = list(accumulate((bytes_before[end] for _, end in encoded["offset_mapping"]), max))
        ends[-1] = total  # some tokenizers drop the line feed
        return ids, ends

    def ids(self, text: str) -> list[int]:
        """Return the token ids of a text, without adding a line feed."""
        ids: list[int] = self._encode(text)["input_ids"]
        return ids

    def _encode(self, text: str) -> BatchEncoding:
        encoded: BatchEncoding = self._tokenizer(
            text, add_special_tokens=False, split_special_tokens=True, return_offsets_mapping=True, verbose=False
        )
        return encoded


def _first(tokenizer: PreTrainedTokenizerFast, ends: frozenset[int]) -> int:
    """Return the beginning-of-text id, or the end-of-text id for models trained without a beginning-of-text token."""
    first = tokenizer.bos_token_id
    return min(ends) if first is None else int(first)


def _ends(folder: Path) -> list[int]:
    """Return the end-of-text ids in the model's settings."""
    for path in (folder / name for name in _SETTINGS):
        if path.is_file():
            try:
                ends = json.loads(path.read_text(encoding="utf-8")).get("eos_token_id")
            except (OSError, ValueError, AttributeError) as error:
                raise ModelError(f"{path} cannot be read: {error}") from error
            return [ends] if isinstance(ends, int) else list(ends or [])
    return []
