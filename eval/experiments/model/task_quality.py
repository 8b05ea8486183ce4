"""Quality of the language tasks on labelled inputs, by a served model or by the embedded tasks.

    python -m eval.experiments.model.task_quality [--url URL] [--model NAME] [--set dev|test] [--tasks NAME ...]
        [--questions N] [--out FILE.jsonl] [--embedded]

It prints a table of measures for each task, then one of the model's requests, a row for each reply form. Shares have
Wilson's interval of 95 %, means a bootstrap interval. `labelled_tasks.py` and `summary_measures.py` define them. Rerank
and select judge the first ten hits of searches for `--questions` questions in `train/reader/dialogues`.

Replies are appended to FILE.jsonl as they come, and cases found there aren't asked again: use a new file if
the cases, the prompts, or the model that is served under a name have changed. An unusable reply counts as wrong; any
other error ends the run.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path

import torch
from rich.console import Console

from eval.experiments.model.evidence_hits import EvidenceHits
from eval.experiments.model.labelled_cases import Case, LabelledReply, read_cases, read_replies
from eval.experiments.model.labelled_tasks import TASKS, Tasks
from eval.experiments.model.recording_engine import RecordedRequest, RecordingEngine
from eval.experiments.model.served_model import served_model
from eval.experiments.model.task_table import task_table
from eval.reporting.measures import measure_table
from nscma_torch import Memory, load_config
from nscma_torch.core.errors import NscmaError, ReplyError
from nscma_torch.llm.engines.choose import choose_engine
from nscma_torch.llm.prompted import PromptedTasks

ROOT = Path(__file__).parents[3]
CASES = ROOT / "eval" / "data" / "language_tasks"
DIALOGUES = ROOT / "train" / "reader" / "dialogues"
FROM_HITS = ("rerank", "select")
EMBEDDED = "embedded"


class TaskQuality:
    """The replies of one system to labelled cases.

    Args:
        system: the model's name, or "embedded".
        engine: the engine that `tasks` use; None if they use none.
        out: file of replies, which is continued; None to only keep them.
    """

    def __init__(self, tasks: Tasks, system: str, engine: RecordingEngine | None, out: Path | None) -> None:
        self._tasks = tasks
        self._system = system
        self._engine = engine
        self._out = out
        self._known = {} if out is None else {_key(one): one for one in read_replies(out)}

    def replies(self, set_: str, task: str, cases: Mapping[str, Case]) -> list[LabelledReply]:
        """Return the replies to all cases, in order; only cases that are not in the file are asked."""
        known = self._known
        return [known.get((self._system, set_, task, id_)) or self._asked(set_, task, cases[id_]) for id_ in cases]

    def _asked(self, set_: str, task: str, case: Case) -> LabelledReply:
        records = [] if self._engine is None else self._engine.records
        begun, reply, problem = len(records), None, ""
        try:
            reply = TASKS[task].call(self._tasks, case)
        except ReplyError as error:
            problem = str(error)
        found = LabelledReply(self._system, set_, task, case, reply, problem, tuple(records[begun:]))
        if self._out is not None:
            with self._out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(found), ensure_ascii=False) + "\n")
        return found


def _key(one: LabelledReply) -> tuple[str, str, str, str]:
    return one.system, one.set, one.task, one.case["id"]


@contextmanager
def served(url: str | None, model: str | None, out: Path | None) -> Iterator[TaskQuality]:
    """The tasks by the model on a server."""
    section = served_model(url, model)
    chosen = choose_engine(section, lambda: torch.device("cpu"))
    assert chosen is not None, "an http engine is configured"
    with closing(RecordingEngine(chosen)) as engine:
        yield TaskQuality(PromptedTasks(engine), section.model, engine, out)


@contextmanager
def embedded(out: Path | None) -> Iterator[TaskQuality]:
    """The tasks without a language model."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Memory(Path(folder) / "models.db", config=load_config(None)) as memory,
    ):
        yield TaskQuality(memory.components.embedded_tasks, EMBEDDED, None, out)


def print_quality(quality: TaskQuality, set_: str, tasks: list[str], questions: int) -> None:
    """Ask the cases of each task that are left, and print the tables."""
    console = Console(width=120)
    hits = EvidenceHits(DIALOGUES / set_, questions, load_config(None))
    requests: list[RecordedRequest] = []
    for task in tasks:
        found = quality.replies(set_, task, hits if task in FROM_HITS else read_cases(CASES / set_ / f"{task}.jsonl"))
        unusable = sum(one.reply is None for one in found)
        title = f"{task}, {set_}: {len(found)} cases, {unusable} unusable replies"
        console.print(measure_table(title, TASKS[task].measures(found)))
        requests += [request for one in found for request in one.requests]
    if requests:
        console.print(task_table(requests))


def main() -> None:
    """Read the arguments, and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", help="the server's address; default: the usual ports on this machine")
    parser.add_argument("--model", help="model to use; default: the only model served")
    parser.add_argument("--set", choices=("dev", "test"), default="dev", help="half of the cases")
    parser.add_argument("--tasks", nargs="+", choices=tuple(TASKS), default=list(TASKS), help="tasks; default: all")
    parser.add_argument("--questions", type=int, default=24, help="questions for rerank and select")
    parser.add_argument("--out", type=Path, metavar="FILE.jsonl", help="file of raw replies, which is continued")
    parser.add_argument("--embedded", action="store_true", help="use the embedded tasks instead of a model")
    arguments = parser.parse_args()
    if arguments.embedded and (arguments.url or arguments.model):
        parser.error("--embedded uses no server: leave --url and --model out")
    torch.set_num_threads(1)
    out = arguments.out
    try:
        with embedded(out) if arguments.embedded else served(arguments.url, arguments.model, out) as quality:
            print_quality(quality, arguments.set, arguments.tasks, arguments.questions)
    except NscmaError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
