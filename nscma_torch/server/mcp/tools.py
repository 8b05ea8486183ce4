"""The seven MCP tools. Models read their descriptions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from mcp.server.mcpserver import MCPServer
from mcp.types import ToolAnnotations
from pydantic import Field

from nscma_torch.api.operations import OPERATIONS
from nscma_torch.core.errors import InvalidInputError
from nscma_torch.core.records import DUE_AHEAD, DUE_MOST
from nscma_torch.server.mcp.dispatcher import Dispatcher, Scope
from nscma_torch.server.mcp.result_models import (
    AskResult,
    DueEntry,
    DueResult,
    FactsResult,
    ForgetResult,
    FoundPassage,
    HistoryResult,
    KnownFact,
    RecallResult,
    RememberResult,
)
from nscma_torch.server.parameters import Id, Time

if TYPE_CHECKING:
    from nscma_torch.api.memory import Memory

AsOf = Annotated[Time | None, Field(description="the memory as it was at this time (ISO 8601)")]
Few = Annotated[int, Field(ge=1, le=50, description="maximum number of results")]
Many = Annotated[int, Field(ge=1, le=500, description="maximum number of results")]


class Tools:
    """MCP tools that run through a dispatcher. Each method is a tool, described to models by its docstring."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher

    def add_to(self, server: MCPServer[Any]) -> None:
        """Register the tools."""
        for tool, title in (
            (self.remember, "Remember"),
            (self.recall, "Recall passages"),
            (self.ask, "Ask the memory"),
            (self.facts, "List facts"),
            (self.due, "List what falls due"),
            (self.forget, "Forget a message"),
            (self.history, "Show the history"),
        ):
            server.add_tool(tool, title=title, annotations=hints(tool.__name__, title))

    async def remember(
        self,
        text: Annotated[str, Field(description="full sentences with names and dates")],
        role: Annotated[
            Literal["user", "assistant"],
            Field(description="the speaker's role; write the user's words in the first person"),
        ] = "user",
        said_at: Annotated[Time | None, Field(description="when it was said (ISO 8601); now by default")] = None,
        session: Annotated[str | None, Field(description="name of the conversation")] = None,
        key: Annotated[
            str | None, Field(description="a retry with the same key stores nothing again", max_length=256)
        ] = None,
    ) -> RememberResult:
        """Store information worth knowing in later conversations, in the user's own words; a changed value replaces the
        old one.
        """
        message = {"role": role, "content": text, "session": session}

        def stored(memory: Memory, scope: Scope) -> RememberResult:
            (added,) = memory.add([message], **scope, timestamp=said_at, idempotency_key=key)
            return RememberResult(id=added.id, stored=added.event == "ADD", hidden=added.hidden, masked=added.masked)

        return await self._dispatcher.call("add", stored)

    async def recall(
        self,
        query: Annotated[str, Field(description="a question or a few words")],
        limit: Few = 8,
        as_of: AsOf = None,
    ) -> RecallResult:
        """Find stored passages relevant to a query, best first. Use it before saying that you don't know the user."""

        def found(memory: Memory, scope: Scope) -> RecallResult:
            hits = memory.search(query, **scope, top_k=limit, as_of=as_of, relevant=True)
            return RecallResult(passages=[FoundPassage.of(hit.unit, hit.id) for hit in hits])

        return await self._dispatcher.call("search", found)

    async def ask(
        self,
        question: Annotated[str, Field(description="one question, as a full sentence")],
        as_of: AsOf = None,
    ) -> AskResult:
        """Answer one question from the memory, with evidence. `known` false means that nothing stored answers it."""

        def answered(memory: Memory, scope: Scope) -> AskResult:
            return AskResult.of(memory.ask(question, **scope, as_of=as_of))

        return await self._dispatcher.call("ask", answered)

    async def facts(
        self,
        subject: Annotated[
            str | None, Field(description="whom or what the facts are about; 'user' is the user")
        ] = None,
        relation: Annotated[str | None, Field(description="such as lives_in, works_at, favourite")] = None,
        topic: Annotated[
            str | None, Field(description="topic within the relation, such as 'colour' for 'favourite'")
        ] = None,
        as_of: AsOf = None,
        past: Annotated[bool, Field(description="include past facts")] = False,
        limit: Many = 50,
    ) -> FactsResult:
        """List facts (subject, relation, object) with the time they hold. Without arguments, list all current facts."""

        def found(memory: Memory, scope: Scope) -> FactsResult:
            every = memory.facts(**scope, subject=subject, relation=relation, topic=topic, as_of=as_of, archived=past)
            shown = [KnownFact.of(one) for one in every[:limit]]
            return FactsResult(facts=shown, left_out=len(every) - len(shown))

        return await self._dispatcher.call("facts", found)

    async def due(
        self, days: Annotated[int, Field(ge=0, le=DUE_MOST, description="how many days ahead")] = DUE_AHEAD
    ) -> DueResult:
        """List what falls due in the next days: appointments, deadlines and repetitions that the user told."""

        def found(memory: Memory, scope: Scope) -> DueResult:
            return DueResult(due=[DueEntry.of(one) for one in memory.due(**scope, days=days)])

        return await self._dispatcher.call("due", found)

    async def forget(
        self,
        id: Annotated[Id, Field(description="id of a message, from recall")],
        action: Annotated[
            Literal["hide", "restore", "erase"],
            Field(description="hide it, restore it, or erase it permanently; erase only if the user asks for that"),
        ] = "hide",
    ) -> ForgetResult:
        """Hide a message and what follows from it (reversible with restore), or erase it permanently from disk."""

        def done(memory: Memory, scope: Scope) -> ForgetResult:
            if action == "erase":
                receipt = memory.erase(user_id=scope["user_id"], memory_id=id)
                return ForgetResult(id=id, action=action, changed=True, reset=receipt.rebuilt, left=receipt.found)
            change = memory.delete if action == "hide" else memory.restore
            return ForgetResult(id=id, action=action, changed=change(id, user_id=scope["user_id"]))

        return await self._dispatcher.call("delete" if action == "hide" else action, done)

    async def history(
        self,
        id: Annotated[Id | None, Field(description="id of a message")] = None,
        subject: Annotated[
            str | None, Field(description="subject of the facts; give it together with relation")
        ] = None,
        relation: Annotated[
            str | None, Field(description="relation of the facts; give it together with subject")
        ] = None,
        topic: Annotated[
            str | None, Field(description="topic within the relation, such as 'colour' for 'favourite'")
        ] = None,
    ) -> HistoryResult:
        """Show a message's history (give id), or a fact's successive values (give subject and relation)."""

        def happened(memory: Memory, scope: Scope) -> HistoryResult:
            if id is not None and subject is None and relation is None and topic is None:
                found = {"changes": memory.history(id, user_id=scope["user_id"])}
                return HistoryResult.model_validate(found, from_attributes=True)
            if id is None and subject is not None and relation is not None:
                line = memory.timeline(subject, relation, **scope, topic=topic)
                return HistoryResult(facts=[KnownFact.of(one) for one in line])
            raise InvalidInputError("give the id of a message, or a subject and a relation")

        return await self._dispatcher.call("timeline" if id is None else "history", happened)


def hints(tool: str, title: str) -> ToolAnnotations:
    """Return a tool's annotations for clients. No tool has an open world, as each accesses only this memory."""
    rights = {operation.right for operation in OPERATIONS.values() if operation.mcp == tool}
    return ToolAnnotations(
        title=title,
        read_only_hint=rights == {"read"},
        destructive_hint="erase" in rights,
        idempotent_hint=tool != "remember",
        open_world_hint=False,
    )
