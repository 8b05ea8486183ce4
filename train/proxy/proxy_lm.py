"""Train or evaluate the bundled byte-level surprise model (`surprise/byte_model/`); see docs/training.md.

    python -m train.proxy.proxy_lm --config configs/train/proxy_lm.toml --data DIR --out FILE
    torchrun --nproc-per-node N -m train.proxy.proxy_lm --config … --data DIR --out FILE
    python -m train.proxy.proxy_lm --data DIR --evaluate

DIR holds `lm_text/`: ELTeC-eng novels (`ENG*.txt`), `qmsum_train_meetings.txt` and, only read for the final figures,
`wikitext2_valid.txt` and `wikitext2_test.txt`. Needs torch and safetensors, one CPU or one GPU a process; from a
checkout that is not installed, set `PYTHONPATH=.:kernels`. A run that was stopped goes on from `FILE.checkpoint` as if
it had not been; what it logs goes to `FILE.jsonl`, a JSON object a line.
"""

from __future__ import annotations

import argparse
import json
import lzma
import math
import os
import time
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor, distributed
from torch.nn.functional import cross_entropy

from nscma_torch.surprise.byte_model.bundled_model import ByteSurpriseModel
from nscma_torch.surprise.byte_model.byte_context import ByteContext
from nscma_torch.surprise.byte_model.byte_lm import ByteLM, ByteLMConfig
from train.proxy.proxy_texts import Lanes, as_chat, read_meetings, read_texts

DEV_BYTES = 65536  # of the held-out meetings that are looked at while training


@dataclass(frozen=True)
class Ranks:
    """The processes of a run: lanes are dealt out to them, and gradients averaged over them."""

    rank: int = 0
    size: int = 1

    @classmethod
    def join(cls, device: str) -> Ranks:
        """Those that torchrun started, or this process alone."""
        if "RANK" not in os.environ:
            return cls()
        distributed.init_process_group("nccl" if device.startswith("cuda") else "gloo")
        return cls(distributed.get_rank(), distributed.get_world_size())

    def lanes(self, streams: int) -> range:
        """The numbers of this process's lanes."""
        if streams % self.size:
            raise ValueError(f"{streams} streams cannot be shared evenly among {self.size} processes: change `streams`")
        return range(self.rank * streams // self.size, (self.rank + 1) * streams // self.size)

    def average(self, values: Sequence[Tensor]) -> None:
        """Replace each by its mean over the processes, in one message."""
        if self.size > 1:
            flat = torch.cat([value.flatten() for value in values])
            distributed.all_reduce(flat)
            for value, mean in zip(values, torch.split(flat, [value.numel() for value in values]), strict=True):
                value.copy_(mean.view_as(value) / self.size)

    def gathered(self, own: Any) -> list[Any]:
        """What every process passed, in their order."""
        if self.size == 1:
            return [own]
        everyone: list[Any] = [None] * self.size
        distributed.all_gather_object(everyone, own)
        return everyone


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
    """Learning-rate factor at a share of the steps: up, flat, linearly down."""
    return max(min(1.0, progress / warmup, (1.0 - progress) / decay), 0.0)


class Run:
    """A training run that can be stopped after any step and gone on with.

    Args:
        model: the network, on `device`.
        lanes: the reader of this process.
        dev: held-out text.
        options: the `[train]` table.
        out: the weights to write, with .jsonl and .checkpoint beside them.
        ranks: the processes of the run.
    """

    def __init__(
        self, model: ByteLM, lanes: Lanes, dev: bytes, options: dict[str, Any], out: Path, device: str, ranks: Ranks
    ) -> None:
        self._model = model
        self._lanes = lanes
        self._dev = dev
        self._options = options
        self._out = out
        self._device = device
        self._ranks = ranks
        self._optims = optimizers(model, options)
        self._state = model.initial_state(len(ranks.lanes(options["streams"])))
        self._step, self._mean, self._seconds = 0, math.nan, 0.0
        if self._checkpoint.exists():
            self._resume()

    @property
    def _checkpoint(self) -> Path:
        return self._out.with_name(self._out.name + ".checkpoint")

    def train(self, until: int | None = None) -> None:
        """Train to step `until`, the last by default."""
        options, last = self._options, self._options["steps"]
        clock = time.monotonic()
        while self._step < min(last, last if until is None else until):
            bits = self._one_step(rate(self._step / last, options["warmup"], options["decay"]))
            self._mean = bits if math.isnan(self._mean) else 0.98 * self._mean + 0.02 * bits
            self._step += 1
            now = time.monotonic()
            self._seconds, clock = self._seconds + now - clock, now
            look = self._step % options["evaluate_steps"] == 0 or self._step in (until, last)
            if look or self._step % options["log_steps"] == 0:
                self._log(look)
            if look:
                self._save()
                clock = time.monotonic()

    def _one_step(self, factor: float) -> float:
        """Train on one window; bits per byte of it."""
        options, device = self._options, self._device
        fresh, context, target = self._lanes.windows(options["window"])
        for optim, lr in zip(self._optims, (options["matrix_lr"], options["other_lr"]), strict=True):
            for group in optim.param_groups:
                group["lr"] = lr * factor
        state = self._state.detach() * (~fresh).to(device)[None, :, None]
        with torch.autocast(torch.device(device).type, torch.bfloat16):
            logits, self._state = self._model(ByteContext(*(f.to(device) for f in context)), state)
        loss = cross_entropy(logits.float().flatten(0, 1), target.to(device).flatten())
        torch.autograd.backward(loss)
        loss = loss.detach()
        self._ranks.average([p.grad for p in self._model.parameters() if p.grad is not None] + [loss])
        torch.nn.utils.clip_grad_norm_(self._model.parameters(), options["clip"])
        for optim in self._optims:
            optim.step()
            optim.zero_grad(set_to_none=True)
        return float(loss) / math.log(2)

    def _log(self, look: bool) -> None:
        if self._ranks.rank:
            return
        read = self._step * self._options["streams"] * self._options["window"]
        row = {"step": self._step, "bytes": read, "seconds": round(self._seconds, 1), "train": round(self._mean, 4)}
        if look:
            row["dev"] = round(bits_per_byte(ByteSurpriseModel(self._model), self._dev[:DEV_BYTES]), 4)
        print(json.dumps(row), flush=True)
        with self._out.with_name(self._out.name + ".jsonl").open("a", encoding="utf-8") as log:
            log.write(json.dumps(row) + "\n")

    def _save(self) -> None:
        readers = self._ranks.gathered(self._lanes.state())
        states = self._ranks.gathered(self._state.detach().cpu())
        if self._ranks.rank:
            return
        saved = {
            "model": self._model.state_dict(),
            "optims": [optim.state_dict() for optim in self._optims],
            "lanes": {number: lane for reader in readers for number, lane in reader.items()},
            "state": torch.cat(states, 1),
            "rng": torch.get_rng_state(),
            "step": self._step,
            "mean": self._mean,
            "seconds": self._seconds,
        }
        partial = self._checkpoint.with_suffix(".partial")
        torch.save(saved, partial)
        partial.replace(self._checkpoint)
        ByteSurpriseModel(self._model).save(self._out)

    def _resume(self) -> None:
        saved = torch.load(self._checkpoint, map_location="cpu", weights_only=True)
        self._model.load_state_dict(saved["model"])
        for optim, state in zip(self._optims, saved["optims"], strict=True):
            optim.load_state_dict(state)
        own = self._ranks.lanes(self._options["streams"])
        self._lanes.resume(saved["lanes"])
        self._state = saved["state"][:, own.start : own.stop].to(self._device)
        torch.set_rng_state(saved["rng"])
        self._step, self._mean, self._seconds = saved["step"], saved["mean"], saved["seconds"]


def take_over(model: ByteLM, weights: Mapping[str, Tensor]) -> list[str]:
    """Start from given weights: every parameter of the same name and shape is copied; returns the names of the others.

    So a narrower network starts with the trained tables of a wider one, which learn slowest: a step of training touches
    few of their rows.
    """
    own = model.state_dict()
    fitting = {name: weight for name, weight in weights.items() if name in own and own[name].shape == weight.shape}
    if not fitting:
        raise ValueError("the weights have no parameter of the configured shapes: give them the same tables or width")
    model.load_state_dict(fitting, strict=False)
    return sorted(own.keys() - fitting.keys())


def bits_per_byte(surprise_model: ByteSurpriseModel, text: bytes) -> float:
    """Mean bits that the surprise model needs for a byte of one continuous text."""
    nll, _ = surprise_model.score_bytes(text, None)
    return float(nll.double().mean()) / math.log(2)


def report(surprise_model: ByteSurpriseModel, folder: Path, dev: bytes) -> None:
    """Print bits per byte beside xz, and bytes per second."""
    for name, text in (
        ("held-out meetings", dev),
        ("held-out meetings as chat", as_chat(dev.decode()).encode()),
        ("WikiText-2 valid", (folder / "wikitext2_valid.txt").read_bytes()),
        ("WikiText-2 test", (folder / "wikitext2_test.txt").read_bytes()),
    ):
        start = time.monotonic()
        bits = bits_per_byte(surprise_model, text)
        seconds = time.monotonic() - start
        packed = len(lzma.compress(text, preset=9 | lzma.PRESET_EXTREME)) * 8 / len(text)
        print(f"{name}: {bits:.3f} bits/byte (xz -9e {packed:.3f}), {len(text) / seconds / 1000:.1f} KB/s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", type=Path, default=Path("configs/train/proxy_lm.toml"))
    parser.add_argument("--data", type=Path, required=True, help="folder that holds lm_text/")
    parser.add_argument("--out", type=Path, help="safetensors file to write")
    parser.add_argument(
        "--weights",
        type=Path,
        help="weights to start from, also of a wider network; with --evaluate, those to evaluate",
    )
    parser.add_argument("--stop", type=int, help="stop after this step, to go on later")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--evaluate", action="store_true", help="only print the figures of --weights")
    args = parser.parse_args()
    config = tomllib.loads(args.config.read_text(encoding="utf-8"))
    folder = args.data / "lm_text"
    meetings, held_out = read_meetings(folder, config["data"]["dev_every"])
    dev = held_out.encode()
    if args.evaluate:
        report(ByteSurpriseModel.load(args.weights, device=args.device), folder, dev)
        return
    if args.out is None:
        parser.error("--out FILE is needed for training")
    args.out.parent.mkdir(parents=True, exist_ok=True)
    device = args.device
    if device == "cuda" and "LOCAL_RANK" in os.environ:
        device = f"cuda:{os.environ['LOCAL_RANK']}"
        torch.cuda.set_device(device)
    ranks = Ranks.join(device)
    seed, sizes = config["train"]["seed"], ByteLMConfig(**config["model"])
    torch.manual_seed(seed)
    model = ByteLM(sizes)
    if args.weights is not None:
        take_over(model, load_file(args.weights))
    texts = read_texts(folder, meetings, seed, config["data"]["synthetic_bytes"])
    shares = {name: config["data"][name] for name in texts}
    lanes = Lanes(texts, shares, sizes, seed, ranks.lanes(config["train"]["streams"]))
    Run(model.to(device), lanes, dev, config["train"], args.out, device, ranks).train(args.stop)
    if ranks.rank == 0 and args.stop is None:
        report(ByteSurpriseModel.load(args.out, device=device), folder, dev)
    if ranks.size > 1:
        distributed.destroy_process_group()


if __name__ == "__main__":
    main()
