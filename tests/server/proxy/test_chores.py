"""Requests of chat clients that are not the user's words, by what their public prompts have in common."""

from __future__ import annotations

import time

import pytest

from nscma_torch.server.proxy.chores import is_chore, is_task

HISTORY = "\n### Chat History:\n<chat_history>\nUSER: I live in Porto.\n</chat_history>"


@pytest.mark.parametrize(
    "text",
    [
        "### Task:\nGenerate 1-3 broad tags for the themes.\n### Guidelines:\n- Be brief." + HISTORY,
        "### Task:\nYou complete what is being typed.\n### Context:"
        + HISTORY
        + "\n<type>search</type>\n<text>how</text>",
        "Provide a concise, 5-word-or-less title for the conversation, using title case conventions.",
        "Please generate a concise title (max 40 characters) for a conversation that starts with:\nUser: hi",
        "Analyze this conversation and provide:\n1. Its language\n2. A concise title\n\nUser: I live in Porto.",
        "Generate a 3-7 word title for this conversation. Go straight to the title.",
        "Create a short phrase with an emoji as a title for the previous query.\n\nQuery: I live in Porto.",
        "Suggest three follow-up questions for this chat.",
    ],
)
def test_chores(text: str) -> None:
    assert is_chore(text, "")


@pytest.mark.parametrize(
    "text",
    [
        "Suggest a title for the thread I posted about my cat Miso.",
        "Give me a title for the chat app I'm building.",
        "What title did I give the conversation piece?",
        "### Task:\nRespond to the user query using the context.\n<context>x</context>\nWhere do I live?",
        "### Task: buy milk for Otto",
        "Summarize our conversation about my trip to Rome.",
        "Suggest follow-up questions for my interview at Bosch.",
        "The <chat_history> tag of Open WebUI breaks my prompt.",
        "",
    ],
)
def test_words_of_a_user(text: str) -> None:
    assert not is_chore(text, "You are a helpful assistant. End with follow-up questions for the conversation.")


def test_a_system_prompt_that_only_writes_titles() -> None:
    assert is_chore("I live in Porto.", "You are a title generator. You output ONLY a thread title.")


def test_the_task_in_the_metadata() -> None:
    assert is_task({"task": "follow_up_generation"})
    assert not any(map(is_task, (None, "title_generation", {"task": "homework"}, {"task": ["tags_generation"]}, {})))


@pytest.mark.parametrize(
    "text", ["generate title the ", "\n", "please ", "summarize the chat ", "### Task:\n<chat_history> "]
)
def test_the_time_is_linear(text: str) -> None:
    began = time.process_time()
    is_chore(text * (1_000_000 // len(text)), text * 10_000)
    assert time.process_time() - began < 0.5
