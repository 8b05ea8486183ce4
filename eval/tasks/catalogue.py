"""All benchmarks by the `kind` of their section."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

from eval.harness.contract import Task
from eval.harness.plugins import is_plugin, plugin
from eval.tasks.babilong import Babilong
from eval.tasks.beam import Beam
from eval.tasks.fables import Fables
from eval.tasks.fewer_questions import FewerQuestions
from eval.tasks.halumem import HaluMem
from eval.tasks.locomo import Locomo
from eval.tasks.longmemeval import LongMemEval
from eval.tasks.longmemeval_v2 import LongMemEvalV2
from eval.tasks.memory_agent_bench import MemoryAgentBench
from eval.tasks.multihop import Multihop
from eval.tasks.multihop_rag import MultihopRag
from eval.tasks.narrativeqa import Narrativeqa
from eval.tasks.noise import WithNoise
from eval.tasks.odsum import Odsum
from eval.tasks.personamem import PersonaMem
from eval.tasks.prefeval import PrefEval
from eval.tasks.qmsum import Qmsum
from eval.tasks.quality import Quality
from eval.tasks.realtalk import RealTalk
from eval.tasks.updates import Updates
from nscma_torch.core.errors import ConfigError


class Benchmark(Task, Protocol):
    """A task that says what of its data it could not use.

    Attributes:
        malformed: items that were left out, each with the reason.
    """

    malformed: tuple[str, ...]


KINDS: Mapping[str, Callable[[Mapping[str, Any], Path], Benchmark]] = MappingProxyType(
    {
        "babilong": Babilong,
        "beam": Beam,
        "fables": Fables,
        "halumem": HaluMem,
        "locomo": Locomo,
        "longmemeval": LongMemEval,
        "longmemeval-v2": LongMemEvalV2,
        "memory-agent-bench": MemoryAgentBench,
        "multihop": Multihop,
        "multihop-rag": MultihopRag,
        "narrativeqa": Narrativeqa,
        "odsum": Odsum,
        "personamem": PersonaMem,
        "prefeval": PrefEval,
        "qmsum": Qmsum,
        "quality": Quality,
        "realtalk": RealTalk,
        "updates": Updates,
    }
)


def make_task(section: Mapping[str, Any], data: Path) -> Task:
    """The task of a section of the configuration, on the data in a folder.

    A kind `package.module:Class` is a class of your own, made of the section and the folder. Raises `ConfigError` for
    an unknown kind or key, a bad value, or data that are not there.
    """
    kind = str(section.get("kind", ""))
    made = plugin(kind) if is_plugin(kind) else KINDS.get(kind)
    if made is None:
        (near,) = difflib.get_close_matches(kind, KINDS, n=1, cutoff=0.0)
        raise ConfigError(f"unknown kind of task {kind!r}; did you mean {near!r}? known are {', '.join(sorted(KINDS))}")
    name = section.get("name", kind)
    try:
        task = made(section, data)
    except (OSError, json.JSONDecodeError) as error:
        raise ConfigError(f"task {name!r}: {error}; put its files there as published") from error
    except KeyError as error:
        raise ConfigError(f"task {name!r}: a file in {data} is of another format, it has no {error}") from error
    if not task.ids():
        malformed = getattr(task, "malformed", ())  # which a task of your own need not have
        why = f" ({len(malformed)} malformed; {malformed[0]})" if malformed else ""
        raise ConfigError(f"task {name!r} found no sample in {data}{why}; put its files there as published")
    if kind in KINDS and section.get("noise"):  # an option of `NoisyOptions`, which those without it refuse
        task = WithNoise(task, section, data)
    most = section.get("questions", 0)
    return FewerQuestions(task, most) if most else task
