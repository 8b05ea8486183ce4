"""A reply's tokens as text: whole characters, in order, whose join is the reply."""

from __future__ import annotations

import codecs
from collections.abc import Iterator

from nscma_torch.llm.engines.contract import Token
from nscma_torch.llm.engines.grammar import Grammars


class TokenText:
    """Spells one reply.

    Tokens that only together make a character become one, with the sum of their log-probabilities; bytes that are no
    character become U+FFFD.

    Args:
        silent: ids without text: special tokens.
    """

    def __init__(self, grammars: Grammars, silent: frozenset[int]) -> None:
        self._grammars = grammars
        self._silent = silent
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._logprob = 0.0

    def add(self, token: int, logprob: float) -> Iterator[Token]:
        """Go on by a token of the model; what can be read now."""
        self._logprob += logprob
        written = b"" if token in self._silent else self._grammars.spell(token)
        yield from self._read(self._decoder.decode(written))

    def end(self) -> Iterator[Token]:
        """Yield the rest of a reply that ends within a character."""
        yield from self._read(self._decoder.decode(b"", final=True))

    def _read(self, text: str) -> Iterator[Token]:
        if text:
            yield Token(text, self._logprob)
            self._logprob = 0.0
