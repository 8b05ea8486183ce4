"""Train or evaluate the bundled byte-level proxy (`nscma_torch/buffer/proxy.py`).

    python train/proxy_lm.py --config configs/train/proxy_lm.toml --data DIR --out FILE
    python train/proxy_lm.py --data DIR --evaluate

DIR holds `lm_text/`: ELTeC-eng novels (`ENG*.txt`), `qmsum_train_meetings.txt` and, only read for the final figures,
`wikitext2_valid.txt`. Needs torch and safetensors, one CPU or one GPU; from a checkout that is not installed, set
`PYTHONPATH=.`. A run that was stopped goes on from `FILE.checkpoint`; dev bits per byte go to `FILE.jsonl`.
"""

from __future__ import annotations

import argparse
import json
import lzma
import math
import random
import re
import time
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from nscma_torch.buffer.byte_context import ByteContext, byte_context
from nscma_torch.buffer.byte_lm import ByteLM, ByteLMConfig
from nscma_torch.buffer.proxy import RecurrentProxy

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


def read_texts(folder: Path, meetings: str, seed: int) -> dict[str, bytes]:
    """The training text of each share."""
    novels = [path.read_text(encoding="utf-8") for path in sorted(folder.glob("ENG*.txt"))]
    texts = {
        "meetings": meetings,
        "meetings_as_chat": as_chat(meetings),
        "novels": "\n".join(novels),
        "novels_spaced": "\n".join(spaced(novel) for novel in novels[::4]),
        "synthetic": synthetic(random.Random(seed), 3_000_000),
    }
    return {name: re.sub(r"\n+", "\n", "\n" + text).encode() for name, text in texts.items()}


class Lanes:
    """Texts read side by side: each call advances every stream by one window."""

    def __init__(self, texts: dict[str, bytes], shares: dict[str, float], model: ByteLMConfig, seed: int) -> None:
        self._names = list(texts)
        self._shares = [shares[name] for name in self._names]
        self._texts = {name: torch.frombuffer(bytearray(text), dtype=torch.uint8) for name, text in texts.items()}
        self._raw = texts
        self._model = model
        self._rng = random.Random(seed)

    def _segment(self) -> tuple[ByteContext, Tensor]:
        (name,) = self._rng.choices(self._names, self._shares)
        size = self._rng.choice(SEGMENTS)
        raw = self._raw[name]
        start = raw.index(b"\n", self._rng.randrange(len(raw) - 2 * max(SEGMENTS)))
        text = self._texts[name][start : start + size + 1].long()
        return byte_context(text[:-1], self._model.table_bits, self._model.reach), text[1:]

    def _lane(self, window: int) -> Iterator[tuple[bool, ByteContext, Tensor]]:
        while True:
            context, target = self._segment()
            for at in range(0, len(target), window):
                yield at == 0, ByteContext(*(f[at : at + window] for f in context)), target[at : at + window]

    def windows(self, streams: int, window: int) -> Iterator[tuple[Tensor, ByteContext, Tensor]]:
        """Yields fresh [B] bool, context fields [B, T, ...] and targets [B, T]."""
        for rows in zip(*(self._lane(window) for _ in range(streams)), strict=True):
            fields = (torch.stack(field) for field in zip(*(row[1] for row in rows), strict=True))
            yield torch.tensor([row[0] for row in rows]), ByteContext(*fields), torch.stack([row[2] for row in rows])


def optimizers(model: ByteLM, config: dict[str, Any]) -> list[torch.optim.Optimizer]:
    """Muon for the matrices inside, AdamW for embeddings, head and biases."""
    matrices = [p for name, p in model.named_parameters() if p.ndim == 2 and name.startswith(("layers", "join"))]
    inside = {id(p) for p in matrices}
    others = [p for p in model.parameters() if id(p) not in inside]
    muon = torch.optim.Muon(
        matrices, lr=config["matrix_lr"], weight_decay=config["weight_decay"], adjust_lr_fn="match_rms_adamw"
    )
    return [muon, torch.optim.AdamW(others, lr=config["other_lr"], betas=(0.9, 0.98), weight_decay=0.0)]


def rate(progress: float, warmup: float, decay: float) -> float:
    """Learning-rate factor at a share of the training time: up, flat, linearly down."""
    return max(min(1.0, progress / warmup, (1.0 - progress) / decay), 0.0)


def train(model: ByteLM, texts: dict[str, bytes], dev: bytes, config: dict[str, Any], out: Path, device: str) -> None:
    """Train until the configured minutes are used up; writes FILE, FILE.jsonl and FILE.checkpoint."""
    options = config["train"]
    steps, spent = 0, 0.0
    optims = optimizers(model, options)
    checkpoint = out.with_name(out.name + ".checkpoint")
    if checkpoint.exists():
        saved = torch.load(checkpoint, map_location=device, weights_only=True)
        model.load_state_dict(saved["model"])
        for optim, state in zip(optims, saved["optims"], strict=True):
            optim.load_state_dict(state)
        steps, spent = saved["steps"], saved["spent"]
        print(f"resumed at step {steps}, {spent / 60:.1f} min")
    budget = 60.0 * options["minutes"]
    state = model.initial_state(options["streams"])
    lanes = Lanes(texts, config["data"], model.config, options["seed"] + steps)
    mean, look = math.nan, spent + 60.0 * options["evaluate_minutes"]
    clock = time.monotonic()
    for fresh, context, target in lanes.windows(options["streams"], options["window"]):
        factor = rate(spent / budget, options["warmup"], options["decay"])
        for optim, lr in zip(optims, (options["matrix_lr"], options["other_lr"]), strict=True):
            for group in optim.param_groups:
                group["lr"] = lr * factor
        state = state * (~fresh).to(device)[None, :, None]
        with torch.autocast(device, torch.bfloat16):
            logits, state = model(ByteContext(*(f.to(device) for f in context)), state.detach())
        loss = cross_entropy(logits.float().flatten(0, 1), target.to(device).flatten())
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_(model.parameters(), options["clip"])
        for optim in optims:
            optim.step()
            optim.zero_grad(set_to_none=True)
        steps += 1
        bits = loss.item() / math.log(2)
        mean = bits if math.isnan(mean) else 0.98 * mean + 0.02 * bits
        now = time.monotonic()
        spent, clock = spent + now - clock, now
        if steps % 100 == 0:
            print(f"step {steps} {spent / 60:.1f} min lr x{factor:.2f} train {mean:.3f} bits/byte", flush=True)
        if spent >= look or spent >= budget:
            figure = bits_per_byte(RecurrentProxy(model), dev[:65536])
            row = {"step": steps, "minutes": round(spent / 60, 2), "train": round(mean, 4), "dev": round(figure, 4)}
            print(row, flush=True)
            with out.with_name(out.name + ".jsonl").open("a", encoding="utf-8") as log:
                log.write(json.dumps(row) + "\n")
            saved = {"model": model.state_dict(), "optims": [o.state_dict() for o in optims]}
            partial = checkpoint.with_suffix(".partial")
            torch.save({**saved, "steps": steps, "spent": spent}, partial)
            partial.replace(checkpoint)
            RecurrentProxy(model).save(out)
            look, clock = spent + 60.0 * options["evaluate_minutes"], time.monotonic()
        if spent >= budget:
            return


def bits_per_byte(proxy: RecurrentProxy, text: bytes) -> float:
    """Mean bits that the proxy needs for a byte of one continuous text."""
    nll, _ = proxy.score_bytes(text, None)
    return float(nll.double().mean()) / math.log(2)


def report(proxy: RecurrentProxy, folder: Path, dev: bytes) -> None:
    """Print bits per byte beside xz, and bytes per second."""
    wikitext = (folder / "wikitext2_valid.txt").read_bytes()
    for name, text in (
        ("held-out meetings", dev),
        ("held-out meetings as chat", as_chat(dev.decode()).encode()),
        ("WikiText-2 valid", wikitext),
    ):
        start = time.monotonic()
        bits = bits_per_byte(proxy, text)
        seconds = time.monotonic() - start
        packed = len(lzma.compress(text, preset=9 | lzma.PRESET_EXTREME)) * 8 / len(text)
        print(f"{name}: {bits:.3f} bits/byte (xz -9e {packed:.3f}), {len(text) / seconds / 1000:.1f} KB/s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", type=Path, default=Path("configs/train/proxy_lm.toml"))
    parser.add_argument("--data", type=Path, required=True, help="folder that holds lm_text/")
    parser.add_argument("--out", type=Path, help="safetensors file to write")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--evaluate", action="store_true", help="only print the figures of --weights")
    parser.add_argument("--weights", type=Path, help="weights to evaluate; the bundled ones by default")
    args = parser.parse_args()
    config = tomllib.loads(args.config.read_text(encoding="utf-8"))
    folder = args.data / "lm_text"
    meetings, held_out = read_meetings(folder, config["data"]["dev_every"])
    dev = held_out.encode()
    if args.evaluate:
        report(RecurrentProxy.load(args.weights, device=args.device), folder, dev)
        return
    if args.out is None:
        parser.error("--out FILE is needed for training")
    args.out.parent.mkdir(parents=True, exist_ok=True)
    seed = config["train"]["seed"]
    torch.manual_seed(seed)
    model = ByteLM(ByteLMConfig(**config["model"])).to(args.device)
    train(model, read_texts(folder, meetings, seed), dev, config, args.out, args.device)
    report(RecurrentProxy.load(args.out, device=args.device), folder, dev)


if __name__ == "__main__":
    main()
