"""BABILong (Kuratov et al. 2024, arXiv:2406.10149): the facts of a bAbI question, hidden in books.

Source of the construction: booydar/babilong, babilong/babilong_utils.py @ 34f8445a (`get_dataset_df`, `TaskDataset`,
`NoiseInjectionDataset`). A sample is one question with the statements of its story before it. Sentences of books
(`eval/tasks/background.py`) fill up the tokens that the statements leave of `length`; each statement is put at a
random one of the places before, between and after them, in their order, and several may share a place. At length 0
there are the statements alone. The source drops stories with more statements than an eighth of `length`; here none is
dropped and none is cut, so that the questions are the same at all lengths. All is joined by spaces, where the source
joins tokens. The questions of a story are about the same statements, so at most one of each story is asked. Stories
are drawn, of even and of odd index in turn, so that the halves of the samples are of different stories, and fewer
`samples` are the first of more. A sample depends on the seed, the task and its story's number alone.

Score: babilong/metrics.py, see `eval/metrics/answer_metrics.py`. "official" is its rule to the letter, which takes
every "none" of qa7 as wrong since it holds "one"; "accuracy" looks for whole words there, and is the same in all other
tasks.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from eval.harness.contract import Question, Reply, Sample
from eval.metrics.answer_metrics import babilong_correct, evidence_recall
from eval.tasks import babi
from eval.tasks.background import Background
from eval.tasks.items import in_turn
from eval.tasks.options import TaskOptions, read_options
from nscma_torch.core.errors import ConfigError
from nscma_torch.core.records import Message

_BEGIN = datetime(2026, 1, 5, 9, tzinfo=UTC)
_LARGEST = 1_000_000  # bytes of a message: of a longer document each part is one, as a large file has to be handed in
_Name = Literal["qa1", "qa2", "qa3", "qa4", "qa5", "qa6", "qa7", "qa8", "qa9", "qa10"]


class BabilongOptions(TaskOptions):
    """Options of BABILong."""

    tasks: tuple[_Name, ...] = Field(("qa1", "qa2", "qa3"), min_length=1, description="Of bAbI.")
    length: int = Field(0, ge=0, le=10_000_000, description="Tokens of a sample; 0 for the statements alone.")
    samples: int = Field(
        100, gt=0, multiple_of=2, description="Of each task, each of another story; bAbI's test files have 200 or more."
    )
    seed: int = Field(1, description="Of which stories and questions, and of the places in books and of statements.")
    form: Literal["document", "sentences"] = Field(
        "document", description="A sample is one document, or each sentence is a message of its own."
    )
    books: str = Field("novels", description="Folder of *.txt files, in that of the data or absolute.")
    tokenizer: str = Field("", description="Path of the tokenizer.json that counts; '' for that of all-MiniLM-L6-v2.")


class Babilong:
    """BABILong at one length. Evidence, for `form = "sentences"` alone: the statements that the answer follows from."""

    metrics: tuple[str, ...] = ("accuracy", "official", "recall@5", "recall@10")

    def __init__(self, section: Mapping[str, Any], data: Path) -> None:
        options = read_options(BabilongOptions(), section)
        self._options, self._data = options, data
        self.name = options.name or f"BABILong {options.length}"
        self.malformed: tuple[str, ...] = ()
        self._background = (
            Background(data / options.books, Path(options.tokenizer) if options.tokenizer else None)
            if options.length
            else None
        )
        self._stories = cache(self._read)

    def ids(self) -> Sequence[str]:
        """Two of each task in turn, so that the first ones are of all; `qa1-17` is of story 17 of qa1, from 0."""
        drawn = [self._drawn(task) for task in self._options.tasks]
        return [id for i in range(0, self._options.samples, 2) for own in drawn for id in own[i : i + 2]]

    def sample(self, id: str) -> Sample:
        """A question of a story with the statements before it among the books."""
        task, number = id.split("-")
        story = self._stories(task)[int(number)]
        generator = random.Random(f"{self._options.seed} {task} {number}")
        asked = generator.choice(story.questions)
        statements = [message.content for message in story.messages[: asked.heard]]
        strewn = list(self._strewn(statements, generator))
        support = tuple(i for i, (_, own) in enumerate(strewn) if own in asked.support)
        texts = [text for text, _ in strewn]
        sentences = self._options.form == "sentences"
        messages = _sentences(texts) if sentences else _document(id, texts)
        question = Question("q0", asked.text, (asked.answer,), task, evidence=support if sentences else ())
        return Sample(id, messages, [question], _BEGIN + timedelta(seconds=len(texts) + 60))

    def score(self, question: Question, reply: Reply) -> Mapping[str, float]:
        """Whether the reply names the answer and no other; of the evidence, what is among the first places."""
        (answer,) = question.answers
        right = {
            name: float(babilong_correct(answer, reply.text, question.text, question.category, whole_words=whole))
            for name, whole in (("accuracy", True), ("official", False))
        }
        return {**right, **evidence_recall(question.evidence, reply.evidence)}

    def _read(self, task: str) -> list[babi.Story]:
        try:
            stories = babi.load(self._data, int(task.removeprefix("qa")))
        except OSError as error:
            raise ConfigError(f"{error}; put the test file of {task} into {self._data / 'babi'}") from error
        return [story for story in stories if story.questions]

    def _drawn(self, task: str) -> Sequence[str]:
        """Ids of samples, of even and odd stories in turn."""
        count, samples = len(self._stories(task)), self._options.samples
        if samples > count - count % 2:
            raise ConfigError(
                f"{task} has {count} stories, each is asked one question, and samples = {samples}; "
                f"ask for at most {count - count % 2}"
            )
        generator = random.Random(f"{self._options.seed} {task}")
        drawn, _ = in_turn((number, f"{task}-{number}") for number in generator.sample(range(count), count))
        return drawn[:samples]

    def _strewn(self, statements: list[str], generator: random.Random) -> Iterator[tuple[str, int | None]]:
        """All texts in order, statements with their number."""
        around: list[str] = []
        if self._background is not None:
            left = self._options.length - sum(map(self._background.count, statements))
            around = self._background.sample(left, generator)
        places = sorted(generator.randrange(len(around) + 1) for _ in statements)
        before = {place: [i for i, _ in own] for place, own in groupby(enumerate(places), key=lambda pair: pair[1])}
        for place in range(len(around) + 1):
            yield from ((statements[i], i) for i in before.get(place, ()))
            if place < len(around):
                yield around[place], None


def _sentences(texts: Sequence[str]) -> list[Message]:
    return [Message("user", text, _BEGIN + timedelta(seconds=i)) for i, text in enumerate(texts)]


def _document(name: str, texts: Sequence[str]) -> list[Message]:
    parts: list[list[str]] = [[]]
    size = 0
    for text in texts:
        own = len(text.encode()) + 1
        if size + own > _LARGEST and parts[-1]:
            parts.append([])
            size = 0
        parts[-1].append(text)
        size += own
    return [
        Message("document", " ".join(part), _BEGIN + timedelta(seconds=i), source=name) for i, part in enumerate(parts)
    ]
