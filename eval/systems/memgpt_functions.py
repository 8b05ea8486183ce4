"""What MemGPT's processor may call, as forms, with its instructions (Packer et al. 2023, sections 2.3 and 2.4).

A reply is one call, after a thought. `request_heartbeat` asks for control back once it is done, so that calls chain;
without it the processor waits for the next event. Names of functions and their arguments are the authors'.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from nscma_torch.llm.engines.structured import ReplyForm

Block = Literal["persona", "human"]
_Query = Annotated[str, Field(min_length=1, max_length=300)]
_Page = Annotated[int, Field(ge=0, le=50)]
_Text = Annotated[str, Field(min_length=1, max_length=600)]


class CoreMemoryAppend(ReplyForm):
    """Add a line to a block of the working context."""

    function: Literal["core_memory_append"]
    name: Block
    content: _Text
    request_heartbeat: bool


class CoreMemoryReplace(ReplyForm):
    """Put other words in the place of some words of a block; "" removes them."""

    function: Literal["core_memory_replace"]
    name: Block
    old_content: _Text
    new_content: str = Field(max_length=600)
    request_heartbeat: bool


class ArchivalMemoryInsert(ReplyForm):
    """Write to archival storage."""

    function: Literal["archival_memory_insert"]
    content: _Text
    request_heartbeat: bool


class ArchivalMemorySearch(ReplyForm):
    """A page of what is nearest in archival storage."""

    function: Literal["archival_memory_search"]
    query: _Query
    page: _Page
    request_heartbeat: bool


class ConversationSearch(ReplyForm):
    """A page of the messages in recall storage that have words of the query."""

    function: Literal["conversation_search"]
    query: _Query
    page: _Page
    request_heartbeat: bool


class SendMessage(ReplyForm):
    """End the chain."""

    function: Literal["send_message"]


Search = ArchivalMemorySearch | ConversationSearch


class ReadingForm(ReplyForm):
    """A call while a conversation is read."""

    thought: str = Field(max_length=400)
    call: CoreMemoryAppend | CoreMemoryReplace | ArchivalMemoryInsert | ArchivalMemorySearch | ConversationSearch


class AskingForm(ReplyForm):
    """A call while a question is answered, which must leave the memory as it is."""

    thought: str = Field(max_length=400)
    call: ArchivalMemorySearch | ConversationSearch | SendMessage


_SYSTEM = (
    "You are the memory of an assistant whose context is limited, and you move information in and out of it by calling "
    "functions. core_memory stands in the context at all times, in two blocks of at most {limit} characters: persona, "
    "on the assistant, and human, on those it talks with. messages are the newest ones of the conversation; "
    "summary stands for those before them, which have left the context. All messages are in recall storage and are "
    "found by conversation_search(query, page). What is worth keeping beyond the core memory goes to archival storage, "
    "and is found by archival_memory_search(query, page). Pages have {page} results; the first is 0. results are those "
    "of the functions that you have called last. request_heartbeat: true where you want to call another function after "
    "this one, else false. thought: a few words for yourself."
)
READING = (
    f"{_SYSTEM} The context is nearly full, and the oldest messages leave it soon. Keep what will matter of them: "
    "facts about people, preferences, plans, dates, numbers; core_memory_append(name, content) and core_memory_replace("
    "name, old_content, new_content) for what matters most or has changed, archival_memory_insert(content) for the "
    "rest. Ask for no heartbeat when you have done."
)
ASKING = (
    f"{_SYSTEM} The user asks the question under DATA. Search for what is needed to answer it, as long as something "
    "is missing: other words, further pages. Call send_message when the context and the results are enough, or when "
    "nothing more can be found; somebody else then writes the answer from what you have found."
)
