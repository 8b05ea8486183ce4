"""Load the relation schema for facts, with the wordings of statements and questions, from `configs/relations.toml`.

To add a relation, add a table to the file; no code is needed.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache, cached_property
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Literal, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from nscma_torch.core.errors import ConfigError

Shape = Literal["person", "place", "group", "thing", "name", "number", "date", "trait", "title", "deed", "any"]


class Kind(BaseModel):
    """The type of a slot: a shape, and for Chinese an allow-list (`words`) and a deny-list (`refuses`)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    like: Shape
    words: tuple[str, ...] = ()
    refuses: tuple[str, ...] = ()


class Wordings(BaseModel):
    """Question and statement templates for a relation in one language."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    asks: tuple[str, ...] = Field((), description="Plain questions about the object: 'Where does Ana live?'.")
    template: str = Field(
        "{subject} {relation} {object}", description="Plain sentence that states a fact in this relation."
    )


class ChineseWordings(Wordings):
    """Chinese wordings for a relation; the networks don't use them.

    For the notation of questions, see `reading.chinese_question_forms`; for statements, see `reading.chinese_forms`.
    """

    asks: tuple[str, ...] = Field((), description="Questions about the object, or about the subject if O is given.")
    states: tuple[str, ...] = Field((), description="Statements that the relation holds.")
    begins: tuple[str, ...] = Field((), description="Statements that the relation began (events).")
    ends: tuple[str, ...] = Field((), description="Statements that the relation no longer holds.")


class Relation(BaseModel):
    """A relation, with one or many objects at a time per subject (and topic)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    meaning: str
    cardinality: Literal["one", "many"] = "many"
    subject: str = Field("person", description="Kind of the subject.")
    object: str = Field("any", description="Kind of the object.")
    symmetric: bool = Field(False, description="The object has the same relation to the subject.")
    inverse: str = Field("", description="Relation from the object to the subject.")
    shared_home: str = Field(
        "", description="Relation between two subjects who share a home, the object of this relation."
    )
    opposite: str = Field("", description="Relation that ends when this one begins, for the same object.")
    rests_on: str = Field(
        "", description="Relation of the same subject, whose end puts facts of this one in doubt: a manager's employer."
    )
    locates: bool = Field(False, description="The subject is at its object's location.")
    open: bool = Field(
        False, description="For statements in no other relation; the topic is a predicate in the message's words."
    )
    lasting: bool = Field(False, description="The relation's facts never end: 'was born in'.")
    particular: bool = Field(
        False, description="The objects are individual things: 'I sold the Fiat' ends the only known Fiat."
    )
    named: bool = Field(
        False, description="An object that isn't a name doesn't replace a name: somebody in Ghent may live in a flat."
    )
    nouns: tuple[str, ...] = Field((), description="Nouns for the object: 'my NOUN is O', 'S is O's NOUN'.")
    exclusive_roles: tuple[tuple[str, ...], ...] = Field(
        (), description="Nouns that distinguish objects, with synonyms grouped: a mother is not a father."
    )
    en: Wordings = Wordings()
    zh: ChineseWordings = ChineseWordings()

    def alike(self, noun: str) -> tuple[str, ...]:
        """Return the singular nouns in `exclusive_roles` that are synonyms of this one, or () if there are none."""
        return next((alike for alike in self.exclusive_roles if noun.casefold() in alike), ())

    @property
    def exclusive(self) -> bool:
        """Return True if the relation is symmetric, and each side has one partner at a time."""
        return self.symmetric and self.cardinality == "one"


class Schema(BaseModel):
    """All relations by name. Schemas are compared by identity, as compiled forms are cached per schema."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    __hash__ = object.__hash__
    __eq__ = object.__eq__

    relations: Mapping[str, Relation]
    kinds: Mapping[str, Kind]

    @model_validator(mode="after")
    def _references(self) -> Self:
        for relation in self.relations.values():
            for other in (relation.subject, relation.object):
                if other not in self.kinds:
                    raise ValueError(f"relation {relation.name!r} has an unknown kind, {other!r}")
            for other in (relation.inverse, relation.opposite, relation.shared_home, relation.rests_on):
                if other and other not in self.relations:
                    raise ValueError(f"relation {relation.name!r} refers to {other!r}, which does not exist")
        return self

    def __getitem__(self, name: str) -> Relation:
        return self.relations[name]

    def __contains__(self, name: str) -> bool:
        return name in self.relations

    def shape(self, relation: str) -> Shape:
        """Return the shape of a relation's objects."""
        return self.kinds[self[relation].object].like

    @cached_property
    def locating(self) -> frozenset[str]:
        """Return the relations in which the subject is located at the object."""
        return frozenset(name for name, relation in self.relations.items() if relation.locates)


def family(name: str, schema: Schema) -> tuple[str, ...]:
    """Return the names of a relation and of its many-valued opposites: each ends when the other begins. A relation with
    one value or not in the schema is returned alone.
    """
    if name not in schema or schema[name].cardinality == "one":
        return (name,)
    opposite = schema[name].opposite
    others = {other.name for other in schema.relations.values() if other.opposite == name} | {opposite} - {""}
    return tuple(sorted({name, *(other for other in others if schema[other].cardinality == "many")}))


def open_relation(schema: Schema) -> Relation:
    """Return the relation whose topic is the predicate. Raises `ConfigError` if the schema has none."""
    found = next((relation for relation in schema.relations.values() if relation.open), None)
    if found is None:
        raise ConfigError(
            "facts.predicates = 'open' and atomic facts under curator.rule = 'model' need a relation with open = true; "
            "add one to the relation file"
        )
    return found


def open_schema(schema: Schema) -> Schema:
    """Return a schema with only the open relation. Raises `ConfigError` if there is none."""
    relation = open_relation(schema)
    return Schema(relations={relation.name: relation}, kinds=schema.kinds)


def load_relations(path: str | Path | None = None) -> Schema:
    """Load the schema from a TOML file, or the bundled one. Raises `ConfigError` for a missing or invalid file."""
    if path is None:
        return _bundled()
    return _read(Path(path))


@cache
def _bundled() -> Schema:
    return _read(resources.files("nscma_torch.configs").joinpath("relations.toml"))


def _read(source: Traversable) -> Schema:
    try:
        tables: dict[str, Any] = tomllib.loads(source.read_text(encoding="utf-8"))
        return _schema(tables)
    except OSError as error:
        raise ConfigError(f"cannot read {source}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, TypeError) as error:
        raise ConfigError(f"{source} is not a valid relations file: {error}") from error
    except ValidationError as error:
        problem = error.errors()[0]
        where = ".".join(str(part) for part in problem["loc"])
        said = "no such key; delete it" if problem["type"] == "extra_forbidden" else problem["msg"]
        raise ConfigError(f"{source}: {where}: {said}") from error


def _schema(tables: dict[str, Any]) -> Schema:
    shapes = {shape: {"name": shape, "like": shape} for shape in get_args(Shape)}
    kinds: dict[str, Any] = shapes | {name: {"name": name, **table} for name, table in tables.pop("kinds", {}).items()}
    return Schema.model_validate(
        {"kinds": kinds, "relations": {name: {"name": name, **table} for name, table in tables.items()}}
    )
