"""Train the proposer of facts (`nscma_torch/reading/proposer_model.py`) on labelled exchanges and dialogues.

    python -m train.reader.train_proposer --config FILE --exchanges DIR --complete DIR --dialogues DIR --out FILE

`--exchanges` has all facts of the schema labelled, `--complete` every statement, `--dialogues` some. A run that was
stopped goes on from `FILE.checkpoint` as if it had not been. One CPU or one GPU.
"""

from __future__ import annotations

import argparse
import random
import tomllib
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import torch
from pydantic import BaseModel, ConfigDict
from safetensors.torch import save_file
from torch import Tensor

from nscma_torch.reading.fact_questions import object_question, open_object_question
from nscma_torch.reading.proposer_model import ProposerModel
from nscma_torch.reading.reader_input import Packer
from nscma_torch.reading.relation_model import RELATIONS
from nscma_torch.reading.relations import Schema, load_relations
from nscma_torch.text.embedders.minilm import POSITIONS
from train.reader.dialogue_text import read_dialogues
from train.reader.exchange_text import read_all
from train.reader.learning_rate import warmup_cosine
from train.reader.proposer_examples import Message, of_dialogue, of_exchange
from train.reader.proposer_losses import Relations, losses
from train.reader.training_state import TrainingState, adamw, load_start

CHUNK = 1024  # rows that are sorted by length together


class Recipe(BaseModel):
    """The keys of `configs/train/proposer.toml`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    start: str
    seed: int
    epochs: int
    dialogue_epochs: int
    learning_rate: float
    encoder_rate: float
    own_vectors: float
    warmup: int
    batch_tokens: int
    bfloat16: bool
    weight_decay: float
    clip: float
    ema: float
    log_every: int
    save_every: int


class Folders(BaseModel):
    """Where the labelled texts are; None where there are none."""

    exchanges: Path | None
    complete: Path | None
    dialogues: Path | None


def epoch_messages(folders: Folders, schema: Schema, packer: Packer, seed: str, *, dialogues: bool) -> list[Message]:
    """The messages of one epoch, with turns before them that `seed` draws."""
    rng = random.Random(seed)
    found: list[Message] = []
    for folder, open_known in ((folders.exchanges, False), (folders.complete, True)):
        for exchange in read_all(folder, schema) if folder is not None else ():
            found += of_exchange(exchange, packer, rng, open_known=open_known)
    for path in sorted(folders.dialogues.glob("*/*.txt")) if dialogues and folders.dialogues is not None else ():
        for dialogue in read_dialogues(path):
            found += of_dialogue(dialogue, packer)
    return found


def batches(messages: Sequence[Message], tokens: int, rng: random.Random) -> Iterator[list[Message]]:
    """All messages once, in batches of at most `tokens` tokens, padding included."""
    order = list(messages)
    rng.shuffle(order)
    for at in range(0, len(order), CHUNK):
        made: list[list[Message]] = [[]]
        for message in sorted(order[at : at + CHUNK], key=lambda own: len(own.row.ids)):
            if made[-1] and (len(made[-1]) + 1) * len(message.row.ids) > tokens:
                made.append([])
            made[-1].append(message)
        rng.shuffle(made)
        yield from made


class Training:
    """A run: a model, its state, and all batches."""

    def __init__(self, recipe: Recipe, folders: Folders, out: Path, device: torch.device) -> None:
        torch.manual_seed(recipe.seed)
        self._recipe = recipe
        self._out = out
        self._device = device
        schema = load_relations()
        self.model = ProposerModel(list(schema.relations))
        packer = Packer(self.model.tokenizer, POSITIONS)
        self._order = [
            batch
            for epoch in range(recipe.epochs)
            for batch in batches(
                epoch_messages(
                    folders, schema, packer, f"{recipe.seed} turns {epoch}", dialogues=epoch < recipe.dialogue_epochs
                ),
                recipe.batch_tokens,
                random.Random(f"{recipe.seed} order {epoch}"),
            )
        ]
        names = tuple(schema.relations)
        predicates = {fact.relation for batch in self._order for own in batch for fact in own.facts if fact.open}
        self._words = {
            text: vector
            for texts in [sorted(map(open_object_question, predicates))]
            for text, vector in zip(texts, self._encoded(texts), strict=True)
        }
        asked = self._encoded([object_question(schema[name]) for name in names])
        self._relations = Relations(names, asked, names.index(next(n for n in names if schema[n].open)))
        load_start(self.model, recipe.start, "a proposer")
        self.model.to(device)
        new_optimizer = partial(adamw, encoder_rate=recipe.encoder_rate, weight_decay=recipe.weight_decay)
        self._state = TrainingState(self.model, out, device, new_optimizer, clip=recipe.clip, ema=recipe.ema)

    def _encoded(self, texts: Sequence[str]) -> Tensor:
        return self.model.words_of(texts)

    def _words_of(self, texts: list[str]) -> Tensor:
        own = [self._words[text] for text in texts]
        return torch.stack(own) if own else self._relations.words[:0]

    def run(self, stop: int | None = None) -> None:
        """All batches that are not done yet, or those before number `stop`."""
        self.model.train()
        total = len(self._order) if stop is None else stop
        recipe = self._recipe
        self._state.run(self._step, total, log_every=recipe.log_every, save_every=recipe.save_every, save=self._save)

    def _step(self, number: int) -> tuple[dict[str, float], int]:
        recipe, batch = self._recipe, self._order[number]
        torch.manual_seed(recipe.seed + number)  # of what draws the relations that are read by their words
        with torch.autocast(self._device.type, torch.bfloat16, enabled=recipe.bfloat16):
            parts = losses(self.model, batch, self._relations, self._words_of, recipe.own_vectors)
        rate = recipe.learning_rate * warmup_cosine(number, recipe.warmup, len(self._order))
        self._state.step(torch.stack(list(parts.values())).sum(), rate)
        return {name: value.item() for name, value in parts.items()}, sum(len(own.row.ids) for own in batch)

    def _save(self) -> None:
        self._state.save()
        save_file(self._state.mean_weights(), self._out, {RELATIONS: " ".join(self._relations.names)})


def main() -> None:
    """Train, or go on with it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--exchanges", type=Path, help="folder with one of exchanges for each author")
    parser.add_argument("--complete", type=Path, help="the same, of which every statement is labelled")
    parser.add_argument("--dialogues", type=Path, help="folder with one of dialogues for each author")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=1, help="of torch, on a CPU")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    recipe = Recipe.model_validate(tomllib.loads(arguments.config.read_text(encoding="utf-8")))
    folders = Folders(exchanges=arguments.exchanges, complete=arguments.complete, dialogues=arguments.dialogues)
    Training(recipe, folders, arguments.out, torch.device(arguments.device)).run()


if __name__ == "__main__":
    main()
