"""What question-answer pairs that sleep mines from LoCoMo are worth: a sample of them, recall and answers with them.

    python -m eval.experiments.retrieval.question_pairs --data DIR [--half even|odd|all] [--conversation I] [--show N]
        [--answers] [--searches NAME ...] [--mine-only]

With `--show` N pairs of each conversation are printed, drawn by a fixed seed, each with its messages: for judging by
hand. *Recall* is of single turns at 5, 10 and 20; a pair that is found stands for its messages, the answer first.
With `--answers` the questions that can be answered are put to `Memory.ask`, and *F1* is LoCoMo's, of the short answer.
Settings were chosen on conversation 0; even-indexed conversations are for tuning, claims quote the odd ones.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

from eval.metrics.answer_metrics import locomo_f1
from eval.metrics.retrieval_metrics import mean, recall_at
from eval.tasks.locomo import Conversation, load
from nscma_torch import Memory, load_config
from nscma_torch.storage.derived_texts import DerivedText

USER = "reader"
_KS = (5, 10, 20)
_HALVES = {"even": slice(0, None, 2), "odd": slice(1, None, 2), "all": slice(None)}
_MINED: dict[str, Any] = {"question_pairs": {"enabled": True}}
_SEARCHES: dict[str, dict[str, Any]] = {
    "messages": {},
    "messages and pairs": {"kinds": ["chunk", "qa_pair"]},
    "messages and pairs, the messages behind": {"kinds": ["chunk", "qa_pair"], "answering": "memory-doc"},
    "pairs alone": {"kinds": ["qa_pair"]},
}
_SEED = 20


def mined(store: Path, conversation: Conversation) -> tuple[list[DerivedText], dict[str, int], float]:
    """The pairs of a conversation, the place of each message by its id, and the processor seconds that mining took."""
    with Memory(store, config=load_config(_MINED)) as memory:
        added = memory.add_many(conversation.messages, user_id=USER, now=conversation.asked_at)
        place = {item.id: i for i, item in enumerate(added)}
        memory.flush()
        begin = time.process_time()
        _, failures = memory.components.derivations.run(USER, conversation.asked_at)
        seconds = time.process_time() - begin
        assert not failures, failures
        return memory.derived("qa_pair", user_id=USER), place, seconds


def show(
    console: Console, conversation: Conversation, pairs: Sequence[DerivedText], place: Mapping[str, int], n: int
) -> None:
    """Print some pairs with their messages."""
    drawn = random.Random(_SEED).sample(range(len(pairs)), min(n, len(pairs)))
    for number, i in enumerate(sorted(drawn), 1):
        console.print(f"{number}. ({pairs[i].confidence:.2f}) {pairs[i].text}", markup=False, highlight=False)
        for one in pairs[i].episode_ids:
            said = conversation.messages[place[one]]
            console.print(f"      {said.name}: {said.content}", style="dim", markup=False, highlight=False)


def measured(
    store: Path, conversation: Conversation, place: Mapping[str, int], search: Mapping[str, Any], *, answers: bool
) -> tuple[list[list[float]], list[float]]:
    """Recalls of each question with evidence, and F1 of each that can be answered."""
    recalls, scores = [], []
    with Memory(store, config=load_config({**_MINED, "retrieval": dict(search)})) as memory:
        for question in conversation.questions:
            hits = memory.search(question.text, user_id=USER, top_k=2 * max(_KS), now=conversation.asked_at)
            turns = list(dict.fromkeys(place[one] for hit in hits for one in reversed(hit.unit.episode_ids)))
            recalls.append([recall_at(turns, question.evidence, k) for k in _KS])
            if answers and question.answer:
                answer = memory.ask(question.text, user_id=USER, now=conversation.asked_at)
                short = "" if answer.abstained else answer.short
                scores.append(locomo_f1(short, question.answer, question.category))
    return recalls, scores


def main() -> None:
    """Print the sample and a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder that holds locomo/")
    parser.add_argument("--half", choices=_HALVES, default="even", help="which conversations, by their index from 0")
    parser.add_argument("--conversation", type=int, help="this one alone, by its index from 0")
    parser.add_argument("--show", type=int, default=0, metavar="N", help="print so many pairs of each conversation")
    parser.add_argument("--answers", action="store_true", help="answer the questions too")
    parser.add_argument("--searches", nargs="+", choices=_SEARCHES, default=list(_SEARCHES), help="what is searched")
    parser.add_argument("--mine-only", action="store_true", help="measure nothing")
    parser.add_argument("--threads", type=int, default=1, help="threads of torch")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    every = load(arguments.data)
    chosen = every[_HALVES[arguments.half]] if arguments.conversation is None else [every[arguments.conversation]]
    console = Console(width=160)
    found: dict[str, tuple[list[list[float]], list[float]]] = {name: ([], []) for name in arguments.searches}
    for conversation in chosen:
        with tempfile.TemporaryDirectory() as folder:
            store = Path(folder) / "pairs.db"
            pairs, place, seconds = mined(store, conversation)
            told = sum(message.content.count("?") for message in conversation.messages)
            console.print(
                f"{conversation.name}: {len(pairs)} pairs of {len(place)} messages with {told} question marks, "
                f"{seconds:.1f} s of a CPU"
            )
            show(console, conversation, pairs, place, arguments.show)
            for name in () if arguments.mine_only else found:
                recalls, scores = measured(store, conversation, place, _SEARCHES[name], answers=arguments.answers)
                found[name][0].extend(recalls)
                found[name][1].extend(scores)
    if not arguments.mine_only:
        table = Table("searched", *(f"R@{k}" for k in _KS), "questions", "F1", "answered questions")
        for name, (recalls, scores) in found.items():
            cells = [f"{mean([own[i] for own in recalls]):.3f}" for i in range(len(_KS))]
            table.add_row(name, *cells, str(len(recalls)), f"{mean(scores):.3f}", str(len(scores)))
        console.print(table)


if __name__ == "__main__":
    main()
