"""Whether a floor of relevance tells what a prompt needs of a memory from what a search finds anyway.

    python -m eval.experiments.retrieval.recall_floor [--authors maren noor] [--floors .1 .2 .3] [--reader] [--apart]

Each author's dialogues are one memory. It is asked the questions on them (with the messages that answer them), the
questions on them that they do not answer, and turns that have nothing to do with it: questions and messages of another
author's dialogues, and requests such as "Write a haiku about rain." For each turn a search brings the passages that the
memory proxy would show, and each passage has scores:

    cosine    of the turn's vector and the passage's
    words     share of the turn's words, by IDF, that the passage holds
    support   cosine + words / 2 + min(1, the same in nats / 16) / 2, as in `retrieval/answerability.py`
    whole     that file's answerability, of the search as a whole
    evidence  the trained reader's likelihood that the passage answers (with --reader)

The first table tells the AUC of each score between evidence and passages for turns that have nothing to do with the
memory; the second what a floor keeps and drops. Floors are chosen on development authors (maren, noor), claims are made
on a test author.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, timedelta
from pathlib import Path

from rich.console import Console
from rich.table import Table

from eval.metrics.retrieval_metrics import auc, mean
from nscma_torch import Memory, Message, Scope
from nscma_torch.retrieval.lexical import idf
from nscma_torch.retrieval.search_bounds import Bounds
from nscma_torch.text.query_vector import query_vector
from nscma_torch.text.terms import query_terms, terms
from train.reader.dialogue_text import Dialogue, read_dialogues

_ROOT = Path(__file__).parents[3] / "train" / "reader" / "dialogues"
_SHOWN, _LOOKED_AT = 6, 24  # as the memory proxy does by default
_ENOUGH = 16.0
_CONFIG = {"gate": {"rule": "everything"}}
_FOREIGN = 80  # questions, and as many messages, of the other author
REQUESTS = (
    *("Write a haiku about rain.", "What is the capital of Mongolia?", "Reverse a list in Python, please.", "Thanks!"),
    *("Translate 'good morning' into Italian.", "Explain how a heat pump works.", "ok, go on", "Make it shorter."),
    *("Fix the grammar of this sentence: He go to school.", "What is 17 times 23?", "Summarise the French Revolution."),
    *("Which is faster, quicksort or merge sort?", "Give me a regex for email addresses.", "Tell me a joke."),
    *("How long do I boil an egg?", "Why is the sky blue?", "List five synonyms of 'happy'.", "No, the second one."),
    *("What does HTTP status 418 mean?", "Write a cover letter for a data analyst.", "Convert 10 miles to kilometres."),
    *("Hello, how are you?", "Can you draw an ASCII cat?", "What's the difference between TCP and UDP?"),
)


@dataclass(frozen=True, slots=True)
class Shown:
    """A passage that a turn would get: its scores, and whether it holds what answers the turn."""

    scores: dict[str, float]
    evidence: bool


@dataclass(slots=True)
class Turns:
    """Passages of each turn of one kind, and how many messages answer these turns in all."""

    passages: list[list[Shown]] = field(default_factory=list)
    needed: int = 0


def dialogues(author: str) -> Iterator[Dialogue]:
    """All of an author."""
    (folder,) = (part / author for part in sorted(_ROOT.iterdir()) if (part / author).is_dir())
    for file in sorted(folder.glob("*.txt")):
        yield from read_dialogues(file)


class Asked:
    """One author's memory, which is asked."""

    def __init__(self, memory: Memory, own: Sequence[Dialogue], *, reader: bool) -> None:
        self._memory, self._reader = memory, reader
        self.own = own
        last = max(one.said_at for each in self.own for one in each.messages).replace(tzinfo=UTC)
        self._bounds = Bounds(Scope("author"), last + timedelta(days=1), kinds=("chunk",))
        self._ids: dict[str, tuple[str, int]] = {}
        texts = []
        for each in self.own:
            said = [
                Message("user", one.text, one.said_at.replace(tzinfo=UTC), one.speaker, session=each.id)
                for one in each.messages
            ]
            made = memory.add_many(said, user_id="author", infer=False, now=self._bounds.now)
            self._ids |= {one.id: (each.id, number) for number, one in enumerate(made, start=1)}
            texts += [one.text for one in each.messages]
        self._held = Counter(term for text in texts for term in set(terms(text)))
        self._size = len(texts)

    def passages(self, text: str, evidence: frozenset[tuple[str, int]] = frozenset()) -> list[Shown]:
        """What a turn would get."""
        parts = self._memory.components
        found = parts.retriever.retrieve(text, self._bounds, top_k=_LOOKED_AT)
        hits = list({hit.text.strip(): hit for hit in reversed(found.hits)}.values())[::-1]
        hits = [hit for hit in hits if hit.text.strip() != text][:_SHOWN]
        if not hits:
            return []
        whole = found.answerability()
        vector = query_vector(parts.embedder, text)
        cosines = (parts.embedder.embed([hit.text for hit in hits]).float() @ vector.float()).tolist()
        weights = {term: idf(self._size, self._held[term]) for term in query_terms(text)}
        mass = sum(weights.values())
        read = dict.fromkeys(map(id, hits), 0.0)
        if self._reader and parts.reader_qa is not None:
            got = parts.reader_qa.read(text, hits, user_id="author", now=self._bounds.now, most=_SHOWN)
            read = dict(zip(map(id, got.hits), got.result.evidence, strict=True))
        shown = []
        for hit, cosine in zip(hits, cosines, strict=True):
            known = sum(weight for term, weight in weights.items() if term in set(terms(hit.text)))
            words = known / mass if mass else 0.0
            scores = {"cosine": cosine, "words": words, "whole": whole, "evidence": read[id(hit)]}
            scores["support"] = cosine + words / 2 + min(1.0, known / _ENOUGH) / 2
            shown.append(Shown(scores, self._ids[hit.id] in evidence))
        return shown

    def turns(self, foreign: Sequence[Dialogue], unrelated: int, seed: int) -> dict[str, Turns]:
        """The passages of all kinds of turns, so many of each kind that has nothing to do with the memory."""
        kinds = {
            name: Turns() for name in ("answered", "not answered", "foreign question", "foreign message", "request")
        }
        for each in self.own:
            for question in each.questions:
                needed = frozenset((each.id, number) for number in question.evidence)
                kind = kinds["answered" if question.gold else "not answered"]
                kind.passages.append(self.passages(question.text, needed if question.gold else frozenset()))
                kind.needed += len(needed) if question.gold else 0
        rng = random.Random(seed)
        questions = [one.text for each in foreign for one in each.questions]
        messages = [one.text for each in foreign for one in each.messages]
        for name, texts in (("foreign question", questions), ("foreign message", messages)):
            chosen = rng.sample(texts, min(unrelated, len(texts)))
            kinds[name].passages += [self.passages(text) for text in chosen]
        kinds["request"].passages += [
            self.passages(text) for text in rng.sample(REQUESTS, min(unrelated, len(REQUESTS)))
        ]
        return kinds


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--authors", nargs="+", default=["maren", "noor"])
    parser.add_argument("--foreign", help="whose turns have nothing to do with it; by default the next author's")
    parser.add_argument("--floors", type=float, nargs="+", default=[0.0, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8])
    parser.add_argument("--scores", nargs="+", default=["cosine", "words", "support", "whole"])
    parser.add_argument("--apart", action="store_true", help="a memory for each dialogue: some twenty messages")
    parser.add_argument("--reader", action="store_true", help="the reader's score too; it reads every passage")
    arguments = parser.parse_args()
    names = arguments.scores + ["evidence"] * arguments.reader
    total: dict[str, Turns] = {}
    with tempfile.TemporaryDirectory() as folder:
        for place, author in enumerate(arguments.authors):
            foreign = list(dialogues(arguments.foreign or arguments.authors[(place + 1) % len(arguments.authors)]))
            own = list(dialogues(author))
            memories = [[one] for one in own] if arguments.apart else [own]
            for number, together in enumerate(memories):
                with Memory(Path(folder) / f"{author}{number}.db", config=_CONFIG) as memory:
                    asked = Asked(memory, together, reader=arguments.reader)
                    for kind, turns in asked.turns(foreign, -(-_FOREIGN // len(memories)), number).items():
                        so_far = total.setdefault(kind, Turns())
                        so_far.passages += turns.passages
                        so_far.needed += turns.needed
    console = Console(width=140)
    evidence = [one.scores for each in total["answered"].passages for one in each if one.evidence]
    table = Table("AUC, evidence against passages of", *names)
    for kind, turns in total.items():
        others = [one.scores for each in turns.passages for one in each if not one.evidence]
        labels = [True] * len(evidence) + [False] * len(others)
        table.add_row(kind, *(f"{auc([one[name] for one in evidence + others], labels):.3f}" for name in names))
    console.print(table)
    needed = total["answered"].needed
    table = Table("score", "floor", "evidence shown", *(f"{kind}: passages, none" for kind in total))
    for name in names:
        for floor in arguments.floors:
            kept = sum(e[name] >= floor for e in evidence)
            cells = []
            for turns in total.values():
                counts = [sum(one.scores[name] >= floor for one in each) for each in turns.passages]
                cells.append(f"{mean(counts):.2f}  {mean([not count for count in counts]):.2f}")
            table.add_row(name, f"{floor:g}", f"{kept}/{len(evidence)} of {needed}", *cells)
    console.print(table)


if __name__ == "__main__":
    main()
