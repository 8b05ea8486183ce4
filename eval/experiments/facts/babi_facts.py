"""bAbI tasks answered from the facts of the memory alone, by walks over the graph: no passage is read.

    python -m eval.experiments.facts.babi_facts --data DIR [--tasks 1,2,3,5,6,7,8] [--renamed]

Every story is a user; its statements are messages a minute apart; each question is asked as of its place in the
story. A question that the memory cannot read, or for which it has no answer, counts as wrong; the column "abstained"
shows how many of them there are. The interval is Wilson's, of 95 %, over all questions.

bAbI is not held out, in neither half: training stories have the wordings of its statements, and weights and thresholds
were chosen by its results (nscma_torch/reading/weights/README.md). `--renamed` is nearer to new text.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table

from eval.metrics.retrieval_metrics import mean
from eval.reporting.measures import share
from eval.tasks.babi import TASKS, Question, Story, load
from eval.tasks.babi_renamed import renamed
from nscma_torch import Memory, Scope, load_config
from nscma_torch.answering.fact_answer import FactAnswer, answer_query
from nscma_torch.core.records import Fact
from nscma_torch.reading.question_network import shared_network
from nscma_torch.reading.questions import QuestionReader
from nscma_torch.reading.relations import Schema, load_relations
from nscma_torch.semantic.graph.fact_graph import FactGraph
from nscma_torch.semantic.store.facts import select_facts
from nscma_torch.text.names import name_key

_CONFIG = {"gate": {"rule": "everything"}, "embedder": {"model": "hash"}, "hierarchy": {"enabled": False}}
_STATUSES = ("active", "disputed", "archived")


@dataclass(frozen=True)
class Outcome:
    """How one question ended; `given` is None where nothing was answered."""

    question: Question
    given: str | None

    @property
    def correct(self) -> bool:
        """Whether the words of the answer are those expected, in any order."""
        return self.given is not None and _as_set(self.given) == _as_set(self.question.answer)


def answers(story: Story, facts: Sequence[Fact], reader: QuestionReader, schema: Schema) -> list[Outcome]:
    """Answer each question of a story from its facts, as they were at that time."""
    graph = FactGraph(facts, schema)
    outcomes = []
    for question in story.questions:
        query = reader.read(question.text)
        found = answer_query(replace(query, as_of=question.at), graph) if query else None
        outcomes.append(Outcome(question, None if found is None else said(found)))
    return outcomes


def said(answer: FactAnswer) -> str:
    """An answer in bAbI's manner: yes or no, a number in words, or names with commas between them."""
    return answer.verdict or answer.text


def accuracies(outcomes: Sequence[Outcome]) -> dict[str, float]:
    """Share of correct answers to questions of even index, odd index, and all."""
    halves = {"even": outcomes[::2], "odd": outcomes[1::2], "all": outcomes}
    return {half: mean([float(outcome.correct) for outcome in some]) for half, some in halves.items()}


def _as_set(text: str) -> frozenset[str]:
    return frozenset(name_key(part) for part in text.split(","))


def remembered(memory: Memory, stories: Sequence[Story]) -> list[list[Fact]]:
    """The facts that the memory makes of each story, past ones too."""
    for story in stories:
        memory.add(story.messages, user_id=story.name)
    memory.flush()
    told = []
    for story in stories:
        with memory.components.database.read(story.name) as connection:
            told.append(select_facts(connection, Scope(story.name), statuses=_STATUSES))
    return told


def main() -> None:
    """Print one row for each task."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder that holds babi/")
    parser.add_argument("--tasks", default=",".join(map(str, TASKS)), help="numbers of tasks, with commas")
    parser.add_argument("--renamed", action="store_true", help="with other people, places, things and verbs")
    parser.add_argument("--stories", type=int, help="the first so many stories of each task alone")
    parser.add_argument("--relations", type=Path, help="another relation file than the bundled one, to read questions")
    parser.add_argument("--threads", type=int, default=1, help="threads of torch")
    parser.add_argument("--show", type=int, default=0, help="how many wrong answers of even index to print")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    schema = load_relations(arguments.relations)
    reader = QuestionReader(schema, lambda: shared_network(schema, torch.device("cpu")))
    console = Console(width=120)
    table = Table("task", "questions", "even", "odd", "all", "95 %", "abstained")
    for task in map(int, arguments.tasks.split(",")):
        stories = load(arguments.data, task)[: arguments.stories]
        if arguments.renamed:
            stories = [renamed(story) for story in stories]
        with (
            tempfile.TemporaryDirectory() as folder,
            Memory(Path(folder) / "babi.db", config=load_config(_CONFIG)) as m,
        ):
            facts = remembered(m, stories)
        outcomes = [
            o for story, known in zip(stories, facts, strict=True) for o in answers(story, known, reader, schema)
        ]
        shares = [f"{value:.3f}" for value in accuracies(outcomes).values()]
        every = share(f"qa{task}", [outcome.correct for outcome in outcomes])
        bounds = f"[{every.low:.3f}, {every.high:.3f}]"
        table.add_row(every.name, str(every.n), *shares, bounds, str(sum(o.given is None for o in outcomes)))
        for outcome in [o for o in outcomes[::2] if not o.correct][: arguments.show]:
            console.print(f"qa{task}: {outcome.question.text} {outcome.question.answer} | {outcome.given}")
    console.print(table)


if __name__ == "__main__":
    main()
