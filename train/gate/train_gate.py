"""Train the gate's salience head (`nscma_torch/surprise/salience_head.py`) on made-up dialogues (`dialogues.py`).

    python -m train.gate.train_gate --config configs/train/gate.toml --out FILE [--cache DIR]
    python -m train.gate.train_gate --config configs/train/gate.toml --evaluate

Run at the root of a checkout. Loss and AUC on held-out wording go to the screen and to `FILE.jsonl`. The same
configuration gives the same dialogues, and on the same machine the same weights.
"""

from __future__ import annotations

import argparse
import json
import math
import time
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, normalize

from eval.caches.embedding_cache import CachedEmbedder
from eval.metrics.retrieval_metrics import auc
from nscma_torch.core.config import EmbedderConfig
from nscma_torch.core.protocols import Embedder
from nscma_torch.surprise.salience_head import SalienceHead
from nscma_torch.text.chunker import Chunker
from nscma_torch.text.embedders.embedder import load_embedder
from train.gate.dialogues import Grammar, Split, Turn, dialogues

SPLITS: tuple[Split, ...] = ("train", "held out")


def turns_of(config: dict[str, Any], split: Split) -> list[Turn]:
    """All turns of the dialogues of a split."""
    grammar = Grammar.load(Path(config["wording"]), split)
    seed, count = (config["seed"], config["train"]) if split == "train" else (config["seed"] + 1, config["held_out"])
    made = dialogues(grammar, seed, count, config["turns"], config["assistants"])
    return [turn for own in made for turn in own]


def message_vectors(texts: Sequence[str], embedder: Embedder) -> Tensor:
    """Unit vectors [n, d] of messages of any length: the mean of their chunks."""
    chunker = Chunker(embedder.count_tokens, embedder.max_tokens)
    parts = [[chunk.text for chunk in chunker.chunk(text)] for text in texts]
    vectors = torch.split(embedder.embed([part for own in parts for part in own]).cpu(), [len(own) for own in parts])
    return normalize(torch.stack([own.mean(0) for own in vectors]), dim=1)


def train(
    head: SalienceHead,
    vectors: Tensor,  # [n, d]
    needed: Tensor,  # [n] bool
    held_out: tuple[Tensor, Tensor],  # the same of other wording
    config: dict[str, Any],
    log: Path | None = None,
) -> list[dict[str, float]]:
    """Fit the head by binary cross-entropy; returns and logs, after each epoch, loss and held-out AUC.

    At the end the bias moves by the ln of `cost`: above 0 it costs less to write the message than to defer it.

    Noise on the vectors stands for wording that no template has: without it the head learns the templates.
    """
    generator = torch.Generator().manual_seed(config["seed"])
    size, batch = len(vectors), config["batch"]
    steps = config["epochs"] * (size // batch)
    spread = config["noise"] / head.dimension**0.5  # of a unit vector's coordinate
    target = needed.float() * (1 - 2 * config["smoothing"]) + config["smoothing"]
    optim = torch.optim.AdamW(head.parameters(), lr=config["lr"], weight_decay=config["weight_decay"])
    schedule = torch.optim.lr_scheduler.LambdaLR(optim, lambda step: 1 - step / steps)
    rows = []
    for epoch in range(config["epochs"]):
        order, losses = torch.randperm(size, generator=generator), []
        for start in range(0, size - batch + 1, batch):
            chosen = order[start : start + batch]
            noise = torch.randn(batch, head.dimension, generator=generator) * spread
            loss = binary_cross_entropy_with_logits(head(vectors[chosen] + noise), target[chosen])
            optim.zero_grad(set_to_none=True)
            torch.autograd.backward(loss)
            optim.step()
            schedule.step()
            losses.append(loss.item())
        row = {"epoch": epoch + 1, "loss": round(sum(losses) / len(losses), 4), "held-out AUC": judge(head, *held_out)}
        print(row, flush=True)
        rows.append(row)
        if log is not None:
            with log.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
    with torch.no_grad():
        head.outer.bias.add_(math.log(config["cost"]))
    return rows


def judge(head: SalienceHead, vectors: Tensor, needed: Tensor) -> float:
    """AUC of the head's log-odds."""
    with torch.no_grad():
        return round(auc(head(vectors).tolist(), needed.tolist()), 4)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", type=Path, default=Path("configs/train/gate.toml"))
    parser.add_argument("--out", type=Path, help="safetensors file to write")
    parser.add_argument("--cache", type=Path, help="folder that keeps vectors for the next run")
    parser.add_argument("--evaluate", action="store_true", help="only print the figures of --weights")
    parser.add_argument("--weights", type=Path, help="weights to evaluate; the bundled ones by default")
    parser.add_argument("--threads", type=int, default=1, help="threads of torch")
    arguments = parser.parse_args()
    if arguments.out is None and not arguments.evaluate:
        parser.error("--out FILE is needed for training")
    torch.set_num_threads(arguments.threads)
    config = tomllib.loads(arguments.config.read_text(encoding="utf-8"))
    begin = time.monotonic()
    section = EmbedderConfig(model=config["train"]["embedder"], dtype="float32")
    embedder = CachedEmbedder(load_embedder(section), arguments.cache)
    data: dict[Split, tuple[Tensor, Tensor]] = {}
    for split in SPLITS[arguments.evaluate :]:
        turns = turns_of(config["dialogues"], split)
        needed = torch.tensor([turn.question is not None for turn in turns])
        data[split] = message_vectors([turn.text for turn in turns], embedder), needed
        print(f"{split}: {len(turns)} messages, {needed.float().mean():.1%} needed", flush=True)
    embedder.save()
    if arguments.evaluate:
        head = SalienceHead.load(arguments.weights)
    else:
        torch.manual_seed(config["train"]["seed"])
        head = SalienceHead(embedder.dimension, embedder.fingerprint)
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        log = arguments.out.with_name(arguments.out.name + ".jsonl")
        train(head, *data["train"], data["held out"], config["train"], log)
        head.save(arguments.out)
    weights = sum(weight.numel() for weight in head.parameters())
    print(f"{weights} weights, held-out AUC {judge(head, *data['held out']):.3f}, {time.monotonic() - begin:.0f} s")


if __name__ == "__main__":
    main()
