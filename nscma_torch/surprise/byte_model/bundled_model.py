"""The bundled surprise model: the surprise of each byte in a message, given the stream so far.

This is P_proxy(w_i | w_<i, h_{t-1}) in the NSCMA paper, section 3.2, with bytes as tokens. It mixes two models: a
network (`byte_lm`), which knows language, and counts over the last 32 KB of the stream (`byte_counts`), which know the
stream. `byte_mixer` learns from the stream how much to trust each. h_{t-1} consists of the network's recurrent state,
those 32 KB and the mixture's weights. A stream is read as one text in which every message ends with a line feed. The
line feed is scored too, because the end of a message carries information.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from typing import NamedTuple

import torch
from safetensors.torch import save_file
from torch import Tensor

from nscma_kernels import native_dtype
from nscma_torch.core.errors import EmptyTextError, EncodingError, StateMismatchError
from nscma_torch.core.tensor_files import all_tensors, open_tensors
from nscma_torch.surprise.byte_model import byte_mixer
from nscma_torch.surprise.byte_model.byte_context import ByteContext, byte_context
from nscma_torch.surprise.byte_model.byte_counts import REACH, counted
from nscma_torch.surprise.byte_model.byte_lm import ByteLM, ByteLMConfig
from nscma_torch.surprise.byte_model.byte_mixer import NUMBERS, Mixture, Read, hedged
from nscma_torch.surprise.byte_model.byte_scorer import ByteScorer

END_OF_MESSAGE = b"\n"
BLOCK = 4096  # bytes scored at once; a longer message is scored block by block, counted from its first byte

_HEADER = struct.Struct("<16sI")  # fingerprint, bytes of history


@dataclass(frozen=True)
class ByteStreamScore:
    """Scores for consecutive messages in one stream."""

    nll: list[Tensor]  # per message fp32 [bytes + 1] on the CPU, nats; the last entry is the end-of-message byte
    state: bytes  # after the last message
    ends: None = None  # tokens are bytes


class _Reading(NamedTuple):
    """The contents of a stream's state."""

    hidden: Tensor  # [L, D] fp32, on the surprise model's device
    mixture: Mixture
    history: bytes  # the stream's last bytes, at least the end of an imagined message before


class ByteSurpriseModel:
    """Byte-level linear-recurrent language model that adapts to the stream and carries its state over exactly.

    Messages and streams are scored one at a time, so results don't depend on how they are grouped into calls: batched
    matrix products over several streams would round differently from single ones. The state contains the end of the
    stream's text unencrypted, so erasing a message includes dropping the states that saw it.

    Args:
        model: the network; its weights are copied and rounded to bfloat16, their stored form.
        device: the device to run on.
        dtype: dtype of the matrix products; by default bfloat16 on CUDA, and float32 on a CPU, where matrix units bring
            no gain for such a narrow network. Everything else is float32.
    """

    def __init__(self, model: ByteLM, device: str | torch.device = "cpu", dtype: torch.dtype | None = None) -> None:
        self._config = model.config
        self._weights = {
            name: weight.detach().to("cpu", torch.bfloat16 if weight.ndim > 1 else torch.float32).contiguous().clone()
            for name, weight in model.state_dict().items()
        }
        self._device = torch.device(device)
        rounded = ByteLM(self._config)
        rounded.load_state_dict(self._weights)
        self._scorer = ByteScorer(rounded, self._device, dtype or _usual_dtype(self._device))
        self._fingerprint = _fingerprint(self._config, self._weights)

    @property
    def fingerprint(self) -> str:
        """Return the first 16 hex digits of the SHA-256 over configuration and weights."""
        return self._fingerprint

    def score(self, streams: Sequence[Sequence[str]], states: Sequence[bytes | None]) -> list[ByteStreamScore]:
        """Score consecutive messages in each stream, carrying its state over.

        Args:
            streams: for each stream, its next messages, in order.
            states: for each stream, the state after its last scored message; None for a new stream.

        Returns:
            One `ByteStreamScore` per stream.

        Raises:
            EmptyTextError: a message is the empty string.
            EncodingError: a message has no UTF-8 form because of a lone surrogate.
            StateMismatchError: a state is damaged or from another surprise model.
        """
        scores = []
        for messages, state in zip(streams, states, strict=True):
            nll = []
            for message in messages:
                values, state = self.score_bytes(_encode(message), state)
                nll.append(values)
            scores.append(ByteStreamScore(nll, self._pack(self._unpack(state))))
        return scores

    def score_bytes(self, text: bytes, state: bytes | None) -> tuple[Tensor, bytes]:
        """Return the nats of each byte in `text`, fp32 [len(text)], and the final state. Memory use doesn't grow with
        the text.
        """
        reading, parts = self._unpack(state), []
        with torch.inference_mode(), _one_thread(self._device):
            for at in range(0, len(text), BLOCK):
                nll, reading = self._read(text[at : at + BLOCK], reading)
                parts.append(nll)
        return torch.cat(parts) if parts else torch.empty(0), self._pack(reading)

    def _read(self, block: bytes, reading: _Reading) -> tuple[Tensor, _Reading]:
        """Return the nats of each byte in a block, on the CPU, and the content of the stream's state after it."""
        seen = torch.frombuffer(bytearray(reading.history + block), dtype=torch.uint8).to(self._device)
        target = seen[len(reading.history) :].long()
        near = max(len(reading.history) - self._config.reach, 0)
        first = len(reading.history) - near - 1
        context = byte_context(seen[near:-1].long(), self._config.table_bits, self._config.reach, first)
        chance, level = counted(seen, len(reading.history))
        counts, hidden, parts = chance.log_(), reading.hidden, []
        for at in range(0, len(target), self._scorer.tile):
            tile = slice(at, at + self._scorer.tile)
            logits, hidden = self._scorer.logits(ByteContext(*(field[tile] for field in context)), hidden)
            parts.append(reading.mixture.read(logits, counts[tile], level[tile], target[tile]))
        read = Read.joined(parts)
        mixture = reading.mixture.learned(read, len(target))
        return -hedged(read.chance).cpu(), _Reading(hidden, mixture, (reading.history + block)[-REACH:])

    def save(self, path: Path) -> None:
        """Write the configuration and bfloat16 weights to a safetensors file."""
        save_file(self._weights, path, metadata={"config": json.dumps(asdict(self._config))})

    @classmethod
    def load(
        cls, path: str | Path | None = None, device: str | torch.device = "cpu", dtype: torch.dtype | None = None
    ) -> ByteSurpriseModel:
        """Load weights written by `save`, or the bundled ones.

        Raises:
            ModelNotFoundError: the file is missing.
            ModelError: the file doesn't contain this surprise model.
        """
        if path is None:
            weights = resources.files("nscma_torch.surprise") / "weights" / "proxy.safetensors"
            with resources.as_file(weights) as bundled:
                return cls.load(bundled, device, dtype)
        missing = f"no surprise model weights at {path}: train them with train/proxy/proxy_lm.py"
        with open_tensors(path, "weights of this surprise model", missing=missing) as file:
            model = ByteLM(ByteLMConfig(**json.loads(file.metadata()["config"])))
            model.load_state_dict(all_tensors(file))
        return cls(model, device, dtype)

    def _pack(self, reading: _Reading) -> bytes:
        parts = (reading.hidden, *reading.mixture)
        numbers = torch.cat([part.flatten().cpu() for part in parts]).numpy().astype("<f4").tobytes()
        return _HEADER.pack(self._fingerprint.encode(), len(reading.history)) + numbers + reading.history

    def _unpack(self, state: bytes | None) -> _Reading:
        shape = (self._config.layers, self._config.width)
        if state is None:
            return _Reading(torch.zeros(shape, device=self._device), Mixture.initial(self._device), END_OF_MESSAGE)
        count = self._config.layers * self._config.width
        start = _HEADER.size + 4 * (count + NUMBERS)
        if state[:16] != self._fingerprint.encode():
            raise StateMismatchError(
                f"the stream's state was not written by surprise model {self._fingerprint}: load the model that wrote "
                "it, or pass None to restart the stream"
            )
        whole = len(state) > start and len(state) == start + _HEADER.unpack_from(state)[1]
        numbers = torch.frombuffer(bytearray(state[_HEADER.size : start]), dtype=torch.float32) if whole else None
        if numbers is None or not bool(numbers.isfinite().all()):
            raise StateMismatchError("the stream's state is damaged: pass None to restart the stream")
        numbers = numbers.to(self._device)
        return _Reading(numbers[:count].reshape(shape), Mixture.unpacked(numbers[count:]), state[start:])


def _usual_dtype(device: torch.device) -> torch.dtype:
    return torch.float32 if device.type == "cpu" else native_dtype(device)


def _encode(message: str) -> bytes:
    if not message:
        raise EmptyTextError("an empty message has no surprise: skip it before scoring")
    try:
        return message.encode() + END_OF_MESSAGE
    except UnicodeEncodeError as error:
        raise EncodingError(f"the message is not valid Unicode text ({error}): decode it as UTF-8 first") from error


def _fingerprint(config: ByteLMConfig, weights: dict[str, Tensor]) -> str:
    digest = hashlib.sha256(json.dumps([byte_mixer.VERSION, asdict(config)], sort_keys=True).encode())
    for name in sorted(weights):
        digest.update(name.encode())
        digest.update(weights[name].view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()[:16]


@contextmanager
def _one_thread(device: torch.device) -> Iterator[None]:
    """Use one thread. A message is too small to be divided among CPU threads: two are slower, and much slower on busy
    cores.
    """
    threads = torch.get_num_threads()
    if device.type != "cpu" or threads == 1:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
