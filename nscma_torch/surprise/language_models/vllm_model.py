"""The model served by vLLM as the surprise model: uses the language model itself, without a second copy.

This is P_proxy(w_i | w_<i, h_{t-1}) in the NSCMA paper, section 3.2, with the earlier tokens selected by
`token_streams`, as in `transformers_model`. vLLM keeps no keys and values between requests when it reports
log-probabilities (`prompt_logprobs` bypasses the prefix cache), so each call sends the state's ids again: one request
for each half window with new tokens, for all streams at once.

Guaranteed: a stream's state is byte-identical regardless of its grouping into calls, and nats are those of the same
model in `CausalSurpriseModel`, up to arithmetic and rounding. Not guaranteed: identical bits. The order in which vLLM
sums depends on the rest of its batch. Another order changes a token's nats by 2e-6 on average and 8e-6 at most in
float32, and by 0.013 and 0.09 in bfloat16 (for a Llama with 8 layers and random weights; the test that prints this is
in tests/llm/test_vllm_surprise_model.py). Rounding to multiples of `STEP` costs at most 0.002 nats per token, less than
bfloat16 does. After it, one float32 value in two thousand still becomes another multiple. For bfloat16, no step small
enough to preserve surprise achieves that; a message's mean changes by about 0.001 nats instead. So with this surprise
model `digest()`, which covers surprise, may differ between two runs over the same input, and so may a decision very
close to its threshold. On GPUs that allow it, `VLLM_BATCH_INVARIANT=1` in vLLM's environment gives identical bits.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import torch

from nscma_torch.core.errors import ConfigError, EngineError
from nscma_torch.llm.engines.contract import ScoringEngine
from nscma_torch.llm.message_tokens import MessageTokenizer
from nscma_torch.llm.token_streams import CausalScore, TokenStream, TokenStreams

STEP = 2**-8  # nats
REQUESTS = 256  # at once; their replies are held in memory, some 80 bytes a token

_PROBE = 'Ana moved to Lisbon;  我女儿叫小雨, née 1984.\n{"age": 31, "x": [true, "😀"]}\n'


class VllmSurpriseModel:
    """`SurpriseModel` that uses a vLLM engine, in this process or in a server.

    It is thread-safe.

    Args:
        engine: the model's engine, which may serve other requests at the same time. Its owner closes it.
        tokenizer: the model's tokenizer. The engine's own tokenizer would interpret special tokens spelled out in a
            message.
        window: maximum tokens that a token sees, including the beginning-of-text token; even.

    Raises:
        ConfigError: the window is odd or does not fit the engine's context, or the engine has another tokenizer.
        EngineError: the engine cannot be reached.
    """

    def __init__(self, engine: ScoringEngine, tokenizer: MessageTokenizer, *, window: int) -> None:
        if window < 2 or window % 2:
            raise ConfigError(f"surprise.window is {window} tokens; it must be even")
        needed = window + 2  # the last token with this context, and the one that vLLM must write
        if needed > engine.context:
            raise ConfigError(
                f"surprise.window is {window} tokens, for which {engine.name} must read {needed}, but its context is "
                f"{engine.context}; lower surprise.window, or raise llm.context"
            )
        if engine.tokenize(_PROBE) != tokenizer.ids(_PROBE):
            raise ConfigError(
                f"{engine.name} has a different tokenizer from {tokenizer.name}; set surprise.model to the folder of "
                f"the model that {engine.name} serves"
            )
        self._engine = engine
        self._first = tokenizer.first
        identity = f"vllm {engine.name} {tokenizer.digest} window {window} bos {tokenizer.first} step {STEP}"
        self._fingerprint = hashlib.sha256(identity.encode()).hexdigest()[:16]
        self._streams = TokenStreams(tokenizer, window=window, fingerprint=self._fingerprint)

    @property
    def fingerprint(self) -> str:
        """Return the first 16 hex digits of the SHA-256 over the names of engine and model, the tokenizer and the
        window.

        The weights aren't included, because they can't be accessed.
        """
        return self._fingerprint

    def score(self, streams: Sequence[Sequence[str]], states: Sequence[bytes | None]) -> list[CausalScore]:
        """Score consecutive messages in each stream, carrying its state over.

        Args:
            streams: for each stream, its next messages, in order.
            states: for each stream, the state after its last scored message; None for a new stream.

        Returns:
            One `CausalScore` per stream, with nats in multiples of `STEP`.

        Raises:
            EmptyTextError: a message is the empty string.
            EncodingError: a message has no UTF-8 form because of a lone surrogate.
            StateMismatchError: a state is damaged or from another surprise model.
            ModelError: the tokenizer returns no tokens for a message.
            EngineError: the engine refused a request, is unreachable, or reported no probability for a token.
        """
        going = self._streams.begin(streams, states)
        spans = [(stream, span) for stream in going for span in self._streams.spans(stream)]
        for at in range(0, len(spans), REQUESTS):
            self._score(spans[at : at + REQUESTS])
        return [self._streams.end(stream) for stream in going]

    def _score(self, spans: Sequence[tuple[TokenStream, range]]) -> None:
        """Compute the nats of the tokens in each span, in order within each stream."""
        prompts = [
            [self._first, *stream.between(self._streams.anchor(span.start), span.stop)] for stream, span in spans
        ]
        for (stream, span), found in zip(spans, self._engine.score(prompts), strict=True):
            if isinstance(found, EngineError):
                raise found
            nats = -torch.tensor(found[-len(span) :], dtype=torch.float64)
            stream.nll.append(((nats / STEP).round() * STEP).float())
            stream.new = span.stop
