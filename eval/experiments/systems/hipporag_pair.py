"""HippoRAG 2: the authors' package, and `eval.systems.hipporag2`.

What is kept are phrases, triples, edges, and the triples that pass the recognition memory, question by question. An
edge is told by its kind and its two ends: "relation" where a triple joins two phrases, "synonyms" where none does,
"holds" between a passage, by its place, and a phrase. Texts are compared in lower case.

The recognition memory keeps what `BEARING` has of a question: of the five triples that it is shown here never more than
two, so that a walk starts at four phrases at most. Unfiltered, it keeps all five, and the five phrases to start at are
chosen among more. The package has no option for the first HippoRAG.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from eval.experiments.systems.comparison import Outcome
from eval.experiments.systems.our_run import data_of, our_run, texts_found
from eval.experiments.systems.package_run import run_on_conversation
from eval.experiments.systems.scripted_conversation import QUERIES, TOP_K, named_by, told_in
from eval.experiments.systems.scripted_server import Body, Written, between, form_of
from eval.systems.hipporag2 import HippoRag2, HippoRag2Options
from nscma_torch.protocols import Embedder

# beginnings of the triples that bear on each of `QUERIES`
BEARING: Mapping[str, tuple[str, ...]] = dict(
    zip(
        QUERIES,
        (
            ("rita lives in",),
            ("rita works at",),
            ("rita has dog",),
            ("rita fires kiln at",),
            ("tom has sister", "ana has cat"),
            ("tom teaches",),
            ("tom plays", "city orchestra plays"),
            ("ana is moving to", "ana lives in"),
            ("rita is in book club of", "rita is reading", "rita will open", "pottery studio"),
            ("rita is allergic to", "rita has no allergy to"),
            ("tom runs", "tom gave up running"),
            ("helena visits",),
        ),
        strict=True,
    )
)


class Script:
    """What both scripts count.

    Args:
        filtered: whether the recognition memory leaves out what does not bear on the question.

    Attributes:
        decisions: triples that the recognition memory was shown, and those that it kept.
        passed: these, as items.
    """

    def __init__(self, *, filtered: bool = True) -> None:
        self._filtered = filtered
        self.decisions: Counter[str] = Counter()
        self.passed: list[str] = []

    def _kept(self, question: str, texts: Sequence[str]) -> list[int]:
        """Places of the triples that the recognition memory keeps."""
        lower = [text.lower() for text in texts]
        bearing = BEARING[question] if self._filtered else ("",)
        kept = [place for place, text in enumerate(lower) if text.startswith(bearing)]
        self.passed += [f"{question} {lower[place]}" for place in kept]
        self.decisions["triples shown"] += len(texts)
        self.decisions["triples kept"] += len(kept)
        return kept


class TheirScript(Script):
    """Answers the package's prompts, each by the last turn; those before it are examples."""

    def __call__(self, body: Body) -> Written:
        """The reply."""
        asked = body["messages"][-1]["content"]
        if "[[ ## question ## ]]" in asked:
            question = between(asked, "[[ ## question ## ]]", "[[ ## fact_before_filter ## ]]").strip()
            shown = json.loads(between(asked, "[[ ## fact_before_filter ## ]]", "Respond with"))["fact"]
            kept = [shown[place] for place in self._kept(question, [" ".join(triple) for triple in shown])]
            return f"[[ ## fact_after_filter ## ]]\n{json.dumps({'fact': kept})}\n\n[[ ## completed ## ]]"
        if '{"named_entities"' in asked:
            return {"triples": [[fact.subject, fact.predicate, fact.object] for fact in told_in(asked)]}
        return {"named_entities": named_by(told_in(asked))}


class OurScript(Script):
    """Answers our prompts, by the name of the form."""

    def __call__(self, body: Body) -> Written:
        """The reply."""
        data = data_of(body)
        match form_of(body):
            case "EntitiesForm":
                return {"entities": named_by(told_in(data["passage"]))}
            case "TriplesForm":
                told = told_in(data["passage"])
                names = ("subject", "predicate", "object")
                return {"triples": [{name: getattr(fact, name) for name in names} for fact in told]}
            case "Numbers":
                kept = self._kept(data["question"], list(data["texts"].values()))
                return {"numbers": [place + 1 for place in kept]}
            case other:
                raise ValueError(f"no reply in the form {other!r}")


def kept_items(
    phrases: Iterable[str], triples: Sequence[Sequence[str]], edges: Iterable[tuple[str | int, str | int]]
) -> list[str]:
    """Everything as texts; of an edge a passage is a number."""
    related = {frozenset((one.lower(), other.lower())) for one, _, other in triples}
    items = [f"phrase {phrase.lower()}" for phrase in phrases]
    items += [f"triple {' '.join(triple).lower()}" for triple in triples]
    for ends in edges:
        names = sorted(end.lower() for end in ends if isinstance(end, str))
        if len(names) == 1:
            (passage,) = (end for end in ends if isinstance(end, int))
            items.append(f"passage {passage} holds {names[0]}")
        else:
            items.append(f"{'relation' if frozenset(names) in related else 'synonyms'} {' - '.join(names)}")
    return items


def theirs(python: Path, embedder: Embedder, *, filtered: bool = True) -> Outcome:
    """The package."""
    script = TheirScript(filtered=filtered)
    told, calls = run_on_conversation(python, "hipporag_package.py", script, embedder)
    items = kept_items(told["phrases"], told["triples"], [(one, other) for one, other, _ in told["edges"]])
    ranked = [[text.split(": ", 1)[1] for text in found] for found in told["ranked"]]
    return Outcome(f"hipporag {told['version']}", [*items, *script.passed], ranked, script.decisions, calls)


def ours(embedder: Embedder, *, filtered: bool = True) -> Outcome:
    """Our implementation."""
    script = OurScript(filtered=filtered)
    with our_run(script, embedder) as (run, calls):
        own = HippoRag2(run.language, run.embedder, HippoRag2Options(top_k=TOP_K))
        own.keep(run.passages)
        ranked = texts_found(own)
    graph = own.graph
    names = [*graph.phrases, *range(len(run.passages))]
    triples = [(one.subject, one.predicate, one.object) for one in graph.triples]
    items = kept_items(graph.phrases, triples, [(names[one], names[other]) for one, other in graph.weights])
    return Outcome("hipporag2", [*items, *script.passed], ranked, script.decisions, calls[0])
