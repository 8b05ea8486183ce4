"""Train the reader of questions (`nscma_torch/reading/question_model.py`) on labelled questions.

    python -m train.reader.train_questions --config FILE --questions DIR --out FILE

A run that was stopped goes on from `FILE.checkpoint` as if it had not been. One CPU or one GPU.
"""

from __future__ import annotations

import argparse
import random
import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch
import torch.nn.functional as F  # noqa: N812
from pydantic import BaseModel, ConfigDict
from safetensors.torch import save_file
from tokenizers import Tokenizer
from torch import Tensor

from nscma_torch.reading.fact_questions import object_question
from nscma_torch.reading.question_model import ASKS, FLAGS, QuestionLogits, QuestionModel
from nscma_torch.reading.relation_model import RELATIONS
from nscma_torch.reading.relations import load_relations
from train.reader.labelled_questions import SLOT_LETTERS, LabelledQuestion, read_folder
from train.reader.learning_rate import warmup_cosine
from train.reader.training_state import TrainingState, adamw, load_start

CHUNK = 16  # batches of questions that are sorted by length together
_NAME = re.compile(r"[A-Z][a-zà-ÿ]+")


class Recipe(BaseModel):
    """The keys of `configs/train/questions.toml`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    start: str
    seed: int
    epochs: int
    learning_rate: float
    encoder_rate: float
    own_vectors: float
    described: float
    other_names: float
    batch: int
    bfloat16: bool
    warmup: int
    weight_decay: float
    clip: float
    ema: float
    log_every: int
    save_every: int


def named_otherwise(question: LabelledQuestion, names: Sequence[str], rng: random.Random) -> LabelledQuestion:
    """The question with another name of one word in a slot that is one, and all else the same."""
    for letter, (start, end) in question.slots.items():
        if letter in "SO" and _NAME.fullmatch(question.text[start:end]) and question.text[start:end] in names:
            name = rng.choice(names)
            shift = len(name) - (end - start)
            slots = {
                other: (a + shift * (a >= end), b + shift * (b >= end)) for other, (a, b) in question.slots.items()
            }
            return replace(question, text=question.text[:start] + name + question.text[end:], slots=slots)
    return question


def batches(order: Sequence[LabelledQuestion], size: int, rng: random.Random) -> list[list[LabelledQuestion]]:
    """All questions once, in batches of questions of like length."""
    made: list[list[LabelledQuestion]] = []
    for at in range(0, len(order), CHUNK * size):
        alike = sorted(order[at : at + CHUNK * size], key=lambda question: len(question.text))
        made += [alike[start : start + size] for start in range(0, len(alike), size)]
    rng.shuffle(made)
    return made


def batch_of(
    questions: Sequence[LabelledQuestion], tokenizer: Tokenizer, relations: Sequence[str]
) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
    """Ids and mask, [B, L] each, and what is right: asks and relation [B], flags [B, flags], first and last [B, slots].

    A relation that is not there is -1, a slot 0.
    """
    encoded = [tokenizer.encode(question.text) for question in questions]
    longest = max(len(one.ids) for one in encoded)
    ids = torch.zeros(len(questions), longest, dtype=torch.int64)
    mask = torch.zeros(len(questions), longest, dtype=torch.bool)
    ends = torch.zeros(2, len(questions), len(SLOT_LETTERS), dtype=torch.int64)
    for row, (question, one) in enumerate(zip(questions, encoded, strict=True)):
        ids[row, : len(one.ids)] = torch.tensor(one.ids)
        mask[row, : len(one.ids)] = True
        for letter, (start, end) in question.slots.items():
            tokens = [i for i, (a, b) in enumerate(one.offsets) if a < b and a < end and b > start]
            ends[:, row, SLOT_LETTERS.index(letter)] = torch.tensor([tokens[0], tokens[-1]])
    truth = {
        "asks": torch.tensor([ASKS.index(question.asks) for question in questions]),
        "relation": torch.tensor([relations.index(q.relation) if q.relation else -1 for q in questions]),
        "flags": torch.tensor([[float(flag in question.flags) for flag in FLAGS] for question in questions]),
        "first": ends[0],
        "last": ends[1],
    }
    return ids, mask, truth


def losses(out: QuestionLogits, truth: dict[str, Tensor]) -> dict[str, Tensor]:
    """The mean loss of each part; of flags, relation and slots over the questions that ask for a relation."""
    asked = truth["relation"] >= 0
    parts = {"asks": F.cross_entropy(out.asks, truth["asks"])}
    if asked.any():
        parts["relation"] = F.cross_entropy(out.relation[asked], truth["relation"][asked])
        parts["flags"] = F.binary_cross_entropy_with_logits(out.flags[asked], truth["flags"][asked])
        for name, logits in (("first", out.first), ("last", out.last)):
            parts[name] = F.cross_entropy(logits[asked], truth[name][asked])  # over tokens, [., L, slots]
    return parts


class Training:
    """A run: a model, its state, and all batches."""

    def __init__(self, recipe: Recipe, folder: Path, out: Path, device: torch.device) -> None:
        torch.manual_seed(recipe.seed)
        self._recipe = recipe
        self._out = out
        self._device = device
        schema = load_relations()
        self._names = tuple(schema.relations)
        questions = list(read_folder(folder, self._names))
        people = sorted({q.text[a:b] for q in questions for a, b in q.slots.values() if _NAME.fullmatch(q.text[a:b])})
        self._batches: list[list[LabelledQuestion]] = []
        for epoch in range(recipe.epochs):
            rng = random.Random(f"{recipe.seed} epoch {epoch}")
            order = [named_otherwise(q, people, rng) if rng.random() < recipe.other_names else q for q in questions]
            rng.shuffle(order)
            self._batches += batches(order, recipe.batch, rng)
        self.model = QuestionModel(self._names)
        asked = [[object_question(schema[name])] for name in self._names]
        self._described = self._words_of(own[0] for own in asked).to(device)
        for question in questions:
            if question.relation:
                asked[self._names.index(question.relation)].append(question.text)
        self._asked = [self._words_of(own).to(device) for own in asked]
        load_start(self.model, recipe.start, "a reader of questions")
        self.model.to(device)
        new_optimizer = partial(adamw, encoder_rate=recipe.encoder_rate, weight_decay=recipe.weight_decay)
        self._state = TrainingState(self.model, out, device, new_optimizer, clip=recipe.clip, ema=recipe.ema)

    def _words_of(self, texts: Iterable[str]) -> Tensor:
        return self.model.words_of(list(texts))

    def _drawn_words(self) -> Tensor:  # [R, d]
        """The vectors of what relations are called, or of a question for each that is drawn from all."""
        drawn = torch.stack([own[int(torch.randint(len(own), ()))] for own in self._asked])
        described = torch.rand(len(drawn), 1, device=self._device) < self._recipe.described
        return torch.where(described, self._described, drawn)

    def run(self, stop: int | None = None) -> None:
        """All batches that are not done yet, or those before number `stop`."""
        self.model.train()
        total = len(self._batches) if stop is None else stop
        recipe = self._recipe
        self._state.run(self._step, total, log_every=recipe.log_every, save_every=recipe.save_every, save=self._save)

    def _step(self, number: int) -> tuple[dict[str, float], int]:
        recipe, questions = self._recipe, self._batches[number]
        torch.manual_seed(recipe.seed + number)  # of what draws how relations are known
        ids, mask, truth = batch_of(questions, self.model.tokenizer, self._names)
        keep = torch.rand(len(self._names), device=self._device) < recipe.own_vectors
        places = torch.arange(len(self._names), device=self._device)
        with torch.autocast(self._device.type, torch.bfloat16, enabled=recipe.bfloat16):
            vectors = self.model.vectors(self._drawn_words(), places, keep)
            out = self.model(ids.to(self._device), mask.to(self._device), vectors)
        parts = losses(out, {name: value.to(self._device) for name, value in truth.items()})
        rate = recipe.learning_rate * warmup_cosine(number, recipe.warmup, len(self._batches))
        self._state.step(torch.stack(list(parts.values())).sum(), rate)
        return {name: value.item() for name, value in parts.items()}, len(questions)

    def _save(self) -> None:
        self._state.save()
        save_file(self._state.mean_weights(), self._out, {RELATIONS: " ".join(self._names)})


def main() -> None:
    """Train, or go on with it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--questions", type=Path, required=True, help="folder with a file for each author")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=1, help="of torch, on a CPU")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    recipe = Recipe.model_validate(tomllib.loads(arguments.config.read_text(encoding="utf-8")))
    Training(recipe, arguments.questions, arguments.out, torch.device(arguments.device)).run()


if __name__ == "__main__":
    main()
