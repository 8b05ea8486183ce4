"""Ask other memories the questions of `state_questions`.

    python -m eval.experiments.state.state_rivals --histories DIR... [--systems NAME...] [--url URL] [--every N]

Each system of `eval.systems` stores a history without the messages that its owner deletes (a deletion that every
system can do), and hands what it finds for a question to one reader: the trained reader in a memory of its own that
knows nothing of effects, or with `--url` the served model with the prompts of `ask`. "NSCMA" is `Memory.ask`, with the
same model. No system reads the messages with a language model; the embedded tasks stand in for it. Printed are the
shares of right answers, as in `state_questions`; a system that always abstains is right in every cascade, absence and
deletion, and wrong in every control.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from eval.experiments.every_nth import EveryNth
from eval.experiments.model.served_model import served_model
from eval.experiments.reading.conversations import Models, loaded
from eval.experiments.state.histories import TYPES, History, load
from eval.experiments.state.state_questions import Outcome, outcomes, verdict
from eval.harness.contract import Shared
from eval.harness.sample_run import seed_all
from eval.harness.shared_components import equipped
from eval.systems.catalogue import make_system
from nscma_torch import load_config
from nscma_torch.core.records import Answer

OURS = "NSCMA"
SYSTEMS: dict[str, dict[str, Any]] = {
    "RRF of BM25 and dense": {"kind": "rrf", "top_k": 10},
    "full context": {"kind": "full-context"},
    "rolling summary": {"kind": "rolling-summary", "words": 200},
    "mem0 with its operations": {"kind": "mem0-operations", "top_k": 10},
    "A-MEM": {"kind": "a-mem", "k": 10},
    "Zep": {"kind": "zep"},
    "Markdown files": {"kind": "markdown-files"},
}
_BESIDE = {"standing": {"neighbours": 0, "forget_requests": False}}  # of a memory that serves as a reader
_SEED = 1


@dataclass(frozen=True, slots=True)
class SystemOutcome:
    """The outcome of one question with one system."""

    system: str
    outcome: Outcome


def of_system(name: str, history: History, shared: Shared) -> Iterator[SystemOutcome]:
    """Tell a system a history and ask its questions."""
    deleted = {one.message for one in history.deletions if not one.said}
    messages = [one for number, one in enumerate(history.messages, start=1) if number not in deleted]
    with tempfile.TemporaryDirectory() as folder, shared.at_hand.sample():
        seed_all(_SEED, history.author, history.name)
        with make_system({"name": name, **SYSTEMS[name]}, shared).open(Path(folder)) as session:
            session.read(messages)
            for asked in history.questions:
                reply = session.ask(asked.text, options=(), now=asked.asked_at)
                right, void, silent = verdict(asked.gold, Answer(reply.text, reply.abstained, 0.0, ()))
                about = (history.author, history.name, asked.type, asked.like, asked.depth, asked.link, asked.text)
                yield SystemOutcome(name, Outcome(*about, str(asked.gold), reply.text, right, void, silent))


def table(found: Sequence[SystemOutcome]) -> Table:
    """Return a row for each system with the shares of right answers."""
    printed = Table("right", *(kind for kind in TYPES), "void")
    for system in dict.fromkeys(one.system for one in found):
        own = [one.outcome for one in found if one.system == system]
        cells = []
        for kind in TYPES:
            right = [one.right for one in own if one.type == kind]
            cells.append(f"{np.mean(right):.3f} ({len(right)})" if right else "")
        printed.add_row(system, *cells, f"{np.mean([one.void for one in own]):.3f}")
    return printed


def some(histories: Sequence[History], every: int) -> list[History]:
    """Return the histories with each Nth question of each type, counted over all histories."""
    nth = EveryNth(every)
    return [replace(history, questions=tuple(nth.of(history.questions))) for history in histories]


def main() -> None:
    """Print the table; with `--json`, write each outcome."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--histories", type=Path, nargs="+", required=True, help="files, or folders of them")
    parser.add_argument("--systems", nargs="+", choices=[OURS, *SYSTEMS], default=[OURS, *SYSTEMS], metavar="NAME")
    parser.add_argument("--url", help="address of a server of a language model that answers")
    parser.add_argument("--model", help="model to use; default: the only model served")
    parser.add_argument("--every", type=int, default=1, help="ask each Nth question of each type")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what became of each question")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    sections = {} if arguments.url is None else {"llm": served_model(arguments.url, arguments.model).model_dump()}
    histories = some(load(arguments.histories), arguments.every)
    found: list[SystemOutcome] = []
    if OURS in arguments.systems:
        models: Models = loaded(load_config({}))
        asked_of = replace(models, config=load_config(sections))
        for history in histories:
            found += [SystemOutcome(OURS, one) for one in outcomes(history, models, asked_of)]
        print(f"{OURS}: {sum(one.outcome.right for one in found)} right", flush=True)
    with equipped({**sections, **_BESIDE}, device="cpu", seed=_SEED, cache=None) as equipment:
        for name in (name for name in arguments.systems if name != OURS):
            for history in histories:
                found += of_system(name, history, equipment.shared)
            print(f"{name}: {sum(one.outcome.right for one in found if one.system == name)} right", flush=True)
    Console(width=150).print(table(found))
    if arguments.json is not None:
        rows = [{"system": one.system, **asdict(one.outcome)} for one in found]
        arguments.json.write_text(json.dumps(rows, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
