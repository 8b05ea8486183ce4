"""Train a language model to be the controller, on tool-use traces that the package makes itself.

    python -m train.controller.controller_sft --config configs/train/controller_sft.toml --out DIR
    python -m train.controller.controller_sft --config configs/train/controller_tiny.toml --out DIR --cpu

The loss is on the assistant's replies alone. A model from nothing first learns to copy and to find, by [drills]: see
`train/controller/controller_drills.py`. With [lora] the base model stays as it is, in 4 bits where [model] quantization
says so, and DIR/adapter is what the engines `transformers` and `vllm` load beside it; with [scratch] a tiny Llama is
made from nothing in DIR/model and trained whole. DIR also gets `traces.jsonl`, `log.jsonl`, `checkpoint.pt` and
`controller.toml`, the settings to serve with, also for `eval/experiments/retrieval/controller_calls.py`. A run that was
stopped goes on from its checkpoint, with the batches that it would have had.
"""

from __future__ import annotations

import argparse
import json
import time
import tomllib
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from nscma_torch.core.config import ControllerConfig, load_config
from nscma_torch.core.errors import ConfigError
from nscma_torch.core.extras import require
from nscma_torch.llm.loading import load_causal_lm
from train.controller.controller_base import fresh, with_lora
from train.controller.controller_dialogues import Split, Wording
from train.controller.controller_drills import Drills
from train.controller.controller_examples import IGNORED, Examples
from train.controller.controller_traces import Trace, traces_of
from train.run_log import log


def settings_of(config: dict[str, Any]) -> ControllerConfig:
    """The [controller] section, with which the traces are made and the model is served."""
    return load_config({"controller": config["controller"]}).controller


def made_traces(config: dict[str, Any], out: Path) -> list[Trace]:
    """The traces of `out`, made where they are not there yet."""
    path = out / "traces.jsonl"
    if not path.exists():
        own = config["dialogues"]
        wording = Wording.load(Path(own["wording"]))
        partial, store = path.with_suffix(".partial"), out / "traces.db"
        store.unlink(missing_ok=True)
        with partial.open("w", encoding="utf-8") as file:
            for trace in traces_of(
                store, settings_of(config), wording, "train", dialogues=own["train"], seed=own["seed"]
            ):
                file.write(trace.line() + "\n")
        for left in out.glob("traces.db*"):
            left.unlink()
        partial.replace(path)
    with path.open(encoding="utf-8") as file:
        return [Trace.of_line(line) for line in file]


def learner(config: dict[str, Any], traces: list[Trace], out: Path, device: torch.device) -> tuple[Any, Any, int]:
    """The model to train, its tokenizer, and the tokens that it reads at most."""
    if "lora" in config and "scratch" in config:
        raise ConfigError("the configuration has [lora] and [scratch]; leave one out")
    if "lora" in config:
        if "drills" in config:
            raise ConfigError("[drills] are for [scratch]; a base model can read already")
        torch.manual_seed(config["train"]["seed"])
        return with_lora(config["model"], config["lora"], device)
    own, folder = config["scratch"], out / "model"
    if not (folder / "model.safetensors").exists():
        fresh(folder, traces, own, config["train"]["seed"])
    loaded = load_causal_lm(folder, device=device, dtype=torch.float32)
    loaded.model.requires_grad_(True)
    return loaded.model, loaded.tokenizer, own["context"]


def rate(options: dict[str, Any], step: int) -> float:
    """Learning rate of a step: it rises over `warmup` steps, and over the last `falling` share falls to a tenth."""
    if step < options["warmup"]:
        return float(options["lr"] * (step + 1) / options["warmup"])
    left = (options["steps"] - step) / max(1.0, options["falling"] * options["steps"])
    return float(options["lr"] * (0.1 + 0.9 * min(1.0, left)))


def reach(options: dict[str, Any], step: int) -> float:
    """Share of the traces, shortest first, that a step draws from: all of them once `widening` of the steps is done."""
    widening = options["widening"] * options["steps"]
    return 1.0 if step >= widening else 0.2 + 0.8 * step / widening


class ReplyLoss(nn.Module):
    """The mean cross entropy of the labelled tokens; logits are computed at these alone, a few of a long prompt."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: Tensor, labels: Tensor) -> Tensor:
        """Loss [] of ids [B, T] and labels [B, T], `IGNORED` where nothing is to be learned."""
        model = self.model.get_base_model() if hasattr(self.model, "get_base_model") else self.model
        hidden = model.get_decoder()(input_ids=ids, use_cache=False).last_hidden_state[:, :-1]
        wanted = labels[:, 1:]
        learned = wanted != IGNORED
        return functional.cross_entropy(model.get_output_embeddings()(hidden[learned]).float(), wanted[learned])


class Lessons:
    """What a step learns from: traces, and with [drills] first repeated words, then plain facts, then drills too."""

    def __init__(self, examples: Examples, drills: Drills | None, config: dict[str, Any]) -> None:
        self._examples = examples
        self._drills = drills
        self._options = config["train"]
        self._own = config.get("drills", {})

    def batch(self, step: int, process: int) -> tuple[Tensor, Tensor]:
        """Ids [B, T] and labels [B, T]; they depend on seed, step and process alone."""
        tokens, seed = self._options["batch_tokens"], f"{self._options['seed']} {step} {process}"
        if self._drills is not None:
            until, most = self._own["until"] * self._options["steps"], self._own["facts"]
            copies, turn = self._own["copies"], step % 8
            if step < copies or (step < until and turn == 0):
                return self._drills.copies(tokens, seed, 3 + min(5, 8 * step // copies))
            if step < copies + self._own["plain"] or (step < until and turn == 1):
                return self._drills.plain(tokens, seed, most)
            if step < until and turn < 5:
                return self._drills.batch(tokens, seed, 1 + min(most - 1, int(2 * most * step / until)))
            if turn % 4 == 0:
                return self._drills.batch(tokens, seed, most)
        return self._examples.batch(tokens, seed, reach(self._options, step))


def train(model: Any, lessons: Lessons, options: dict[str, Any], out: Path, accelerator: Any) -> None:
    """Train what has gradients."""
    learned = {name: weight for name, weight in model.named_parameters() if weight.requires_grad}
    optimizer = torch.optim.AdamW(
        learned.values(), options["lr"], betas=(0.9, 0.98), weight_decay=options["weight_decay"]
    )
    checkpoint, done = out / "checkpoint.pt", 0
    if checkpoint.exists():
        saved = torch.load(checkpoint, map_location="cpu", weights_only=True)
        with torch.no_grad():
            for name, weight in learned.items():
                weight.copy_(saved["weights"][name])
        optimizer.load_state_dict(saved["optimizer"])
        done = saved["step"]
    wrapped, optimizer = accelerator.prepare(ReplyLoss(model), optimizer)
    wrapped.train()
    began, tokens = time.monotonic(), 0
    stop = min(options["steps"], options.get("stop", options["steps"]))
    for step in range(done, stop):
        ids, labels = lessons.batch(step, accelerator.process_index)
        torch.manual_seed(options["seed"] * 1_000_003 + step)  # of dropout
        for group in optimizer.param_groups:
            group["lr"] = rate(options, step)
        device = accelerator.device
        loss = wrapped(ids.to(device), labels.to(device))
        accelerator.backward(loss)
        accelerator.clip_grad_norm_(list(learned.values()), options["clip"])
        optimizer.step()
        optimizer.zero_grad()
        tokens += ids.numel()
        if (step + 1) % options["log_every"] == 0 or step + 1 == stop:
            mean = accelerator.reduce(loss.detach(), reduction="mean").item()
            speed = round(tokens / max(time.monotonic() - began, 1e-9))
            if accelerator.is_main_process:
                log(out, {"step": step + 1, "loss": round(mean, 4), "lr": rate(options, step), "tokens/s": speed})
        if ((step + 1) % options["save_every"] == 0 or step + 1 == stop) and accelerator.is_main_process:
            partial = checkpoint.with_suffix(".partial")
            weights = {name: weight.detach() for name, weight in learned.items()}
            torch.save({"weights": weights, "optimizer": optimizer.state_dict(), "step": step + 1}, partial)
            partial.replace(checkpoint)


def save(model: Any, config: dict[str, Any], out: Path) -> None:
    """The adapter or the whole model, and the settings to serve it with."""
    llm: dict[str, Any] = {"engine": "transformers"}
    if "lora" in config:
        model.save_pretrained(out / "adapter", save_embedding_layers=False)
        own = config["model"]
        llm |= {"model": str(own["base"]), "adapter": str((out / "adapter").resolve())}
        llm |= {"quantization": own.get("quantization", "none"), "dtype": own.get("dtype", "float32")}
    else:
        model.save_pretrained(out / "model")
        llm |= {"model": str((out / "model").resolve()), "dtype": "float32"}
    sections = {"llm": llm, "controller": config["controller"]}
    load_config(sections)
    lines = [
        f"[{name}]\n" + "".join(f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in section.items())
        for name, section in sections.items()
    ]
    (out / "controller.toml").write_text("\n".join(lines), encoding="utf-8")


def run(config: dict[str, Any], out: Path, *, cpu: bool) -> None:
    """Make the traces, train, and save."""
    accelerate = require("accelerate", extra="train", purpose="training a controller")
    out.mkdir(parents=True, exist_ok=True)
    accelerator = accelerate.Accelerator(cpu=cpu)
    with accelerator.main_process_first():
        traces = made_traces(config, out)
        model, tokenizer, context = learner(config, traces, out, accelerator.device)
    split: Split = "train"
    examples = Examples(traces, tokenizer, context=context, rename=split)
    if accelerator.is_main_process:
        learned = sum(weight.numel() for weight in model.parameters() if weight.requires_grad)
        log(out, {"traces": len(traces), "longest": examples.longest, "context": context, "weights learned": learned})
    drills = None
    if "drills" in config:
        drills = Drills(tokenizer, Wording.load(Path(config["dialogues"]["wording"])), split)
    train(model, Lessons(examples, drills, config), config["train"], out, accelerator)
    accelerator.wait_for_everyone()
    if accelerator.is_main_process:
        save(model, config, out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True, help="folder to write")
    parser.add_argument("--steps", type=int, help="instead of the configured number")
    parser.add_argument("--stop", type=int, help="step after which this run ends; the next goes on from there")
    parser.add_argument("--dialogues", type=int, help="instead of the configured number")
    parser.add_argument("--base", help="model instead of [model] base")
    parser.add_argument("--cpu", action="store_true", help="even where there is a GPU")
    parser.add_argument("--threads", type=int, default=1, help="threads of torch")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    config = tomllib.loads(args.config.read_text(encoding="utf-8"))
    if args.steps is not None:
        config["train"]["steps"] = args.steps
    if args.stop is not None:
        config["train"]["stop"] = args.stop
    if args.dialogues is not None:
        config["dialogues"]["train"] = args.dialogues
    if args.base is not None:
        config["model"]["base"] = args.base
    run(config, args.out, cpu=args.cpu)


if __name__ == "__main__":
    main()
