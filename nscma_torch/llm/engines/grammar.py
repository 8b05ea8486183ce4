"""Convert JSON schemas to masks over a model's next token, with llguidance.

A reply is one value in compact JSON: keys are in the order of the schema, and there is no whitespace between the parts.
Strings contain no `\\u` escapes, because a model could use them to write half a character; all characters appear
literally.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor

from nscma_torch.core.errors import EngineRefusedError, ReplyError
from nscma_torch.core.extras import require

if TYPE_CHECKING:
    from llguidance import LLMatcher, LLTokenizer
    from llguidance._lib import JsonCompileOptions
    from transformers import PreTrainedTokenizerFast

_OPTIONS = cast("JsonCompileOptions", {"whitespace_flexible": False, "json_allowed_escapes": 'nrtbf\\"'})
_KEPT = 64  # compiled schemas


class Grammars:
    """Compiles schemas for one tokenizer and caches them. Thread-safe.

    Args:
        vocabulary: the number of logits of the model, at least the number of tokens in the tokenizer.
        eos: ids that end a text.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerFast, vocabulary: int, eos: frozenset[int]) -> None:
        require("llguidance", extra="hf", purpose="replies that follow a JSON schema")
        from llguidance.hf import from_tokenizer

        self._tokenizer: LLTokenizer = from_tokenizer(tokenizer, n_vocab=vocabulary, eos_token=sorted(eos))
        self._tokens = len(tokenizer)
        self._compiled: OrderedDict[str, LLMatcher] = OrderedDict()
        self._lock = threading.Lock()

    def follow(self, schema: Mapping[str, Any]) -> Follower:
        """Return a matcher at the start of a reply. Raises `EngineRefusedError` for an unsupported schema."""
        key = json.dumps(schema)
        with self._lock:
            if key not in self._compiled:
                self._compiled[key] = self._compile(key)
                if len(self._compiled) > _KEPT:
                    self._compiled.popitem(last=False)
            self._compiled.move_to_end(key)
            return Follower(self._compiled[key].deep_copy())

    def spell(self, token: int) -> bytes:
        """Return the bytes that a token stands for; empty for an id unknown to the tokenizer."""
        return self._tokenizer.decode_bytes([token]) if token < self._tokens else b""

    def _compile(self, schema: str) -> LLMatcher:
        from llguidance import LLMatcher

        try:
            matcher = LLMatcher(self._tokenizer, LLMatcher.grammar_from_json_schema(schema, overrides=_OPTIONS))
        except ValueError as error:
            raise EngineRefusedError(f"the reply's schema is not supported: {error}") from error
        if matcher.is_error():
            raise EngineRefusedError(f"the reply's schema is not supported: {matcher.get_error()}")
        return matcher


class Follower:
    """The state of a reply within its schema."""

    def __init__(self, matcher: LLMatcher) -> None:
        self._matcher = matcher

    @property
    def complete(self) -> bool:
        """Return True if no token can be added."""
        return self._matcher.is_stopped()

    def allowed(self) -> Tensor:
        """Return a mask of the tokens that can come next, bool [vocabulary] on the CPU. Raises `ReplyError` if the
        grammar fails.
        """
        bias = self._matcher.compute_logit_bias()
        self._refuse_error()
        return torch.frombuffer(bytearray(bias), dtype=torch.uint8) != 0

    def accept(self, token: int) -> None:
        """Advance the state by an allowed token."""
        self._matcher.consume_token(token)
        self._refuse_error()

    def _refuse_error(self) -> None:
        if self._matcher.is_error():
            raise ReplyError(f"the reply could not be completed according to the schema: {self._matcher.get_error()}")
