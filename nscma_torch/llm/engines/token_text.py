"""Convert a reply's tokens to text, as whole characters in order that join to the reply."""

from __future__ import annotations

import codecs
from collections.abc import Iterator

from nscma_torch.llm.engines.contract import Token
from nscma_torch.llm.engines.grammar import Grammars


class TokenText:
    """Converts the tokens of one reply to text.

    Tokens that only together form a character become one token, with the sum of their log-probabilities. Invalid bytes
    become U+FFFD.

    Args:
        silent: ids of tokens that produce no text, such as special tokens.
    """

    def __init__(self, grammars: Grammars, silent: frozenset[int]) -> None:
        self._grammars = grammars
        self._silent = silent
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._logprob = 0.0

    def add(self, token: int, logprob: float) -> Iterator[Token]:
        """Add a token from the model, and yield the text that it completes."""
        self._logprob += logprob
        written = b"" if token in self._silent else self._grammars.spell(token)
        yield from self._read(self._decoder.decode(written))

    def end(self) -> Iterator[Token]:
        """Yield the rest of a reply that ends in the middle of a multi-byte character."""
        yield from self._read(self._decoder.decode(b"", final=True))

    def _read(self, text: str) -> Iterator[Token]:
        if text:
            yield Token(text, self._logprob)
            self._logprob = 0.0
