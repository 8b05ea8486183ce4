"""A session as LangChain's chat history: what goes in comes out, and nothing of anybody else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.runnables.history import RunnableWithMessageHistory

from nscma_torch import Memory
from nscma_torch.core.errors import InvalidInputError, ScopeError
from nscma_torch.integrations.langchain import NscmaChatMessageHistory

CALL = {"name": "look", "args": {"in": "Porto"}, "id": "c1", "type": "tool_call"}
USED = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
MESSAGES: list[tuple[BaseMessage, str, str]] = [  # with the role and the text that the memory has
    (SystemMessage("Be brief."), "system", "Be brief."),
    (HumanMessage("I live in Porto.", id="h1", name="Ana", additional_kwargs={"a": [1]}), "user", "I live in Porto."),
    (HumanMessage("  padded\n"), "user", "  padded\n"),
    (AIMessage("", tool_calls=[CALL]), "assistant", 'look({"in": "Porto"})'),
    (ToolMessage("sunny", tool_call_id="c1", artifact={"t": 25}), "tool", "sunny"),
    (AIMessage([{"type": "text", "text": "Look:"}, IMAGE], usage_metadata=USED), "assistant", "Look:\n[image_url]"),  # type: ignore[arg-type]
    (AIMessage(["one", "two"]), "assistant", "one\ntwo"),
    (AIMessage(""), "assistant", "[no text]"),
    (AIMessage("done", response_metadata={"model": "m"}), "assistant", "done"),
    (ChatMessage("I object.", role="critic"), "user", "I object."),
    (ChatMessage("Noted.", role="assistant"), "assistant", "Noted."),
    (FunctionMessage("4", name="add"), "tool", "4"),
]


@pytest.fixture
def memory(open_memory: Callable[..., Memory], light_surprise: Any) -> Memory:
    return open_memory(surprise_model=light_surprise)


def history(memory: Memory, session: str = "s1", user: str = "ana", **ids: str) -> NscmaChatMessageHistory:
    return NscmaChatMessageHistory(memory, session, user_id=user, **ids)


def test_what_is_added_comes_back(memory: Memory) -> None:
    history(memory).add_messages([message for message, _, _ in MESSAGES])
    assert history(memory).messages == [message for message, _, _ in MESSAGES]
    kept = memory.get_all(user_id="ana", limit=None)
    assert [(one.role, one.text) for one in kept] == [(role, text) for _, role, text in MESSAGES]
    assert {one.session for one in kept} == {"s1"}
    assert kept[1].name == "Ana"
    assert "Porto" in memory.search("Porto", user_id="ana", top_k=1)[0].text


def test_a_chunk_is_kept_as_its_message(memory: Memory) -> None:
    history(memory).add_message(AIMessageChunk("all of it", id="x"))
    assert history(memory).messages == [AIMessage("all of it", id="x")]


def test_the_other_ways_to_add(memory: Memory) -> None:
    own = history(memory)
    own.add_user_message("hello")
    own.add_ai_message("hi")
    own.add_messages([])
    asyncio.run(own.aadd_messages([HumanMessage("bye")]))
    assert asyncio.run(own.aget_messages()) == [HumanMessage("hello"), AIMessage("hi"), HumanMessage("bye")]
    assert str(own) == "Human: hello\nAI: hi\nHuman: bye"


def test_sessions_users_and_agents_are_apart(memory: Memory) -> None:
    others = [
        history(memory, "s2"),
        history(memory, user="bob"),
        history(memory, agent_id="cook"),
        history(memory, run_id="r"),
    ]
    for number, one in enumerate([history(memory), *others]):
        one.add_user_message(f"message {number}")
    for number, one in enumerate([history(memory), *others]):
        assert one.messages == [HumanMessage(f"message {number}")]
    asyncio.run(history(memory).aclear())
    assert history(memory).messages == []
    assert [len(one.messages) for one in others] == [1, 1, 1, 1]
    assert memory.restore(memory.log(user_id="ana")[0].id, user_id="ana"), "what is cleared can be brought back"
    assert history(memory).messages == [HumanMessage("message 0")]


def test_what_another_way_in_has_stored_is_there(memory: Memory) -> None:
    said = [
        {"role": role, "content": f"by {role}", "session": "s1"} for role in ("system", "user", "assistant", "tool")
    ]
    added = memory.add(said, user_id="ana")
    memory.add("a document", user_id="ana", metadata={"langchain": "no"})
    tool = ToolMessage("by tool", tool_call_id=added[3].id)
    assert history(memory).messages == [
        SystemMessage("by system"),
        HumanMessage("by user"),
        AIMessage("by assistant"),
        tool,
    ]


def test_an_edit_shows(memory: Memory) -> None:
    history(memory).add_messages(
        [HumanMessage("I live in Lisbon.", id="h"), AIMessage([{"type": "text", "text": "Fine."}])]
    )
    for one, text in zip(memory.get_all(user_id="ana"), ("I live in Porto.", "Good."), strict=True):
        memory.update(one.id, text, user_id="ana")
    assert history(memory).messages == [HumanMessage("I live in Porto.", id="h"), AIMessage("Good.")]


@pytest.mark.filterwarnings("ignore:RunnableWithMessageHistory")  # LangChain has deprecated what uses histories
def test_in_a_runnable(memory: Memory) -> None:
    model = FakeListChatModel(responses=["first", "second"])
    chat = RunnableWithMessageHistory(model, lambda session_id: history(memory, session_id))
    config: Any = {"configurable": {"session_id": "s9"}}
    assert chat.invoke([HumanMessage("one")], config).content == "first"
    assert chat.invoke([HumanMessage("two")], config).content == "second"
    assert [one.content for one in history(memory, "s9").messages] == ["one", "first", "two", "second"]


def test_bad_input(memory: Memory) -> None:
    for session, ids in (
        (" ", {"user_id": "ana"}),
        (3, {"user_id": "ana"}),
        ("s", {"user_id": ""}),
        ("s", {"user_id": "a", "run_id": ""}),
    ):
        with pytest.raises((InvalidInputError, ScopeError)):
            NscmaChatMessageHistory(memory, session, **ids)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="of type Memory"):
        NscmaChatMessageHistory("store.db", "s", user_id="ana")  # type: ignore[arg-type]
    bad: list[Any] = [
        "text",
        {"role": "user"},
        RemoveMessage(id="x"),
        HumanMessage("x", additional_kwargs={"f": object()}),
    ]
    for one in [*bad, HumanMessage("\ud800")]:
        with pytest.raises(InvalidInputError):
            history(memory).add_messages([HumanMessage("before"), one])
    assert memory.log(user_id="ana") == []
