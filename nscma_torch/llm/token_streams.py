"""Streams as read by a causal language model: the context of each token, and the state between calls.

A stream is the concatenation of its messages' tokens, each message with its line feed tokenized separately. A token's
context depends only on its position in the stream. Let h be half the window, and b the block of h tokens that token n
is in (b = n // h): it sees the beginning-of-text token and every token of the stream from the start of block b-1 (or of
the stream) on, at positions counted from there; that is h to 2h tokens. That start is its anchor.

So the past of a stream is represented by at most 2h token ids. These ids are the state; they take a few KB, compared
with megabytes of keys and values.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from nscma_torch.core.errors import StateMismatchError
from nscma_torch.llm.message_tokens import MessageTokenizer

_HEADER = struct.Struct("<16sQ")  # fingerprint, tokens of the stream so far


@dataclass(frozen=True, slots=True)
class CausalScore:
    """Scores for consecutive messages in one stream."""

    nll: list[Tensor]  # per message fp32 [tokens] on the CPU, nats
    ends: list[Tensor]  # per message int64 [tokens]: bytes of the message and its line feed up to each token's end
    state: bytes  # after the last message


@dataclass(slots=True)
class TokenStream:
    """A stream being scored.

    Attributes:
        first: position in the stream of the first token in `ids`.
        new: position of the first token that has no nats yet.
        ids: the tokens to be scored and their contexts.
        ends: for each message to be scored, the byte offsets at which its tokens end.
        nll: nats of the scored tokens, in order.
    """

    first: int
    new: int
    ids: list[int]
    ends: list[list[int]] = field(default_factory=list)
    nll: list[Tensor] = field(default_factory=list)

    @property
    def end(self) -> int:
        """Return the position after the last token."""
        return self.first + len(self.ids)

    def between(self, start: int, stop: int) -> list[int]:
        """Return the ids of the tokens at these positions in the stream."""
        return self.ids[start - self.first : stop - self.first]


class TokenStreams:
    """Starts and finishes the scoring of streams.

    Args:
        window: 2h, even.
        fingerprint: the surprise model's fingerprint, 16 characters, with which its states begin.
    """

    def __init__(self, tokenizer: MessageTokenizer, *, window: int, fingerprint: str) -> None:
        self._tokenizer = tokenizer
        self._half = window // 2
        self._fingerprint = fingerprint

    def begin(self, streams: Sequence[Sequence[str]], states: Sequence[bytes | None]) -> list[TokenStream]:
        """Return each stream with its next messages appended to its state, which is None for a new stream. Errors are
        those of `SurpriseModel.score`.
        """
        tokenized = [[self._tokenizer.read(message) for message in messages] for messages in streams]
        begun = [self._unpack(state) for state in states]
        for stream, messages in zip(begun, tokenized, strict=True):
            stream.ids += [token for ids, _ in messages for token in ids]
            stream.ends = [ends for _, ends in messages]
        return begun

    def end(self, stream: TokenStream) -> CausalScore:
        """Return the scores of a stream once all its tokens have nats."""
        values = torch.cat(stream.nll) if stream.nll else torch.empty(0)
        sizes = [len(ends) for ends in stream.ends]
        nll = list(torch.split_with_sizes(values, sizes)) if sizes else []
        return CausalScore(nll, [torch.tensor(ends) for ends in stream.ends], self.state(stream))

    def state(self, stream: TokenStream) -> bytes:
        """Return the state from which a stream can be resumed: the ids that its next token sees."""
        recent = stream.between(self.anchor(stream.end), stream.end)
        return _HEADER.pack(self._fingerprint.encode(), stream.end) + struct.pack(f"<{len(recent)}I", *recent)

    def anchor(self, n: int) -> int:
        """Return the position of the first token in the stream that token `n` sees."""
        return self._half * max(0, n // self._half - 1)

    def spans(self, stream: TokenStream) -> Iterator[range]:
        """Yield runs of tokens without nats, split where the anchor changes."""
        start = stream.new
        while start < stream.end:
            stop = min(self.anchor(start) + 2 * self._half, stream.end)
            yield range(start, stop)
            start = stop

    def _unpack(self, state: bytes | None) -> TokenStream:
        if state is None:
            return TokenStream(0, 0, [])
        if state[:16] != self._fingerprint.encode():
            raise StateMismatchError(
                f"the stream's state was not written by surprise model {self._fingerprint}: load the model that wrote "
                "it, or pass None to restart the stream"
            )
        count = (len(state) - _HEADER.size) // 4
        end, ids = -1, []
        if count >= 0 and len(state) == _HEADER.size + 4 * count:
            end = _HEADER.unpack_from(state)[1]
            ids = list(struct.unpack_from(f"<{count}I", state, _HEADER.size))
        if end < 0 or end - self.anchor(end) != count or any(token >= self._tokenizer.vocabulary for token in ids):
            raise StateMismatchError("the stream's state is damaged: pass None to restart the stream")
        return TokenStream(end - count, end, ids)
