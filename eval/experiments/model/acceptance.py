"""An acceptance run of the whole product with a language model on an OpenAI-compatible server.

    python -m eval.experiments.model.acceptance [--url URL] [--model NAME] [--out FILE.jsonl]

It stores a chat of 60 messages (`chat.txt` beside this file), asks 20 questions of it, chats with the controller,
sleeps, and calls the remaining language tasks on fixed inputs. At the end it prints a table of the language tasks, a
row for each reply form, and one of the answers, beside those of the embedded reader from the same store. The exit
status is 1 if any error except an unusable reply reached the caller or a message was lost; wrong answers don't count.

The model extracts facts from at most `--extracted` messages, first those that pass the gate; the networks read the
others. With a model of 1.5B parameters on two cores it takes about ten minutes.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from datetime import timedelta
from pathlib import Path

import torch
from rich.console import Console

from eval.experiments.model.answer_table import Answered, answer_table, answers
from eval.experiments.model.bounded_extraction import FirstByModel
from eval.experiments.model.controller_turns import chat
from eval.experiments.model.faults import Faults
from eval.experiments.model.fixed_tasks import run_fixed_tasks
from eval.experiments.model.recording_engine import RecordingEngine
from eval.experiments.model.served_model import served_model
from eval.experiments.model.task_table import task_table
from eval.experiments.reading.conversation_files import Conversation, load
from nscma_torch import Config, Memory, load_config
from nscma_torch.core.config import LlmConfig
from nscma_torch.core.errors import NscmaError
from nscma_torch.llm.configured_tasks import prompted_tasks
from nscma_torch.llm.engines.choose import choose_engine
from nscma_torch.reading.relations import load_relations

CHAT = Path(__file__).with_name("chat.txt")
MEMORY = {  # bounds the model's work: one level of summaries, few insights, two actions before the controller answers
    "hierarchy": {"max_levels": 1, "min_members": 5},
    "insights": {"enabled": True},
    "controller": {"max_steps": 2},
}


class Acceptance:
    """One run.

    Attributes:
        faults: errors and lost messages so far.
        columns: answers by system.
    """

    def __init__(self, engine: RecordingEngine, config: Config, conversation: Conversation, *, extracted: int) -> None:
        self._engine = engine
        self._config = config
        self._conversation = conversation
        self._extracted = extracted
        self.faults = Faults()
        self.columns: dict[str, list[Answered]] = {}

    def run(self, store: Path) -> None:
        """Do all steps, on a new store."""
        user, now = self._conversation.user, self._conversation.asked_at
        memory: Memory
        first = FirstByModel(self._extracted, lambda: memory.components.embedded_tasks)
        relations = load_relations()
        tasks = prompted_tasks(self._config, self._engine, relations, tally=Counter(), extract_surely=first)
        with Memory(store, config=self._config, tasks=tasks) as memory:
            stored = self._store(memory, first)
            self._step("answers by the model")
            self.columns["model"] = answers(memory, self._conversation, self.faults)
            self._step("answers by the embedded reader")
            self.columns["embedded"] = self._embedded_answers(memory, store)
            self._step("controller")
            stored += chat(memory, self._engine, user, now, self.faults)
            self._step("sleep")
            with self.faults.caught("sleep"):
                report = memory.sleep(user_id=user, now=now + timedelta(days=1))
                self.faults.reported("sleep", report.failures)
                print(f"  {report}")
                for insight in memory.derived("insight", user_id=user):
                    print(f"  insight: {insight.text}")
            self._step("fixed tasks")
            run_fixed_tasks(tasks, self.faults)
            kept = {episode.id for episode in memory.log(user_id=user)}
            self.faults.lost += [one for one in stored if one not in kept]
            self.faults.reported("jobs", memory.stats().failures)

    def _store(self, memory: Memory, first: FirstByModel) -> list[str]:
        """Store the chat and extract its facts; return the messages' ids, "" for each that was not stored."""
        self._step("store and extract")
        user, now = self._conversation.user, self._conversation.asked_at
        messages = self._conversation.messages
        with self.faults.caught("store"):
            added = list(memory.add_many(messages, user_id=user, now=now))
            written = sum(one.decision is not None and one.decision.write for one in added)
            print(f"  {len(added)} messages, {written} passed the gate", flush=True)
            with self.faults.caught("flush"):
                memory.flush()
            stats, facts = memory.stats(), memory.facts(user_id=user, archived=True, now=now)
            by_model = sum(not first.messages.isdisjoint(fact.episode_ids) for fact in facts)
            print(f"  {by_model} facts from {len(first.messages)} messages by the model,", end=" ")
            print(f"{len(facts) - by_model} from the others by the networks; {stats.jobs_failed} failed jobs")
            return [one.id for one in added] + [""] * (len(messages) - len(added))
        return [""] * len(messages)

    def _embedded_answers(self, memory: Memory, store: Path) -> list[Answered]:
        parts = memory.components
        config = self._config.model_copy(update={"llm": LlmConfig()})
        with Memory(store, config=config, embedder=parts.embedder, surprise_model=parts.surprise_model) as embedded:
            return answers(embedded, self._conversation, self.faults)

    def _step(self, name: str) -> None:
        self._engine.step = name
        print(f"== {name}", flush=True)


def main() -> None:
    """Find the server, run, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", help="the server's address; default: the usual ports on this machine")
    parser.add_argument("--model", help="model to use; default: the only model served")
    parser.add_argument("--out", type=Path, metavar="FILE.jsonl", help="append a line for each request")
    parser.add_argument("--extracted", type=int, default=16, help="messages whose facts the model extracts, at most")
    parser.add_argument("--threads", type=int, default=1, help="threads of torch")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    begun = time.perf_counter()
    try:
        config = load_config({**MEMORY, "llm": served_model(arguments.url, arguments.model).model_dump()})
    except NscmaError as error:
        sys.exit(str(error))
    chosen = choose_engine(config.llm, lambda: torch.device("cpu"))
    assert chosen is not None, "an http engine is configured"
    engine = RecordingEngine(chosen, arguments.out)
    (conversation,) = load([CHAT])
    run = Acceptance(engine, config, conversation, extracted=arguments.extracted)
    try:
        with tempfile.TemporaryDirectory() as folder:
            run.run(Path(folder) / "store.db")
    finally:
        engine.close()
    console = Console(width=120)
    console.print(task_table(engine.records))
    console.print(answer_table(run.columns))
    print(f"{time.perf_counter() - begun:.0f} s")
    print(run.faults)
    sys.exit(1 if run.faults.errors or run.faults.lost else 0)


if __name__ == "__main__":
    main()
