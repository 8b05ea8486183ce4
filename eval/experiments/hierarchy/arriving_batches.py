"""Systems that take in batches of passages that arrive one after another, with counts of their language tasks.

A system is as its own code has it where new text arrives: CAM, MemTree and NSCMA insert what is new; HippoRAG 2 reads
what is new, keeps triples and vectors of the rest, and puts its graph together anew (`HippoRAG.index` of
OSU-NLP-Group/HippoRAG); RAPTOR and GraphRAG are built anew of everything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType

from eval.caches.embedding_cache import CachedEmbedder
from eval.caches.extraction_cache import KeptExtractions
from eval.experiments.hierarchy.cam_variants import PAPER
from eval.harness.contract import Passage, Shared
from eval.systems.baseline import Finder
from eval.systems.graph_rag import GraphRag, GraphRagOptions
from eval.systems.hipporag2 import HippoRag2, HippoRag2Options
from eval.systems.language import Language, Triple
from eval.systems.mem_tree import MemTree, MemTreeOptions
from eval.systems.options import merged
from eval.systems.raptor import Raptor, RaptorOptions
from nscma_torch import Config, Memory, Message, load_config
from nscma_torch.errors import JobError
from nscma_torch.protocols import Embedder
from nscma_torch.records import Extraction, Unit

ONLINE = "CAM"
_USER = "reader"
_NOW = datetime(2024, 1, 1, tzinfo=UTC)

Take = Callable[[Sequence[Message]], None]


class Tally:
    """Language tasks of a system: a text that is read for what it says, or a text that is written of others.

    Attributes:
        given, written: the texts of each, since the last `clear`.
        new: how many of them this system had never asked before; a cache of replies knows the others.
    """

    def __init__(self) -> None:
        self._seen: set[tuple[str, ...]] = set()
        self.clear()

    def clear(self) -> None:
        """Count from 0; what was asked before stays known."""
        self.given: list[Sequence[str]] = []
        self.written: list[Sequence[str]] = []
        self.new = 0

    def count(self, given: Sequence[str], written: Sequence[str]) -> None:
        """One task."""
        self.given.append(given)
        self.written.append(written)
        self.new += (*given,) not in self._seen
        self._seen.add((*given,))


class CountedLanguage(Language):
    """Embedded language of a system outside the product, counted.

    Args:
        keeps: whether a passage that was read is not read again.
    """

    def __init__(self, shared: Shared, tally: Tally, *, keeps: bool) -> None:
        super().__init__(shared, None)
        self._tally = tally
        self._keeps = keeps
        self._kept: dict[str, list[Triple]] = {}

    def summaries(self, groups: Sequence[Sequence[str]], instructions: str, *, words: int) -> list[str]:
        """As `Language`."""
        texts = super().summaries(groups, instructions, words=words)
        for group, text in zip(groups, texts, strict=True):
            self._tally.count(group, [text])
        return texts

    def triples(self, passages: Sequence[Passage]) -> list[list[Triple]]:
        """As `Language`."""
        new = [passage for passage in passages if passage.text not in self._kept]
        read = {passage.text: own for passage, own in zip(new, super().triples(new), strict=True)}
        for text, own in read.items():
            self._tally.count([text], [triple.text for triple in own])
        found = {**self._kept, **read}
        self._kept = found if self._keeps else {}
        return [found[passage.text] for passage in passages]


class CountedTasks(KeptExtractions):
    """Embedded tasks of a memory, counted.

    Args:
        facts: whether texts are read for facts.
    """

    def __init__(self, shared: Shared, config: Config, tally: Tally, *, facts: bool) -> None:
        super().__init__(shared.extractions, shared.time, config)
        self._tally = tally
        self._reads = facts

    def extract(
        self, units: Sequence[Unit], *, listeners: Sequence[str], before: Sequence[Sequence[Unit]] = ()
    ) -> list[Extraction]:
        """As embedded tasks do, or nothing."""
        if not self._reads:
            return [Extraction() for _ in units]
        found = super().extract(units, listeners=listeners, before=before)
        for unit, own in zip(units, found, strict=True):
            self._tally.count([unit.text], [f"{one.subject} {one.topic} {one.object}" for one in own.statements])
        return found

    def summarize(self, groups: Sequence[Sequence[Unit]]) -> list[str]:
        """As embedded tasks do."""
        texts = super().summarize(groups)
        for group, text in zip(groups, texts, strict=True):
            self._tally.count([unit.text for unit in group], [text])
        return texts


MakeFinder = Callable[[Language, Embedder, int], Finder]
Opened = Callable[[Shared, Tally, Path], AbstractContextManager[Take]]


def _rebuilt(make: MakeFinder, *, keeps: bool = False) -> Opened:
    """A system that is put together of everything each time; one that keeps asks and embeds only what is new."""

    @contextmanager
    def opened(shared: Shared, tally: Tally, _: Path) -> Iterator[Take]:
        language = CountedLanguage(shared, tally, keeps=keeps)
        embedder = CachedEmbedder(shared.embedder) if keeps else shared.embedder
        messages: list[Message] = []

        def take(new: Sequence[Message]) -> None:
            messages.extend(new)
            make(language, embedder, shared.seed).keep(_passages(messages))

        yield take

    return opened


@contextmanager
def _mem_tree(shared: Shared, tally: Tally, _: Path) -> Iterator[Take]:
    tree = MemTree(CountedLanguage(shared, tally, keeps=False), shared.embedder, MemTreeOptions())
    yield lambda new: tree.keep(_passages(new))


def _memory(preset: str | None, *, facts: bool, rebuild: bool = False) -> Opened:
    """A memory of the product with a shipped configuration."""

    @contextmanager
    def opened(shared: Shared, tally: Tally, folder: Path) -> Iterator[Take]:
        config = load_config(merged(load_config(preset).model_dump(), shared.config))
        tasks = CountedTasks(shared, config, tally, facts=facts)
        store = folder / "memory.db"
        with Memory(store, config=config, embedder=shared.embedder, proxy=shared.proxy, tasks=tasks) as memory:

            def take(new: Sequence[Message]) -> None:
                for _ in memory.add_many(new, user_id=_USER, now=_NOW):
                    continue
                if rebuild:
                    memory.rebuild(user_id=_USER)
                memory.flush()
                if failures := memory.stats().failures:
                    raise JobError(f"background work failed: {failures[0]}")

            yield take

    return opened


def _passages(messages: Sequence[Message]) -> list[Passage]:
    return [Passage(place, message, message.content) for place, message in enumerate(messages)]


SYSTEMS: Mapping[str, Opened] = MappingProxyType(
    {
        ONLINE: _memory(PAPER, facts=False),
        "CAM rebuilt": _memory(PAPER, facts=False, rebuild=True),
        "NSCMA": _memory(None, facts=True),
        "MemTree": _mem_tree,
        "HippoRAG 2": _rebuilt(lambda *own: HippoRag2(own[0], own[1], HippoRag2Options()), keeps=True),
        "RAPTOR": _rebuilt(lambda *own: Raptor(own[0], own[1], RaptorOptions(), own[2])),
        "GraphRAG": _rebuilt(lambda *own: GraphRag(own[0], own[1], GraphRagOptions(), own[2])),
    }
)
