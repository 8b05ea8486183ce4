"""Patterns take linear time on hostile text: runs of blanks, digits, brackets, and of their own words."""

from __future__ import annotations

import importlib
import pkgutil
import re
import re._constants as codes  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
import signal
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from importlib.util import find_spec
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

import nscma_torch
from nscma_torch.reading import chinese_forms, cues
from nscma_torch.reading.relations import load_relations

ROOT = Path(nscma_torch.__file__).parent
SKIPPED = (".examples", ".demo", ".cli", ".integrations", ".__main__", ".postgres", ".doctor", ".bulk", ".vllm")
CALLS = re.compile(r"(\w+)\.(search|match|fullmatch|findall|finditer|subn?|split)\b")
RUNS = (
    *" \n\taA1é一１《「『«‘'\"“<[({-.,:=#`>?!@_/|~*的我在刚被",
    *("the ", "I ", "my ", "A. ", "1,", "1 ", "a.", "a-", "Aa ", "Aa", "a'", "a b ", "Ab Cd ", "每天早上", "\t "),
)
SIZE, REPEATS = 600, 100
LIMIT = 0.25  # seconds of the processor for one call; a linear one takes less than a thousandth of them
LEAST = 0.02  # seconds; what takes less is not told from noise
# Matched against what is cut to size first.
BOUNDED = {
    "chinese_clauses": ("_QUESTION", "_FIRM"),  # LONGEST_SENTENCE
    "read_statements": ("_OWNER",),  # _REACH
    "roles": ("_OWNER",),  # _REACH
    "tense": ("_CLAUSE_END",),  # _BEFORE and _AFTER
    "whole_tokens": ("_BEFORE", "_GROUP_BEFORE"),  # _REACH
}
USED = {"_TIME_ASKED": {"match"}, "_NAME_ASKED": {"match"}}  # under another name


def test_every_pattern_is_linear() -> None:
    uses = methods_used()
    slow = []
    patterns = list(package_patterns())
    assert len(patterns) > 180
    for module, name, pattern in patterns:
        if name in BOUNDED.get(module.rpartition(".")[2], ()):
            continue
        methods = USED.get(name) or uses[module, name] or uses["", name] or {"findall"}
        slow += [f"{module}.{name}.{method} on {run!r}" for method, run in superlinear(pattern, methods)]
    assert not slow, "\n".join(slow)


def test_forms_of_relations_are_bounded_on_a_clause() -> None:
    """Clauses are cut to `LONGEST_CLAUSE` characters: readings of a run must not multiply within them."""
    clauses = ["我" + run * (99 // len(run)) for run in ("刚", "最近", "不", "会", "已经刚", "没有", "就早")]
    for form in chinese_forms.compile_forms(load_relations()):
        for text in clauses:
            assert seconds(form.pattern, "match", text) < LIMIT, (form.source, text[:9])


def test_the_search_for_slow_patterns_can_fail() -> None:
    assert superlinear(re.compile(r"\s*\([^()]*\)\s*$"), {"findall"})
    assert superlinear(re.compile(r"^(?:刚刚?)*被"), {"match"})
    assert not superlinear(re.compile(r"(?<!\d)\d+ ?年"), {"findall"})


def package_patterns() -> Iterator[tuple[str, str, re.Pattern[str]]]:
    seen = set()
    for info in pkgutil.walk_packages(nscma_torch.__path__, "nscma_torch."):
        spec = find_spec(info.name)
        if info.ispkg or spec is None or spec.origin is None or "re.compile" not in Path(spec.origin).read_text():
            continue
        if any(part in info.name for part in SKIPPED):
            continue
        module = importlib.import_module(info.name)
        for name, value in [*vars(module).items(), *extra(module)]:
            for pattern in within(value):
                if (pattern.pattern, pattern.flags) not in seen:
                    seen.add((pattern.pattern, pattern.flags))
                    yield module.__name__, name, pattern


def extra(module: ModuleType) -> list[tuple[str, Any]]:
    return [("_lexicon", cues._lexicon())] if module is cues else []


def within(value: Any, depth: int = 3) -> Iterator[re.Pattern[str]]:
    if isinstance(value, re.Pattern):
        if isinstance(value.pattern, str):
            yield value
    elif depth:
        if isinstance(value, dict):
            inner = list(value.values())
        elif isinstance(value, tuple | list | set | frozenset):
            inner = list(value)
        elif is_dataclass(value) and not isinstance(value, type):
            inner = [getattr(value, field.name, None) for field in fields(value)]
        else:
            return
        for one in inner:
            yield from within(one, depth - 1)


def methods_used() -> dict[tuple[str, str], set[str]]:
    """By module and name, and by the name in any module, the methods that patterns are called with."""
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    for path in ROOT.rglob("*.py"):
        module = ".".join(("nscma_torch", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")
        for name, called in CALLS.findall(path.read_text()):
            if name != "re":
                method = "findall" if called in ("finditer", "sub", "subn", "split") else called
                found[module, name].add(method)
                found["", name].add(method)
    return found


def superlinear(pattern: re.Pattern[str], methods: set[str]) -> list[tuple[str, str]]:
    """Method and run of the first hostile text that takes the pattern more than linear time."""
    own: set[str] = set()
    literals(parser.parse(pattern.pattern, pattern.flags), own)
    for run in dict.fromkeys([*RUNS, *sorted(own)[:20]]):
        for end in ("", "x"):
            for method in sorted(methods):
                if all(grows(pattern, method, run, end) for _ in range(3)):  # a busy machine seems to grow once
                    return [(method, run + end)]
    return []


def grows(pattern: re.Pattern[str], method: str, run: str, end: str) -> bool:
    """Whether 16 times the text takes far more than 16 times as long; if it seems so, in the best of some tries."""
    times = max(REPEATS, SIZE // len(run))
    short, middle, long = (run * n * times + end for n in (1, 4, 16))
    if (shorter := seconds(pattern, method, short)) < LEAST / 16**2:  # even a quadratic one would stay below it
        return False
    if shorter >= LIMIT:
        return True
    if seconds(pattern, method, middle) <= min(LIMIT - LEAST, 6 * min(shorter, seconds(pattern, method, short))):
        return False
    longer = LIMIT
    for _ in range(3):
        longer = min(longer, seconds(pattern, method, long))
        if longer < LIMIT and (longer <= LEAST or longer <= 45 * shorter):
            return False
        shorter = min(shorter, seconds(pattern, method, short))
    return True


def seconds(pattern: re.Pattern[str], method: str, text: str) -> float:
    """Time of a call, which is ended at `LIMIT` of the processor, whose own clock may tick in steps of 10 ms."""
    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT)
    began = time.perf_counter()
    try:
        getattr(pattern, method)(text)
    except TimeoutError:
        return LIMIT
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    return time.perf_counter() - began


def stop(_signal: int, _frame: FrameType | None) -> None:
    raise TimeoutError


def literals(tree: Any, found: set[str]) -> None:
    """The words and characters that a parsed pattern names."""
    word = ""
    for code, value in [*tree, (None, None)]:
        if code is codes.LITERAL:
            word += chr(value)
            continue
        found.update({word} - {""})
        word = ""
        if code is codes.IN:
            found.update(chr(one if isinstance(one, int) else one[0]) for kind, one in value if kind in RANGES)
        elif code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
            literals(value[2], found)
        elif code is codes.SUBPATTERN:
            literals(value[3], found)
        elif code is codes.BRANCH:
            for branch in value[1]:
                literals(branch, found)
        elif code in (codes.ASSERT, codes.ASSERT_NOT):
            literals(value[1], found)
        elif code is codes.ATOMIC_GROUP:
            literals(value, found)


RANGES = (codes.LITERAL, codes.RANGE)
