"""LangChain's standard tests of retrievers, and what documents carry."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import pytest
from langchain_core.documents import Document
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from langchain_tests.integration_tests import RetrieversIntegrationTests
from pydantic import ValidationError

from nscma_torch import Memory
from nscma_torch.core.errors import EmptyTextError, InvalidInputError
from nscma_torch.integrations.langchain import NscmaRetriever


@pytest.fixture
def memory(open_memory: Callable[..., Memory], light_surprise: Any) -> Memory:
    """Two users; one has three messages."""
    memory = open_memory(surprise_model=light_surprise)
    memory.add(
        [
            {"role": "user", "content": "I live in Porto.", "name": "Ana", "session": "s1", "mood": "good"},
            {"role": "assistant", "content": "Porto is a fine place."},
            {"role": "user", "content": "My cat is called Miso."},
        ],
        user_id="ana",
        timestamp="2026-01-06",
    )
    memory.add("I live in Porto, too, says Bob.", user_id="bob")
    return memory


@pytest.mark.anyio
class TestStandard(RetrieversIntegrationTests):
    """langchain-tests' own; `ainvoke` runs under anyio's plugin of pytest."""

    params: ClassVar[dict[str, Any]] = {}

    @pytest.fixture(autouse=True)
    def open(self, memory: Memory) -> Iterator[None]:
        self.params.update(memory=memory, user_id="ana")
        yield
        self.params.clear()

    @pytest.fixture
    def anyio_backend(self) -> str:
        return "asyncio"

    @property
    def retriever_constructor(self) -> type[NscmaRetriever]:
        return NscmaRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return self.params

    @property
    def retriever_query_example(self) -> str:
        return "Where does Ana live? In Porto?"


def test_what_a_document_carries(memory: Memory) -> None:
    (found,) = NscmaRetriever(memory=memory, user_id="ana", k=1).invoke("Who lives in Porto?")
    assert isinstance(found, Document)
    assert found.page_content == "I live in Porto."
    (kept,) = memory.get_all(user_id="ana", limit=1)
    about = found.metadata
    assert (about["memory_id"], about["mood"], about["name"], about["session"]) == (kept.id, "good", "Ana", "s1")
    assert about["occurred_at"] == "2026-01-06T00:00:00+00:00"
    assert isinstance(about["score"], float) and about["kind"] == "chunk" and about["role"] == "user"
    assert "source" not in about
    assert found.id == memory.search("Who lives in Porto?", user_id="ana", top_k=1)[0].unit.id


def test_no_word_of_another_user(memory: Memory) -> None:
    for user, other in (("ana", "Bob"), ("bob", "Ana")):
        found = NscmaRetriever(memory=memory, user_id=user, k=50).invoke("Who lives in Porto, Ana or Bob?")
        assert found and not any(other in one.page_content + str(one.metadata) for one in found)
    assert NscmaRetriever(memory=memory, user_id="carol").invoke("Porto") == []


def test_arguments_reach_the_search(memory: Memory) -> None:
    assert len(NscmaRetriever(memory=memory, user_id="ana", filters={"mood": "good"}).invoke("Porto")) == 1
    assert NscmaRetriever(memory=memory, user_id="ana", run_id="r1").invoke("Porto") == []
    assert NscmaRetriever(memory=memory, user_id="ana", threshold=10.0).invoke("Porto") == []
    assert len(NscmaRetriever(memory=memory, user_id="ana", budget=8).invoke("Porto")) < 3
    assert len(asyncio.run(NscmaRetriever(memory=memory, user_id="ana").ainvoke("Porto", k=2))) == 2


def test_in_a_chain(memory: Memory) -> None:
    prompt = ChatPromptTemplate.from_template("{passages} | {question}")
    retriever = NscmaRetriever(memory=memory, user_id="ana", k=1)
    shown = retriever | (lambda found: "; ".join(one.page_content for one in found))
    chain = (
        {"passages": shown, "question": RunnablePassthrough()} | prompt | RunnableLambda(lambda said: said.to_string())
    )
    assert chain.invoke("the cat Miso") == "Human: My cat is called Miso. | the cat Miso"


def test_bad_input(memory: Memory) -> None:
    for wrong in (
        {"user_id": ""},
        {"user_id": "a\nb"},
        {"user_id": None},
        {"user_id": "a", "k": 0},
        {"user_id": "a", "memory": 3},
    ):
        with pytest.raises(ValidationError):
            NscmaRetriever(**{"memory": memory, **wrong})
    retriever = NscmaRetriever(memory=memory, user_id="ana")
    with pytest.raises(EmptyTextError):
        retriever.invoke(" ")
    with pytest.raises(InvalidInputError, match="k is 0"):
        retriever.invoke("Porto", k=0)
    assert "Porto" not in repr(retriever) and "memory" not in retriever.model_dump()
