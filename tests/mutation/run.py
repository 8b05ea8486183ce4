"""The mutation score of rooms of the library: the share of small changes to their code that a test notices.

    python -m tests.mutation.run [--rooms ROOM …] [--sample 60 | --all] [--seed 0] [--out DIR] [--again]

Each mutant runs in a process of its own, forked from one that has imported the third-party packages and nothing of the
library; the module is changed on import, never on disk. Against it run the tests of `tests/ROOM` that call the changed
function, cheapest first, until one fails. A process that a test starts runs the library unchanged. DIR/ROOM.json keeps
how each mutant ended; with --again only the mutants that survived run, after tests were added.

Not mutmut 3, which leaves a module's constants, defaults and decorated functions unchanged, nor cosmic-ray, which
starts Python and imports torch anew for each mutant.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import pickle
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest
from hypothesis import Phase, settings

from tests.mutation.call_recorder import CallRecorder, Calls
from tests.mutation.changed_import import ChangedImport
from tests.mutation.child_process import run_in_child
from tests.mutation.mutants import Mutant, mutants_of, mutated

ROOT = Path(__file__).parents[2]
ROOMS = ("retrieval", "curator", "buffer", "encode")
THIRD_PARTY = (
    "numpy",
    "pydantic",
    "safetensors.torch",
    "snowballstemmer",
    "sqlalchemy",
    "tokenizers",
    "torch",
    "torch_geometric.data",
)
KILLED, TIMEOUT, SURVIVED, NOT_CALLED = "killed", "timeout", "survived", "not called"
STARTING = 60.0  # seconds that imports and the collection of tests may take, beside the tests


@dataclass
class Suite:
    """Tests of one room, and what each of them calls."""

    root: Path
    code: str  # folder of the room, from the root
    tests: str  # folder of its tests
    calls: Mapping[str, Calls] = field(default_factory=dict)

    @property
    def files(self) -> list[str]:
        return sorted(str(path.relative_to(self.root)) for path in (self.root / self.code).rglob("*.py"))

    def mutants(self) -> list[Mutant]:
        return [mutant for path in self.files for mutant in mutants_of(self.root, path)]

    def record(self) -> None:
        """Run all tests on the code as it is, twice: to see what they call, and as they run against a mutant.

        RuntimeError with what pytest printed where one fails: a mutant would be thought killed.
        """
        with tempfile.TemporaryDirectory() as folder:
            log, result = Path(folder, "log"), Path(folder, "calls")

            def noted() -> int:
                recorder = CallRecorder(self.root, frozenset(self.files))
                code = self._pytest([self.tests], [recorder])
                result.write_bytes(pickle.dumps(recorder.calls))
                return code

            def repeated() -> int:
                return self._test(sorted(self.calls, key=lambda test: self.calls[test].seconds))

            for work in (noted, repeated):
                if run_in_child(work, log, cpu_seconds=3600, wall_seconds=7200) != 0:
                    raise RuntimeError(f"{self.tests} must pass before {self.code} is changed:\n{log.read_text()}")
                self.calls = pickle.loads(result.read_bytes())

    def against(self, mutant: Mutant) -> list[str]:
        """Tests that call the changed function, or for a module's own code any function of it; cheapest first."""
        called = [
            test
            for test, calls in self.calls.items()
            for path, name in [(mutant.path, mutant.function)]
            if ((path, name) in calls.functions if name else any(path == file for file, _ in calls.functions))
        ]
        return sorted(called, key=lambda test: self.calls[test].seconds)

    def outcome(self, mutant: Mutant) -> str:
        """How the mutant ends: killed, timeout (it ran far longer than the tests do), survived, not called."""
        tests = self.against(mutant)
        if not tests:
            return NOT_CALLED
        seconds = sum(self.calls[test].seconds for test in tests)
        with tempfile.TemporaryDirectory() as folder:
            work = partial(self._test_mutant, mutant, tests)
            code = run_in_child(work, Path(folder, "log"), STARTING + 4 * seconds, 2 * STARTING + 20 * seconds)
        return TIMEOUT if code is None else KILLED if code else SURVIVED

    def _test_mutant(self, mutant: Mutant, tests: Sequence[str]) -> int:
        code = compile(mutated(self.root, mutant), str(self.root / mutant.path), "exec")
        sys.meta_path.insert(0, ChangedImport(self.root, mutant.path, code))
        return self._test(tests)

    def _test(self, tests: Sequence[str]) -> int:
        files = list(dict.fromkeys(test.split("::")[0] for test in tests))
        return self._pytest(["--exitfirst", *files], [_Selection(tests)])

    def _pytest(self, arguments: Sequence[str], plugins: Sequence[object]) -> int:
        settings.register_profile(
            "mutation", derandomize=True, database=None, deadline=None, phases=[Phase.explicit, Phase.generate]
        )
        settings.load_profile("mutation")
        os.chdir(self.root)
        options = [
            f"--rootdir={self.root}",
            "-p",
            "no:cacheprovider",
            "-W",
            "ignore::pytest.PytestAssertRewriteWarning",
        ]
        return int(pytest.main([*options, *arguments], list(plugins)))


class _Selection:
    """A pytest plugin that keeps the named tests only, in the order of the names."""

    def __init__(self, tests: Sequence[str]) -> None:
        self._place = {test: place for place, test in enumerate(tests)}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted((item for item in items if item.nodeid in self._place), key=lambda i: self._place[i.nodeid])


def sample(mutants: Sequence[Mutant], size: int | None, seed: int) -> list[Mutant]:
    """The `size` mutants of smallest rank, or all; in the order of the code."""
    chosen = {mutant.key for mutant in sorted(mutants, key=lambda mutant: mutant.rank(seed))[:size]}
    return [mutant for mutant in mutants if mutant.key in chosen]


def score(outcomes: Mapping[str, str]) -> float:
    """Share of mutants that are killed; 1 without any."""
    ended = Counter(outcomes.values())
    return (ended[KILLED] + ended[TIMEOUT]) / len(outcomes) if outcomes else 1.0


def outcomes_of(suite: Suite, mutants: Sequence[Mutant], known: Mapping[str, str]) -> Iterator[tuple[Mutant, str]]:
    """How each mutant ends; those `known`, by key, to be killed are not run."""
    suite.record()
    for mutant in mutants:
        before = known.get(mutant.key)
        yield mutant, before if before in {KILLED, TIMEOUT} else suite.outcome(mutant)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--rooms", nargs="+", choices=ROOMS, default=ROOMS)
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--sample", type=int, default=60, help="mutants of each room")
    size.add_argument("--all", action="store_true", help="all mutants; hours")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--out", type=Path, default=Path(".cache/mutants"), help="folder of the results")
    parser.add_argument("--again", action="store_true", help="only mutants that survived the last run")
    options = parser.parse_args(arguments)
    for module in THIRD_PARTY:
        importlib.import_module(module)
    importlib.import_module("torch").set_num_threads(1)
    sys.dont_write_bytecode = True
    options.out.mkdir(parents=True, exist_ok=True)
    all_outcomes: dict[str, str] = {}
    for room in options.rooms:
        start = time.monotonic()
        kept = options.out / f"{room}.json"
        known = json.loads(kept.read_text(encoding="utf-8")) if options.again else {}
        suite = Suite(ROOT, f"nscma_torch/{room}", f"tests/{room}")
        mutants = sample(suite.mutants(), None if options.all else options.sample, options.seed)
        outcomes: dict[str, str] = {}
        for mutant, outcome in outcomes_of(suite, mutants, known):
            outcomes[mutant.key] = outcome
            kept.write_text(json.dumps(known | outcomes, indent=1, ensure_ascii=False), encoding="utf-8")
            if outcome in {SURVIVED, NOT_CALLED}:
                print(f"{outcome}: {mutant}", flush=True)
        minutes = (time.monotonic() - start) / 60
        print(f"{room}: {score(outcomes):.2f} of {len(outcomes)} mutants killed, {minutes:.1f} minutes", flush=True)
        all_outcomes |= outcomes
    print(f"all: {score(all_outcomes):.2f} of {len(all_outcomes)} mutants killed")


if __name__ == "__main__":
    main()
