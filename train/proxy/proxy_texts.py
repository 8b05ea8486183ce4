"""What the bundled surprise model is trained on, and the reader that deals it out: see docs/training.md.

Every lane draws from its own random numbers, seeded by its number, so that how lanes are shared among processes does
not change what they read. A reader's state is a few integers a lane: a run goes on where it was stopped, to the byte.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from nscma_torch.surprise.byte_model.byte_context import ByteContext, byte_context
from nscma_torch.surprise.byte_model.byte_lm import ByteLMConfig

SEGMENTS = (4096, 8192, 16384)  # bytes of one continuous text before a stream jumps elsewhere
FREQUENT_HANZI = "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里"


def as_chat(transcript: str) -> str:
    """A transcript as people type: no speaker labels, no {marks}, ordinary punctuation."""
    lines = []
    for line in transcript.split("\n"):
        line = re.sub(r"\{[^}]*\}", "", line.partition(": ")[2])
        line = re.sub(r"\s+([,.?!;:%)])", r"\1", line).replace(" n't", "n't").replace(" - ", "-")
        line = re.sub(r"\s+", " ", re.sub(r"\s+'(?=\w)", "'", line)).strip()
        if line:
            lines.append(line)
    return "\n".join(lines)


def spaced(prose: str) -> str:
    """Prose with spaces around its punctuation, the way many corpora are stored."""
    return re.sub(r" +", " ", re.sub(r"([,.;:?!()\"“”])", r" \1 ", prose))


def synthetic(rng: random.Random, size: int) -> str:
    """Lines that no natural text here has: other scripts, codes, logs, and literal repeats of earlier lines."""
    hanzi = bytes(b for hi in range(0xB0, 0xD7) for lo in range(0xA1, 0xFF) for b in (hi, lo)).decode("gb2312")

    def word(first: int, last: int, longest: int) -> str:
        return "".join(chr(rng.randint(first, last)) for _ in range(rng.randint(1, longest)))

    def chinese() -> str:
        common = rng.random() * 0.6
        chars = (rng.choice(FREQUENT_HANZI if rng.random() < common else hanzi) for _ in range(rng.randint(2, 30)))
        return "".join(c + ("，" if rng.random() < 0.08 else "") for c in chars) + rng.choice("。。？！")

    def code(alphabet: str, longest: int) -> str:
        return "".join(rng.choice(alphabet) for _ in range(rng.randint(4, longest)))

    def log_line() -> str:
        clock = f"2{rng.randint(0, 999):03}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"
        clock += f"T{rng.randint(0, 23):02}:{rng.randint(0, 59):02}:{rng.randint(0, 59):02}Z"
        level = rng.choice(["INFO", "WARN", "ERROR", "DEBUG"])
        return f"{clock} {level} [{code('abcdef', 8)}] id={code('0123456789abcdef', 32)} took {rng.randint(0, 9999)} ms"

    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
    makers: list[Callable[[], str]] = [
        chinese,
        chinese,
        chinese,
        log_line,
        lambda: " ".join(word(0x430, 0x44F, 9) for _ in range(rng.randint(1, 12))) + ".",
        lambda: "".join(word(0x3042, 0x3093, 5) for _ in range(rng.randint(1, 6))) + "。",
        lambda: chr(rng.randint(0x1F600, 0x1F64F)) * rng.randint(1, 3),
        lambda: f"https://{code('abcdefghijklmno', 12)}.com/{code(letters, 20)}",
        lambda: code(letters + "+/", 200) + "==",
        lambda: json.dumps({code("abcdefgh", 8): rng.randint(0, 10**6), "name": code(letters, 12)}),
        lambda: " ".join(str(rng.randint(0, 10 ** rng.randint(1, 7))) for _ in range(rng.randint(1, 12))),
    ]
    lines: list[str] = []
    total = 0
    while total < size:
        line = rng.choice(lines[-40:]) if lines and rng.random() < 0.25 else rng.choice(makers)()
        lines.append(line)
        total += len(line.encode()) + 1
    return "\n".join(lines)


def read_meetings(folder: Path, every: int) -> tuple[str, str]:
    """The meetings to train on, and the held-out ones: one of `every` so many."""
    meetings = (folder / "qmsum_train_meetings.txt").read_text(encoding="utf-8").split("\n\n")
    kept = "\n".join(meeting for i, meeting in enumerate(meetings) if i % every != every // 2)
    return kept, "\n".join(meetings[every // 2 :: every])


def read_texts(folder: Path, meetings: str, seed: int, synthetic_bytes: int) -> dict[str, bytes]:
    """The training text of each share."""
    novels = [path.read_text(encoding="utf-8") for path in sorted(folder.glob("ENG*.txt"))]
    texts = {
        "meetings": meetings,
        "meetings_as_chat": as_chat(meetings),
        "novels": "\n".join(novels),
        "novels_spaced": "\n".join(spaced(novel) for novel in novels[::4]),
        "synthetic": synthetic(random.Random(seed), synthetic_bytes),
    }
    return {name: re.sub(r"\n+", "\n", "\n" + text).encode() for name, text in texts.items()}


@dataclass
class _Lane:
    """One continuous text after the other, from random places."""

    rng: random.Random
    name: str = ""
    start: int = 0
    size: int = 0
    at: int = 0
    context: ByteContext | None = None  # of the segment; made anew where it is missing


class Lanes:
    """Texts read side by side: each call advances every lane by one window.

    Args:
        texts: the training text of each share, each longer than 32 KB.
        shares: how often each is drawn.
        model: sizes of the network.
        seed: of the order of texts.
        numbers: the lanes of this process, out of all of the run's.
    """

    def __init__(
        self,
        texts: Mapping[str, bytes],
        shares: Mapping[str, float],
        model: ByteLMConfig,
        seed: int,
        numbers: Iterable[int],
    ) -> None:
        self._names = list(texts)
        self._shares = [shares[name] for name in self._names]
        self._raw = texts
        self._model = model
        self._lanes = {number: _Lane(random.Random(f"{seed} {number}")) for number in numbers}
        for name, text in texts.items():
            if len(text) <= 2 * max(SEGMENTS):
                raise ValueError(f"the text {name!r} has {len(text)} bytes: more than {2 * max(SEGMENTS)} are needed")

    def windows(self, window: int) -> tuple[Tensor, ByteContext, Tensor]:
        """Whether each lane starts afresh, [B] bool, context fields [B, T, ...] and targets [B, T]."""
        rows = [self._window(lane, window) for lane in self._lanes.values()]
        fields = (torch.stack(field) for field in zip(*(row[1] for row in rows), strict=True))
        return torch.tensor([row[0] for row in rows]), ByteContext(*fields), torch.stack([row[2] for row in rows])

    def state(self) -> dict[int, str]:
        """JSON of every lane of this process, by its number."""
        return {
            number: json.dumps([lane.rng.getstate(), lane.name, lane.start, lane.size, lane.at])
            for number, lane in self._lanes.items()
        }

    def resume(self, state: Mapping[int, str]) -> None:
        """Go on where the lanes of `state`, which may be more than these, were."""
        for number, lane in self._lanes.items():
            (version, numbers, rest), lane.name, lane.start, lane.size, lane.at = json.loads(state[number])
            lane.rng.setstate((version, tuple(numbers), rest))
            lane.context = None

    def _window(self, lane: _Lane, window: int) -> tuple[bool, ByteContext, Tensor]:
        if lane.at >= lane.size:
            (lane.name,) = lane.rng.choices(self._names, self._shares)
            lane.size, lane.at, lane.context = lane.rng.choice(SEGMENTS), 0, None
            raw = self._raw[lane.name]
            lane.start = raw.index(b"\n", lane.rng.randrange(len(raw) - 2 * max(SEGMENTS)))
        segment = bytearray(self._raw[lane.name][lane.start : lane.start + lane.size + 1])
        text = torch.frombuffer(segment, dtype=torch.uint8).long()
        if lane.context is None:
            lane.context = byte_context(text[:-1], self._model.table_bits, self._model.reach)
        part = slice(lane.at, lane.at + window)
        fresh, lane.at = lane.at == 0, lane.at + window
        return fresh, ByteContext(*(field[part] for field in lane.context)), text[1:][part]
