"""The ranked memories that each system of `eval.systems` would hand to a reader, and a context of so many tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

from eval.experiments.model.curve_samples import CurveSample
from eval.harness.contract import Keep, Passage, Reply, Session, Shared
from eval.harness.sample_run import seed_all
from eval.readers.reader_passages import as_said, known, shown_lines
from eval.systems.catalogue import make_system
from nscma_torch.core.errors import ConfigError
from nscma_torch.llm.engines.contract import LanguageEngine, Turn
from nscma_torch.llm.prompts.quoting import quoted_lines
from nscma_torch.reading.passage import first_words, word_count

_ALL = 1 << 20  # more than any conversation has
_WORDS_OF_TOKEN = 0.6  # of a summary, so that it mostly fits
_AT_ONCE = 16  # lines that are counted together

NSCMA = "NSCMA full"
SECTIONS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        NSCMA: {"kind": "nscma", "answering": "reader", "top_k": _ALL, "retrieved": 0},
        "plain RAG": {"kind": "dense", "top_k": _ALL},
        "RRF of BM25 and dense": {"kind": "rrf", "top_k": _ALL},
        "full context": {"kind": "full-context"},
        "rolling summary": {"kind": "rolling-summary"},
        "mem0 with its operations": {"kind": "mem0-operations", "top_k": _ALL},
        "A-MEM": {"kind": "a-mem", "k": _ALL},
        "HippoRAG 2": {"kind": "hipporag2", "top_k": _ALL},
        "RAPTOR": {"kind": "raptor", "tokens": _ALL},
        "MemGPT": {"kind": "memgpt"},
        "Zep": {"kind": "zep"},
    }
)


class RankedPassages:
    """A reader that keeps what it is handed, best first, and answers nothing."""

    def __init__(self) -> None:
        self.best_first: Sequence[Passage] = ()

    def begin(self, summary_words: int) -> None:
        """Nothing is read."""

    def answer(
        self,
        question: str,  # noqa: ARG002
        passages: Sequence[Passage],
        *,
        options: Sequence[str],  # noqa: ARG002
        now: datetime,
        keep: Keep = "first",
    ) -> Reply:
        """Keep the passages: as they are ranked, or the newest first if what was said latest is to be kept."""
        texts = known(passages, now)
        self.best_first = texts if keep == "first" else as_said(texts, now)[::-1]
        return Reply("", abstained=True)

    def forget(self) -> None:
        """Drop the passages."""
        self.best_first = ()


class OpenSystems:
    """Systems that have read a conversation, each from when it is asked first to the end of the stack.

    Args:
        folder: empty, for their stores.
        seed: of what a system draws.
    """

    def __init__(self, shared: Shared, sample: CurveSample, folder: Path, stack: ExitStack, *, seed: int) -> None:
        self._reader = RankedPassages()
        self._shared = replace(shared, reader=self._reader)
        self._sample = sample
        self._folder = folder
        self._stack = stack
        self._seed = seed
        self._sessions: dict[str, Session] = {}
        self._ranked: dict[tuple[str, str], Sequence[Passage]] = {}

    def ranked(self, system: str, question: str, tokens: int) -> Sequence[Passage]:
        """Return the passages that a system finds for a question, best first; of these `tokens` will be read."""
        section = _section(system, tokens, self._sample.user)
        key = str(section)
        if (key, question) not in self._ranked:
            if key not in self._sessions:
                self._sessions[key] = self._opened(section)
            self._sessions[key].ask(question, options=(), now=self._sample.asked_at)
            self._ranked[key, question] = self._reader.best_first
        return self._ranked[key, question]

    def _opened(self, section: Mapping[str, Any]) -> Session:
        folder = self._folder / str(len(self._sessions))
        folder.mkdir()
        seed_all(self._seed, self._sample.source, self._sample.name)
        session = self._stack.enter_context(make_system(section, self._shared).open(folder))
        session.read(self._sample.messages)
        return session


def _section(system: str, tokens: int, user: str) -> Mapping[str, Any]:
    if system not in SECTIONS:
        raise ConfigError(f"there is no system {system!r}; systems: {', '.join(SECTIONS)}")
    section = {"name": system, **SECTIONS[system]}
    if section["kind"] == "nscma":
        section["user"] = user
    if section["kind"] == "rolling-summary":
        section["words"] = max(1, int(_WORDS_OF_TOKEN * tokens))
    return section


class ContextCutter:
    """Cuts contexts to a number of tokens, as the served model counts them where they stand in the prompt."""

    def __init__(self, engine: LanguageEngine) -> None:
        self._engine = engine
        (self._empty,) = engine.count_tokens([(Turn("user", ""),)])
        self._sizes: dict[str, int] = {}

    def cut(self, best_first: Sequence[Passage], now: datetime, tokens: int) -> tuple[list[Passage], int]:
        """Return the best passages that fit, up to the first that does not, and the tokens they take.

        If not even the best one fits, it is cut after its last word that does.
        """
        kept, total = 0, 0
        while kept < len(best_first) and total <= tokens:
            some = best_first[kept : kept + _AT_ONCE]
            for size in self._each([shown_lines([one], now)[0] for one in some]):
                total += size
                kept += total <= tokens
                if total > tokens:
                    break
        context = list(best_first[:kept])
        while context and (used := self._count(context, now)) > tokens:
            context.pop()
        if context or not best_first:
            return context, used if context else 0
        context = self._beginning(best_first[0], now, tokens)
        return context, self._count(context, now)

    def _beginning(self, passage: Passage, now: datetime, tokens: int) -> list[Passage]:
        fits, fails = 0, word_count(passage.text)
        while fails - fits > 1:
            words = (fits + fails) // 2
            short = self._count([replace(passage, text=first_words(passage.text, words))], now) <= tokens
            fits, fails = (words, fails) if short else (fits, words)
        return [replace(passage, text=first_words(passage.text, fits))] if fits else []

    def _each(self, lines: Sequence[str]) -> list[int]:
        """Tokens of each line and the end of it; adjacent lines take about as many."""
        new = [line for line in dict.fromkeys(lines) if line not in self._sizes]
        counted = (
            self._engine.count_tokens([(Turn("user", f"{quoted_lines([line])}\n"),) for line in new]) if new else []
        )
        self._sizes |= {line: size - self._empty for line, size in zip(new, counted, strict=True)}
        return [self._sizes[line] for line in lines]

    def _count(self, passages: Sequence[Passage], now: datetime) -> int:
        (whole,) = self._engine.count_tokens([(Turn("user", quoted_lines(shown_lines(passages, now))),)])
        return whole - self._empty
