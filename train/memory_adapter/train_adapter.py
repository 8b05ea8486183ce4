"""Train a memory inside a frozen decoder (`attach_memory`), on one device or several processes.

    python -m train.memory_adapter.train_adapter --config configs/train/memory_recall.toml --out DIR
    torchrun --nproc-per-node 2 -m train.memory_adapter.train_adapter --config configs/train/memory_adapter.toml \
        --data DIR --out DIR

With `[data] task = "recall"` it first trains a tiny decoder that recalls within its window, then the memory, and prints
the accuracy at each distance without the memory, with it, and after `detach`. With `[data] window` the base reads a
text in windows that don't see each other, and the memory is measured on texts that are held out. `--base` names another
base model. DIR gets the memory (`save_pretrained`), `log.jsonl` and `checkpoint.pt`; a run that was stopped goes on
from there, with the batches it would have had.
"""

from __future__ import annotations

import argparse
import hashlib
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from nscma_torch import AttachedMemory, attach_memory
from nscma_torch.core.errors import ConfigError
from nscma_torch.core.extras import require
from train.memory_adapter.recall_base import recall_base
from train.memory_adapter.recall_task import RecallTask
from train.memory_adapter.text_blocks import TextBlocks, text_files
from train.memory_adapter.windows import alone_losses, losses_of, window_losses
from train.run_log import log

Batches = Callable[[int, float, torch.Generator], tuple[Tensor, Tensor]]  # rows, progress in [0, 1) -> tokens, labels


@dataclass(frozen=True, slots=True)
class Prepared:
    """A base model, its batches, and the texts [1, T] that are held out."""

    model: Any
    batches: Batches
    held_out: Sequence[Tensor] = ()


def load_base(options: dict[str, Any]) -> Any:
    """A decoder of transformers, its weights as configured."""
    transformers = require("transformers", extra="hf", purpose="training a memory inside a decoder")
    arguments: dict[str, Any] = {"dtype": getattr(torch, options.get("dtype", "float32"))}
    if options.get("nf4"):
        require("bitsandbytes", extra="hf", purpose="a base model in 4 bits")
        arguments["quantization_config"] = transformers.BitsAndBytesConfig(
            load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=arguments["dtype"]
        )
    return transformers.AutoModelForCausalLM.from_pretrained(options["base"], **arguments)


def prepare(config: dict[str, Any], data: Path | None, out: Path, accelerator: Any) -> Prepared:
    """Load the base model and the data."""
    options = config["data"]
    if options["task"] == "recall":
        folder = out / "base"
        if accelerator.is_main_process and not (folder / "config.json").exists():
            recall_base(RecallTask(), config["recall"], config["train"]["seed"]).save_pretrained(folder)  # type: ignore[operator]
        accelerator.wait_for_everyone()
        task, curriculum = RecallTask(), options["curriculum"]

        def recall(rows: int, progress: float, generator: torch.Generator) -> tuple[Tensor, Tensor]:
            shortest, longest = curriculum[int(progress * len(curriculum))]
            distance = int(torch.randint(shortest, longest + 1, (1,), generator=generator))
            return task.batch(rows, distance, generator)

        return Prepared(load_base({**config["model"], "base": folder}), recall)
    if options["task"] != "text":
        raise ConfigError(f'[data] task must be "recall" or "text", got {options["task"]!r}')
    if data is None:
        raise ConfigError("--data DIR is needed: the folder that holds [data] folder")
    transformers = require("transformers", extra="hf", purpose="reading text as tokens")
    tokenizer = transformers.AutoTokenizer.from_pretrained(config["model"]["base"])
    files, held_out = text_files(data / options["folder"], options.get("held_out", 0))
    sizes = tokenizer, options["block"], options.get("characters")
    blocks = TextBlocks(files, *sizes)
    measured = TextBlocks(held_out, *sizes).spread(options["measured"]) if held_out else []
    model = load_base(config["model"])
    return Prepared(model, lambda rows, _progress, generator: blocks.batch(rows, generator), measured)


def train(
    model: Any, memory: AttachedMemory, batches: Batches, config: dict[str, Any], out: Path, accelerator: Any
) -> None:
    """Train what is attached; the batch of a step depends on seed, step and process alone."""
    options, steps, window = config["train"], config["train"]["steps"], config["data"].get("window")
    optimizer = torch.optim.AdamW(memory.parameters(), options["lr"], betas=(0.9, 0.98), weight_decay=0.0)
    checkpoint, done = out / "checkpoint.pt", 0
    if checkpoint.exists():
        saved = torch.load(checkpoint, map_location="cpu", weights_only=True)
        memory.load_state_dict(saved["memory"])
        optimizer.load_state_dict(saved["optimizer"])
        done = saved["step"]
    wrapped, optimizer = accelerator.prepare(model, optimizer)
    wrapped.train()
    for step in range(done, steps):
        seed = (options["seed"] * 1_000_003 + step) * 4096 + accelerator.process_index
        tokens, labels = batches(options["batch"], step / steps, torch.Generator().manual_seed(seed))
        rate = options["lr"] * min(1.0, (step + 1) / options["warmup"], (1 - step / steps) / options["decay"])
        for group in optimizer.param_groups:
            group["lr"] = rate
        device = accelerator.device
        if window is None:
            loss = wrapped(input_ids=tokens.to(device), labels=labels.to(device), use_cache=False).loss
        else:
            loss = window_losses(wrapped, tokens.to(device), window, memory).mean()
        accelerator.backward(loss)
        accelerator.clip_grad_norm_(memory.parameters(), options["clip"])
        optimizer.step()
        optimizer.zero_grad()
        row: dict[str, Any] = {}
        if (step + 1) % options["log_every"] == 0 or step + 1 == steps:
            mean = accelerator.reduce(loss.detach(), reduction="mean").item()
            row = {"step": step + 1, "loss": round(mean, 4), "lr": rate, "tokens": tokens.shape[1]}
        if not accelerator.is_main_process:
            continue
        if options.get("measure_every") and (step + 1) % options["measure_every"] == 0:
            distances = config["data"]["measure"]
            row |= {"step": step + 1, "accuracy": measure(model, [d for d in distances if d <= 1024], rows=16)}
            model.train()
        if row:
            log(out, row)
        if (step + 1) % options["save_every"] == 0 or step + 1 == steps:
            partial = checkpoint.with_suffix(".partial")
            state = {"memory": memory.state_dict(), "optimizer": optimizer.state_dict(), "step": step + 1}
            torch.save(state, partial)
            partial.replace(checkpoint)


def measure(model: Any, distances: list[int], *, rows: int = 64) -> dict[int, float]:
    """Accuracy of associative recall at each distance."""
    model.eval()
    return {distance: round(RecallTask().accuracy(model, distance, rows=rows), 3) for distance in distances}


def digest(model: nn.Module) -> str:
    """SHA-256 of names and bytes of all weights."""
    sha = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        sha.update(name.encode() + tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes())
    return sha.hexdigest()


def run(config: dict[str, Any], data: Path | None, out: Path, *, cpu: bool) -> None:
    """Train as configured; show what the memory brings for the recall task, and on texts that are held out."""
    accelerate = require("accelerate", extra="train", purpose="training a memory")
    out.mkdir(parents=True, exist_ok=True)
    accelerator = accelerate.Accelerator(cpu=cpu)
    prepared = prepare(config, data, out, accelerator)
    model = prepared.model
    shows = config["data"]["task"] == "recall" and accelerator.is_main_process
    held_out = prepared.held_out if accelerator.is_main_process else ()
    window = config["data"].get("window")
    if held_out and window is None:
        raise ConfigError("[data] held_out needs window, the number of tokens that the base reads at once")
    distances = config["data"].get("measure", [])
    before = digest(model)
    without = measure(model, distances) if shows else {}
    alone = alone_losses(model.eval(), held_out, window)
    torch.manual_seed(config["train"]["seed"])
    memory = attach_memory(model, **config["memory"])
    train(model, memory, prepared.batches, config, out, accelerator)
    accelerator.wait_for_everyone()
    if not accelerator.is_main_process:
        return
    memory.save_pretrained(out)
    if held_out:
        log(out, losses_of(model.eval(), memory, held_out, window, alone).row())
    if shows:
        having = measure(model, distances)
        memory.detach()
        log(out, {"chance": 1 / RecallTask().values, "without memory": without, "with memory": having})
        log(
            out,
            {"after detach": measure(model, distances) == without, "weights bit-identical": digest(model) == before},
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--data", type=Path, help="folder of texts")
    parser.add_argument("--out", type=Path, required=True, help="folder to write")
    parser.add_argument("--base", help="folder or name of the base model, instead of the configured one")
    parser.add_argument("--steps", type=int, help="instead of the configured number")
    parser.add_argument("--cpu", action="store_true", help="even where there is a GPU")
    args = parser.parse_args()
    config = tomllib.loads(args.config.read_text(encoding="utf-8"))
    if args.base is not None:
        config["model"]["base"] = args.base
    if args.steps is not None:
        config["train"]["steps"] = args.steps
    run(config, args.data, args.out, cpu=args.cpu)


if __name__ == "__main__":
    main()
