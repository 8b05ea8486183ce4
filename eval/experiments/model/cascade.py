"""Short answers by the bundled reader, by a served model, and by both: the accuracy against the share of model calls.

    python -m eval.experiments.model.cascade [--url URL] [--model NAME] --conversations DIR|FILE... --out FILE.jsonl
        [--every N] [--least-known P]

Each conversation is stored without a language model. Every question is answered by `Memory.ask`, and by the model from
the first ten hits of a search, as `ask` does with `[llm]`. The cascade at a threshold takes the answer from facts, or
the reader's if it is at least so confident, else the model's, which counts as a call; a threshold above 1 asks the
model for all but facts. The model's answer is unknown if the probability that the hits contain it is below P. Scores
are those of `eval.experiments.reading.conversations`; intervals are Wilson's, of 95 %.

Answers are appended to FILE.jsonl as they come; a run that was stopped goes on where it stopped. With `--every N` only
each Nth conversation is read.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from eval.experiments.model.served_model import served_model
from eval.experiments.reading.conversation_files import Conversation, Question, load
from eval.experiments.reading.conversations import LEVEL, TYPES, K, Models, loaded, stored
from eval.reporting.shares import wilson
from nscma_torch import Memory, load_config
from nscma_torch.core.config import LlmConfig
from nscma_torch.core.records import AskedQuestion
from nscma_torch.demo.short_answers import judge
from nscma_torch.llm.engines.choose import choose_engine
from nscma_torch.llm.prompted import PromptedTasks

THRESHOLDS = (0.4, 0.5, 0.6, 0.7, 0.8, 1.01)
SCORES = ("short", "stale", "silent", "invented")


@dataclass(frozen=True, slots=True)
class Both:
    """One question: the verdicts of both answers, as text, and how sure each is.

    Attributes:
        facts: whether the embedded answer is from facts.
        known: the pooled probability that the hits contain the answer.
        right_evidence: whether a message of evidence is among those that the model's answer rests on.
    """

    conversation: str
    type: str
    question: str
    gold: str
    embedded: str
    embedded_verdict: str
    abstained: bool
    confidence: float
    facts: bool
    model: str
    model_verdict: str
    known: float
    right_evidence: bool
    tokens: int
    seconds: float

    def cascade(self, threshold: float, least_known: float) -> tuple[str, bool]:
        """The verdict at a threshold, and whether the model was asked."""
        if self.facts or (not self.abstained and self.confidence >= threshold):
            return self.embedded_verdict, False
        if self.known >= least_known:
            return self.model_verdict, True
        return ("abstained" if self.type == "unanswerable" else "silent"), True


def asked(
    memory: Memory, places: Mapping[str, int], tasks: PromptedTasks, own: Conversation, question: Question
) -> Both:
    """Both answers to a question."""
    user, now = own.user, own.asked_at
    told = memory.ask(question.text, user_id=user, now=now)
    hits = memory.search(question.text, user_id=user, top_k=K, now=now)
    reader = None if told.facts else memory.components.reader_qa
    prior = 0.5 if reader is None else reader.attempt(question.text, hits, user_id=user, now=now).answerable
    model = tasks.answer(AskedQuestion(question.text, 1.0, user, now, prior), hits)
    rests_on = {places[source] for item in model.evidence for source in item.hit.unit.episode_ids if source in places}
    return Both(
        own.name,
        question.type,
        question.text,
        str(question.gold),
        told.short,
        str(judge(question.gold, told)),
        told.abstained,
        told.confidence,
        bool(told.facts),
        model.short,
        str(judge(question.gold, model)),
        model.confidence,
        bool(rests_on & set(question.evidence)),
        model.usage.tokens,
        model.usage.seconds,
    )


def answers(
    conversations: Sequence[Conversation], models: Models, tasks: PromptedTasks, done: set[tuple[str, str]]
) -> Iterator[Both]:
    """Both answers to each question that is not done."""
    for own in conversations:
        left = [question for question in own.questions if (own.name, question.text) not in done]
        if left:
            with stored(own, range(len(own.messages)), models) as (memory, places):
                for question in left:
                    yield asked(memory, places, tasks, own, question)


def rates(verdicts: Sequence[str], types: Sequence[str]) -> dict[str, tuple[float, int, float, float]]:
    """Share, count and interval of each score; `invented` is a share of the unanswerable questions."""
    found = {}
    for score in SCORES:
        of = [v for v, t in zip(verdicts, types, strict=True) if (t == "unanswerable") == (score == "invented")]
        values = np.asarray([v == score for v in of], dtype=np.float64)
        if len(values):
            found[score] = (float(values.mean()), len(values), *wilson(values, LEVEL))
    return found


def table(found: Sequence[Both], least_known: float) -> Table:
    """A row for the reader, for the model, and for the cascade at each threshold."""
    printed = Table(title=f"{len(found)} questions; model calls as a share of them", title_justify="left")
    for name in ("answers by", "calls", *SCORES):
        printed.add_column(name, justify="left" if name == "answers by" else "right")
    types = [one.type for one in found]
    rows = [("facts and reader", [(one.embedded_verdict, False) for one in found])]
    rows += [(f"reader from {t:.2f}, else model", [one.cascade(t, least_known) for one in found]) for t in THRESHOLDS]
    for name, taken in rows:
        scores = rates([verdict for verdict, _ in taken], types)
        cells = [f"{share:.3f} [{low:.3f}, {high:.3f}]" for share, _, low, high in scores.values()]
        printed.add_row(name, f"{np.mean([asked for _, asked in taken]):.2f}", *cells)
    return printed


def types_table(found: Sequence[Both], threshold: float, least_known: float) -> Table:
    """Right short answers by type of question: the reader's, the model's, and the cascade's."""
    printed = Table(title=f"right by type, threshold {threshold}", title_justify="left")
    for name in ("type", "n", "reader", "model", "cascade"):
        printed.add_column(name, justify="left" if name == "type" else "right")
    counts = Counter(one.type for one in found)
    for kind in (kind for kind in TYPES if counts[kind]):
        own = [one for one in found if one.type == kind]
        right = "abstained" if kind == "unanswerable" else "short"
        model = [one.cascade(2.0, least_known)[0] for one in own if not one.facts]
        cells = [
            np.mean([one.embedded_verdict == right for one in own]),
            np.mean([verdict == right for verdict in model]) if model else float("nan"),
            np.mean([one.cascade(threshold, least_known)[0] == right for one in own]),
        ]
        printed.add_row(kind, str(len(own)), *(f"{cell:.3f}" for cell in cells))
    return printed


def main() -> None:
    """Answer what is left, and print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", help="the server's address; default: the usual ports on this machine")
    parser.add_argument("--model", help="model to use; default: the only model served")
    parser.add_argument("--conversations", type=Path, nargs="+", required=True, help="chats, dialogues, or folders")
    parser.add_argument("--every", type=int, default=1, help="read each Nth conversation")
    parser.add_argument("--out", type=Path, required=True, help="file of raw lines, which is continued")
    parser.add_argument("--least-known", type=float, default=LlmConfig().least_known, help="see llm.least_known")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    lines = arguments.out.read_text(encoding="utf-8").splitlines() if arguments.out.exists() else []
    found = [Both(**json.loads(line)) for line in lines]
    done = {(one.conversation, one.question) for one in found}
    chosen = load(arguments.conversations)[:: arguments.every]
    models = loaded(load_config(None))
    # it answers whatever it thinks of the hits: --least-known decides in the tables
    engine = choose_engine(served_model(arguments.url, arguments.model), lambda: torch.device("cpu"))
    assert engine is not None, "an http engine is configured"
    tasks = PromptedTasks(engine, max_tokens=512, least_known=0.0)
    with arguments.out.open("a", encoding="utf-8") as file:
        for one in answers(chosen, models, tasks, done):
            file.write(json.dumps(asdict(one), ensure_ascii=False) + "\n")
            file.flush()
            found.append(one)
    console = Console(width=150)
    console.print(table(found, arguments.least_known))
    console.print(types_table(found, models.config.reading.instead_of_model, arguments.least_known))
    tokens, seconds = (np.mean([getattr(one, name) for one in found]) for name in ("tokens", "seconds"))
    rests = np.mean([one.right_evidence for one in found if one.type != "unanswerable"])
    console.print(f"a model's answer: {tokens:.0f} tokens, {seconds:.1f} s; right evidence {rests:.3f}")


if __name__ == "__main__":
    main()
