"""Any causal language model as the surprise proxy: how surprising is each token of a message, given its stream.

P_proxy(w_i | w_<i, h_{t-1}) of the NSCMA paper, section 3.2: h_{t-1} are the keys and values of the stream's last
tokens. A stream is the concatenation of its messages' tokens, each message with its line feed tokenized by itself.

What a token is conditioned on depends on its place in the stream alone. Let h be half the window, and b the block of
h tokens that token n stands in (b = n // h): it sees the beginning-of-text token and every token of the stream from the
start of block b-1 (or of the stream) on, at positions counted from there; that is h to 2h tokens. When a block is full,
the keys and values are computed again from the block that stays. So they are a function of at most 2h token ids, and
those ids are the state: a few KB where keys and values are megabytes. The latter are kept in memory for the streams
used last, and made again from the ids where they are not.

Both ways give the same bits, because the model always runs on tiles of the same shape: `TILE` tokens of `streams`
streams, after a multiple of `TILE` tokens. A tile that is not full is padded on the right, which no earlier token sees,
and computed again when more has come; places of streams that are not there are filled with a copy.
"""

from __future__ import annotations

import hashlib
import struct
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from nscma_torch.errors import ConfigError, EmptyTextError, EncodingError, ModelError, StateMismatchError
from nscma_torch.llm.loading import CausalLM, Quantization, load_causal_lm

if TYPE_CHECKING:
    from transformers import DynamicCache

TILE = 32  # tokens of one stream that the model reads at once
END_OF_MESSAGE = "\n"

_HEADER = struct.Struct("<16sQ")  # fingerprint, tokens of the stream so far
_KeysValues = tuple[tuple[Tensor, Tensor], ...]  # per layer [1, heads, tokens, head size]


@dataclass(frozen=True, slots=True)
class CausalScore:
    """Scores of consecutive messages of one stream."""

    nll: list[Tensor]  # per message fp32 [tokens] on the CPU, nats
    ends: list[Tensor]  # per message int64 [tokens]: bytes of the message and its line feed up to each token's end
    state: bytes  # after the last message


@dataclass(slots=True)
class _Stream:
    """A stream while it is scored: its ids from `first` on, of which those from `new` on are to be scored."""

    first: int
    new: int
    ids: list[int]
    kept: _KeysValues = ()  # of full tiles since `anchor`
    anchor: int = 0
    tile: int = 0  # the next one, counted from `anchor`
    nll: list[Tensor] = field(default_factory=list)

    @property
    def end(self) -> int:
        """One past the last token."""
        return self.first + len(self.ids)


class CausalProxy:
    """`Proxy` over a causal language model of transformers, also in 4 bits.

    May be used from several threads; one call at a time is scored.

    Args:
        loaded: model and tokenizer.
        window: most tokens that a token sees, the beginning-of-text token included; a multiple of 2 * `TILE`.
        streams: how many streams are scored side by side. A value's last bits depend on it, as on the device.
        kept: streams whose keys and values are kept in memory between calls.

    Raises:
        ConfigError: the window is no such multiple, or longer than the model's positions reach.
    """

    def __init__(self, loaded: CausalLM, *, window: int = 1024, streams: int = 1, kept: int = 8) -> None:
        if window < 2 * TILE or window % (2 * TILE):
            raise ConfigError(f"proxy.window is {window} tokens; it must be a multiple of {2 * TILE}")
        if loaded.context is not None and window > loaded.context:
            raise ConfigError(
                f"proxy.window is {window} tokens, and {loaded.name} reads {loaded.context}; make it less"
            )
        if streams < 1 or kept < 0:
            raise ConfigError(f"streams must be at least 1 and kept at least 0: {streams}, {kept}")
        self._loaded = loaded
        self._half = window // 2
        self._streams = streams
        self._kept: OrderedDict[bytes, _KeysValues] = OrderedDict()
        self._most_kept = kept
        self._lock = threading.Lock()
        first = loaded.tokenizer.bos_token_id
        self._bos = min(loaded.eos) if first is None else int(first)
        identity = f"{loaded.digest()} {loaded.quantization} window {window} tile {TILE} bos {self._bos}"
        self._fingerprint = hashlib.sha256(identity.encode()).hexdigest()[:16]

    @classmethod
    def load(
        cls,
        name: str | Path,
        *,
        device: str | torch.device = "cpu",
        dtype: torch.dtype | None = None,
        quantization: Quantization = "none",
        window: int = 1024,
        streams: int = 1,
    ) -> CausalProxy:
        """Load a model, see `load_causal_lm`, and make it a proxy."""
        loaded = load_causal_lm(name, device=device, dtype=dtype, quantization=quantization)
        return cls(loaded, window=window, streams=streams)

    @property
    def fingerprint(self) -> str:
        """SHA-256 over configuration, tokenizer, weights, quantization and window, 16 hex digits."""
        return self._fingerprint

    def score(self, streams: Sequence[Sequence[str]], states: Sequence[bytes | None]) -> list[CausalScore]:
        """Score consecutive messages of each stream, carrying its state.

        Args:
            streams: per stream its next messages, in order.
            states: per stream the state after its last scored message; None for a fresh stream.

        Returns:
            One `CausalScore` per stream.

        Raises:
            EmptyTextError: a message is the empty string.
            EncodingError: a message has no UTF-8 form (a lone surrogate).
            StateMismatchError: a state comes from another proxy, or is damaged.
            ModelError: the tokenizer makes nothing of a message, or the model keeps no keys and values.
        """
        tokenized = [[self._tokenize(message) for message in messages] for messages in streams]
        going = [self._unpack(state) for state in states]
        for stream, messages in zip(going, tokenized, strict=True):
            stream.ids += [token for ids, _ in messages for token in ids]
        with self._lock, torch.inference_mode():
            for stream, state in zip(going, states, strict=True):
                self._start(stream, state)
            self._run(going)
            packed = [self._finish(stream) for stream in going]
        scores = []
        for stream, messages, state in zip(going, tokenized, packed, strict=True):
            values = torch.cat(stream.nll) if stream.nll else torch.empty(0)
            sizes = [len(ids) for ids, _ in messages]
            nll = list(torch.split_with_sizes(values, sizes)) if sizes else []
            scores.append(CausalScore(nll, [torch.tensor(ends) for _, ends in messages], state))
        return scores

    def _tokenize(self, message: str) -> tuple[list[int], list[int]]:
        """Ids of a message and its line feed, and how many bytes of it each token ends at."""
        if not message:
            raise EmptyTextError("an empty message has no surprise: skip it before scoring")
        text = message + END_OF_MESSAGE
        try:
            total = len(text.encode())
        except UnicodeEncodeError as error:
            raise EncodingError(f"the message is not valid Unicode text ({error}): decode it as UTF-8 first") from error
        encoded = self._loaded.tokenizer(
            text, add_special_tokens=False, split_special_tokens=True, return_offsets_mapping=True, verbose=False
        )
        ids: list[int] = encoded["input_ids"]
        if not ids:
            raise ModelError(f"the tokenizer of {self._loaded.name} makes no token of {message[:40]!r}")
        bytes_before = [0, *accumulate(len(char.encode()) for char in text)]
        ends = list(accumulate((bytes_before[end] for _, end in encoded["offset_mapping"]), max))
        ends[-1] = total  # some tokenizers drop the line feed
        return ids, ends

    def _anchor(self, n: int) -> int:
        """First token of the stream that token n sees."""
        return self._half * max(0, n // self._half - 1)

    def _start(self, stream: _Stream, state: bytes | None) -> None:
        """Place a stream at the tile that predicts its first new token, or without its past at the first."""
        stream.anchor = self._anchor(stream.new)
        kept = None if state is None else self._kept.get(_key(state))
        if kept is not None:
            stream.kept, stream.tile = kept, (stream.new - stream.anchor) // TILE

    def _run(self, streams: Sequence[_Stream]) -> None:
        """Run every tile that scores a new token, and those whose keys and values it needs; the hindmost go first."""
        while True:
            waiting = [stream for stream in streams if self._advance(stream)]
            if not waiting:
                return
            tile = min(stream.tile for stream in waiting)
            group = [stream for stream in waiting if stream.tile == tile][: self._streams]
            self._forward(group, tile)

    def _advance(self, stream: _Stream) -> bool:
        """Move on to the next anchor where this one's tokens are scored; whether anything is left to run."""
        if stream.new >= stream.end:
            return False
        anchor = self._anchor(stream.new)
        if anchor != stream.anchor:
            stream.anchor, stream.kept, stream.tile = anchor, (), 0
        return True

    def _forward(self, group: Sequence[_Stream], tile: int) -> None:
        """One tile of each stream of the group: its new tokens' nats, and its keys and values where it is full."""
        rows = [self._inputs(stream) for stream in group]
        rows += [rows[0]] * (self._streams - len(rows))
        ids = torch.tensor([[*row, *[self._bos] * (TILE - len(row))] for row in rows], device=self._loaded.device)
        past = [stream.kept for stream in group]
        past += [past[0]] * (self._streams - len(past))
        cache = _joined(past)
        scoring = any(self._targets(stream) for stream in group)
        out = self._loaded.model(
            input_ids=ids, past_key_values=cache, use_cache=True, logits_to_keep=0 if scoring else 1
        )
        for row, (stream, inputs) in enumerate(zip(group, rows, strict=False)):
            targets = self._targets(stream)
            if targets:
                start = stream.anchor + tile * TILE
                log_p = torch.log_softmax(out.logits[row, targets.start - start : targets.stop - start].float(), -1)
                wanted = stream.ids[targets.start - stream.first : targets.stop - stream.first]
                nats = -log_p.gather(-1, torch.tensor(wanted, device=log_p.device)[:, None])[:, 0]
                stream.nll.append(nats.cpu())
                stream.new = targets.stop
            if len(inputs) == TILE:
                stream.kept = tuple(
                    (layer.keys[row : row + 1], layer.values[row : row + 1]) for layer in out.past_key_values.layers
                )
                self._check(stream.kept, (tile + 1) * TILE)
                stream.tile += 1

    def _inputs(self, stream: _Stream) -> list[int]:
        """Ids that the tile reads: place p holds token anchor + p - 1, and place 0 the beginning of text."""
        start = stream.anchor + stream.tile * TILE - 1
        ids = stream.ids[max(start, stream.anchor) - stream.first : start + TILE - stream.first]
        return [self._bos, *ids] if stream.tile == 0 else ids

    def _targets(self, stream: _Stream) -> range:
        """New tokens that the tile predicts, all under one anchor: place p predicts token anchor + p."""
        start = stream.anchor + stream.tile * TILE
        return range(max(start, stream.new), min(start + TILE, stream.end))

    def _check(self, kept: _KeysValues, tokens: int) -> None:
        if any(keys.shape[-2] != tokens for keys, _ in kept):
            raise ModelError(
                f"{self._loaded.name} does not keep the keys and values of every token; take another proxy"
            )

    def _finish(self, stream: _Stream) -> bytes:
        """The state, with the keys and values of its full tiles kept."""
        anchor = self._anchor(stream.end)
        recent = stream.ids[anchor - stream.first :]
        state = _HEADER.pack(self._fingerprint.encode(), stream.end) + struct.pack(f"<{len(recent)}I", *recent)
        full = (stream.end - anchor) // TILE * TILE  # of a tile with a token to come, the last logits are needed again
        if stream.anchor == anchor and full and stream.kept:
            self._kept[_key(state)] = tuple(
                (keys[..., :full, :].clone(), values[..., :full, :].clone()) for keys, values in stream.kept
            )
            self._kept.move_to_end(_key(state))
            while len(self._kept) > self._most_kept:
                self._kept.popitem(last=False)
        return state

    def _unpack(self, state: bytes | None) -> _Stream:
        if state is None:
            return _Stream(0, 0, [])
        if state[:16] != self._fingerprint.encode():
            raise StateMismatchError(
                f"the stream's state is not of proxy {self._fingerprint}: load the proxy that wrote it, or reset it"
            )
        count = (len(state) - _HEADER.size) // 4
        end, ids = -1, []
        if count >= 0 and len(state) == _HEADER.size + 4 * count:
            end = _HEADER.unpack_from(state)[1]
            ids = list(struct.unpack_from(f"<{count}I", state, _HEADER.size))
        if end < 0 or end - self._anchor(end) != count or any(token >= self._loaded.vocabulary for token in ids):
            raise StateMismatchError("the stream's state is damaged: reset it by scoring the stream from its start")
        return _Stream(end - count, end, ids)


def _key(state: bytes) -> bytes:
    return hashlib.sha256(state).digest()


def _joined(past: Sequence[_KeysValues]) -> DynamicCache:
    """Keys and values of several streams as one cache."""
    from transformers import DynamicCache

    cache = DynamicCache()
    for layer, rows in enumerate(zip(*past, strict=True)):
        keys, values = (torch.cat([row[which] for row in rows]) for which in (0, 1))
        cache.update(keys, values, layer)
    return cache
