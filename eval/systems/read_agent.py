"""ReadAgent (Lee et al. 2024, "A Human-Inspired Reading Agent with Gist Memory of Very Long Contexts").

Three steps. Pagination: the text is read on until a page would be longest, and the model says after which of its pieces
a pause is natural, none of them before a page has its least length. Gisting: each page is shortened. Look-up: shown
the gists with the numbers of their pages, the model says which pages it wants to read again, several at once (parallel,
ReadAgent-P) or one after the other, each time with the pages it has read in their place (sequential, ReadAgent-S). The
question is answered from all gists, those of the pages that were looked up replaced by the pages. 280 and 600 words a
page, and the 350 from which on what is left is divided, are those of the authors' demonstration.

Ours beside the paper: the pieces are the passages of all systems of a run, not paragraphs; gists have a longest length;
a page of which something was said after the question is asked has no gist yet, and its earlier passages stand in its
place; prompts are our own. The look-up ranks nothing: evidence are the passages of the pages that were looked up, those
that share the question's words first (BM25). Without an engine a page ends where its words go on least (the cosine of
the words of three passages before and three behind, as in Hearst 1997, "TextTiling"), a gist is extracted, and the
pages are looked up whose gists are nearest to the question.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from datetime import datetime
from typing import Any, Literal

import torch
from pydantic import Field

from eval.harness.contract import Passage, Shared
from eval.systems.baseline import Baseline, Found, text_bytes
from eval.systems.documents import RANKED, embed_beginnings, said, said_by
from eval.systems.language import Language, numbered, numbers_form
from eval.systems.options import options_of
from eval.systems.plain_retrieval import PlainSearch
from eval.systems.text_nodes import TextNode, as_passage
from nscma_torch.core.config import Section
from nscma_torch.core.protocols import Embedder
from nscma_torch.reading.passage import word_count
from nscma_torch.text.terms import terms

_PAUSE = (
    "You read a long text piece by piece, and pause now and then where it is natural to: where a scene, a topic, a "
    "dialogue or an argument ends. The pieces are numbered. Give the number of the one piece behind which you pause, "
    "{first} or more."
)
_GIST = "Shorten this page of a longer text. Keep who does what, with names, dates and numbers."
_LOOK_UP = (
    "This is what you remember of a text, page by page, and a question about it. You may read pages again before you "
    "answer. Give the numbers of the pages that you want to read again, at most {most}, the most needed first, and no "
    "more than you need. Do not answer the question yet."
)
_LOOK_ON = (
    "This is what you remember of a text, page by page, and a question about it. The pages under `read` stand there as "
    "you have read them again. Give the number of one more page that you want to read again before you answer, or none "
    "where you know enough. Do not answer the question yet."
)
_BESIDE = 3  # passages on each side of a pause whose words are compared


class ReadAgentOptions(Section):
    """Options of kind read-agent."""

    least: int = Field(280, gt=0, description="Words from which on a page may end.")
    most: int = Field(600, gt=0, description="Words at which a page ends; its last passage may be longer.")
    rest: int = Field(350, gt=0, description="Words below which what is left is one page.")
    gist: int = Field(100, gt=0, description="Longest gist in words.")
    pages: int = Field(5, gt=0, description="Most pages that are looked up for a question.")
    look_up: Literal["parallel", "sequential"] = Field("parallel", description="All pages at once, or one by one.")


def pages_of(
    words: Sequence[int], pause: Callable[[int, int, int], int], *, least: int, most: int, rest: int
) -> list[range]:
    """Passages with so many words as pages, each a range of rows.

    Args:
        pause: the row behind the last one of a page, which begins at the first argument; from the second to the third.
    """
    found, start = [], 0
    while start < len(words):
        end, total, first = start, 0, 0
        while end < len(words) and total < most:
            total += words[end]
            end += 1
            first = first or (end if total >= least else 0)
        if total >= rest and first and first < end:
            end = pause(start, first, end)
        found.append(range(start, end))
        start = end
    return found


class ReadAgent:
    """Pages and their gists.

    Attributes:
        pages: rows of the passages of each.
        gists: of each page.
    """

    def __init__(self, language: Language, embedder: Embedder, options: ReadAgentOptions) -> None:
        self._language = language
        self._embedder = embedder
        self._options = options
        self._passages: Sequence[Passage] = ()
        self._texts: list[str] = []
        self.pages: list[range] = []
        self.gists: list[str] = []
        self._vectors = torch.empty(0, 0)  # of the gists, where there is no engine

    def keep(self, passages: Sequence[Passage]) -> None:
        """Cut the passages into pages and shorten each. Raises the engine's `EngineError`."""
        self._passages = passages
        self._texts = [said(passage) for passage in passages]
        words = [word_count(text) for text in self._texts]
        wanted = self._options
        pause = self._where_words_end if self._language.engine is None else self._where_natural
        self.pages = pages_of(words, pause, least=wanted.least, most=wanted.most, rest=wanted.rest)
        texts = [[self._texts[row] for row in page] for page in self.pages]
        self.gists = self._language.summaries(texts, _GIST, words=wanted.gist)
        if self._language.engine is None and self.gists:
            self._vectors = embed_beginnings(self._embedder, self.gists)

    def _where_natural(self, start: int, first: int, last: int) -> int:
        """By the model, which sees the piece before the page and the one behind it, too."""
        data = {
            "before": self._texts[start - 1] if start else "",
            "pieces": numbered(self._texts[start:last]),
            "behind": self._texts[last] if last < len(self._texts) else "",
        }
        form = numbers_form(first - start, last - start, least=1, most=1)
        (chosen,) = self._language.fill(form, _PAUSE.format(first=first - start), [data])
        return start + chosen.numbers[0]

    def _where_words_end(self, start: int, first: int, last: int) -> int:  # noqa: ARG002
        """Where the words before and behind have least in common; the last such place."""
        return min(range(first, last + 1), key=lambda end: (self._coherence(end), -end))

    def _coherence(self, end: int) -> float:
        """The cosine of the words on both sides of a pause."""
        before = Counter(term for text in self._texts[max(0, end - _BESIDE) : end] for term in terms(text))
        behind = Counter(term for text in self._texts[end : end + _BESIDE] for term in terms(text))
        size = math.sqrt(sum(n * n for n in before.values()) * sum(n * n for n in behind.values()))
        return sum(n * behind[term] for term, n in before.items()) / size if size else 0.0

    def find(self, question: str, now: datetime) -> Found:
        """The pages that are looked up, then the gists of the others."""
        known = [said_by(passage, now) for passage in self._passages]
        whole = [place for place, page in enumerate(self.pages) if all(known[row] for row in page)]
        looked_up = self._looked_up(question, whole) if whole else []
        rows = [row for place in sorted(looked_up) for row in self.pages[place]]
        ranked = [self._passages[row] for row in self._ranked(question, rows)]
        begun = [
            row for place in sorted({*range(len(self.pages))} - {*whole}) for row in self.pages[place] if known[row]
        ]
        gists = [
            as_passage(TextNode(self.gists[place], tuple(self.pages[place]), written=True), self._passages)
            for place in whole
            if place not in looked_up and self.gists[place]
        ]
        return Found([*ranked, *(self._passages[row] for row in begun), *gists], ranked[: max(RANKED, len(ranked))])

    def _ranked(self, question: str, rows: Sequence[int]) -> list[int]:
        """The rows that share words with the question, best first, then the others."""
        if not rows:
            return []
        search = PlainSearch([self._texts[row] for row in rows], torch.empty(len(rows), 0))
        best = [rows[place] for place in search.bm25(question)]
        return list(dict.fromkeys([*best, *rows]))

    def _looked_up(self, question: str, whole: Sequence[int]) -> list[int]:
        """Places of the pages, of those that have a gist."""
        most = min(self._options.pages, len(whole))
        if self._language.engine is None:
            cosines = self._vectors[list(whole)] @ self._embedder.embed_query(question).cpu()
            return [whole[place] for place in cosines.argsort(descending=True, stable=True)[:most].tolist()]
        memory = [self.gists[place] for place in whole]
        data: dict[str, Any] = {"question": question, "pages": numbered(memory)}
        if self._options.look_up == "parallel":
            form = numbers_form(1, len(whole), most=most)
            (chosen,) = self._language.fill(form, _LOOK_UP.format(most=most), [data])
            return list(dict.fromkeys(whole[number - 1] for number in chosen.numbers))
        read: list[int] = []  # numbers
        while len(read) < most:
            data |= {"pages": numbered(memory), "read": read}
            (chosen,) = self._language.fill(numbers_form(1, len(whole), most=1), _LOOK_ON, [data])
            if not chosen.numbers or chosen.numbers[0] in read:
                break
            read.append(chosen.numbers[0])
            memory[read[-1] - 1] = "\n".join(self._texts[row] for row in self.pages[whole[read[-1] - 1]])
        return [whole[number - 1] for number in read]

    def store_bytes(self) -> int:
        """Of texts, gists and vectors."""
        return text_bytes(self._passages) + sum(len(gist.encode()) for gist in self.gists) + self._vectors.nbytes


def make_read_agent(section: Mapping[str, Any], shared: Shared) -> Baseline:
    """Kind read-agent."""
    options = options_of(ReadAgentOptions(), section)
    return Baseline(
        section["name"],
        options,
        shared,
        lambda _, engine: nullcontext(ReadAgent(Language(shared, engine), shared.embedder, options)),
    )
