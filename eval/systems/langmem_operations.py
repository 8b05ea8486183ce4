"""What LangMem's manager proposes, as forms (`langmem`). Fields of a profile are relations of one value at a time."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from functools import cache
from typing import Annotated, Any, Literal, Union

from pydantic import Field, create_model

from nscma_torch.llm.engines.structured import ReplyForm
from nscma_torch.reading.relations import Schema

_MOST = 10  # operations on one exchange
MANAGE = """You keep the long-term memory of a conversation. You get the newest exchange, the profiles of those it \
names or that speak in it, and the existing memories most like it, by number. operations: what must change so that the \
memory holds everything in the exchange that is worth knowing later, and nothing that holds no longer; [] if nothing. \
Each is one of
- insert: a new memory, its content one or two sentences to be understood alone, with names and dates;
- update: other content for the memory of that number, which the exchange makes more exact or newer;
- delete: the memory of that number, which the exchange shows to be wrong;
- profile: a person's field gets a value, in the place of the one it has; "" empties it.
What a field can hold goes to the profile, everything else into memories. Do not insert what is there already.

Fields:
{fields}"""
_Content = Annotated[str, Field(min_length=1, max_length=600)]


class Insert(ReplyForm):
    """A new memory."""

    operation: Literal["insert"]
    content: _Content


class Update(ReplyForm):
    """A memory with other content."""

    operation: Literal["update"]
    number: int
    content: _Content


class Delete(ReplyForm):
    """A memory less."""

    operation: Literal["delete"]
    number: int


class Patch(ReplyForm):
    """Another value of a field of a profile."""

    operation: Literal["profile"]
    person: Annotated[str, Field(min_length=1, max_length=80)]
    field: str = Field(max_length=64)
    value: Annotated[str, Field(max_length=160)]


class ManagerForm(ReplyForm):
    """What the manager proposes."""

    operations: Sequence[Insert | Update | Delete | Patch]


@cache
def manager_form(schema: Schema, memories: int) -> type[ManagerForm]:
    """The form over so many existing memories."""
    fields = StrEnum("Field", {f"field_{n}": name for n, name in enumerate(fields_of(schema))})  # type: ignore[misc]
    kinds: list[Any] = [Insert, create_model("PatchOfSchema", __base__=Patch, field=(fields, ...))]
    if memories:
        number: Any = (Annotated[int, Field(ge=1, le=memories)], ...)
        kinds += [create_model(kind.__name__ + "One", __base__=kind, number=number) for kind in (Update, Delete)]
    operation: Any = Union[tuple(kinds)]  # noqa: UP007
    return create_model(
        "ManagerOfMemories", __base__=ManagerForm, operations=(list[operation], Field(max_length=_MOST))
    )


def fields_of(schema: Schema) -> list[str]:
    """The relations of one value at a time."""
    return [name for name, relation in schema.relations.items() if relation.cardinality == "one"]
