"""BEAM 100K (Tavakoli et al. 2025): long chats whose questions name the messages that a statement and its update, or
two contradictory statements, stand in.

A pair is left out, and named, where a side has no message of the chat. Where one message holds both sides the pair is
kept: it can be found, but neither side can come before the other. Every other question names the messages of its
evidence in a list; those that name none (all of `abstention`) are not in `questions`.

The benchmark's score is a language model's, item by item of the question's rubric (mohammadtavakoli78/BEAM,
evaluation.py @ 5a64c992, `evaluate_*`). Without a judge two measures of words stand in for it, and they are not it:
"nuggets" is the mean over the rubric's items of the share of their words that the reply has, "F1" that of the reply's
words with a reference answer's. Long replies have more of them: "words" says how long they are. Abstention is exact:
right is to abstain. Rubric and reference go with each question's `facts` for a judge.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from eval.harness import contract
from eval.metrics.answer_metrics import evidence_recall, token_f1, word_count, word_recall
from eval.metrics.retrieval_metrics import mean
from eval.tasks.items import whole
from eval.tasks.options import NoisyOptions, read_options
from nscma_torch.core.errors import ConfigError
from nscma_torch.core.records import Message

Category = Literal["knowledge_update", "contradiction_resolution"]
_SIDES: dict[Category, tuple[str, str]] = {
    "knowledge_update": ("original_info", "updated_info"),
    "contradiction_resolution": ("first_statement", "second_statement"),
}
_UNANSWERABLE = "abstention"
_COMPLIANCE = {"instruction_following", "preference_following"}  # what an answer should comply with, and no answer
FOLDER = "beam/100K"
_REFERENCES = ("answer", "ideal_response", "ideal_answer", "ideal_summary", "expected_compliance")
_INTRODUCED = re.compile(r"LLM response should \w+: ")
_TAIL = re.compile(r"\s*->->\s*\d[^\n]{0,12}$")  # the plan's numbering, which the generator left behind messages
_STEP = timedelta(seconds=30)


@dataclass(frozen=True)
class Pair:
    """A question on two statements; `first` and `second` are places in the chat's messages, the original one first."""

    category: Category
    question: str
    first: frozenset[int]
    second: frozenset[int]
    rubric: tuple[str, ...] = ()
    said: tuple[str, ...] = ()  # what the makers say of the two statements, the first one first
    confusion: str = ""  # which outdated value may be taken for the new one, in their words


@dataclass(frozen=True)
class Question:
    """A question of any of the categories; `evidence` are places in the chat's messages.

    Attributes:
        reference: an answer, or what an answer should comply with; "" where there is none.
        rubric: what is looked for in an answer, without the words that introduce it.
    """

    category: str
    text: str
    evidence: frozenset[int]
    reference: str = ""
    rubric: tuple[str, ...] = ()


@dataclass(frozen=True)
class Chat:
    """One chat; `asked_at` is a day after its last message, `malformed` names pairs that were left out.

    `asked` are all questions, those without evidence too.
    """

    name: str
    messages: list[Message]
    pairs: list[Pair]
    questions: list[Question]
    asked_at: datetime
    malformed: tuple[str, ...]
    asked: tuple[Question, ...] = ()


def load(data: Path, folder: str = FOLDER) -> list[Chat]:
    """All chats of a folder of `data` by number; even ones (0-based) are for tuning, odd ones for claims."""
    folders = sorted((data / folder).iterdir(), key=lambda folder: int(folder.name))
    return [_chat(folder) for folder in folders]


def _chat(folder: Path) -> Chat:
    messages: list[Message] = []
    place: dict[int, int] = {}
    for batch in json.loads((folder / "chat.json").read_text(encoding="utf-8")):
        turns = [turn for exchange in batch["turns"] for turn in exchange]
        began = datetime.strptime(turns[0]["time_anchor"], "%B-%d-%Y").replace(tzinfo=UTC)
        for i, turn in enumerate(turns):
            place[turn["id"]] = len(messages)
            text = _TAIL.sub("", turn["content"])
            session = f"batch_{batch['batch_number']}"
            messages.append(Message(turn["role"], text, began + i * _STEP, session=session))
    probes = json.loads((folder / "probing_questions" / "probing_questions.json").read_text(encoding="utf-8"))
    pairs: list[Pair] = []
    malformed: list[str] = []
    for category, own in probes.items():
        probes[category], wrong = whole(own, ("question",), f"{folder.name} {category}")
        malformed += wrong
    for category, sides in _SIDES.items():
        for number, probe in enumerate(probes.get(category, ())):
            first, second = (_places(probe.get("source_chat_ids"), side, place) for side in sides)
            if first and second:
                said = tuple(map(str, probe.get("conversation_references", ())))
                confusion = str(probe.get("potential_confusion", ""))
                pairs.append(Pair(category, probe["question"], first, second, _rubric(probe), said, confusion))
            else:
                malformed.append(f"{folder.name} {category} {number}")
    asked = [
        Question(
            category,
            probe["question"],
            frozenset(_numbers(probe.get("source_chat_ids"), place)),
            next((str(probe[key]) for key in _REFERENCES if probe.get(key)), ""),
            _rubric(probe),
        )
        for category, own in probes.items()
        for probe in own
    ]
    questions = [question for question in asked if question.evidence]
    last = messages[-1].timestamp
    assert last is not None
    asked_at = last + timedelta(days=1)
    return Chat(folder.name, messages, pairs, questions, asked_at, tuple(malformed), tuple(asked))


def _rubric(probe: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(_INTRODUCED.sub("", str(item), count=1) for item in probe.get("rubric", ()))


def _places(sources: Any, side: str, place: dict[int, int]) -> frozenset[int]:
    numbers = sources.get(side, ()) if isinstance(sources, dict) else ()
    return frozenset(place[number] for number in numbers if number in place)


def _numbers(sources: Any, place: dict[int, int]) -> Iterator[int]:
    """Places of the messages that are named: by a number, or in lists of any depth, or under keys."""
    if isinstance(sources, int):
        yield from [place[sources]] if sources in place else []
    elif sources is not None:
        for own in sources.values() if isinstance(sources, dict) else sources:
            yield from _numbers(own, place)


class BeamOptions(NoisyOptions):
    """Options of BEAM."""

    folder: str = Field(FOLDER, description="Of the chats, in the folder of the data.")
    categories: tuple[str, ...] = Field((), description="Which are asked; empty for all ten.")


class Beam:
    """BEAM's questions, a chat a sample."""

    metrics: tuple[str, ...] = ("nuggets", "words", "F1", "recall@5", "recall@10")

    def __init__(self, section: Mapping[str, Any], data: Path) -> None:
        options = read_options(BeamOptions(), section)
        self._chats = {chat.name: chat for chat in load(data, options.folder)}
        known = {asked.category for chat in self._chats.values() for asked in chat.asked}
        if unknown := set(options.categories) - known:
            raise ConfigError(f"BEAM has no category {sorted(unknown)}; it has {', '.join(sorted(known))}")
        self._categories = set(options.categories) or known
        self.name = options.name or "BEAM 100K"
        self.malformed = (
            *(f"chat {item}" for chat in self._chats.values() for item in chat.malformed),
            *(
                f"chat {chat.name}: no rubric: {asked.text}"
                for chat in self._chats.values()
                for asked in chat.asked
                if not asked.rubric
            ),
        )

    def ids(self) -> Sequence[str]:
        """Names of the chats."""
        return list(self._chats)

    def sample(self, id: str) -> contract.Sample:
        """One chat with its questions that have a rubric."""
        chat = self._chats[id]
        questions = [
            contract.Question(
                f"q{i}",
                asked.text,
                (asked.reference,) if asked.category != _UNANSWERABLE and asked.reference else (),
                asked.category,
                tuple(sorted(asked.evidence)),
                facts={"rubric": asked.rubric, "reference": asked.reference},
            )
            for i, asked in enumerate(chat.asked)
            if asked.category in self._categories and asked.rubric
        ]
        return contract.Sample(id, chat.messages, questions, chat.asked_at)

    def score(self, question: contract.Question, reply: contract.Reply) -> Mapping[str, float]:
        """Words of rubric and reference in the reply; of abstention, whether it abstained; recall of the evidence."""
        words = {"words": word_count(reply.text)}
        if question.category == _UNANSWERABLE:
            return {"nuggets": float(reply.abstained), **words}
        nuggets = mean([word_recall(reply.text, item) for item in question.facts["rubric"]])
        f1 = {"F1": token_f1(reply.text, question.answers)} if question.category not in _COMPLIANCE else {}
        return {"nuggets": nuggets, **words, **f1, **evidence_recall(question.evidence, reply.evidence)}
