"""A run as the report sees it: `run.json` and the raw lines, checked, and what failed made to count.

A sample that failed for a system is wrong there: it gets the questions that another system was asked on it, or those
that its own line names, each with the worst in every metric that applies to it (`directions`). One that could not even
be read counts as one question of no category.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from eval.harness.raw_lines import holds_raw, read_all
from eval.judging.agreement import Agreement
from eval.reporting.metric_directions import failed, worst
from nscma_torch.core.errors import InvalidInputError, MalformedInputError

HALVES = ("even", "odd", "all")
JUDGED = "ACC-L"  # the metric that `eval.judge` adds: the share that a language model judges right, as CAM names it
AGREEMENT = "agreement.json"
_RIGHT = frozenset({"right", "abstained_correctly"})


class _Shape(BaseModel):
    """Types are exact; keys that the report has no use for are ignored."""

    model_config = ConfigDict(strict=True, frozen=True)


class Spent(_Shape):
    """What a stage of work took; see `eval.harness.contract.Cost`."""

    llm_calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    seconds: Mapping[str, float] = Field(default_factory=dict)


class Asked(_Shape):
    """A question as it was answered and scored."""

    id: str
    category: str = ""
    question: str
    answers: Sequence[str]
    reply: str
    abstained: bool
    scores: Mapping[str, float]
    cost: Spent = Spent()
    note: str = ""
    facts: Mapping[str, Any] = Field(default_factory=dict)


class Unanswered(_Shape):
    """A question that failed with its sample, with the scores of an empty reply."""

    id: str
    category: str = ""
    question: str
    answers: Sequence[str]
    scores: Mapping[str, float]


class Failure(_Shape):
    """Why a sample failed."""

    type: str
    message: str


class Line(_Shape):
    """What one system made of one sample."""

    task: str
    metrics: Sequence[str] = Field(min_length=1)
    system: str
    sample: str
    half: Literal["even", "odd"]
    commit: str | None = None
    data: str | None = None
    messages: int = 0
    bytes: int = 0
    read: Spent = Spent()
    store_bytes: int = 0
    questions: Sequence[Asked] = ()
    unanswered: Sequence[Unanswered] = ()
    error: Failure | None = None


class Judged(_Shape):
    """A line of `judged.jsonl`."""

    task: str
    system: str
    sample: str
    question: str
    verdict: str
    prompt: str
    engine: str


@dataclass(frozen=True)
class Judge:
    """Who gave the verdicts, and how far this judge agrees with labels given by hand; None where nobody measured it."""

    engine: str
    prompt: str
    agreement: Agreement | None

    def __str__(self) -> str:
        told = "was not measured" if self.agreement is None else str(self.agreement)
        return f"{self.engine}, prompt SHA-256 {self.prompt}. Its agreement with people: {told}"


@dataclass(frozen=True)
class Lack:
    """That a system has not done all samples of a task: how many it has, and of how many, None where nobody knows."""

    task: str
    system: str
    have: int
    planned: int | None

    def __str__(self) -> str:
        return "no samples" if self.planned is None else f"{self.have} of {self.planned} samples"


@dataclass(frozen=True)
class Results:
    """All of a run.

    Attributes:
        run: `run.json`.
        tasks: names, in the order of the configuration.
        systems: of each task, in the order of the configuration.
        metrics: of each task, the main one first.
        lines: by (task, system), in one order for all systems of a task.
        missing: what of the configuration was not run, by `run.json`; where that does not say what is planned, by the
            samples that other systems of the task have.
        judges: of the judged lines.
    """

    run: Mapping[str, Any]
    tasks: Sequence[str]
    systems: Mapping[str, Sequence[str]]
    metrics: Mapping[str, Sequence[str]]
    lines: Mapping[tuple[str, str], Sequence[Line]]
    missing: Sequence[Lack]
    judges: Sequence[Judge]

    @property
    def config(self) -> Mapping[str, Any]:
        """The configuration as it was given."""
        config: Mapping[str, Any] = self.run["config"]
        return config

    @property
    def seed(self) -> int:
        """Of the run, and of the bootstrap."""
        return int(self.config.get("seed", 0))

    def section(self, kind: Literal["tasks", "systems"], name: str) -> Mapping[str, Any]:
        """The configuration's section of that task or system."""
        for section in self.config.get(kind, ()):
            if section.get("name", section.get("kind")) == name:
                found: Mapping[str, Any] = section
                return found
        raise InvalidInputError(f"run.json has no section of [[{kind}]] with the name {name!r}")

    def samples(self, task: str, system: str) -> int | str:
        """How many there are, and of how many where some were not run."""
        lacks = [lack for lack in self.missing if (lack.task, lack.system) == (task, system)]
        return str(lacks[0]).removesuffix(" samples") if lacks else len(self.lines[task, system])

    @property
    def failures(self) -> list[Line]:
        """Samples that failed, in the order of the lines."""
        return [line for own in self.lines.values() for line in own if line.error is not None]


def load(folder: Path) -> Results:
    """The results of a run's folder, of one that has not ended those that there are.

    InvalidInputError where there are none, or they contradict each other.
    """
    run = read_run(folder)
    lines: dict[tuple[str, str], dict[str, Line]] = {}
    read: dict[tuple[str, str], str] = {}
    for line in _so_far(folder) if run["ended"] is None and holds_raw(folder) else raw_lines(folder):
        own = lines.setdefault((line.task, line.system), {})
        if line.sample in own:
            raise InvalidInputError(f"{line.task}, {line.system}, {line.sample} stands twice in the results")
        own[line.sample] = line
        if line.data and read.setdefault((line.task, line.sample), line.data) != line.data:
            raise InvalidInputError(
                f"{line.task}, {line.sample}: the systems did not read the same data; run it on one version of them"
            )
    if not lines:
        raise InvalidInputError(f"{folder} has no results: not a line was written")
    judges = _judge(folder, lines) if run["ended"] is not None else ()  # not all may be judged yet
    tasks = _ordered(run, "tasks", {task for task, _ in lines})
    systems = {task: _ordered(run, "systems", {s for t, s in lines if t == task}) for task in tasks}
    found: dict[tuple[str, str], Sequence[Line]] = {}
    metrics: dict[str, Sequence[str]] = {}
    for task in tasks:
        samples = sorted({sample for (t, _), own in lines.items() if t == task for sample in own})
        of_sample = {
            s: [lines[task, system][s] for system in systems[task] if s in lines[task, system]] for s in samples
        }
        metrics[task] = _metrics([line for own in of_sample.values() for line in own])
        main = [metric for metric in metrics[task] if metric in (metrics[task][0], JUDGED)]
        for system in systems[task]:
            own = lines[task, system]
            found[task, system] = [_filled(own[s], of_sample[s], main) for s in samples if s in own]
    return Results(run, tasks, systems, metrics, found, _missing(run, lines), judges)


def _missing(run: Mapping[str, Any], lines: Mapping[tuple[str, str], Mapping[str, Line]]) -> Sequence[Lack]:
    """Over what is planned, in the order of the configuration, and over all else that has lines."""
    planned: Mapping[str, Any] = run.get("planned", {})
    pairs = [(task, system) for task, own in planned.items() for system in own["systems"]]
    lacks = []
    for task, system in dict.fromkeys([*pairs, *lines]):
        done = {sample for (own, _), found in lines.items() if own == task for sample in found}
        count: int | None = planned.get(task, {}).get("samples") or len(done) or None
        have = len(lines.get((task, system), {}))
        if count is None or have < count:
            lacks.append(Lack(task, system, have, count))
    return lacks


def read_run(folder: Path) -> Mapping[str, Any]:
    """The record of a run; an error says what it lacks."""
    path = folder / "run.json"
    if not path.exists():
        raise InvalidInputError(f"{folder} holds no run: there is no run.json; eval.run writes it")
    try:
        run: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise MalformedInputError(f"{path} is not JSON: {error}") from error
    lacking = [key for key in ("config", "sha256", "commit", "machine", "started", "ended") if key not in run]
    if lacking:
        raise MalformedInputError(f"{path} does not say {', '.join(lacking)}; was it written by eval.run?")
    return run


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Numbered lines of a file, or of the same file with .gz at its end; none where there is neither."""
    packed = path.with_name(f"{path.name}.gz")
    if path.exists():
        with path.open(encoding="utf-8") as file:
            yield from enumerate(file, start=1)
    elif packed.exists():
        with gzip.open(packed, "rt", encoding="utf-8") as file:
            yield from enumerate(file, start=1)


def raw_lines(folder: Path) -> Iterator[Line]:
    """The lines of a finished run as they are; an error names the line that is none."""
    path = folder / "results.jsonl"
    if not path.exists() and not path.with_name("results.jsonl.gz").exists():
        raise InvalidInputError(f"{folder} has no results.jsonl: the run is not finished; start eval.run again")
    for number, text in read_lines(path):
        yield _line(text, str(path), number)


def _line(text: str, source: str, number: int | None = None) -> Line:
    try:
        return Line.model_validate_json(text)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in problem["loc"])
        raise MalformedInputError(f"{source}: {where}: {problem['msg']}", line=number) from error


def _so_far(folder: Path) -> Iterator[Line]:
    """What the ranks have written of a run that has not ended."""
    for key, line in read_all(folder).items():
        yield _line(json.dumps(line), f"{folder}: {' / '.join(key)}")


def _ordered(run: Mapping[str, Any], kind: str, names: set[str]) -> list[str]:
    """In the order of the configuration; what it does not name comes last, by name."""
    known = [section.get("name", section.get("kind")) for section in run["config"].get(kind, ())]
    return [name for name in known if name in names] + sorted(names - set(known))


def _metrics(lines: Sequence[Line]) -> Sequence[str]:
    judged = any(JUDGED in asked.scores for line in lines for asked in line.questions)
    return (*lines[0].metrics, JUDGED) if judged else tuple(lines[0].metrics)


def _filled(line: Line, of_sample: Sequence[Line], main: Sequence[str]) -> Line:
    """The line itself, or, where it failed, with the questions of the sample and nothing right."""
    if line.error is None:
        return line
    whole = [other for other in of_sample if other.error is None]
    of_question: Sequence[Asked | Unanswered] = whole[0].questions if whole else line.unanswered
    if not of_question:
        asked = Asked(id="?", question="", answers=(), reply="", abstained=False, scores=worst(main))
        return line.model_copy(update={"questions": (asked,)})
    scores: dict[str, dict[str, float]] = {own.id: dict(own.scores) for own in line.unanswered}
    for other in whole:
        for question in other.questions:
            scores.setdefault(question.id, {}).update(question.scores)
    also = {JUDGED: 0.0} if JUDGED in main else {}
    lost = [
        Asked(
            id=own.id,
            category=own.category,
            question=own.question,
            answers=own.answers,
            reply="",
            abstained=False,
            scores={**failed(scores[own.id]), **also},
        )
        for own in of_question
    ]
    return line.model_copy(update={"questions": tuple(lost)})


def agreement_of(folder: Path) -> Agreement | None:
    """What a run's folder says of its judge's agreement; None where it says nothing.

    Raises MalformedInputError where the file is not as `eval.judge` writes it.
    """
    path = folder / AGREEMENT
    if not path.exists():
        return None
    try:
        return Agreement.model_validate_json(path.read_text(encoding="utf-8"))
    except ValidationError as error:
        raise MalformedInputError(f"{path} is no agreement: {error.errors(include_url=False)[0]['msg']}") from error


def _judge(folder: Path, lines: dict[tuple[str, str], dict[str, Line]]) -> Sequence[Judge]:
    """Put the verdicts of `judged.jsonl` among the scores; who gave them. A task is judged as a whole or not at all."""
    verdicts: dict[tuple[str, str, str, str], str] = {}
    judges = set()
    for _, text in read_lines(folder / "judged.jsonl"):
        one = Judged.model_validate_json(text)
        verdicts[one.task, one.system, one.sample, one.question] = one.verdict
        judges.add((one.engine, one.prompt))
    for task in {task for task, *_ in verdicts}:
        for system in [own for of, own in lines if of == task]:
            own = lines[task, system]
            for sample, line in own.items():
                questions = []
                for asked in line.questions:
                    verdict = verdicts.get((task, system, sample, asked.id))
                    if verdict is None:
                        raise InvalidInputError(
                            f"{task}, {system}, {sample}, {asked.id} is not judged yet: run eval.judge again"
                        )
                    scores = {**asked.scores, JUDGED: float(verdict in _RIGHT)}
                    questions.append(asked.model_copy(update={"scores": scores}))
                own[sample] = line.model_copy(update={"questions": tuple(questions)})
    known = agreement_of(folder)
    agreed = {} if known is None else {(known.engine, known.prompt): known}
    return [Judge(engine, prompt, agreed.get((engine, prompt))) for engine, prompt in sorted(judges)]


def halved(lines: Sequence[Line], half: str) -> list[Line]:
    """Those of a half, or all."""
    return [line for line in lines if half in ("all", line.half)]
