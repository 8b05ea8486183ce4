"""A language model judges the replies of a finished run, as a second pass over its results.

    python -m eval.judge OUT --config CONFIG [--tasks NAME …]
    python -m eval.judge --agreement [--config CONFIG]

OUT/judged.jsonl gets a line for each question, beside the raw lines, which stay as they are; a pass that was stopped
goes on when it is started again. `eval.report` and `eval.leaderboard` show the verdicts as the metric ACC-L, with
model, SHA-256 of the prompt, and how far this judge agrees with labels given by hand: that is measured before the first
verdict, and kept in OUT/agreement.json.
CONFIG is an evaluation's configuration, of which [judge.llm] or else [memory.llm] is read, or one of the product's,
with [llm]. --agreement prints how far the judge, exact match and word F1 agree with labels given by hand, without a
model the last two alone. The prompt is frozen: `eval/judging/prompt.txt`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from eval.judging import agreement
from eval.judging.verdicts import Case, Judgement, judge, prompt_sha256
from eval.reporting.results import AGREEMENT, Judged, Line, agreement_of, raw_lines, read_lines
from nscma_torch.core.config import load_config, read_toml
from nscma_torch.core.device import torch_device
from nscma_torch.core.errors import ConfigError, EngineError, EngineUnavailableError, InvalidInputError, NscmaError
from nscma_torch.llm.engines.choose import choose_engine
from nscma_torch.llm.engines.contract import LanguageEngine

_BATCH = 64
_NAME = "judged.jsonl"
Key = tuple[str, str, str, str]  # task, system, sample, question


@dataclass(frozen=True)
class Left:
    """A question that has no verdict yet."""

    key: Key
    case: Case


def judge_run(folder: Path, engine: LanguageEngine, tasks: Sequence[str], console: Console) -> int:
    """Judge what is left of some tasks (of all, where none is named); how many questions could not be judged.

    Raises EngineUnavailableError where the engine is away, and InvalidInputError where another judge was at work.
    """
    path = folder / _NAME
    _cut_torn(path)
    done = [Judged.model_validate_json(text) for _, text in read_lines(path)]
    judged = {(one.task, one.system, one.sample, one.question) for one in done}
    lines = list(raw_lines(folder))
    for name in tasks:
        if name not in {line.task for line in lines}:
            raise InvalidInputError(f"--tasks names {name!r}, which is not in the results of {folder}")
    left = [one for one in _left(lines, judged) if not tasks or one.key[0] in tasks]
    console.print(f"{len(left):,} replies to judge, {len(judged):,} done")
    if not left:
        return 0
    engine.count_tokens([])  # starts it: only then does it know its name
    own = (engine.name, prompt_sha256())
    for before in done:
        if (before.engine, before.prompt) != own:
            raise InvalidInputError(
                f"{path} holds verdicts of {before.engine} by prompt {before.prompt[:12]}, now it would be {own[0]} by "
                f"{own[1][:12]}: move that file away to judge anew"
            )
    failed = 0
    with path.open("a", encoding="utf-8") as file:
        for start in range(0, len(left), _BATCH):
            batch = left[start : start + _BATCH]
            errors = []
            for one, outcome in zip(batch, judge(engine, [one.case for one in batch]), strict=True):
                if isinstance(outcome, EngineError):
                    errors.append((one, outcome))
                else:
                    file.write(_line(one, outcome, own))
            file.flush()
            os.fsync(file.fileno())
            failed += len(errors)
            for one, error in errors:
                console.print(f"{', '.join(one.key)}: {type(error).__name__}: {error}", markup=False, highlight=False)
                if isinstance(error, EngineUnavailableError):
                    raise error
    return failed


def keep_agreement(folder: Path, engine: LanguageEngine, console: Console) -> None:
    """Measure how far the judge agrees with labels given by hand, where the folder does not say it of this judge.

    Raises EngineUnavailableError where the engine is away.
    """
    engine.count_tokens([])  # starts it: only then does it know its name
    known = agreement_of(folder)
    if known is None or (known.engine, known.prompt) != (engine.name, prompt_sha256()):
        known, errors = agreement.measured(engine)
        for error in errors:
            if isinstance(error, EngineUnavailableError):
                raise error
        (folder / AGREEMENT).write_text(known.model_dump_json(indent=1) + "\n", encoding="utf-8")
    console.print(f"The judge's agreement: {known}", highlight=False)


def _left(lines: Sequence[Line], judged: set[Key]) -> Iterator[Left]:
    for line in lines:
        for asked in line.questions:
            key = (line.task, line.system, line.sample, asked.id)
            if key not in judged:
                reply = "" if asked.abstained else asked.reply
                yield Left(key, Case(asked.question, tuple(asked.answers), reply, tuple(asked.facts.get("rubric", ()))))


def _line(one: Left, judgement: Judgement, judge_: tuple[str, str]) -> str:
    task, system, sample, question = one.key
    told = {"task": task, "system": system, "sample": sample, "question": question}
    told |= {"verdict": judgement.verdict, "reason": judgement.reason, "engine": judge_[0], "prompt": judge_[1]}
    tokens = {"tokens_in": judgement.tokens_in, "tokens_out": judgement.tokens_out}
    return json.dumps({**told, **tokens}) + "\n"


def _cut_torn(path: Path) -> None:
    """Drop what a killed pass left of a last line."""
    if path.exists():
        with path.open("rb+") as file:
            file.truncate(file.read().rfind(b"\n") + 1)


@contextmanager
def engine_of(path: Path) -> Iterator[LanguageEngine]:
    """The engine of a configuration; ConfigError where it names none."""
    given = read_toml(path)
    section = given.get("judge", given.get("memory", given))
    config = load_config({"llm": section.get("llm", {})})
    engine = choose_engine(config.llm, lambda: torch_device(config.device))
    if engine is None:
        raise ConfigError(f"{path} has no language model to judge with; give it [judge.llm] with an engine")
    try:
        yield engine
    finally:
        engine.close()


def show_agreement(engine: LanguageEngine | None, console: Console) -> None:
    """Print the table of agreement; what the judge could not judge counts as no agreement, and is told."""
    sample = agreement.items()
    verdicts: dict[str, list[str]] = {name: list(own) for name, own in agreement.metrics(sample).items()}
    if engine is not None:
        found, failed = agreement.measured(engine)
        verdicts = {engine.name: list(found.verdicts), **verdicts}
        if failed:
            console.print(f"{len(failed)} items without a verdict; the first: {failed[0]}", markup=False)
    console.print(agreement.table(sample, verdicts))
    console.print(f"prompt SHA-256 {prompt_sha256()}", highlight=False)


def main() -> None:
    """Judge a run, or print the agreement."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", metavar="OUT", nargs="?", type=Path, help="folder of the run")
    parser.add_argument("--config", type=Path, help="configuration of the judge's engine")
    parser.add_argument("--tasks", nargs="+", default=(), help="only these, by name")
    parser.add_argument("--agreement", action="store_true", help="how far verdicts agree with labels given by hand")
    arguments = parser.parse_args()
    if arguments.agreement == (arguments.run is not None):
        parser.error("give either OUT, the folder of a run, or --agreement")
    if arguments.run is not None and arguments.config is None:
        parser.error("judging needs --config, which names a language model")
    console = Console(width=140)
    failed = 0
    try:
        if arguments.config is None:
            show_agreement(None, console)
        else:
            with engine_of(arguments.config) as engine:
                if arguments.agreement:
                    show_agreement(engine, console)
                else:
                    keep_agreement(arguments.run, engine, console)
                    failed = judge_run(arguments.run, engine, arguments.tasks, console)
    except NscmaError as error:
        parser.exit(2, f"eval.judge: {type(error).__name__}: {error}\n")
    if failed:
        console.print(f"{failed} replies could not be judged; the same command asks again for them")
        sys.exit(1)


if __name__ == "__main__":
    main()
