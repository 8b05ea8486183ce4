"""Asks `Memory.ask` the questions of a benchmark, for programs that score its short answers.

Each sample goes into a fresh store of its own and is asked its questions at the benchmark's time.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import torch

from eval.harness.contract import Question, Sample, Task
from eval.tasks.fewer_questions import FewerQuestions
from nscma_torch import Config, Memory, load_config
from nscma_torch.core.records import Answer

USER = "reader"
HALVES = {"even": slice(0, None, 2), "odd": slice(1, None, 2), "all": slice(None)}


@dataclass(frozen=True, slots=True)
class Asked:
    """One question of a sample with its answer; `seconds`: processor time of `ask`."""

    sample: str
    question: Question
    answer: Answer
    seconds: float

    @property
    def short(self) -> str:
        """The answer without its quotations; "" if it abstains."""
        return "" if self.answer.abstained else self.answer.short

    @property
    def with_evidence(self) -> str:
        """The answer and the evidence quoted below it; "" if it abstains."""
        return "" if self.answer.abstained else self.answer.text


def ask_sample(sample: Sample, config: Config) -> list[Asked]:
    """Ask all questions of a sample."""
    found = []
    with tempfile.TemporaryDirectory() as folder, Memory(Path(folder) / "sample.db", config=config) as memory:
        list(memory.add_many(sample.messages, user_id=USER, now=sample.asked_at))
        memory.flush()
        for question in sample.questions:
            now = question.asked_at or sample.asked_at
            begin = time.process_time()
            answer = memory.ask(question.text, user_id=USER, now=now)
            found.append(Asked(sample.id, question, answer, time.process_time() - begin))
    return found


def parsed(description: str | None) -> argparse.Namespace:
    """The arguments that such programs share."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder that holds the benchmark's")
    parser.add_argument("--half", choices=HALVES, default="odd", help="which samples, by their index from 0")
    parser.add_argument("--config", type=Path, help="configuration of the memory; the defaults without it")
    parser.add_argument("--samples", type=int, metavar="N", help="read at most so many samples, the first ones")
    parser.add_argument("--limit", type=int, metavar="N", help="ask at most so many questions of each, spread evenly")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write each question with its answer")
    parser.add_argument("--threads", type=int, default=1, help="threads of torch")
    return parser.parse_args()


def ask_task(task: Task, arguments: argparse.Namespace) -> list[Asked]:
    """Ask a benchmark as the arguments tell, and write what they want written."""
    torch.set_num_threads(arguments.threads)
    config = load_config(arguments.config)
    if arguments.limit is not None:
        task = FewerQuestions(task, arguments.limit)
    names = task.ids()[HALVES[arguments.half]][: arguments.samples]
    found = [asked for name in names for asked in ask_sample(task.sample(name), config)]
    if arguments.json is not None:
        rows = [_row(asked) for asked in found]
        arguments.json.write_text(json.dumps(rows, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return found


def _row(asked: Asked) -> dict[str, object]:
    question, answer = asked.question, asked.answer
    return {
        "sample": asked.sample,
        "category": question.category,
        "question": question.text,
        "gold": list(question.answers),
        "answer": answer.text,
        "abstained": answer.abstained,
        "confidence": answer.confidence,
        "trace": list(answer.trace),
        "seconds": asked.seconds,
    }


def told(found: Sequence[Asked]) -> str:
    """A line about the whole."""
    samples = len({asked.sample for asked in found})
    return (
        f"{len(found)} questions of {samples} samples; median `ask` {median(a.seconds for a in found):.3f} s of a CPU"
    )
