"""Models of request arguments, derived from the methods of `Memory` or written by hand for endpoints with different
arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from inspect import Parameter, Signature
from types import NoneType
from typing import Annotated, Any, Self, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    WithJsonSchema,
    create_model,
    model_validator,
)

from nscma_torch.api.operations import Operation
from nscma_torch.core.errors import ScopeError
from nscma_torch.core.records import KEEP, Answer, FactQuery, MemoryType, Resolution, Sentiment
from nscma_torch.server.access import Principal
from nscma_torch.text.calendar.timestamps import parse_timestamp
from nscma_torch.text.messages import as_messages

Time = Annotated[
    datetime,
    BeforeValidator(parse_timestamp),
    WithJsonSchema({"anyOf": [{"type": "string", "format": "date-time"}, {"type": "number"}]}),
]
Count = Annotated[int, Field(ge=1, le=1_000_000)]
Id = Annotated[str, Field(min_length=1, max_length=256)]
FIRST_ERROR = Field(fail_fast=True)  # of a list: an error for each item would take more than the list
MANY = Field(fail_fast=True, max_length=4096, description="send more to /v1/messages/stream")
_SCOPE = ("user_id", "agent_id", "run_id")
_PYTHON_ONLY = {"self", "where", "keep", "progress"}
_PAGE = 100  # default `limit`
_IDS = Annotated[list[Id], Field(fail_fast=True, max_length=1000)]
_TYPES: dict[str, Any] = {  # arguments that a request bounds, or gives in another form
    "limit": Count,
    "budget": Count,
    "turns": Count,
    "top_k": Annotated[int, Field(ge=1, le=10_000)],
    "ids": _IDS,
    "messages": _IDS,
    "follows": Annotated[FactQuery, AfterValidator(lambda query: Answer("", True, 0.0, (), query=query))],
}


class StrictModel(BaseModel):
    """Base class for request models, in which an unknown field is an error."""

    model_config = ConfigDict(extra="forbid")

    def arguments(self) -> dict[str, Any]:
        """Return the arguments for the method of `Memory`, except those for the scope."""
        return {name: getattr(self, name) for name in type(self).model_fields if name not in _SCOPE}


class UserParams(StrictModel):
    """The owner: the token's user or, if the token is valid for any user, the user named in the request."""

    user_id: str | None = Field(None, description="id of the user; needed only with a token that is valid for any user")

    def user(self, caller: Principal) -> str:
        """Return the user's id. Raises `ForbiddenError` if it differs from the token's user."""
        return caller.user(self.user_id)

    def scope(self, caller: Principal) -> dict[str, Any]:
        """Return the scope as arguments for `Memory`."""
        return {**self.model_dump(include={"agent_id", "run_id"}), "user_id": self.user(caller)}


class AgentParams(UserParams):
    """Owner and agent."""

    agent_id: str | None = None


class RunParams(AgentParams):
    """Owner, agent and run."""

    run_id: str | None = None


class FilterParams(RunParams):
    """Read request with metadata filters, which may include the scope."""

    filters: dict[str, Any] | None = None

    def user(self, caller: Principal) -> str:
        inside = (self.filters or {}).get("user_id")
        if inside is not None and not isinstance(inside, str):
            raise ScopeError("user_id inside filters must be a string")
        return caller.user(self.user_id, inside)


class MessageIn(BaseModel):
    """One message in OpenAI's format; other keys become metadata."""

    model_config = ConfigDict(extra="allow")

    role: str
    content: str | Annotated[list[str | dict[str, Any]], FIRST_ERROR] | None
    timestamp: str | float | None = None
    name: str | int | None = None
    session: str | int | None = None
    metadata: dict[str, Any] | None = None
    idempotency_key: str | int | None = None


class AddBody(RunParams):
    """Arguments of `Memory.add`, and the name of a document if the messages are its sections."""

    messages: str | MessageIn | Annotated[list[MessageIn | str], MANY]
    source: str | None = Field(None, min_length=1, description="name of the document; omit for a conversation")
    metadata: dict[str, Any] | None = None
    timestamp: Time | None = None
    expiration_date: Time | None = None
    idempotency_key: str | None = None
    depends_on: Annotated[list[str], MANY] = Field(default_factory=list)
    infer: bool = True
    now: Time | None = None

    def arguments(self) -> dict[str, Any]:
        """Return the messages as mappings, or as `Message` objects if they belong to a document, because only these can
        name it.
        """
        arguments = super().arguments()
        source, many = arguments.pop("source"), self.messages if isinstance(self.messages, list) else [self.messages]
        said: list[Any] = [one if isinstance(one, str) else one.model_dump(exclude_unset=True) for one in many]
        if source is not None:
            said = [replace(one, source=source) for one in as_messages(said)]
        return {**arguments, "messages": said if isinstance(self.messages, list) else said[0]}


class RecordsParams(RunParams):
    """Query for the structured records in a scope, with a filter."""

    type: list[MemoryType] = Field(default_factory=list)
    sentiment: list[Sentiment] = Field(default_factory=list)
    resolution: list[Resolution] = Field(default_factory=list)
    entity: str | None = None
    importance: float | None = None
    limit: Count | None = _PAGE

    def arguments(self) -> dict[str, Any]:
        """Return the filter as an argument for `Memory.records`."""
        wanted = super().arguments()
        limit = wanted.pop("limit")
        return {"limit": limit, "record": {name: one for name, one in wanted.items() if one not in (None, [])} or None}


class EraseBody(UserParams):
    """Selection for permanent deletion: one message, one skill, or all of the user's data if `everything` is true."""

    memory_id: Id | None = None
    skill_id: Id | None = None
    everything: bool = False

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        if [self.memory_id is not None, self.skill_id is not None, self.everything].count(True) != 1:
            raise ValueError("give one of 'memory_id' and 'skill_id', or set 'everything' to true")
        return self

    def arguments(self) -> dict[str, Any]:
        """Return the arguments for `Memory.erase`. Without an id, all of the user's data is erased."""
        return {"memory_id": self.memory_id, "skill_id": self.skill_id}


_BY_HAND: dict[str, type[StrictModel]] = {"add": AddBody, "records": RecordsParams, "erase": EraseBody}


def parameters_of(operation: Operation, signature: Signature, places: Sequence[str]) -> tuple[Any, bool]:
    """Return a model of an endpoint's arguments outside its path, and True if the arguments form a body. Returns (None,
    False) if there are no such arguments.

    Args:
        signature: the signature of the `Memory` method, with evaluated annotations.
        places: the names of the arguments in the path.
    """
    by_hand = _BY_HAND.get(operation.id)
    if by_hand is not None:
        return by_hand, operation.verb == "POST"
    base = _base(signature, filters=operation.verb == "POST")
    left_out = {*_PYTHON_ONLY, *_SCOPE, *places, "filters", *(() if operation.now else ("now",))}
    own = [parameter for name, parameter in signature.parameters.items() if name not in left_out]
    if base is StrictModel and not own:
        return None, False
    in_body = operation.verb in ("POST", "PATCH") and bool(own or not places)
    name = operation.id.title().replace("_", "") + ("Body" if in_body else "Params")
    fields: dict[str, Any] = {one.name: (_type_of(one), _default_of(one)) for one in own}
    return create_model(name, __base__=base, __doc__=f"Arguments of `Memory.{operation.name}`.", **fields), in_body


def _base(signature: Signature, *, filters: bool) -> type[StrictModel]:
    """Return the base model with the scope arguments that a method accepts."""
    bases = {"filters": FilterParams, "run_id": RunParams, "agent_id": AgentParams, "user_id": UserParams}
    if not filters:
        del bases["filters"]
    return next((base for name, base in bases.items() if name in signature.parameters), StrictModel)


def _type_of(parameter: Parameter) -> Any:
    """Return the type used for an argument in a request."""
    hint = parameter.annotation
    kinds = get_args(hint) if NoneType in get_args(hint) else (hint,)
    if parameter.name in _TYPES:
        kind = _TYPES[parameter.name]
    elif datetime in kinds:
        kind = Time
    elif get_origin(kinds[0]) is Sequence:
        kind = Annotated[list[get_args(kinds[0])[0]], FIRST_ERROR]  # type: ignore[misc]
    else:
        return hint
    return _or_none(kind) if NoneType in kinds else kind


def _or_none(kind: Any) -> Any:
    """Allow None. In a query, FastAPI finds only a list whose limits are around the union."""
    if get_origin(kind) is Annotated and get_origin(get_args(kind)[0]) is list:
        inner, *limits = get_args(kind)
        return Annotated[inner | None, *limits]
    return kind | None


def _default_of(parameter: Parameter) -> Any:
    if parameter.default is KEEP:
        return Field(default_factory=lambda: KEEP)
    if parameter.name == "limit":
        return _PAGE
    return ... if parameter.default is Parameter.empty else parameter.default
