"""GraphRAG's community reports, from the leaves up (Edge et al. 2024, "From Local to Global", section 3.1.5).

A leaf's report is written of its element summaries: for each relationship, that of the largest combined degree of its
ends first, the descriptions of both ends and its own, as many as fit the tokens. Of a community above, all element
summaries where they fit; else the reports of its children take the place of theirs, those of the child with most tokens
first, until it fits. A report has a title, a summary, findings, and a rating of how much the community matters, as in
the authors' code. Without an engine it is extracted, titled by the two entities of the largest degree, and rated alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from eval.systems.graph_elements import Element, ElementGraph
from eval.systems.language import Language, listed
from eval.systems.leiden_levels import Community
from eval.systems.text_nodes import TextNode
from nscma_torch.core.protocols import Embedder
from nscma_torch.llm.engines.structured import ReplyForm
from nscma_torch.reading.extractive_summary import extract_summary

_REPORT = (
    "The texts describe entities that belong together and the relationships among them; some may be reports on parts "
    "of the whole. Write a report on the whole. title: short, with the names that matter most. summary: what it is "
    "about, who is part of it and how they have to do with each other. rating: from 0 to 10, how much it matters for "
    "understanding everything that was read. findings: what is worth knowing of it, the weightiest first, each with a "
    "sentence (summary) and what bears it out, names, dates and numbers (explanation). Say nothing that the texts do "
    "not."
)
_Text = Annotated[str, Field(min_length=1, max_length=200)]


class FindingForm(ReplyForm):
    """One thing worth knowing."""

    summary: _Text
    explanation: Annotated[str, Field(max_length=300)]


class ReportForm(ReplyForm):
    """What a model writes of a community."""

    title: Annotated[str, Field(min_length=1, max_length=120)]
    summary: Annotated[str, Field(min_length=1, max_length=600)]
    rating: Annotated[int, Field(ge=0, le=10)]
    findings: Annotated[list[FindingForm], Field(max_length=5)]

    @property
    def text(self) -> str:
        """As one text."""
        findings = [f"{one.summary} {one.explanation}".strip() for one in self.findings]
        return "\n".join([self.title, self.summary, *findings])


@dataclass(frozen=True, slots=True)
class Report:
    """A report with the passages that its community was found in, and its rating."""

    node: TextNode
    rating: int


def degrees(graph: ElementGraph) -> Counter[int]:
    """How many relationships each entity has."""
    return Counter(end for ends in graph.relationships for end in ends)


def prioritised(graph: ElementGraph, members: Sequence[int]) -> list[Element]:
    """The elements of a community in the order of section 3.1.5, each once."""
    degree, own = degrees(graph), {*members}
    inside = [one for ends, one in graph.relationships.items() if own.issuperset(ends)]
    inside.sort(key=lambda one: (-sum(degree[end] for end in one.ends), one.ends))
    found: dict[int, Element] = {}
    for one in inside:
        for element in (*(graph.entities[end] for end in one.ends), one):
            found.setdefault(id(element), element)
    return list(found.values())


class ReportWriter:
    """Writes the reports on all communities of a graph.

    Args:
        tokens: of the texts that a report is made of, as the embedder counts them.
        words: longest report, without an engine.
    """

    def __init__(self, language: Language, embedder: Embedder, *, tokens: int, words: int) -> None:
        self._language = language
        self._embedder = embedder
        self._tokens = tokens
        self._words = words

    def write(self, graph: ElementGraph, communities: Sequence[Community]) -> list[Report]:
        """A report on each community, children before parents. Raises the engine's `EngineError`."""
        elements = [prioritised(graph, own.members) for own in communities]
        own = list({id(one): one for community in elements for one in community}.values())
        counts = self._embedder.count_tokens([one.text for one in own]) if own else ()
        sizes = {id(one): size for one, size in zip(own, counts, strict=True)}
        reports: dict[int, Report] = {}
        for level in sorted({own.level for own in communities}, reverse=True):
            places = [place for place, own in enumerate(communities) if own.level == level]
            told = [self._told(elements, sizes, communities[place], place, reports) for place in places]
            titles = [" and ".join([one.name for one in elements[place] if not one.ends][:2]) for place in places]
            for place, report in zip(places, self._written(titles, told), strict=True):
                rows = tuple(sorted({row for one in elements[place] for row in one.rows}))
                reports[place] = Report(TextNode(report[0], rows, written=True), report[1])
        return [reports[place] for place in range(len(communities))]

    def _told(
        self,
        elements: Sequence[Sequence[Element]],
        sizes: dict[int, int],
        community: Community,
        place: int,
        reports: dict[int, Report],
    ) -> list[str]:
        """The texts that a report is made of."""
        left = list(elements[place])
        written: list[str] = []
        used = sum(sizes[id(one)] for one in left)
        children = {child: sum(sizes[id(one)] for one in elements[child]) for child in community.children}
        for child in sorted(children, key=lambda child: (-children[child], child)):
            if used <= self._tokens:
                break
            own = {id(one) for one in elements[child]}
            left = [one for one in left if id(one) not in own]
            text = reports[child].node.text
            written.append(text)
            used += self._embedder.count_tokens([text])[0] - children[child]
        texts = [*written, *(one.description if self._language.engine is None else one.text for one in left)]
        return within(self._embedder, texts, self._tokens)

    def _written(self, titles: Sequence[str], told: Sequence[Sequence[str]]) -> list[tuple[str, int]]:
        """Text and rating of each report."""
        if self._language.engine is None:
            return [(_extracted(title, own, self._words), 0) for title, own in zip(titles, told, strict=True)]
        shown = [listed(self._language.fitting(_REPORT, own, listed)) for own in told]
        return [(form.text, form.rating) for form in self._language.fill(ReportForm, _REPORT, shown)]


def within(embedder: Embedder, texts: Sequence[str], tokens: int) -> list[str]:
    """The first of the texts, as many as have so many tokens together; one at least, where there is one."""
    found: list[str] = []
    for text, size in zip(texts, embedder.count_tokens(texts) if texts else (), strict=True):
        tokens -= size
        if found and tokens < 0:
            break
        found.append(text)
    return found


def _extracted(title: str, texts: Sequence[str], words: int) -> str:
    sentences = [text.replace("\n", "\n\n") for text in texts]  # each line of an extracted text is a sentence
    return f"{title}\n{extract_summary(sentences, words)}"
