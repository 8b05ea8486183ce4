"""At which stage the right short answer to a question is lost.

    python -m eval.experiments.reading.lost_answers --chats DIR... [--json FILE] [--by type|author|chat ...]

Each answerable question of labelled chats (`train/reader/chat_files.py`) is searched for, read, and asked. Its stage is
the first at which an oracle would have to help:

- search: a message that carries the answer is not among the passages that are read;
- type: the reader answers yes or no to a question of another type, or doesn't to a yes-or-no question;
- verdict: yes for no, or no for yes;
- span: none of the reader's spans is a right answer;
- currency: an outdated or confusable value is chosen, and a right span is among the others;
- choice: any other wrong span is chosen, and a right one is among the others;
- wording: the chosen span lies in the words that carry the answer, and is not accepted as it is told;
- facts: the reader is right, and `ask` answers otherwise, from facts or another passage;
- threshold: the reader is right, and `ask` abstains, as its confidence is low or its passages are rejected.

Stages say where the most can be won, not what a change of one would win.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table

from eval.experiments.reading.conversation_files import gold_of, of_dialogue
from eval.experiments.reading.conversations import Models, loaded, stored
from nscma_torch import Scope, load_config
from nscma_torch.answering.reader_qa import ReadHits
from nscma_torch.core.config import ReadingConfig
from nscma_torch.core.records import Answer, Usage
from nscma_torch.demo.short_answers import judge
from nscma_torch.reading.short_answer import short_answer
from nscma_torch.search.search_bounds import Bounds
from train.reader.chat_files import read_chat
from train.reader.dialogue_text import Dialogue, Question

STAGES = ("right", "search", "type", "verdict", "span", "currency", "choice", "wording", "facts", "threshold")


@dataclass(frozen=True, slots=True)
class Lost:
    """One question, the stage at which its answer is lost, and what was told."""

    author: str
    chat: str
    type: str
    question: str
    gold: str
    told: str
    stage: str


def lost_answers(chat: Dialogue, author: str, models: Models) -> Iterator[Lost]:
    """Yield the stage of each answerable question of a chat."""
    conversation = of_dialogue(chat)
    owner, now = conversation.user, conversation.asked_at
    with stored(conversation, range(len(chat.messages)), models) as (memory, places):
        parts = memory.components
        assert parts.reader_qa is not None
        for question in chat.questions:
            if not question.gold:
                continue
            asked = memory.ask(question.text, user_id=owner, now=now)
            found = parts.retriever.retrieve(
                question.text, Bounds(Scope(owner), now), top_k=parts.config.reading.passages
            )
            read = parts.reader_qa.read(question.text, found.hits, user_id=owner, now=now)
            heard = {places[episode] + 1 for hit in read.hits for episode in hit.unit.episode_ids}
            stage = _stage(question, read, heard, asked, parts.config.reading)
            gold = str(gold_of(question))
            yield Lost(author, chat.id, question.type, question.text, gold, asked.short, stage)


def _stage(question: Question, read: ReadHits, heard: set[int], asked: Answer, settings: ReadingConfig) -> str:
    gold = gold_of(question)
    if judge(gold, asked).short:
        return "right"
    if not ({number for number, _ in question.said} or set(question.evidence)) <= heard:
        return "search"
    answer = short_answer(question.text, read.result, read.passages, settings, read.query.periods)
    told = "" if answer is None else answer.text
    if judge(gold, _said(told)).short:
        return "threshold" if asked.abstained else "facts"
    binary = read.result.kind in ("yes", "no")
    if binary != (question.type == "yesno"):
        return "type"
    if binary:
        return "verdict"
    if answer is not None and _carries(question, told):
        return "wording"
    if not any(judge(gold, _said(span.text)).short or _carries(question, span.text) for span in read.result.spans):
        return "span"
    return "currency" if judge(gold, _said(told)).stale else "choice"


def _carries(question: Question, text: str) -> bool:
    """Return True if a text contains the words that carry the answer, or is part of them."""
    own = text.casefold().strip()
    return bool(own) and any(own in words.casefold() or words.casefold() in own for _, words in question.said)


def _said(text: str) -> Answer:
    return Answer(text, not text, 0.5, (), (), Usage())


def table(found: Sequence[Lost], by: str) -> Table:
    """Return the share of questions at each stage, with a row for each author, type or chat."""
    printed = Table(title=f"{len(found)} answerable questions", title_justify="left")
    for name in (by, "n", *STAGES):
        printed.add_column(name, justify="left" if name == by else "right")
    groups: dict[str, list[Lost]] = {}
    for one in found:
        groups.setdefault(f"{one.author} {one.chat}" if by == "chat" else getattr(one, by), []).append(one)
    for name, own in [*sorted(groups.items()), ("all", list(found))]:
        stages = Counter(one.stage for one in own)
        printed.add_row(name, str(len(own)), *(f"{stages[stage] / len(own):.3f}" for stage in STAGES))
    return printed


def main() -> None:
    """Print the tables by type and by author."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--chats", type=Path, nargs="+", required=True, help="folders with a subfolder of chats for each author"
    )
    parser.add_argument("--by", nargs="+", choices=("type", "author", "chat"), default=("type", "author"))
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the stage of each question")
    parser.add_argument("--threads", type=int, default=1, help="torch threads")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    files = sorted(file for folder in arguments.chats for file in folder.rglob("chat-*.jsonl"))
    if not files:
        parser.error(f"no chat-NN.jsonl below {', '.join(map(str, arguments.chats))}")
    models = loaded(load_config(None))
    found = [one for file in files for one in lost_answers(read_chat(file), file.parent.name, models)]
    console = Console(width=160)
    for by in arguments.by:
        console.print(table(found, by))
    if arguments.json is not None:
        rows = [asdict(one) for one in found]
        arguments.json.write_text(json.dumps(rows, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
