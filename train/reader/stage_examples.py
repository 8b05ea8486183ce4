"""What a stage of `train_reader.py` reads: examples of public sets, dialogues, chats, effects and exchanges."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nscma_torch.reading.fact_proposer import FactProposer
from nscma_torch.reading.relations import load_relations
from train.reader.chat_examples import chat_examples
from train.reader.chat_files import read_chat
from train.reader.dialogue_examples import dialogue_examples
from train.reader.dialogue_text import read_dialogues
from train.reader.examples import Example
from train.reader.exchange_examples import exchange_examples, proposals_of
from train.reader.exchange_text import read_all
from train.reader.labelled_questions import read_folder
from train.reader.public_sets import drawn_examples
from train.reader.recipe import Recipe
from train.reader.searched_passages import searched_passages
from train.reader.state_examples import state_examples
from train.reader.state_files import read_state
from train.reader.unlabelled_examples import unlabelled_examples


@dataclass(frozen=True, slots=True)
class Folders:
    """Where the examples are: `data` holds reading/, the others a folder or a file for each author."""

    data: Path
    dialogues: Path | None = None
    exchanges: Path | None = None
    questions: Path | None = None
    chats: Path | None = None
    state: Path | None = None


def missing_folders(recipe: Recipe, folders: Folders) -> Iterator[str]:
    """The names of folders that are not given, and that a stage reads."""
    for stage in recipe.stages:
        read = {
            "dialogues": stage.dialogue_epochs,
            "exchanges": stage.exchange_epochs or stage.unlabelled_epochs,
            "questions": stage.unlabelled_epochs,
            "chats": stage.chat_epochs,
            "state": stage.state_epochs,
        }
        yield from (name for name, epochs in read.items() if epochs and getattr(folders, name) is None)


def stage_examples(recipe: Recipe, number: int, folders: Folders) -> list[Example]:
    """The examples of a stage, each as often as it is read."""
    stage, rng = recipe.stages[number], random.Random(f"{recipe.seed} examples {number}")
    examples = list(drawn_examples(folders.data / "reading", rng, stage.public_share, stage.public_shares))
    dialogues = sorted(folders.dialogues.glob("*/*.txt")) if folders.dialogues is not None else []
    for path in dialogues if stage.dialogue_epochs else ():
        for dialogue in read_dialogues(path):
            for _ in range(_times(stage.dialogue_epochs, rng)):
                examples += dialogue_examples(dialogue, rng)
    chats = sorted(folders.chats.rglob("chat-*.jsonl")) if folders.chats is not None and stage.chat_epochs else []
    for chat in map(read_chat, chats):
        searched = list(searched_passages(chat))
        for _ in range(_times(stage.chat_epochs, rng)):
            examples += chat_examples(chat, searched, rng)
    groups = read_state(folders.state) if folders.state is not None and stage.state_epochs else ()
    for group in groups:
        for _ in range(stage.state_epochs):
            examples += state_examples(group, rng)
    schema = load_relations()
    told = []
    if folders.exchanges is not None and (stage.exchange_epochs or stage.unlabelled_epochs):
        told = list(read_all(folders.exchanges, schema))
    if stage.exchange_epochs:
        proposer = FactProposer.from_pretrained(schema)
        for exchange, proposed in zip(told, proposals_of(told, proposer), strict=True):
            for _ in range(stage.exchange_epochs):
                examples += exchange_examples(exchange, schema, rng, proposed)
    if stage.unlabelled_epochs and folders.questions is not None:
        questions = list(read_folder(folders.questions, schema.relations.keys()))
        for _ in range(stage.unlabelled_epochs):
            examples += unlabelled_examples(told, questions, rng)
    return examples


def _times(epochs: float, rng: random.Random) -> int:
    """Return how often a dialogue or chat is read: the whole epochs, and once more with the probability of the rest."""
    return int(epochs) + (rng.random() < epochs % 1)
