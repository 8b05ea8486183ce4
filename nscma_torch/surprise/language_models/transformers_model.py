"""Any causal language model as the surprise model: the surprise of each token in a message, given its stream.

This is P_proxy(w_i | w_<i, h_{t-1}) in the NSCMA paper, section 3.2. h_{t-1} consists of the keys and values for the
stream's last tokens, selected by `token_streams`. When a block is full, they are recomputed from the remaining block,
so they are a function of the token ids in the state. They are cached for recently used streams, and otherwise
recomputed from the ids.

Both ways give the same bits, because the model always runs on tiles with the same shape: `TILE` tokens from each of
`streams` streams, after a multiple of `TILE` tokens. A partial tile is padded on the right, where no earlier token sees
the padding, and recomputed as it fills. Missing streams are filled with a copy.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from nscma_torch.core.errors import ConfigError, ModelError
from nscma_torch.llm.loading import CausalLM, Quantization, load_causal_lm
from nscma_torch.llm.message_tokens import MessageTokenizer
from nscma_torch.llm.token_streams import CausalScore, TokenStream, TokenStreams

if TYPE_CHECKING:
    from transformers import DynamicCache

TILE = 32  # tokens of one stream that the model reads at once

_KeysValues = tuple[tuple[Tensor, Tensor], ...]  # per layer [1, heads, tokens, head size]


@dataclass(slots=True)
class _Reading:
    """The position up to which the model has read a stream."""

    stream: TokenStream
    anchor: int
    kept: _KeysValues = ()  # of full tiles since `anchor`
    tile: int = 0  # the next one, counted from `anchor`

    @property
    def start(self) -> int:
        """Return the position of the token that the first position in the next tile predicts."""
        return self.anchor + self.tile * TILE


class CausalSurpriseModel:
    """`SurpriseModel` that uses a causal language model in transformers, optionally in 4 bits.

    It is thread-safe; calls are processed one at a time.

    Args:
        loaded: the model and its tokenizer.
        window: maximum tokens that a token sees, including the beginning-of-text token; a multiple of 2 * `TILE`.
        streams: number of streams scored in parallel. The last bits of a value depend on it, as they do on the device.
        kept: number of streams for which keys and values are cached between calls.

    Raises:
        ConfigError: the window isn't such a multiple, or exceeds the model's maximum number of positions.
    """

    def __init__(self, loaded: CausalLM, *, window: int, streams: int = 1, kept: int = 8) -> None:
        if window < 2 * TILE or window % (2 * TILE):
            raise ConfigError(f"surprise.window is {window} tokens; it must be a multiple of {2 * TILE}")
        if loaded.context is not None and window > loaded.context:
            raise ConfigError(f"surprise.window is {window} tokens, but {loaded.name} reads {loaded.context}; lower it")
        if streams < 1 or kept < 0:
            raise ConfigError(f"streams must be at least 1 and kept at least 0: {streams}, {kept}")
        self._loaded = loaded
        self._side_by_side = streams
        self._kept: OrderedDict[bytes, _KeysValues] = OrderedDict()
        self._most_kept = kept
        self._lock = threading.Lock()
        self._tokenizer = MessageTokenizer.of(loaded)
        self._bos = self._tokenizer.first
        identity = f"{self._tokenizer.digest} {loaded.quantization} window {window} tile {TILE} bos {self._bos}"
        self._fingerprint = hashlib.sha256(identity.encode()).hexdigest()[:16]
        self._streams = TokenStreams(self._tokenizer, window=window, fingerprint=self._fingerprint)

    @classmethod
    def load(
        cls,
        name: str | Path,
        *,
        device: str | torch.device = "cpu",
        dtype: torch.dtype | None = None,
        quantization: Quantization = "none",
        window: int,
        streams: int = 1,
    ) -> CausalSurpriseModel:
        """Load a model with `load_causal_lm`, to be used as a surprise model."""
        loaded = load_causal_lm(name, device=device, dtype=dtype, quantization=quantization)
        return cls(loaded, window=window, streams=streams)

    @property
    def fingerprint(self) -> str:
        """Return the first 16 hex digits of the SHA-256 over configuration, tokenizer, weights, quantization and
        window.
        """
        return self._fingerprint

    def score(self, streams: Sequence[Sequence[str]], states: Sequence[bytes | None]) -> list[CausalScore]:
        """Score consecutive messages in each stream, carrying its state over.

        Args:
            streams: for each stream, its next messages, in order.
            states: for each stream, the state after its last scored message; None for a new stream.

        Returns:
            One `CausalScore` per stream.

        Raises:
            EmptyTextError: a message is the empty string.
            EncodingError: a message has no UTF-8 form because of a lone surrogate.
            StateMismatchError: a state is damaged or from another surprise model.
            ModelError: the tokenizer returns no tokens for a message, or the model has no key-value cache.
        """
        going = self._streams.begin(streams, states)
        with self._lock, torch.inference_mode():
            readings = [self._start(stream, state) for stream, state in zip(going, states, strict=True)]
            self._run(readings)
            for reading in readings:
                self._keep(reading)
        return [self._streams.end(stream) for stream in going]

    def _start(self, stream: TokenStream, state: bytes | None) -> _Reading:
        """Return the tile that predicts a stream's first new token, or the first tile if the past isn't cached."""
        reading = _Reading(stream, self._streams.anchor(stream.new))
        kept = None if state is None else self._kept.get(_key(state))
        if kept is not None:
            reading.kept, reading.tile = kept, (stream.new - reading.anchor) // TILE
        return reading

    def _run(self, readings: Sequence[_Reading]) -> None:
        """Run every tile that scores a new token, and the tiles that provide keys and values for it, starting with the
        stream that is furthest behind.
        """
        while True:
            waiting = [reading for reading in readings if self._advance(reading)]
            if not waiting:
                return
            tile = min(reading.tile for reading in waiting)
            self._forward([reading for reading in waiting if reading.tile == tile][: self._side_by_side])

    def _advance(self, reading: _Reading) -> bool:
        """Move on to the next anchor once the tokens of the current one are scored. Return True if anything is left to
        run.
        """
        if reading.stream.new >= reading.stream.end:
            return False
        anchor = self._streams.anchor(reading.stream.new)
        if anchor != reading.anchor:
            reading.anchor, reading.kept, reading.tile = anchor, (), 0
        return True

    def _forward(self, group: Sequence[_Reading]) -> None:
        """Run one tile for each stream in the group: score its new tokens, and store the keys and values of
        full tiles.
        """
        rows = [self._inputs(reading) for reading in group]
        rows += [rows[0]] * (self._side_by_side - len(rows))
        ids = torch.tensor([[*row, *[self._bos] * (TILE - len(row))] for row in rows], device=self._loaded.device)
        past = [reading.kept for reading in group]
        past += [past[0]] * (self._side_by_side - len(past))
        cache = _joined(past)
        scoring = any(_targets(reading) for reading in group)
        out = self._loaded.model(
            input_ids=ids, past_key_values=cache, use_cache=True, logits_to_keep=0 if scoring else 1
        )
        for row, (reading, inputs) in enumerate(zip(group, rows, strict=False)):
            targets, stream = _targets(reading), reading.stream
            if targets:
                scored = out.logits[row, targets.start - reading.start : targets.stop - reading.start]
                log_p = torch.log_softmax(scored.float(), -1)
                wanted = torch.tensor(stream.between(targets.start, targets.stop), device=log_p.device)
                stream.nll.append(-log_p.gather(-1, wanted[:, None])[:, 0].cpu())
                stream.new = targets.stop
            if len(inputs) == TILE:
                reading.kept = tuple(
                    (layer.keys[row : row + 1], layer.values[row : row + 1]) for layer in out.past_key_values.layers
                )
                self._check(reading.kept, (reading.tile + 1) * TILE)
                reading.tile += 1

    def _inputs(self, reading: _Reading) -> list[int]:
        """Return the ids that the tile reads: position p has token anchor + p - 1, and position 0 the beginning-of-text
        token.
        """
        ids = reading.stream.between(max(reading.start - 1, reading.anchor), reading.start - 1 + TILE)
        return [self._bos, *ids] if reading.tile == 0 else ids

    def _check(self, kept: _KeysValues, tokens: int) -> None:
        if any(keys.shape[-2] != tokens for keys, _ in kept):
            raise ModelError(
                f"{self._loaded.name} does not keep the keys and values of every token; choose another model"
            )

    def _keep(self, reading: _Reading) -> None:
        """Cache the keys and values of a stream's full tiles for its next messages."""
        stream = reading.stream
        anchor = self._streams.anchor(stream.end)
        full = (stream.end - anchor) // TILE * TILE  # of a tile with a token to come, the last logits are needed again
        if reading.anchor == anchor and full and reading.kept:
            key = _key(self._streams.state(stream))
            self._kept[key] = tuple(
                (keys[..., :full, :].clone(), values[..., :full, :].clone()) for keys, values in reading.kept
            )
            self._kept.move_to_end(key)
            while len(self._kept) > self._most_kept:
                self._kept.popitem(last=False)


def _targets(reading: _Reading) -> range:
    """Return the new tokens that the tile predicts, all with the same anchor: position p predicts token anchor + p."""
    return range(max(reading.start, reading.stream.new), min(reading.start + TILE, reading.stream.end))


def _key(state: bytes) -> bytes:
    return hashlib.sha256(state).digest()


def _joined(past: Sequence[_KeysValues]) -> DynamicCache:
    """Join the keys and values of several streams in one cache."""
    from transformers import DynamicCache

    cache = DynamicCache()
    for layer, rows in enumerate(zip(*past, strict=True)):
        keys, values = (torch.cat([row[which] for row in rows]) for which in (0, 1))
        cache.update(keys, values, layer)
    return cache
