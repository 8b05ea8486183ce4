"""What LlamaIndex's nodes carry, and a query engine over them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import MetadataMode, NodeWithScore

from nscma_torch import Memory
from nscma_torch.core.errors import InvalidInputError, ScopeError
from nscma_torch.integrations.llamaindex import NscmaRetriever


@pytest.fixture
def memory(open_memory: Callable[..., Memory], light_surprise: Any) -> Memory:
    memory = open_memory(surprise_model=light_surprise)
    memory.add("I live in Porto.", user_id="ana", timestamp="2026-01-06", metadata={"mood": "good"})
    memory.add("My cat is called Miso.", user_id="ana")
    memory.add("I live in Porto, too, says Bob.", user_id="bob")
    return memory


def test_what_a_node_carries(memory: Memory) -> None:
    (found,) = NscmaRetriever(memory, user_id="ana", similarity_top_k=1).retrieve("Who lives in Porto?")
    hit = memory.search("Who lives in Porto?", user_id="ana", top_k=1)[0]
    assert isinstance(found, NodeWithScore)
    assert (found.text, found.score, found.node_id) == ("I live in Porto.", hit.score, hit.unit.id)
    assert (found.metadata["memory_id"], found.metadata["mood"]) == (hit.id, "good")
    shown = found.get_content(MetadataMode.LLM)
    assert shown == "occurred_at: 2026-01-06T00:00:00+00:00\nrole: user\n\nI live in Porto."
    assert found.get_content(MetadataMode.EMBED) == "I live in Porto."


def test_no_word_of_another_user(memory: Memory) -> None:
    for user, other in (("ana", "Bob"), ("bob", "cat")):
        found = NscmaRetriever(memory, user_id=user, similarity_top_k=50).retrieve("Bob lives in Porto with a cat")
        assert found and not any(other in one.text for one in found)
    assert asyncio.run(NscmaRetriever(memory, user_id="carol").aretrieve("Porto")) == []


def test_arguments_reach_the_search(memory: Memory) -> None:
    assert len(NscmaRetriever(memory, user_id="ana", filters={"mood": "good"}).retrieve("Porto")) == 1
    assert NscmaRetriever(memory, user_id="ana", agent_id="cook").retrieve("Porto") == []
    assert NscmaRetriever(memory, user_id="ana", threshold=10.0).retrieve("Porto") == []
    assert len(asyncio.run(NscmaRetriever(memory, user_id="ana").aretrieve("Porto"))) == 2


def test_in_a_query_engine(memory: Memory) -> None:
    retriever = NscmaRetriever(memory, user_id="ana", similarity_top_k=1)
    answer = RetrieverQueryEngine.from_args(retriever, llm=MockLLM()).query("Where is Porto?")
    assert "I live in Porto." in str(answer), "the model repeats its prompt"
    assert [one.text for one in answer.source_nodes] == ["I live in Porto."]


def test_bad_input(memory: Memory) -> None:
    with pytest.raises(ScopeError):
        NscmaRetriever(memory, user_id="")
    with pytest.raises(InvalidInputError, match="similarity_top_k is 0"):
        NscmaRetriever(memory, user_id="ana", similarity_top_k=0)
    with pytest.raises(InvalidInputError, match="of type Memory"):
        NscmaRetriever("store.db", user_id="ana")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError):
        NscmaRetriever(memory, user_id="ana").retrieve(" ")
