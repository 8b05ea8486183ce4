"""Train the encoder of questions (`nscma_torch/text/embedders/question_encoder.py`).

    python -m train.queries.train_question_encoder --config FILE --dialogues DIR --chats DIR --out FILE

Vectors of messages stay those of the published encoder. Low-rank updates move a question towards the messages that
answer it, and away from all other messages of its conversation and from some of all: the loss is the cross-entropy
of the softmax over cosines, as in DPR (Karpukhin et al. 2020, equation 2), with the mean over a question's messages.
"""

from __future__ import annotations

import argparse
import random
import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from pydantic import BaseModel, ConfigDict
from safetensors.torch import save_file
from tokenizers import Tokenizer
from torch import Tensor

from nscma_torch.search.query import parse
from nscma_torch.text.embedders.minilm import MAX_TOKENS, MiniLM, bundled_folder, load_tokenizer
from nscma_torch.text.embedders.question_encoder import updates, with_updates
from nscma_torch.text.terms import STOP_WORDS
from train.reader.chat_files import read_chat
from train.reader.dialogue_text import Dialogue, read_dialogues
from train.reader.learning_rate import warmup_cosine
from train.run_log import log

RUN = 64  # messages embedded at once
_WORD = re.compile(r"\w+(?:['’-]\w+)*")


class Recipe(BaseModel):
    """The keys of `configs/train/question_encoder.toml`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    seed: int
    rank: int
    epochs: int
    chat_epochs: int
    keywords: float
    learning_rate: float
    weight_decay: float
    warmup: int
    batch: int
    temperature: float
    others: int
    bfloat16: bool
    log_every: int


@dataclass(frozen=True, slots=True)
class Asked:
    """A conversation's messages, and its questions with the places of the messages that answer them.

    Attributes:
        vectors: of the messages, [n, d].
        questions: as they are embedded for a search.
        answers: for each question, the places of its messages, from 0.
    """

    vectors: Tensor
    questions: tuple[str, ...]
    answers: tuple[tuple[int, ...], ...]


def answered(dialogue: Dialogue) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield each answerable question as a search embeds it, with the places of the messages that answer it."""
    speakers = sorted({message.speaker for message in dialogue.messages})
    now = dialogue.messages[-1].said_at
    for question in dialogue.questions:
        numbers = sorted({number for number, _ in question.said} or set(question.evidence))
        if question.gold and numbers:
            meaning = parse(question.text, names=speakers, now=now).meaning
            yield meaning, tuple(number - 1 for number in numbers)


class QuestionTraining:
    """A run: the published encoder, its copy with updates, and the conversations."""

    def __init__(self, recipe: Recipe) -> None:
        torch.manual_seed(recipe.seed)
        self._recipe = recipe
        folder = bundled_folder()
        self._tokenizer: Tokenizer = load_tokenizer(folder)
        self._published = MiniLM.from_checkpoint(folder / "model.safetensors")
        self.encoder = with_updates(self._published, recipe.rank)
        self.encoder.requires_grad_(False)
        self.updates = updates(self.encoder)
        for parameter in self.updates.values():
            parameter.requires_grad_(True)

    def asked(self, dialogues: Iterable[Dialogue]) -> Iterator[Asked]:
        """Embed the messages of conversations that have answerable questions."""
        for dialogue in dialogues:
            pairs = list(answered(dialogue))
            if pairs:
                texts = [message.text for message in dialogue.messages]
                with torch.no_grad():
                    runs = [self.encoded(self._published, texts[at : at + RUN]) for at in range(0, len(texts), RUN)]
                yield Asked(torch.cat(runs).float(), *map(tuple, zip(*pairs, strict=True)))

    def encoded(self, encoder: MiniLM, texts: Sequence[str]) -> Tensor:  # [n, d]
        """Encode texts, cut to the encoder's maximum length."""
        ids = [self._tokenizer.encode(text).ids[:MAX_TOKENS] for text in texts]
        rows = torch.zeros(len(ids), max(map(len, ids)), dtype=torch.int64)
        for row, own in zip(rows, ids, strict=True):
            row[: len(own)] = torch.tensor(own)
        mask = torch.arange(rows.shape[1]) < torch.tensor([len(own) for own in ids])[:, None]
        with torch.autocast("cpu", torch.bfloat16, enabled=self._recipe.bfloat16):
            vectors: Tensor = encoder(rows, mask)
        return vectors

    def run(self, conversations: Sequence[Asked], folder: Path) -> None:
        """Train for all epochs; write a log to `folder`."""
        recipe = self._recipe
        rng = random.Random(recipe.seed)
        everything = torch.cat([one.vectors for one in conversations])
        batches = [own for _ in range(recipe.epochs) for own in self._batches(conversations, rng)]
        optimizer = torch.optim.AdamW(self.updates.values(), weight_decay=recipe.weight_decay)
        losses: list[float] = []
        for number, batch in enumerate(batches):
            for group in optimizer.param_groups:
                group["lr"] = recipe.learning_rate * warmup_cosine(number, recipe.warmup, len(batches))
            others = everything[torch.randint(len(everything), (recipe.others,))]
            loss = self._loss(batch, others, rng)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            losses.append(loss.item())
            if (number + 1) % recipe.log_every == 0 or number + 1 == len(batches):
                mean = sum(losses) / len(losses)
                log(folder, {"batch": number + 1, "of": len(batches), "loss": round(mean, 4)})
                losses.clear()

    def _batches(self, conversations: Sequence[Asked], rng: random.Random) -> Iterator[list[Asked]]:
        """Shuffle the conversations, and yield as many whole ones at a time as have enough questions."""
        order = list(conversations)
        rng.shuffle(order)
        batch: list[Asked] = []
        for one in order:
            batch.append(one)
            if sum(len(own.questions) for own in batch) >= self._recipe.batch:
                yield batch
                batch = []
        if batch:
            yield batch

    def _loss(self, batch: Sequence[Asked], others: Tensor, rng: random.Random) -> Tensor:
        recipe = self._recipe
        texts = [self._drawn(question, rng) for one in batch for question in one.questions]
        asked = self.encoded(self.encoder, texts).float()
        losses, first = [], 0
        for one in batch:
            questions = asked[first : first + len(one.questions)]
            first += len(one.questions)
            scores = torch.cat([questions @ one.vectors.T, questions @ others.T], dim=1) / recipe.temperature
            shares = scores.log_softmax(1)
            losses += [-shares[row, list(places)].mean() for row, places in enumerate(one.answers)]
        return torch.stack(losses).mean()

    def _drawn(self, question: str, rng: random.Random) -> str:
        """Return the question, or with probability `keywords` its content words, as somebody may type them."""
        if rng.random() >= self._recipe.keywords:
            return question
        return " ".join(word for word in _WORD.findall(question) if word.casefold() not in STOP_WORDS) or question


def main() -> None:
    """Train the encoder and save its updates."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument(
        "--dialogues", type=Path, required=True, help="folder with a subfolder of dialogues for each author"
    )
    parser.add_argument("--chats", type=Path, required=True, help="folder with a subfolder of chats for each author")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=1, help="torch threads")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    recipe = Recipe.model_validate(tomllib.loads(arguments.config.read_text(encoding="utf-8")))
    training = QuestionTraining(recipe)
    dialogues = (one for path in sorted(arguments.dialogues.glob("*/*.txt")) for one in read_dialogues(path))
    conversations = list(training.asked(dialogues))
    conversations += recipe.chat_epochs * list(
        training.asked(map(read_chat, sorted(arguments.chats.rglob("chat-*.jsonl"))))
    )
    training.run(conversations, arguments.out.parent)
    weights = {name: value.detach().bfloat16().contiguous() for name, value in training.updates.items()}
    save_file(weights, arguments.out, {"recipe": recipe.model_dump_json()})


if __name__ == "__main__":
    main()
