"""Train `nscma_torch/standing/likely_pairs.py` to predict in which pairs of messages the reader finds an effect.

    python -m train.reader.train_pairs --out FILE

Run at the root of a checkout. Each user's message of a chat is paired with the earlier ones whose vectors are most
similar to its own; the bundled reader labels the pairs. Prints which share of the effects the likeliest pairs of the
development chats hold. The same configuration gives the same weights on the same machine.
"""

from __future__ import annotations

import argparse
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from nscma_torch.core.config import EmbedderConfig
from nscma_torch.core.protocols import Embedder
from nscma_torch.reading.reader import Reader
from nscma_torch.reading.reader_input import InputPassage
from nscma_torch.reading.reader_model import CHANGES
from nscma_torch.standing.effect_reader import LONGEST, RESTING, likeliest, tells
from nscma_torch.standing.likely_pairs import LikelyPairs, features
from nscma_torch.standing.standings import RESTS
from nscma_torch.text.embedders.embedder import load_embedder
from train.reader.chat_files import read_chat

_SHARES = (0.2, 0.3, 0.4, 0.5, 0.6)  # of the pairs, for which the share of effects is printed


class Labelled(NamedTuple):
    """Pairs of messages: the vectors, the probability of any effect, and whether one would be stored."""

    earlier: Tensor  # [n, d]
    later: Tensor  # [n, d]
    effect: Tensor  # [n]
    stored: Tensor  # [n] bool


def labelled(files: Iterable[Path], reader: Reader, embedder: Embedder, neighbours: int, least: float) -> Labelled:
    """Pair the messages of chats, and label the pairs with the reader."""
    earlier, later, effect, stored = [], [], [], []
    for file in files:
        said = sorted(
            (one for one in read_chat(file).messages if tells(one.role, one.text)), key=lambda one: one.said_at
        )
        if len(said) < 2:
            continue
        vectors = embedder.embed([one.text for one in said]).cpu().float()
        similar = vectors @ vectors.T
        pairs = [(j, i) for i in range(1, len(said)) for j in similar[i, :i].topk(min(neighbours, i)).indices.tolist()]
        changes = reader.changes(
            [f"{said[j].speaker}: {said[j].text[:LONGEST]}" for j, _ in pairs],
            [[InputPassage(said[i].text[:LONGEST], said[i].speaker, said[i].said_at)] for _, i in pairs],
        )
        for (j, i), likely in zip(pairs, changes.tolist(), strict=True):
            kind, probability = likeliest(dict(zip(CHANGES, likely, strict=True)))
            earlier.append(vectors[j])
            later.append(vectors[i])
            effect.append(1 - likely[CHANGES.index("none")])
            stored.append(probability >= (RESTING if kind == RESTS else least))
        print(f"{file}: {len(stored)} pairs", flush=True)
    return Labelled(torch.stack(earlier), torch.stack(later), torch.tensor(effect), torch.tensor(stored))


def fit(pairs: LikelyPairs, data: Labelled, penalty: float) -> None:
    """Fit the regression to the probability of any effect, with an L2 penalty; its minimum is unique."""
    inputs = features(data.earlier, data.later)
    optim = torch.optim.LBFGS(
        pairs.layer.parameters(), max_iter=500, tolerance_grad=1e-5, line_search_fn="strong_wolfe"
    )
    for parameter in pairs.layer.parameters():
        torch.nn.init.zeros_(parameter)

    def loss() -> Tensor:
        optim.zero_grad()
        logits = pairs.layer(inputs)[:, 0]
        found = binary_cross_entropy_with_logits(logits, data.effect) + penalty * pairs.layer.weight.square().sum()
        torch.autograd.backward(found)
        return found

    optim.step(loss)  # type: ignore[no-untyped-call]


@torch.no_grad()
def set_threshold(pairs: LikelyPairs, data: Labelled, share: float) -> str:
    """Set the threshold that a share of the pairs reach; describe the shares of effects found."""
    logits = pairs(data.earlier, data.later)
    order = logits.argsort(descending=True)
    pairs.threshold.fill_(logits[order[int(share * len(order))]].item())
    found = data.stored[order].double().cumsum(0) / data.stored.sum()
    return ", ".join(f"{part}: {found[int(part * len(order)) - 1]:.3f}" for part in _SHARES)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", type=Path, default=Path("configs/train/likely_pairs.toml"))
    parser.add_argument("--out", type=Path, required=True, help="safetensors file to write")
    arguments = parser.parse_args()
    config = tomllib.loads(arguments.config.read_text(encoding="utf-8"))
    embedder = load_embedder(EmbedderConfig(model=config["embedder"], dtype="float32"))
    reader = Reader.from_pretrained(dtype=torch.bfloat16)
    chats = sorted(Path(config["chats"]).rglob("chat-*.jsonl"))
    train, develop = (
        labelled(files, reader, embedder, config["neighbours"], config["effect"])
        for files in (
            [file for place in config["places"] for file in chats[place :: config["every"]]],
            sorted(Path(config["develop"]).rglob("chat-*.jsonl")),
        )
    )
    pairs = LikelyPairs(embedder.dimension, embedder.fingerprint)
    fit(pairs, train, config["penalty"])
    print(f"share of the effects in the likeliest pairs: {set_threshold(pairs, develop, config['share'])}")
    pairs.save(arguments.out)


if __name__ == "__main__":
    main()
