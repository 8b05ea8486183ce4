"""PersonaMem (Jiang et al. 2025, arXiv:2504.14225): which of four responses suits a user whose preferences change.

Format: bowen-upenn/PersonaMem, README.md @ 004df11a and inference_standalone_openai.py @ 041d82ac: `questions_32k.csv`
with `shared_contexts_32k.jsonl`, and so for 128k and 1M tokens; MIT (dataset card of PersonaMem-v1, with 5,990
questions in all sizes). A question is asked at a place of a chat of many sessions that it shares with others: a sample
is what stands before that place, with all its questions. Halves are of chats; where those of one half have more
samples, the last ones are left out and named. The chats have no dates. PersonaMem-v2 and -v3 are other
sets, which are not read.

Score: accuracy. A reply that is an option, or begins with its letter, chooses it; of the letters (a) to (d) in any
other, in brackets or else alone, the right one must be the only one, as in `extract_answer` of the same file.
"""

from __future__ import annotations

import ast
import csv
import re
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from eval.harness.contract import Question, Reply, Sample
from eval.metrics.answer_metrics import chosen_option
from eval.tasks.corpus import WRITTEN
from eval.tasks.items import in_turn
from eval.tasks.json_lines import line_at, placed_lines
from eval.tasks.options import TaskOptions, read_options
from nscma_torch.core.records import Message

_LETTER = re.compile(r"\(([a-d])\)\s*")
_STEP = timedelta(seconds=30)
_KEYS = ("question_id", "question_type", "user_question_or_message", "correct_answer", "all_options")


class PersonaMemOptions(TaskOptions):
    """Options of PersonaMem."""

    folder: str = Field("personamem", description="Of the files, in the folder of the data.")
    size: Literal["32k", "128k", "1M"] = Field("32k", description="Tokens of a chat.")
    types: tuple[str, ...] = Field((), description="Which question types are asked; empty for all.")


class PersonaMem:
    """PersonaMem's questions, a sample for each place of a chat at which some are asked."""

    metrics: tuple[str, ...] = ("accuracy",)

    def __init__(self, section: Mapping[str, Any], data: Path) -> None:
        options = read_options(PersonaMemOptions(), section)
        self.name = options.name or f"PersonaMem {options.size}"
        self._chats = data / options.folder / f"shared_contexts_{options.size}.jsonl"
        self._place = {next(iter(chat)): place for place, chat in placed_lines(self._chats)}
        self._questions: dict[str, list[Question]] = {}
        malformed: list[str] = []
        numbers: dict[str, int] = {}
        with (data / options.folder / f"questions_{options.size}.csv").open(encoding="utf-8", newline="") as file:
            for line, row in enumerate(csv.DictReader(file), 1):
                chat = row["shared_context_id"]
                numbers.setdefault(chat, len(numbers))
                question = _question(row)
                if question is None or chat not in self._place:
                    malformed.append(f"row {line}: {'no such chat' if question else 'no question of four options'}")
                elif not options.types or question.category in options.types:
                    id = f"{chat}.{row['end_index_in_shared_context']}"
                    self._questions.setdefault(id, []).append(question)
        self._ids, left_over = in_turn((numbers[id.rpartition(".")[0]], id) for id in self._questions)
        self.malformed = (*malformed, *left_over)

    def ids(self) -> Sequence[str]:
        """Id of a chat and how many of its messages come before the questions; chats of both halves in turn."""
        return self._ids

    def sample(self, id: str) -> Sample:
        """A chat as far as it goes before the questions."""
        chat, _, end = id.rpartition(".")
        turns = line_at(self._chats, self._place[chat])[chat][: int(end)]
        messages = [Message(turn["role"], turn["content"], WRITTEN + i * _STEP) for i, turn in enumerate(turns)]
        return Sample(id, messages, self._questions[id], WRITTEN + len(turns) * _STEP)

    def score(self, question: Question, reply: Reply) -> Mapping[str, float]:
        """Whether the reply chooses the right response."""
        chosen = chosen_option(reply.text, question.options)
        if chosen is None:
            said = reply.text.lower()
            letters = set(re.findall(r"\(([a-d])\)", said) or re.findall(r"\b([a-d])\b", said))
            chosen = "abcd".index(letters.pop()) if len(letters) == 1 else None
        return {"accuracy": float(chosen is not None and question.options[chosen] == question.answers[0])}


def _question(row: Mapping[str, str]) -> Question | None:
    """A row's question; None where something is missing, or the right answer is none of the options."""
    if not all(row.get(key) for key in _KEYS):
        return None
    try:
        listed = ast.literal_eval(row["all_options"])
    except (ValueError, SyntaxError):
        return None
    options = tuple(_LETTER.sub("", str(option), count=1).strip() for option in listed)
    letter = _LETTER.fullmatch(row["correct_answer"].strip())
    if letter is None or len(options) != len("abcd"):
        return None
    right = options["abcd".index(letter[1])]
    text, kind = row["user_question_or_message"], row["question_type"]
    return Question(row["question_id"], text, (right,), kind, options=options)
