"""One unit of an evaluation: a system reads a sample and answers its questions, and the line that tells of it."""

from __future__ import annotations

import errno
import hashlib
import json
import random
import re
import traceback
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from eval.caches.cached_time import KeptTime
from eval.harness.contract import Cost, Question, Reply, Sample, Session, System, Task
from eval.harness.raw_lines import Key
from nscma_torch.core.errors import (
    ConfigError,
    EngineUnavailableError,
    JobError,
    MissingDependencyError,
    StoreError,
    StoreFullError,
)

CACHED = "cached"  # the stage of seconds that kept work took when it was done; below 0, what keeping it took
_FATAL = (ConfigError, EngineUnavailableError, MissingDependencyError, StoreFullError)  # no sample would fare better
_FULL = (errno.ENOSPC, errno.EDQUOT)
_FOR_A_JUDGE = ("rubric", "reference")  # facts of a question that say what a right reply is


@dataclass(frozen=True)
class Group:
    """All that is to do on one sample, which one rank does, so that what systems have in common is made once.

    Attributes:
        index: the sample's place in its task.
        systems: names, in the order of the configuration.
    """

    task: str
    sample: str
    index: int
    systems: tuple[str, ...]

    def keys(self) -> list[Key]:
        """Of its units."""
        return [(self.task, system, self.sample) for system in self.systems]


_FATAL_JOB = re.compile(  # as a worker notes a job's failure
    "|".join([*(rf"\b{kind.__name__}: " for kind in _FATAL), *(rf"\[Errno {number}\]" for number in _FULL)])
)


class Stopped(Exception):  # noqa: N818 - it says what the run does
    """Something failed that would fail every other sample too."""


def seed_all(seed: int, task: str, sample: str) -> None:
    """Seed what a unit may draw from by what it is, so that no result depends on the rank or on what was done before.

    Systems of one sample have the same seed.
    """
    digest = hashlib.sha256(f"{seed}\0{task}\0{sample}".encode()).digest()
    own = int.from_bytes(digest[:8], "big") >> 1
    random.seed(own)
    np.random.seed(own % 2**32)
    torch.manual_seed(own)


def head(group: Group, task: Task, system: str, *, seed: int) -> dict[str, Any]:
    """The beginning of a line."""
    half = "odd" if group.index % 2 else "even"
    return {
        "task": group.task,
        "metrics": list(task.metrics),
        "system": system,
        "sample": group.sample,
        "index": group.index,
        "half": half,
        "seed": seed,
    }


def failed(error: Exception, unanswered: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The end of the line of a unit that failed; raises Stopped for an error that no other unit would survive.

    Args:
        unanswered: what would have been asked.
    """
    cause: BaseException | None = error
    while cause is not None:
        if _is_fatal(cause):
            raise Stopped(f"{type(cause).__name__}: {cause}") from error
        cause = cause.__cause__ or cause.__context__
    frame = traceback.extract_tb(error.__traceback__)[-1]
    told = {
        "type": type(error).__name__,
        "message": str(error).encode(errors="backslashreplace").decode(),
        "at": f"{Path(frame.filename).name}:{frame.lineno} {frame.name}",
    }
    return {"questions": [], "unanswered": list(unanswered), "error": told}


def _is_fatal(error: BaseException) -> bool:
    """A plain StoreError is not of a sample's store, but of a helper process that is away."""
    if isinstance(error, JobError):
        return _FATAL_JOB.search(str(error)) is not None
    full = isinstance(error, OSError) and error.errno in _FULL
    return full or isinstance(error, _FATAL) or type(error) is StoreError


def unasked(task: Task, sample: Sample) -> list[dict[str, Any]]:
    """The questions of a sample without replies, with the scores of an empty one: which metrics apply to each."""
    return [{**_asked(question), "scores": scores_of(task, question, Reply(""))} for question in sample.questions]


def measured(sample: Sample, task: Task, system: System, time: KeptTime, folder: Path) -> dict[str, Any]:
    """The end of the line of a unit that succeeded; `folder` is empty, and stays while the sample is at hand."""
    with system.open(folder) as session:
        before = time.spared
        read = session.read(sample.messages)
        spared = time.spared - before
        size = session.store_bytes()
        questions = [_answered(sample, question, task, session, time) for question in sample.questions]
    return {
        "data": digest(sample),
        "messages": len(sample.messages),
        "bytes": sum(len(message.content.encode(errors="replace")) for message in sample.messages),
        "read": _cost(read, spared),
        "store_bytes": size,
        "questions": questions,
        "error": None,
    }


def digest(sample: Sample) -> str:
    """Of what was read and asked, 16 hex digits: another one for the same sample means that the data are others."""
    said = [(m.role, m.name, m.timestamp, m.source, m.session, m.content) for m in sample.messages]
    asked = [
        (q.id, q.text, q.answers, q.category, q.evidence, q.options, q.asked_at, dict(q.facts))
        for q in sample.questions
    ]
    told = json.dumps([said, asked, sample.asked_at], default=str, sort_keys=True)
    return hashlib.sha256(told.encode(errors="replace")).hexdigest()[:16]


def _answered(sample: Sample, question: Question, task: Task, session: Session, time: KeptTime) -> dict[str, Any]:
    before = time.spared
    now = question.asked_at or sample.asked_at
    reply = session.ask(question.text, options=question.options, now=now)
    spared = time.spared - before
    facts = {key: question.facts[key] for key in _FOR_A_JUDGE if key in question.facts}
    return {
        **_asked(question),
        **({"facts": facts} if facts else {}),
        **_told(reply),
        "scores": scores_of(task, question, reply),
        "cost": _cost(reply.cost, spared),
    }


def _asked(question: Question) -> dict[str, Any]:
    return {
        "id": question.id,
        "category": question.category,
        "question": question.text,
        "answers": list(question.answers),
    }


def scores_of(task: Task, question: Question, reply: Reply) -> dict[str, float]:
    """What the task says of a reply."""
    return {metric: float(score) for metric, score in task.score(question, reply).items()}


def _told(reply: Reply) -> dict[str, Any]:
    told: dict[str, Any] = {
        "reply": reply.text,
        "abstained": reply.abstained,
        "evidence": None if reply.evidence is None else list(reply.evidence),
        "confidence": reply.confidence,
    }
    return {**told, "note": reply.note} if reply.note else told


def _cost(cost: Cost, spared: float) -> dict[str, Any]:
    seconds = {**cost.seconds, CACHED: spared} if spared else dict(cost.seconds)
    return {
        "llm_calls": cost.llm_calls,
        "tokens_in": cost.tokens_in,
        "tokens_out": cost.tokens_out,
        "seconds": seconds,
    }


def left(groups: Sequence[Group], done: Collection[Key]) -> list[Group]:
    """The groups without the units that are done, and without those that have no others."""
    rest = [
        replace(g, systems=tuple(name for name in g.systems if (g.task, name, g.sample) not in done)) for g in groups
    ]
    return [group for group in rest if group.systems]
