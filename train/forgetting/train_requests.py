"""Train `nscma_torch/reading/forget_requests.py` on requests to forget and messages that look like them.

    python -m train.forgetting.train_requests --out FILE
    python -m train.forgetting.train_requests --evaluate

Run at the root of a checkout. `train/forgetting` has a file per author, a line per message:
`{"forget": true, "earlier", "message", "targets"}`, where `targets` are places in `earlier`, or
`{"forget": false, "message"}`. Requests in histories, most of which are worded directly ("please forget what I said
about …"), are read beside them. `--evaluate` trains without each author in turn and prints what is recognised of that
author's requests and of other messages.
"""

from __future__ import annotations

import argparse
import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from nscma_torch.core.config import EmbedderConfig
from nscma_torch.core.protocols import Embedder
from nscma_torch.reading.forget_requests import SUSPECTED, ForgetLayers, message_features, pair_features
from nscma_torch.reading.reader import Reader
from nscma_torch.text.embedders.embedder import load_embedder
from train.reader.chat_files import read_chat

_BEFORE = 6  # messages of a history before a request
_SURE = (0.3, 0.5, 0.8)  # probabilities of the message meant at which `--evaluate` counts
_SHOWN = (0.5, 0.7, 0.8, 0.9)  # probabilities at which `--evaluate` counts


@dataclass(frozen=True, slots=True)
class Labelled:
    """Messages with their features, 1.0 for requests, and of each request the earlier messages.

    Attributes:
        vectors: the embedder's vectors, [n, e].
        states: mean hidden states, [n, layers * d].
        asked: labels, [n].
        pairs: of each request the features of the earlier messages, [m, 3d], and their labels, [m].
    """

    vectors: Tensor
    states: Tensor
    asked: Tensor
    pairs: Sequence[tuple[Tensor, Tensor]] = ()


def labelled(rows: Sequence[Mapping[str, Any]], reader: Reader, embedder: Embedder) -> Labelled:
    """Compute the features of labelled messages."""
    texts = [row["message"] for row in rows]
    pairs = []
    for row in rows:
        if row["forget"]:
            meant = torch.zeros(len(row["earlier"]))
            meant[row["targets"]] = 1.0
            pairs.append((pair_features(reader, row["message"], row["earlier"]), meant))
    asked = torch.tensor([float(row["forget"]) for row in rows])
    return Labelled(embedder.embed(texts).cpu().float(), message_features(reader, texts), asked, pairs)


def rows_of(file: Path) -> list[dict[str, Any]]:
    """Read an author's labelled messages."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def of_histories(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the requests in histories (`eval/experiments/state/histories.py`), with the speaker's messages before."""
    for file in sorted(folder.rglob("history-*.json")):
        table = json.loads(file.read_text(encoding="utf-8"))
        said = table["messages"]
        for one in (own for own in table["deletions"] if own.get("said")):
            request = said[one["after"] - 1]
            places = [i for i in range(one["after"] - 1) if said[i]["name"] == request["name"]]
            target = one["message"] - 1
            near = sorted({target, *[i for i in places if i != target][-_BEFORE:]})
            yield {
                "forget": True,
                "message": request["content"],
                "earlier": [said[i]["content"] for i in near],
                "targets": [near.index(target)],
            }


def ordinary(folder: Path, every: int) -> Iterator[dict[str, Any]]:
    """Yield the users' messages of one in `every` chats, as messages that ask for nothing."""
    for file in sorted(folder.rglob("chat-*.jsonl"))[::every]:
        yield from ({"forget": False, "message": one.text} for one in read_chat(file).messages if one.role == "user")


def fit(layer: nn.Linear, features: Tensor, labels: Tensor, penalty: float) -> None:
    """Fit a logistic regression on normalised features, with an L2 penalty; its minimum is unique."""
    mean, deviation = features.mean(0), features.std(0) + 1e-3
    normal = (features - mean) / deviation
    weight = torch.zeros(features.shape[1], requires_grad=True)
    bias = torch.zeros(1, requires_grad=True)
    optim = torch.optim.LBFGS([weight, bias], max_iter=500, tolerance_grad=1e-5, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optim.zero_grad()
        found = binary_cross_entropy_with_logits(normal @ weight + bias, labels) + penalty * weight.square().sum()
        torch.autograd.backward(found)
        return found

    optim.step(loss)  # type: ignore[no-untyped-call]
    with torch.no_grad():
        layer.weight.copy_((weight / deviation)[None])
        layer.bias.copy_(bias - (mean / deviation) @ weight)


def fitted(layers: ForgetLayers, data: Sequence[Labelled], config: Mapping[str, float]) -> ForgetLayers:
    """Fit all layers."""
    asked = torch.cat([own.asked for own in data])
    fit(layers.suspected, torch.cat([own.vectors for own in data]), asked, config["suspected"])
    fit(layers.asked, torch.cat([own.states for own in data]), asked, config["asked"])
    pairs = [pair for own in data for pair in own.pairs]
    fit(layers.meant, torch.cat([p[0] for p in pairs]), torch.cat([p[1] for p in pairs]), config["meant"])
    return layers


@torch.no_grad()
def report(layers: ForgetLayers, data: Labelled, usual: Labelled) -> str:
    """Describe what is recognised of an author's messages, and of ordinary ones."""
    lines = []
    asked, other = data.asked == 1, data.asked == 0
    found = layers.asked(data.states)[:, 0].sigmoid() * (layers.suspected(data.vectors)[:, 0].sigmoid() >= SUSPECTED)
    passed = layers.suspected(usual.vectors)[:, 0].sigmoid() >= SUSPECTED
    alarms = layers.asked(usual.states)[:, 0].sigmoid() * passed
    lines += [
        f"  at {least}: {int((found[asked] >= least).sum())} of {int(asked.sum())} requests, "
        f"{int((found[other] >= least).sum())} of {int(other.sum())} messages like them, "
        f"{int((alarms >= least).sum())} of {len(alarms)} ordinary ones"
        for least in _SHOWN
    ]
    found_pairs = [(layers.meant(features)[:, 0].sigmoid(), meant == 1) for features, meant in data.pairs]
    right = sum(bool(meant[likely.argmax()]) for likely, meant in found_pairs)
    lines.append(f"  the message meant comes first: {right} of {len(found_pairs)}")
    for least in _SURE:
        sure = [bool(meant[likely.argmax()]) for likely, meant in found_pairs if likely.max() >= least]
        lines.append(f"    where it reaches {least}: {sum(sure)} of {len(sure)}")
    return "\n".join([f"  read: {passed.float().mean():.2f} of ordinary messages", *lines])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", type=Path, default=Path("configs/train/forget_requests.toml"))
    parser.add_argument("--out", type=Path, help="safetensors file to write")
    parser.add_argument("--evaluate", action="store_true", help="only evaluate, leaving each author out in turn")
    arguments = parser.parse_args()
    if arguments.out is None and not arguments.evaluate:
        parser.error("--out FILE is needed for training")
    config = tomllib.loads(arguments.config.read_text(encoding="utf-8"))
    embedder = load_embedder(EmbedderConfig(model=config["embedder"], dtype="float32"))
    reader = Reader.from_pretrained()
    authors = {
        file.stem: labelled(rows_of(file), reader, embedder)
        for file in sorted(Path(config["requests"]).glob("*.jsonl"))
    }
    authors["histories"] = labelled(list(of_histories(Path(config["histories"]))), reader, embedder)
    usual = labelled(list(ordinary(Path(config["ordinary"]), config["every"])), reader, embedder)
    layers = ForgetLayers(embedder.dimension, embedder.fingerprint)
    if not arguments.evaluate:
        fitted(layers, [*authors.values(), usual], config["penalty"]).save(arguments.out)
        return
    half = len(usual.asked) // 2
    seen, unseen = (
        Labelled(usual.vectors[s], usual.states[s], usual.asked[s]) for s in (slice(half), slice(half, None))
    )
    for name, own in authors.items():
        others = [data for other, data in authors.items() if other != name]
        print(f"{name}\n{report(fitted(layers, [*others, seen], config['penalty']), own, unseen)}", flush=True)


if __name__ == "__main__":
    main()
