"""How well `Memory.ask` answers questions about a conversation, by type of question.

    python -m eval.experiments.reading.conversations --conversations DIR|FILE... [--every N] [--config FILE] [--errors]
        [--given]

Each conversation goes into a fresh store; its first speaker then asks every question a moment after the last message.
`conversation_files.py` beside this file describes the two formats, `nscma_torch/demo/short_answers.py` the scores:
*short*, *evidence shown*, *stale* and *silent* are shares of the answerable questions, *invented* of the unanswerable
ones. An answer is right by `Answer.short` alone; *evidence shown* is how often the answer or the evidence quoted below
it holds a right one. *found* is the share of the messages of evidence among the first ten hits of a search. Intervals
are Wilson's, of 95 %; they treat questions, and messages of evidence, as independent. `s/ask` is the median of
processor seconds.

A second table tells for each author, the folder of a chat, whether the confidence means what it says: the expected
calibration error of all answers, and which share of all questions can be answered if the least sure answers are
left out until 80 or 90 % are right; and how many questions whose answer is "yes" or "no" are answered rightly.

With `--given` each answerable question is asked once more of a store that holds its evidence alone.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from eval.experiments.reading.conversation_files import Conversation, Question, load
from eval.metrics.selective import calibration_error, coverage_at
from eval.reporting.shares import wilson
from nscma_torch import Config, Memory, load_config
from nscma_torch.core.protocols import Embedder, SurpriseModel
from nscma_torch.demo.short_answers import AnswerVerdict, judge

K = 10
LEVEL = 0.95
SHARES = ("short", "evidence_shown", "stale", "silent", "invented")
TYPES = ("single", "current", "past", "when", "multihop", "yesno", "list", "count", "unanswerable")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one question.

    Attributes:
        given: whether the store held the evidence alone.
        answer: the whole text.
        evidence, found: messages of evidence, and how many of them are among the first K hits.
        seconds: processor time of `ask`.
    """

    author: str
    conversation: str
    type: str
    question: str
    gold: str
    given: bool
    answer: str
    confidence: float
    verdict: AnswerVerdict
    evidence: int
    found: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Share:
    """A share of n, with the bounds of its interval."""

    share: float
    n: int
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Models:
    """What all stores of a run share; None where each loads its own."""

    config: Config
    embedder: Embedder | None = None
    surprise_model: SurpriseModel | None = None


def outcomes(conversation: Conversation, models: Models, *, given: bool = False) -> list[Outcome]:
    """Ask all questions of a conversation, or with `given` the answerable ones of their evidence alone."""
    if not given:
        with stored(conversation, range(len(conversation.messages)), models) as (memory, places):
            return [_outcome(memory, places, conversation, question, False) for question in conversation.questions]
    found = []
    for question in conversation.questions:
        if question.gold.answers:
            with stored(conversation, sorted(set(question.evidence)), models) as (memory, places):
                found.append(_outcome(memory, places, conversation, question, True))
    return found


@contextmanager
def fresh(models: Models) -> Iterator[Memory]:
    """An empty memory in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder, opened(Path(folder) / "chat.db", models) as memory:
        yield memory


def opened(store: Path, models: Models) -> Memory:
    """A memory of this store with these models."""
    return Memory(store, config=models.config, embedder=models.embedder, surprise_model=models.surprise_model)


@contextmanager
def stored(
    conversation: Conversation, chosen: Iterable[int], models: Models
) -> Iterator[tuple[Memory, Mapping[str, int]]]:
    """A memory of the chosen messages, and the places of these by their ids."""
    chosen = list(chosen)
    with fresh(models) as memory:
        messages = [conversation.messages[place] for place in chosen]
        added = list(memory.add_many(messages, user_id=conversation.user, now=conversation.asked_at))
        memory.flush()
        yield memory, {item.id: place for item, place in zip(added, chosen, strict=True)}


def _outcome(
    memory: Memory, places: Mapping[str, int], conversation: Conversation, question: Question, given: bool
) -> Outcome:
    user, now = conversation.user, conversation.asked_at
    start = time.process_time()
    answer = memory.ask(question.text, user_id=user, now=now)
    seconds = time.process_time() - start
    hits = memory.search(question.text, user_id=user, top_k=K, now=now)
    found = {places[episode] for hit in hits for episode in hit.unit.episode_ids if hit.unit.kind != "summary"}
    return Outcome(
        conversation.author,
        conversation.name,
        question.type,
        question.text,
        str(question.gold),
        given,
        answer.text,
        answer.confidence,
        judge(question.gold, answer),
        len(set(question.evidence)),
        len(found & set(question.evidence)),
        seconds,
    )


def shares(found: Sequence[Outcome]) -> dict[str, Share]:
    """The share of each score, over what it can be told of; those of nothing are left out."""
    told: dict[str, list[bool]] = {name: [] for name in (*SHARES, "found")}
    for outcome in found:
        names = SHARES[:-1] if outcome.verdict.answerable else SHARES[-1:]
        for name in names:
            told[name].append(getattr(outcome.verdict, name))
        told["found"] += [place < outcome.found for place in range(outcome.evidence)]
    return {name: _share(values) for name, values in told.items() if values}


def _share(values: Sequence[bool]) -> Share:
    scores = np.asarray(values, dtype=np.float64)
    return Share(float(scores.mean()), len(values), *wilson(scores, LEVEL))


def table(found: Sequence[Outcome], title: str) -> Table:
    """A row for each type of question, one for all, and the intervals of that one."""
    columns = (*SHARES, "found")
    printed = Table(title=title, title_justify="left")
    for name in ("questions", "n", *columns, "s/ask"):
        printed.add_column(name.replace("_", " "), justify="left" if name == "questions" else "right")
    for kind in sorted({outcome.type for outcome in found}, key=_place):
        own = [outcome for outcome in found if outcome.type == kind]
        printed.add_row(kind, *_cells(own, columns))
    printed.add_section()
    printed.add_row("all", *_cells(found, columns))
    told = shares(found)
    bounds = (f"[{told[n].low:.3f}, {told[n].high:.3f}]" if n in told else "" for n in columns)
    printed.add_row("95 %", "", *bounds, "")
    printed.add_row("of", "", *(str(told[n].n) if n in told else "" for n in columns), "")
    return printed


def certainty_table(found: Sequence[Outcome]) -> Table:
    """A row for each author, and one for all: what the confidence is worth, and both recalls of yes and no."""
    columns = ("author", "n", "answered", "right", "confidence", "ECE", "coverage at .8", "at .9", "yes", "no")
    printed = Table(*columns)
    for name in [*sorted({outcome.author for outcome in found}), "all"]:
        own = [outcome for outcome in found if name in (outcome.author, "all")]
        answered = [outcome for outcome in own if not (outcome.verdict.silent or _rightly_silent(outcome))]
        sure, right = [one.confidence for one in answered], [one.verdict.short for one in answered]
        recalls = [
            [one.verdict.short for one in own if one.type == "yesno" and one.gold == gold] for gold in ("yes", "no")
        ]
        printed.add_row(
            name,
            str(len(own)),
            str(len(answered)),
            f"{np.mean(right):.3f}" if right else "",
            f"{np.mean(sure):.3f}" if sure else "",
            f"{calibration_error(sure, right):.3f}",
            *(f"{coverage_at(accuracy, sure, right, len(own)):.3f}" for accuracy in (0.8, 0.9)),
            *(f"{sum(recall)} of {len(recall)}" for recall in recalls),
        )
    return printed


def _rightly_silent(outcome: Outcome) -> bool:
    return not outcome.verdict.answerable and not outcome.verdict.invented


def _place(kind: str) -> tuple[int, str]:
    return (TYPES.index(kind) if kind in TYPES else len(TYPES), kind)


def _cells(found: Sequence[Outcome], columns: Sequence[str]) -> list[str]:
    told = shares(found)
    values = (f"{told[name].share:.3f}" if name in told else "" for name in columns)
    return [str(len(found)), *values, f"{median(outcome.seconds for outcome in found):.3f}"]


def described(outcome: Outcome) -> str:
    """Three lines or more: verdict and question, gold, and the whole answer."""
    head = f"{outcome.verdict!s:9} {outcome.type:12} {outcome.conversation}: {outcome.question}"
    answer = outcome.answer.replace("\n", "\n          ")
    return f"{head}\n    gold: {outcome.gold}\n  answer: {answer}"


def main() -> None:
    """Print a table of all conversations, with `--given` a second one, and what else was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--conversations", type=Path, nargs="+", required=True, help="chats, dialogues, or folders")
    parser.add_argument("--every", type=int, default=1, help="read each Nth conversation")
    parser.add_argument("--config", type=Path, help="configuration of the memory; the defaults without it")
    parser.add_argument("--given", action="store_true", help="ask of the evidence alone, too")
    parser.add_argument("--errors", action="store_true", help="print each question with gold, answer and verdict")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what became of each question")
    parser.add_argument("--threads", type=int, default=1, help="threads of torch")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    conversations = load(arguments.conversations)[:: arguments.every]
    models = loaded(load_config(arguments.config))
    console = Console(width=140)
    written: list[Outcome] = []
    for given in (False, True) if arguments.given else (False,):
        found = [one for conversation in conversations for one in outcomes(conversation, models, given=given)]
        if arguments.errors:
            for outcome in found:
                console.print(described(outcome), markup=False, highlight=False, soft_wrap=True)
        title = "the evidence alone" if given else "the whole conversation"
        console.print(table(found, f"{len(conversations)} conversations, asked of {title}"))
        console.print(certainty_table(found))
        written += found
    if arguments.json is not None:
        arguments.json.write_text(
            json.dumps([asdict(one) for one in written], ensure_ascii=False, indent=1) + "\n", encoding="utf-8"
        )


def loaded(config: Config) -> Models:
    """The configured embedder and surprise model, loaded once. A surprise model that a language engine serves belongs
    to each memory.
    """
    with tempfile.TemporaryDirectory() as folder, Memory(Path(folder) / "models.db", config=config) as memory:
        served = config.surprise.engine == "llm"
        return Models(config, memory.components.new_embedder, None if served else memory.components.surprise_model)


if __name__ == "__main__":
    main()
