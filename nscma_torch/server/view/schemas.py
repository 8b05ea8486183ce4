"""Requests and responses of the page. Long lists are paged."""

from __future__ import annotations

from typing import Annotated, Generic, TypeVar

from pydantic import BaseModel, Field

from nscma_torch.api.operations import Right
from nscma_torch.core.records import Episode, Fact, Message
from nscma_torch.hierarchy.store.tree_pages import Twig
from nscma_torch.semantic.store.fact_pages import Extent
from nscma_torch.server.parameters import AgentParams, Id, Time, UserParams

T = TypeVar("T")
Limit = Annotated[int, Field(ge=1, le=200)]
Offset = Annotated[int, Field(ge=0, le=10_000_000)]
Text = Annotated[str, Field(max_length=400)]


class PageParams(AgentParams):
    """One page of a list in a scope."""

    limit: Limit = 50
    offset: Offset = 0


class LogPageParams(AgentParams):
    """A page of the log; see `episodic.log.log_pages.messages`."""

    limit: Limit = 50
    of: Id | None = Field(None, description="id of a message; lists only its conversation or document")
    deferred: bool | None = None
    before: Id | None = Field(None, description="the message right after the page")
    after: Id | None = Field(None, description="the message right before the page")
    at: Id | None = Field(None, description="the message in the middle of the page")


class FactPageParams(PageParams):
    """Groups of facts; see `semantic.store.fact_pages.subjects`."""

    text: Text = ""
    changed: bool = False
    known_at: Time | None = None


class EntityPageParams(PageParams):
    """Filter for entities with a name that contains the text."""

    text: Text = ""


class GraphParams(AgentParams):
    """Query for the facts around an entity, by default around the entity with the most facts."""

    entity: Text | None = None
    limit: Limit = 40
    further: Annotated[int, Field(ge=0, le=200)] = 20
    as_of: Time | None = None


class TreePageParams(PageParams):
    """Query for the members of a node; by default, for the roots."""

    level: Annotated[int, Field(ge=1, le=64)] | None = None
    number: Annotated[int, Field(ge=0)] | None = None


class DecisionPageParams(PageParams):
    """Filter for decisions; see `semantic.store.decisions.page`."""

    changes: bool = False
    fact: Annotated[list[Id], Field(fail_fast=True, max_length=100)] = Field(default_factory=list)
    proposals: bool = False


class RestingParams(UserParams):
    """Query for what rests on a message."""

    memory_id: Id


class AccessOut(BaseModel):
    """The caller: the user (the token's or the default one), the rights, and the users that the caller may name.

    `users` and `agents` list only the first names in alphabetical order. Users are listed only if the caller may name
    any user.
    """

    user: str | None
    any_user: bool
    rights: list[Right]
    users: list[str]
    more_users: bool
    agents: list[str]
    store: str | None


class Paged(BaseModel, Generic[T]):
    """One page of `total` items."""

    items: list[T]
    total: int


class LogOut(Paged[Episode]):
    """Messages in the order in which they were stored. Of the `total` messages, `skipped` precede them."""

    skipped: int


class FactsOut(Paged[list[Fact]]):
    """Groups of facts with a common subject, relation and topic, the latest change first.

    `extent` covers all facts: the range of the page's two time controls.
    """

    extent: Extent


class GraphOut(BaseModel):
    """Facts around an entity. `total` is the number of all facts about it; `name` is None if there are no facts."""

    name: str | None
    facts: list[Fact]
    total: int


class TreeOut(Paged[Twig]):
    """Nodes of the hierarchy; `levels` counts all nodes by level, chunks first."""

    levels: list[int]


class RestingOut(BaseModel):
    """Facts and texts that rest on a message and on the `replies` (ids) that were written from it, which go with it.

    The facts `gone` rest on nothing else, the facts `kept` on other messages too. `texts` is the number of summaries
    and derived texts that were written with one of them in view.
    """

    gone: list[Fact]
    kept: list[Fact]
    replies: list[str]
    texts: int


class FileOut(BaseModel):
    """The messages of a file, which are not stored. `source` is the name of the document, None for a conversation."""

    source: str | None
    messages: list[Message]
