"""Requests to forget something that was said."""

from __future__ import annotations

import pytest

from nscma_torch.reading.forget_request import forget_request


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("Please forget what I said about the gate code.", "the gate code"),
        ("Nora, forget what I told you about my salary, will you", "my salary"),
        ("hey bot pls delete from ur notes what i said my shoes cost", "my shoes cost"),
        ("Could you forget everything I mentioned about Lena's surprise party?", "Lena's surprise party"),
        ("On second thoughts, please erase the PIN that I gave you.", "the PIN"),
        ("I'd like you to forget what I wrote about where the key is. It's not for a chat.", "where the key is"),
        ("Remove my address from your notes.", "my address"),
        ("Oops. Forget that message.", ""),
        ("wait, delete my last message please", ""),
    ],
)
def test_what_is_to_be_forgotten(text: str, topic: str) -> None:
    assert forget_request(text) == topic


@pytest.mark.parametrize(
    "text",
    [
        "Don't forget what I said about the gate code.",
        "I always forget what I said about the budget.",
        "Forget the milk, we have enough.",
        "She told me to forget what I said.",
        "Never forget that message.",
        "I can't forget what you said about my cooking.",
        "We delete the old branches on Fridays.",
        "Forget it, I'll walk.",
    ],
)
def test_nothing_is_to_be_forgotten(text: str) -> None:
    assert forget_request(text) is None
