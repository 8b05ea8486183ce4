"""A LangGraph agent that remembers in one conversation what it stored in another; another user's agent doesn't know it.

    python -m nscma_torch.examples.langgraph_agent

It needs the extra `langgraph`. The model is scripted, so that the example runs everywhere; replace it with yours. It
prints:

    Ana, thread 1: Noted.
    Ana, thread 2: I am allergic to nuts.
    Bob, thread 3: I know nothing about that.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated, Any
from uuid import uuid4

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import InjectedStore, ToolNode, tools_condition
from langgraph.store.base import BaseStore

from nscma_torch import Memory
from nscma_torch.integrations.langgraph import NscmaStore

Store = Annotated[BaseStore, InjectedStore()]


class ScriptedChatModel(BaseChatModel):
    """A scripted model that stores statements, looks up answers to questions, and repeats the tool's result."""

    _llm_type = "scripted"

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        last = messages[-1]
        text = str(last.content)
        name = "recall" if text.endswith("?") else "remember"
        call = {"name": name, "args": {"text": text}, "id": str(uuid4()), "type": "tool_call"}
        reply = AIMessage(text) if isinstance(last, ToolMessage) else AIMessage("", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=reply)])


@tool
def remember(text: str, store: Store, config: RunnableConfig) -> str:
    """Keep what the user tells."""
    store.put((config["configurable"]["user_id"], "notes"), str(uuid4()), {"text": text})
    return "Noted."


@tool
def recall(text: str, store: Store, config: RunnableConfig) -> str:
    """Look up what the user said before."""
    found = store.search((config["configurable"]["user_id"], "notes"), query=text, limit=1)
    return str(found[0].value["text"]) if found else "I know nothing about that."


def main() -> None:
    """Run two conversations with one user, and one with another user."""
    with tempfile.TemporaryDirectory() as folder, Memory(Path(folder) / "agents.db") as memory:
        graph = StateGraph(MessagesState)
        graph.add_node("model", lambda state: {"messages": [ScriptedChatModel().invoke(state["messages"])]})
        graph.add_node("tools", ToolNode([remember, recall]))
        graph.add_edge(START, "model")
        graph.add_conditional_edges("model", tools_condition)
        graph.add_edge("tools", "model")
        agent = graph.compile(checkpointer=InMemorySaver(), store=NscmaStore(memory, fields=["text"]))

        turns = (("Ana", "I am allergic to nuts."), ("Ana", "What must I not eat?"), ("Bob", "What must I not eat?"))
        for thread, (user, said) in enumerate(turns, start=1):
            config = RunnableConfig(configurable={"thread_id": str(thread), "user_id": user})
            state = agent.invoke(MessagesState(messages=[HumanMessage(said)]), config)
            print(f"{user}, thread {thread}: {state['messages'][-1].content}")


if __name__ == "__main__":
    main()
