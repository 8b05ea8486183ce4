"""GraphRAG's element instances and element summaries: entities and relationships with their descriptions.

Edge et al. 2024, "From Local to Global", sections 3.1.2 and 3.1.3. A model reads each passage for entities with type
and description and for relationships among them; it is shown what it found and asked what it missed, until it misses
nothing, or a number of times (gleanings). Entities of one name are one, relationships between the same two entities
too, and count as often as they were found; of several descriptions a summary is written.

Ours beside the paper: names are one by `name_key`; an entity that only a relationship names has no description of its
own. Without an engine the triples of the trained reader are the relationships, and describe both their ends.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import Field

from eval.harness.contract import Passage
from eval.systems.documents import said
from eval.systems.language import Language
from nscma_torch.llm.engines.structured import ReplyForm
from nscma_torch.text.names import name_key

_EXTRACT = (
    "Read a passage for the graph of what it says. entities: who and what it is about (people, organisations, places, "
    "events, works, things, ideas), each with its name as the passage has it in full, its type in one or two words, "
    "and a description of what the passage says of it. relationships: pairs of these entities that have to do with "
    "each other, source and target by their names, with a description of how. Say whom a pronoun means."
)
_GLEAN = (
    "A passage was read for the graph of what it says; `found` is what was found in it. Some may have been missed. "
    "entities: those still missing, with name, type and description. relationships: pairs of entities, found or "
    "missing, whose relationship is still missing, with a description. Repeat nothing; [] where nothing is missing."
)
_DESCRIBE = (
    "The texts describe one and the same entity or relationship. Write one description that holds what all of them "
    "say, in the third person, with names; where they contradict each other, say so."
)
_Name = Annotated[str, Field(min_length=1, max_length=120)]
_Description = Annotated[str, Field(max_length=200)]


class EntityForm(ReplyForm):
    """An entity as a model writes it."""

    name: _Name
    type: Annotated[str, Field(max_length=40)]
    description: _Description


class RelationshipForm(ReplyForm):
    """A relationship as a model writes it."""

    source: _Name
    target: _Name
    description: _Description


class ElementsForm(ReplyForm):
    """What a passage says."""

    entities: Annotated[list[EntityForm], Field(max_length=12)]
    relationships: Annotated[list[RelationshipForm], Field(max_length=12)]


@dataclass(slots=True)
class Element:
    """An entity, or a relationship between two.

    Attributes:
        name: of an entity; of a relationship, both names.
        ends: rows of the two entities, the lesser first; () for an entity.
        descriptions: of its instances, each wording once.
        rows: of the passages that it was found in, ascending.
        instances: how often it was found.
        description: the summary of its descriptions.
    """

    name: str
    ends: tuple[int, ...] = ()
    types: Counter[str] = field(default_factory=Counter)
    descriptions: list[str] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    instances: int = 0
    description: str = ""

    @property
    def text(self) -> str:
        """Its name, its type where it has one, and what is said of it."""
        kind = "".join(f" ({own})" for own, _ in self.types.most_common(1))
        return f"{self.name}{kind}: {self.description}" if self.description else f"{self.name}{kind}"

    def found(self, row: int, description: str) -> None:
        """One more instance, in a passage."""
        self.instances += 1
        if description and description not in self.descriptions:
            self.descriptions.append(description)
        if row not in self.rows:
            self.rows.append(row)


class ElementGraph:
    """The graph of a corpus.

    Attributes:
        entities: in the order they were found.
        relationships: in that order, by the rows of their ends.
    """

    def __init__(self) -> None:
        self._known: dict[str, int] = {}
        self.entities: list[Element] = []
        self.relationships: dict[tuple[int, int], Element] = {}

    def entity(self, row: int, name: str, description: str, kind: str = "") -> None:
        """Take in an entity that was found in a passage; one without a letter in its name is left out."""
        if name_key(name):
            own = self.entities[self._entity(name)]
            own.found(row, description)
            own.types.update(filter(None, [kind]))

    def relationship(self, row: int, source: str, target: str, description: str) -> None:
        """Take in a relationship that was found in a passage, and its ends; nothing is related to itself."""
        if not (name_key(source) and name_key(target)):
            return
        one, other = self._entity(source), self._entity(target)
        for end in (one, other):
            self.entities[end].found(row, "")
        if one != other:
            ends = min(one, other), max(one, other)
            names = f"{self.entities[one].name} and {self.entities[other].name}"
            self.relationships.setdefault(ends, Element(names, ends)).found(row, description)

    def _entity(self, name: str) -> int:
        row = self._known.setdefault(name_key(name), len(self.entities))
        if row == len(self.entities):
            self.entities.append(Element(name))
        return row

    def summarise(self, language: Language, words: int) -> None:
        """Write the descriptions of all elements."""
        elements = [*self.entities, *self.relationships.values()]
        several = [element for element in elements if len(element.descriptions) > 1]
        for element in elements:
            element.description = "".join(element.descriptions[:1])
        written = language.summaries([element.descriptions for element in several], _DESCRIBE, words=words)
        for element, text in zip(several, written, strict=True):
            element.description = text


def element_graph(language: Language, passages: Sequence[Passage], *, gleanings: int, words: int) -> ElementGraph:
    """The graph of the passages, with summaries of at most so many words. Raises the engine's `EngineError`."""
    graph = ElementGraph()
    if language.engine is None:
        for row, triples in enumerate(language.triples(passages)):
            for one in triples:
                graph.entity(row, one.subject, one.text)
                graph.entity(row, one.object, one.text)
                graph.relationship(row, one.subject, one.object, one.text)
    else:
        for row, forms in enumerate(_extracted(language, [said(passage) for passage in passages], gleanings)):
            for entity in (one for form in forms for one in form.entities):
                graph.entity(row, entity.name, entity.description, entity.type)
            for told in (one for form in forms for one in form.relationships):
                graph.relationship(row, told.source, told.target, told.description)
    graph.summarise(language, words)
    return graph


def _extracted(language: Language, texts: Sequence[str], gleanings: int) -> list[list[ElementsForm]]:
    """What a model finds in each text, round by round."""
    found = [[form] for form in language.fill(ElementsForm, _EXTRACT, [{"passage": text} for text in texts])]
    open_ = [place for place, (form,) in enumerate(found) if form.entities]
    for _ in range(gleanings):
        asked = [{"passage": texts[place], "found": _names(found[place])} for place in open_]
        forms = language.fill(ElementsForm, _GLEAN, asked)
        for place, form in zip(open_, forms, strict=True):
            found[place].append(form)
        open_ = [place for place, form in zip(open_, forms, strict=True) if form.entities or form.relationships]
    return found


def _names(forms: Sequence[ElementsForm]) -> dict[str, Any]:
    return {
        "entities": [one.name for form in forms for one in form.entities],
        "relationships": [[one.source, one.target] for form in forms for one in form.relationships],
    }
