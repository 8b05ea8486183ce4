"""Train the picker of relations (`nscma_torch/reading/fact_picker.py`) on labelled exchanges.

    python -m train.reader.train_picker --config configs/train/picker.toml --exchanges DIR --out FILE [--dev DIR]

One CPU or one GPU; minutes. With `--dev` it prints how often what is stated is among the first k relations.
"""

from __future__ import annotations

import argparse
import json
import random
import time
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from pydantic import BaseModel, ConfigDict
from safetensors.torch import save_file
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from nscma_torch.reading.fact_picker import ASKED, RELATIONS, PickerModel
from nscma_torch.reading.reader_input import TURNS_BEFORE, Packer, Row, padded_rows, target_tokens
from nscma_torch.relations import load_relations
from nscma_torch.text.minilm import POSITIONS
from train.reader.exchange_examples import read_turns
from train.reader.exchange_text import read_all
from train.reader.learning_rate import warmup_cosine

CHUNK = 1024  # rows that are sorted by length together


class Recipe(BaseModel):
    """The keys of `configs/train/picker.toml`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    seed: int
    epochs: int
    learning_rate: float
    head_rate: float
    warmup: int
    batch_tokens: int
    bfloat16: bool
    weight_decay: float
    clip: float
    log_every: int


class Labelled(NamedTuple):
    """A message as a row, and whether it states each relation."""

    row: Row
    truth: list[bool]


def labelled(
    folder: Path, relations: Sequence[str], packer: Packer, before: Sequence[int], seed: str
) -> list[Labelled]:
    """The messages of a folder's exchanges, each after a number of turns that is drawn from `before`."""
    rng = random.Random(seed)
    found = []
    for exchange in read_all(folder, load_relations()):
        for number in range(1, len(exchange.messages) + 1):
            told = {fact.relation for fact in exchange.facts if fact.number == number and not fact.open}
            read = [one.passage for one in read_turns(exchange, number, rng.choice(before))]
            found.append(Labelled(packer.rows(ASKED, read)[0], [name in told for name in relations]))
    return found


def batches(rows: Sequence[Labelled], tokens: int, rng: random.Random) -> Iterator[list[Labelled]]:
    """All rows once, in batches of at most `tokens` tokens, padding included."""
    order = list(rows)
    rng.shuffle(order)
    for at in range(0, len(order), CHUNK):
        made: list[list[Labelled]] = [[]]
        for row in sorted(order[at : at + CHUNK], key=lambda own: len(own.row.ids)):
            if made[-1] and (len(made[-1]) + 1) * len(row.row.ids) > tokens:
                made.append([])
            made[-1].append(row)
        rng.shuffle(made)
        yield from made


def logits_of(model: PickerModel, batch: Sequence[Labelled], device: torch.device) -> Tensor:
    """Logits of the relations for each row, [B, R]."""
    rows = [own.row for own in batch]
    ids, mask, _ = padded_rows(rows, 16)
    logits: Tensor = model(*(part.to(device) for part in (ids, mask, target_tokens(rows, ids.shape[1]))))
    return logits


def train(recipe: Recipe, exchanges: Path, device: torch.device) -> PickerModel:
    """A trained picker."""
    torch.manual_seed(recipe.seed)
    relations = list(load_relations().relations)
    model = PickerModel(relations).to(device)
    packer = Packer(model.tokenizer, POSITIONS)
    order = [
        batch
        for epoch in range(recipe.epochs)
        for batch in batches(
            labelled(exchanges, relations, packer, (0, 1, TURNS_BEFORE), f"{recipe.seed} turns {epoch}"),
            recipe.batch_tokens,
            random.Random(f"{recipe.seed} order {epoch}"),
        )
    ]
    own = model.trained()
    groups = [
        {"params": [p], "scale": recipe.head_rate if name.startswith("head.") else 1.0} for name, p in own.items()
    ]
    optimizer = torch.optim.AdamW(groups, weight_decay=recipe.weight_decay)
    sums, began = [], time.monotonic()
    for number, batch in enumerate(order):
        rate = recipe.learning_rate * warmup_cosine(number, recipe.warmup, len(order))
        with torch.autocast(device.type, torch.bfloat16, enabled=recipe.bfloat16):
            logits = logits_of(model, batch, device)
        truth = torch.tensor([own.truth for own in batch], dtype=torch.float32, device=device)
        loss = binary_cross_entropy_with_logits(logits, truth, reduction="sum") / len(batch)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(own.values(), recipe.clip)
        for group in optimizer.param_groups:
            group["lr"] = rate * group["scale"]
        optimizer.step()
        optimizer.zero_grad()
        sums.append(loss.item())
        if len(sums) == recipe.log_every:
            mean, seconds = round(sum(sums) / len(sums), 4), round(time.monotonic() - began)
            print(json.dumps({"batch": number + 1, "of": len(order), "loss": mean, "seconds": seconds}), flush=True)
            sums.clear()
    return model.eval()


@torch.no_grad()
def recall(
    model: PickerModel, folder: Path, device: torch.device, most: Sequence[int] = (1, 2, 4, 6, 8)
) -> dict[int, float]:
    """The share of the relations stated by a folder's messages that are among the first k, for each k."""
    rows = labelled(folder, model.relations, Packer(model.tokenizer, POSITIONS), (TURNS_BEFORE,), "")
    ranks: list[int] = []
    for batch in batches(rows, 4096, random.Random(0)):
        places = logits_of(model, batch, device).argsort(1, descending=True).argsort(1)
        truth = torch.tensor([own.truth for own in batch])
        ranks += places.cpu()[truth].tolist()
    return {k: sum(rank < k for rank in ranks) / max(1, len(ranks)) for k in most}


def main() -> None:
    """Train, write, and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--exchanges", type=Path, required=True, help="folder with one of exchanges for each author")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--dev", type=Path, help="folder with one of exchanges for each author, to measure on")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=1, help="of torch, on a CPU")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    recipe = Recipe.model_validate(tomllib.loads(arguments.config.read_text(encoding="utf-8")))
    device = torch.device(arguments.device)
    model = train(recipe, arguments.exchanges, device)
    weights = {name: p.detach().to("cpu", torch.bfloat16).contiguous() for name, p in model.trained().items()}
    save_file(weights, arguments.out, {RELATIONS: " ".join(model.relations)})
    if arguments.dev is not None:
        found = recall(model, arguments.dev, device)
        print("stated relations among the first", {k: round(share, 3) for k, share in found.items()})


if __name__ == "__main__":
    main()
