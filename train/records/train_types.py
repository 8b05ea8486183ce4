"""Train `nscma_torch/reading/memory_types.py` on the sentences in `sentences/`, one file a class.

    python -m train.records.train_types --config configs/train/memory_types.toml --out FILE
    python -m train.records.train_types --config configs/train/memory_types.toml --evaluate

Run at the root of a checkout. `--evaluate` prints the accuracy of cross-validation, which also comes before training,
and what each class is taken for. The same configuration gives the same weights on the same machine.
"""

from __future__ import annotations

import argparse
import tomllib
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from nscma_torch.core.config import EmbedderConfig
from nscma_torch.reading.memory_types import CLASSES, SOLVED, MemoryTypes
from nscma_torch.text.embedders.embedder import load_embedder


def sentences_of(folder: Path) -> tuple[list[str], Tensor]:
    """All sentences with their classes [n]; a class is the name of its file."""
    texts: list[str] = []
    classes: list[int] = []
    for number, name in enumerate(CLASSES):
        own = [line.strip() for line in (folder / f"{name}.txt").read_text(encoding="utf-8").splitlines()]
        own = [line for line in own if line]
        texts += own
        classes += [number] * len(own)
    return texts, torch.tensor(classes)


def fit(types: MemoryTypes, features: Tensor, classes: Tensor, c: float) -> None:
    """Multinomial logistic regression from zero: cross-entropy of all sentences, and |W|² / 2c, to its minimum."""
    for parameter in types.parameters():
        torch.nn.init.zeros_(parameter)
    optim = torch.optim.LBFGS(types.parameters(), max_iter=500, tolerance_grad=1e-4, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optim.zero_grad()
        found = cross_entropy(types(features), classes, reduction="sum") + types.layer.weight.square().sum() / (2 * c)
        torch.autograd.backward(found)
        return found

    optim.step(loss)  # type: ignore[no-untyped-call]


def cross_validated(types: MemoryTypes, features: Tensor, classes: Tensor, config: dict[str, Any]) -> Tensor:
    """The class [n] that each sentence is given by a model that has not seen its fold."""
    order = torch.randperm(len(classes), generator=torch.Generator().manual_seed(config["seed"]))
    found = torch.empty_like(classes)
    for fold in order.chunk(config["folds"]):
        rest = torch.ones(len(classes), dtype=torch.bool)
        rest[fold] = False
        fit(types, features[rest], classes[rest], config["c"])
        with torch.no_grad():
            found[fold] = types(features[fold]).argmax(1)
    return found


def report(found: Tensor, classes: Tensor) -> str:
    """Accuracy over all classes, and with solved problems taken for problems; what each class was taken for."""
    problem, solved = CLASSES.index("problem"), CLASSES.index(SOLVED)
    joined = [torch.where(one == solved, problem, one) for one in (found, classes)]
    share = (found == classes).float().mean(), (joined[0] == joined[1]).float().mean()
    lines = [f"{len(classes)} sentences: {share[0]:.1%} right, {share[1]:.1%} as types (a solved problem is a problem)"]
    for number, name in enumerate(CLASSES):
        own = found[classes == number].bincount(minlength=len(CLASSES)).tolist()
        taken = sorted(zip(own, CLASSES, strict=True), reverse=True)
        lines.append(f"  {name:10}" + "  ".join(f"{other} {count}" for count, other in taken if count))
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", type=Path, default=Path("configs/train/memory_types.toml"))
    parser.add_argument("--out", type=Path, help="safetensors file to write")
    parser.add_argument("--evaluate", action="store_true", help="only cross-validate")
    arguments = parser.parse_args()
    if arguments.out is None and not arguments.evaluate:
        parser.error("--out FILE is needed for training")
    torch.set_num_threads(1)
    config = tomllib.loads(arguments.config.read_text(encoding="utf-8"))
    embedder = load_embedder(EmbedderConfig(model=config["embedder"], dtype="float32"))
    texts, classes = sentences_of(Path(config["sentences"]))
    types = MemoryTypes(embedder.dimension, embedder.fingerprint)
    features = types.features(texts, embedder.embed(texts).cpu())
    print(
        f"{config['folds']} folds of {report(cross_validated(types, features, classes, config), classes)}", flush=True
    )
    if not arguments.evaluate:
        fit(types, features, classes, config["c"])
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        types.save(arguments.out)


if __name__ == "__main__":
    main()
