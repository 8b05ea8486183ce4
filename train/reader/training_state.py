"""What a run of training keeps: weights, their mean, the optimizer and how far it is, so that a stopped one goes on."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from nscma_torch.core.int8_tensors import dequantized
from nscma_torch.core.tensor_files import all_tensors, open_tensors


class Model(Protocol):
    """A network that tells what of it is trained."""

    def trained(self) -> dict[str, nn.Parameter]:
        """What training changes, by name."""

    def load(self, weights: Mapping[str, Tensor], source: Path) -> None:
        """Take over weights of these names and shapes; ModelError, which names `source`, for others."""


def adamw(trained: Mapping[str, nn.Parameter], *, encoder_rate: float, weight_decay: float) -> torch.optim.Optimizer:
    """AdamW that changes the encoder at `encoder_rate` times the rate of the heads."""
    groups = [
        {"params": [p], "scale": encoder_rate if name.startswith("encoder.") else 1.0} for name, p in trained.items()
    ]
    return torch.optim.AdamW(groups, weight_decay=weight_decay)


def load_start(model: Model, start: str, holding: str) -> None:
    """Take over the weights of the file that a recipe begins from, if it names one.

    Args:
        holding: what the file must hold, for the error; "a proposer".

    Raises:
        ModelNotFoundError: there is no such file.
        ModelError: what is there is of another kind or version.
    """
    if start:
        with open_tensors(start, holding, missing=f"start names {start}, which is not there") as file:
            model.load(dequantized(all_tensors(file)), Path(start))


class TrainingState:
    """The state of a run that writes to `out`; its checkpoint is `OUT.checkpoint`, its log `OUT.jsonl`.

    Args:
        new_optimizer: makes an optimizer of the trained parameters; a group of it may have a `scale` of the rate.
        clip: largest norm of the gradient.
        ema: decay of the mean of the weights over steps.
    """

    def __init__(
        self,
        model: Model,
        out: Path,
        device: torch.device,
        new_optimizer: Callable[[dict[str, nn.Parameter]], torch.optim.Optimizer],
        *,
        clip: float,
        ema: float,
    ) -> None:
        self._out = out
        self._checkpoint = out.with_name(out.name + ".checkpoint")
        self._trained = model.trained()
        self._new_optimizer = new_optimizer
        self._clip = clip
        self._ema = ema
        self._mean = {name: p.detach().clone() for name, p in self._trained.items()}
        self._optimizer = new_optimizer(self._trained)
        self.stage = self.done = 0
        if self._checkpoint.exists():
            state = torch.load(self._checkpoint, map_location=device, weights_only=True)
            model.load(state["model"], self._checkpoint)
            self._mean = state["mean"]
            self._optimizer.load_state_dict(state["optimizer"])
            self.stage, self.done = state["stage"], state["done"]

    def next_stage(self) -> None:
        """Begin a stage, with an optimizer of its own."""
        self.stage, self.done, self._optimizer = self.stage + 1, 0, self._new_optimizer(self._trained)

    def step(self, loss: Tensor, rate: float) -> None:
        """Lower a loss by one step; the mean of a stage begins with its first weights."""
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self._trained.values(), self._clip)
        for group in self._optimizer.param_groups:
            group["lr"] = rate * group.get("scale", 1.0)
        self._optimizer.step()
        self._optimizer.zero_grad()
        decay = min(self._ema, (1 + self.done) / (10 + self.done))
        with torch.no_grad():
            for name, value in self._trained.items():
                self._mean[name].lerp_(value, 1 - decay)

    def run(
        self,
        step: Callable[[int], tuple[Mapping[str, float], int]],
        total: int,
        *,
        log_every: int,
        save_every: int,
        save: Callable[[], None],
    ) -> None:
        """All steps before number `total` that are not done yet, and a save at their end.

        Args:
            step: takes the step of that number; what it lowered, by name, and how many items it read.
            log_every: steps between two lines of the log, means of what was lowered, and items a second.
            save_every: steps between two calls of `save`.
        """
        began, items = time.monotonic(), 0
        sums: dict[str, list[float]] = {}
        for number in range(self.done, total):
            parts, read = step(number)
            items += read
            for name, value in parts.items():
                sums.setdefault(name, []).append(value)
            self.done = number + 1
            if self.done % log_every == 0 or self.done == total:
                means = {name: round(sum(values) / len(values), 4) for name, values in sums.items()}
                speed = round(items / (time.monotonic() - began))
                self.log({"batch": self.done, "of": total, "items/s": speed, **means})
                sums.clear()
            if self.done % save_every == 0:
                save()
        save()

    def mean_weights(self, dtype: torch.dtype = torch.bfloat16) -> dict[str, Tensor]:
        """The mean of the weights over steps, which reads a little better than the last ones."""
        return {name: value.to("cpu", dtype).contiguous() for name, value in self._mean.items()}

    def save(self) -> None:
        """Write the checkpoint, whole or not at all."""
        state = {
            "model": dict(self._trained),
            "mean": self._mean,
            "optimizer": self._optimizer.state_dict(),
            "stage": self.stage,
            "done": self.done,
        }
        partial = self._checkpoint.with_name(self._checkpoint.name + ".partial")
        torch.save(state, partial)
        partial.replace(self._checkpoint)

    def log(self, line: dict[str, Any]) -> None:
        """Print an object, and add it to the log."""
        text = json.dumps(line)
        print(text, flush=True)
        with self._out.with_name(self._out.name + ".jsonl").open("a", encoding="utf-8") as file:
            file.write(text + "\n")
