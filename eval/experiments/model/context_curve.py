"""Accuracy against tokens of context: the same served model answers from what NSCMA and its rivals find.

    python -m eval.experiments.model.context_curve [--url URL] [--model NAME] --conversations DIR|FILE...
        [--locomo DATA] [--every N] [--systems NAME...] [--tokens 100 250 500 1000 2000 4000] [--at-once N]
        --out FILE.jsonl
    python -m eval.experiments.model.context_curve --table --out FILE.jsonl [--plot FILE.png]

Every system of `curve_systems` stores a conversation and ranks its memories for each question. The best that fit N
tokens, as the served model counts them, are shown in order of time, as the product shows messages, and the model
answers as in `ask` (`llm.prompted_answers`), with no help from the trained reader. Memories are whole, up to the first
that does not fit; if that is the best one, it is cut. Full context keeps the newest messages, and the rolling summary
is written anew for each N, in .6 N words. The rankings of MemGPT and Zep end where the papers' limits end them (pages
and main context; 20 facts, 20 entities, 3 communities), all others have no end.

No system writes with a language model: the embedded tasks stand in for it, as each system's docstring says, because
a small model on a CPU would write for hours. Left out for what then remains of them: LangMem and MemoryBank beside
mem0's operations, HippoRAG beside its second version, MemTree, GraphRAG, ReadAgent, Generative Agents and EM-LLM,
whose summaries, reports, gists and reflections would be extracts. RAPTOR needs the extra `eval`.

Dialogues are scored as by `model.cascade`. LoCoMo, its conversations of odd index, has F1, and an answer is right if it
contains the reference answer (`normalized`) in at most 15 words. The model always answers; the tables abstain if the
probability that the context contains the answer is below --least-known, and then never.

The run goes question by question over all systems and budgets, and goes on where it stopped; each line is a system at a
budget. A context that was answered before, of another system or a smaller budget, has the same answer, tokens and
seconds without a request. With `--every N` only each Nth question of each type is asked. With `--at-once N` up to N
contexts of a question are read at once, and their seconds overlap.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path

import torch
from rich.console import Console

from eval.experiments.model.curve_samples import CurveQuestion, CurveSample, samples, scored
from eval.experiments.model.curve_systems import NSCMA, SECTIONS, ContextCutter, OpenSystems
from eval.experiments.model.curve_table import (
    CurveLine,
    cost_table,
    curves_of,
    difference_table,
    plot,
    score_table,
)
from eval.experiments.model.served_model import served_model
from eval.harness.contract import Passage, Shared
from eval.harness.shared_components import equipped
from eval.readers.reader_passages import shown_lines
from nscma_torch.core.config import LlmConfig
from nscma_torch.core.errors import ConfigError, InvalidInputError, ReplyError
from nscma_torch.core.records import AskedQuestion
from nscma_torch.llm.completion import ModelCaller
from nscma_torch.llm.engines.choose import choose_engine
from nscma_torch.llm.engines.contract import LanguageEngine
from nscma_torch.llm.prompted_answers import answered

TOKENS = (100, 250, 500, 1000, 2000, 4000)
SEED = 1
_REPLY = 512  # tokens of a reply at most
_AROUND = 1024  # tokens of a prompt beside its context, at most, as they are estimated before it is sent
_OFTEN = 300.0  # seconds between two reports of progress


@dataclass(frozen=True, slots=True)
class ReadContext:
    """The model's reply to a context; `error` says why it could not be used."""

    text: str
    known: float
    calls: int
    spent: int
    seconds: float
    error: str = ""


@dataclass(frozen=True, slots=True)
class ShownContext:
    """The best memories of a system within a budget, the tokens that they take, and their digest."""

    system: str
    tokens: int
    context: Sequence[Passage]
    used: int
    digest: str


class CurveRun:
    """Asks questions of several systems at several numbers of tokens.

    Args:
        engine: the model that answers.
        shared: what the systems share, without an engine.
        found: the lines so far; they are not asked again.
        at_once: requests that the model gets at once; a server that reads them as one batch is faster.
    """

    def __init__(self, engine: LanguageEngine, shared: Shared, found: Sequence[CurveLine], *, at_once: int = 1) -> None:
        self._engine = engine
        self._at_once = at_once
        self._shared = shared
        self._asker = ModelCaller(engine, max_tokens=_REPLY, temperature=0.0, tally=Counter())
        self._cutter = ContextCutter(engine)
        self._done = {(line.asked, line.system, line.tokens) for line in found}
        self._read = {
            (line.asked, line.context): ReadContext(
                line.answer, line.known, line.calls, line.spent, line.seconds, line.error
            )
            for line in found
        }

    def lines(
        self, asked: Sequence[CurveSample], systems: Sequence[str], budgets: Sequence[int]
    ) -> Iterator[CurveLine]:
        """Yield the lines that are not there yet, question by question."""
        places = list(product(systems, sorted(budgets)))
        for sample in asked:
            with tempfile.TemporaryDirectory(prefix="curve-") as folder, ExitStack() as stack:
                stack.enter_context(self._shared.at_hand.sample())
                opened = OpenSystems(self._shared, sample, Path(folder), stack, seed=SEED)
                for question in sample.questions:
                    about = sample.source, sample.name, question.text
                    left = [place for place in places if (about, *place) not in self._done]
                    shown = [self._shown(sample, question, *place, opened) for place in left]
                    yield from self._lines(sample, question, shown)

    def _shown(
        self, sample: CurveSample, question: CurveQuestion, system: str, tokens: int, opened: OpenSystems
    ) -> ShownContext:
        context, used = self._cutter.cut(opened.ranked(system, question.text, tokens), sample.asked_at, tokens)
        lines = json.dumps(shown_lines(context, sample.asked_at))
        return ShownContext(system, tokens, context, used, hashlib.sha256(lines.encode()).hexdigest()[:16])

    def _lines(
        self, sample: CurveSample, question: CurveQuestion, shown: Sequence[ShownContext]
    ) -> Iterator[CurveLine]:
        """Have each context read that was not read before, several at once, and yield the lines in order."""
        about = sample.source, sample.name, question.text
        known = {(about, one.digest) for one in shown} & self._read.keys()
        new = {(about, one.digest): one.context for one in shown if (about, one.digest) not in known}
        with ThreadPoolExecutor(self._at_once) as threads:
            found = threads.map(lambda context: self._answered(sample, question, context), new.values())
            self._read.update(zip(new, found, strict=True))
        for one in shown:
            key = about, one.digest
            yield self._line(sample, question, one, self._read[key], reused=key in known)
            known.add(key)

    def _line(
        self, sample: CurveSample, question: CurveQuestion, shown: ShownContext, read: ReadContext, *, reused: bool
    ) -> CurveLine:
        verdict, f1 = scored(question, read.text)
        return CurveLine(
            self._engine.name,
            sample.source,
            sample.name,
            question.type,
            question.text,
            question.answer or str(question.gold),
            shown.system,
            shown.tokens,
            shown.used,
            len(shown.context),
            shown.digest,
            read.text,
            read.known,
            verdict,
            f1,
            read.calls,
            read.spent,
            read.seconds,
            reused,
            read.error,
        )

    def _answered(self, sample: CurveSample, question: CurveQuestion, context: Sequence[Passage]) -> ReadContext:
        if not context:
            return ReadContext("", 0.0, 0, 0, 0.0)
        now = sample.asked_at
        asked = AskedQuestion(question.text, asker=sample.user, now=now)
        begin = time.perf_counter()
        try:
            read = answered(self._asker, asked, context, lambda some: shown_lines(some, now), least_known=0.0)
        except ReplyError as error:
            return ReadContext("", 0.0, 0, 0, time.perf_counter() - begin, str(error))
        assert read.kept == len(context), "the context of the model has room"
        return ReadContext(read.text, read.known, read.usage.llm_calls, read.usage.tokens, time.perf_counter() - begin)


def read_lines(file: Path) -> list[CurveLine]:
    """The raw lines of a file, none if it is not there."""
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    return [CurveLine(**json.loads(line)) for line in text.split("\n") if line]


def raw(line: CurveLine) -> str:
    """A line as a file of raw lines holds it."""
    return json.dumps(asdict(line), ensure_ascii=False)


def _run(arguments: argparse.Namespace, found: list[CurveLine]) -> None:
    """Append what is missing to the lines found, and to their file."""
    asked = samples(arguments.conversations, arguments.locomo, arguments.every)
    engine = choose_engine(served_model(arguments.url, arguments.model), lambda: torch.device("cpu"))
    assert engine is not None, "an http engine is configured"
    if max(arguments.tokens) + _REPLY + _AROUND > engine.context:
        raise ConfigError(
            f"{max(arguments.tokens)} tokens do not fit the model's {engine.context}; give fewer --tokens"
        )
    if other := {line.model for line in found} - {engine.name}:
        raise InvalidInputError(f"{arguments.out} holds answers of {', '.join(other)}; give another --out")
    each = len(arguments.systems) * len(arguments.tokens)
    count = each * sum(len(sample.questions) for sample in asked)
    began = told = time.monotonic()
    with (
        equipped({}, device="cpu", seed=SEED, cache=None) as equipment,
        arguments.out.open("a", encoding="utf-8") as file,
    ):
        run = CurveRun(engine, equipment.shared, found, at_once=arguments.at_once)
        for number, line in enumerate(run.lines(asked, arguments.systems, arguments.tokens), 1):
            file.write(f"{raw(line)}\n")
            file.flush()
            found.append(line)
            if time.monotonic() - told > _OFTEN:
                told = time.monotonic()
                seconds = (told - began) / number * each
                print(f"{number} new lines of {count} in all, {seconds:.0f} s a question", flush=True)


def main() -> None:
    """Ask what is left, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", help="the server's address; default: the usual ports on this machine")
    parser.add_argument("--model", help="model to use; default: the only model served")
    parser.add_argument("--conversations", type=Path, nargs="+", default=[], help="chats, dialogues, or folders")
    parser.add_argument("--locomo", type=Path, metavar="DATA", help="folder of the data sets, with locomo/ in it")
    parser.add_argument("--every", type=int, default=1, help="ask each Nth question of each type")
    parser.add_argument("--systems", nargs="+", choices=SECTIONS, metavar="NAME", help=f"some of {', '.join(SECTIONS)}")
    parser.add_argument("--tokens", type=int, nargs="+", help=f"budgets; default: {' '.join(map(str, TOKENS))}")
    parser.add_argument("--at-once", type=int, default=1, metavar="N", help="requests that the server gets at once")
    parser.add_argument("--out", type=Path, required=True, help="file of raw lines, which is continued")
    parser.add_argument("--table", action="store_true", help="only print the tables of what is there")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the curves")
    parser.add_argument("--least-known", type=float, default=LlmConfig().least_known, help="see llm.least_known")
    arguments = parser.parse_args()
    if min(arguments.every, arguments.at_once, *(arguments.tokens or (1,))) < 1:
        parser.error("--every, --at-once and --tokens are at least 1")
    torch.set_num_threads(1)
    found = read_lines(arguments.out)
    if not arguments.table:
        if not arguments.conversations and arguments.locomo is None:
            parser.error("give --conversations, --locomo or both, or --table")
        arguments.systems, arguments.tokens = arguments.systems or list(SECTIONS), arguments.tokens or TOKENS
        _run(arguments, found)
    curves = curves_of(
        [
            line
            for line in found
            if line.system in (arguments.systems or SECTIONS) and line.tokens in (arguments.tokens or {line.tokens})
        ]
    )
    console = Console(width=180)
    for curve in curves:
        if not curve.questions:
            console.print(f"{curve.source}: no question was asked of all systems yet")
            continue
        for least_known in (arguments.least_known, 0.0):
            console.print(score_table(curve, least_known))
            if NSCMA in curve.systems and len(curve.systems) > 1:
                console.print(difference_table(curve, NSCMA, least_known))
        console.print(cost_table(curve))
    if arguments.plot is not None:
        plot([curve for curve in curves if curve.questions], arguments.least_known, arguments.plot)


if __name__ == "__main__":
    main()
