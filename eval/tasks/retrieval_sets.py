"""The data sets of the retrieval table in one shape: users with their messages, and questions with their evidence.

A conversation of LoCoMo, a chat of BEAM, or a corpus of documents is one user. Half of each is for tuning: of LoCoMo
and BEAM the conversations and chats with an even number, of corpora the questions with one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from eval.tasks import beam, locomo, multihop, odsum, qmsum
from eval.tasks.background import Background
from eval.tasks.corpus import Corpus, Span
from eval.tasks.noise import noise_generator, strewn
from nscma_torch.core.records import Message

Half = Literal["even", "odd"]
_NOW = datetime(2024, 1, 1, tzinfo=UTC)
_SHORT, _LONG = 100, 400  # units asked for, so that ten places are filled where one holds several units, or dozens


@dataclass(frozen=True)
class Asked:
    """A question; its evidence is characters of messages, by their place; `answers` as of `corpus.Question`."""

    text: str
    evidence: tuple[Span, ...]
    half: Half
    category: str = ""
    answers: tuple[str, ...] = ()


@dataclass(frozen=True)
class World:
    """What one user said or read, and is asked."""

    user: str
    messages: Sequence[Message]
    questions: Sequence[Asked]
    asked_at: datetime


@dataclass(frozen=True)
class DataSet:
    """Users, and how their hits are counted.

    Attributes:
        whole: whether a place in the ranking is a message; if not, it is a chunk.
        depth: units that each search asks for.
        malformed: evidence and questions that were dropped.
    """

    name: str
    worlds: Sequence[World]
    whole: bool
    depth: int
    malformed: Sequence[str]


def sampled(data_set: DataSet, count: int) -> DataSet:
    """About `count` questions of a set, half of them of each half and spread evenly over it, with those users alone
    who are asked one.
    """
    chosen: set[tuple[int, int]] = set()
    for half in ("even", "odd"):
        own = [
            (i, j) for i, world in enumerate(data_set.worlds) for j, q in enumerate(world.questions) if q.half == half
        ]
        wanted = min(len(own), (count + (half == "even")) // 2)
        chosen.update(own[(2 * k + 1) * len(own) // (2 * wanted)] for k in range(wanted))
    worlds = [
        replace(world, questions=[q for j, q in enumerate(world.questions) if (i, j) in chosen])
        for i, world in enumerate(data_set.worlds)
    ]
    return replace(data_set, worlds=[world for world in worlds if world.questions])


def with_noise(data_set: DataSet, share: float, books: Background, seed: int = 1) -> DataSet:
    """A set with `share` messages of unrelated text (`eval/tasks/noise.py`) for each of a user's own among them."""
    return replace(data_set, worlds=[_noisy(data_set.name, world, share, books, seed) for world in data_set.worlds])


def _noisy(name: str, world: World, share: float, books: Background, seed: int) -> World:
    messages, places = strewn(world.messages, share, books, noise_generator(seed, name, world.user))
    questions = [
        replace(asked, evidence=tuple(replace(span, document=places[span.document]) for span in asked.evidence))
        for asked in world.questions
    ]
    return replace(world, messages=messages, questions=questions)


def _locomo(data: Path) -> DataSet:
    worlds: list[World] = []
    malformed: list[str] = []
    for index, talk in enumerate(locomo.load(data)):
        asked = [
            Asked(question.text, _whole(talk.messages, question.evidence), half_of(index))
            for question in talk.questions
        ]
        worlds.append(World(talk.name, talk.messages, asked, talk.asked_at))
        malformed += talk.malformed
    return DataSet("locomo", worlds, True, _SHORT, malformed)


def _beam(data: Path) -> DataSet:
    worlds = []
    for index, chat in enumerate(beam.load(data)):
        asked = [
            Asked(question.text, _whole(chat.messages, sorted(question.evidence)), half_of(index), question.category)
            for question in chat.questions
        ]
        worlds.append(World(f"chat {chat.name}", chat.messages, asked, chat.asked_at))
    return DataSet("beam", worlds, True, _LONG, [])


def half_of(index: int) -> Half:
    """The half of the conversation, document or question with this number."""
    return "odd" if index % 2 else "even"


def _whole(messages: Sequence[Message], places: Sequence[int]) -> tuple[Span, ...]:
    return tuple(Span(place, 0, len(messages[place].content)) for place in places)


def of_corpora(name: str, corpora: Sequence[Corpus], depth: int, *, titled: bool = False) -> DataSet:
    """Corpora that are counted the same way, each as one user; `titled`: their documents' names are their headings."""
    worlds = [
        World(
            corpus.name,
            [
                Message("document", document.text, name=document.name if titled else None, source=document.name)
                for document in corpus.documents
            ],
            [Asked(q.text, q.evidence, half_of(i), answers=q.answers) for i, q in enumerate(corpus.questions)],
            _NOW,
        )
        for corpus in corpora
    ]
    (whole,) = {corpus.whole_documents for corpus in corpora}
    return DataSet(name, worlds, whole, depth, [item for corpus in corpora for item in corpus.malformed])


SETS: Mapping[str, Callable[[Path], DataSet]] = MappingProxyType(
    {
        "locomo": _locomo,
        "beam": _beam,
        "musique": lambda data: of_corpora("musique", [multihop.load_musique(data)], _SHORT, titled=True),
        "hotpot": lambda data: of_corpora("hotpot", [multihop.load_hotpot(data)], _SHORT, titled=True),
        "2wiki": lambda data: of_corpora("2wiki", [multihop.load_2wiki(data)], _SHORT, titled=True),
        "odsum-meeting": lambda data: of_corpora("odsum-meeting", [odsum.load_meetings(data)], _LONG),
        "odsum-story": lambda data: of_corpora("odsum-story", [odsum.load_stories(data)], _LONG),
        "qmsum": lambda data: of_corpora("qmsum", [qmsum.load(data, part) for part in ("val", "test")], _SHORT),
    }
)
