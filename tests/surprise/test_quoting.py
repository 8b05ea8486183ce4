"""What a message only says again, without the marks that say so."""

from __future__ import annotations

import pytest

from nscma_torch.surprise.measurement import repeats
from nscma_torch.surprise.quoting import unquoted

SAID = "My sister Ana lives in Porto."


@pytest.mark.parametrize(
    "text",
    [
        SAID,
        f"> {SAID}",
        f">>{SAID}",
        f"- {SAID}",
        f"12. {SAID}",
        f"[2024-05-01] {SAID}",
        f'You said: "{SAID}"',
        f"You told me last week: {SAID}",
        f"As I said, {SAID}",
        f"Like I already mentioned before, {SAID}",
        f"user: {SAID}",
        f"What I remember about you:\n\n* {SAID}",
    ],
)
def test_marks_of_quotation_are_taken_off(text: str) -> None:
    assert unquoted(text) == [SAID]


@pytest.mark.parametrize("text", ["As I see it, we are late.", "Note: the door is open.", "I said so.", "a > b", "-5"])
def test_what_looks_like_one_is_left(text: str) -> None:
    assert unquoted(text) == [text]


def test_marks_without_end_are_read_once() -> None:
    """Where the marks may be cut into runs in every way, this takes hours."""
    marks = ">" * 200_000
    assert unquoted(f"{marks} so\n{marks}") == ["so"]
    assert unquoted(">> - 1) [a] > so") == ["so"]


def test_nothing_is_left_of_nothing() -> None:
    assert unquoted("") == unquoted(" \n> \n") == unquoted("Relevant memories:") == []


HISTORY = f"Hi!\n{SAID} She works at the harbour.\nI'm vegetarian"


@pytest.mark.parametrize(
    "text",
    [
        f"> {SAID.upper()}",
        "As I said, I'm vegetarian",
        "As I said, I'm vegetarian.",
        f"Recalled:\n- {SAID}\n- she works  at the harbour.\n- I'm vegetarian",
        f"You said: {SAID} She works at the harbour.",
    ],
)
def test_a_quotation_of_the_stream_repeats_it(text: str) -> None:
    assert repeats(text, HISTORY) == (not text.endswith("vegetarian."))


@pytest.mark.parametrize(
    "text",
    [
        "> My sister Ana lives in Lisbon.",
        f"> {SAID}\nShe has moved to Lisbon since.",
        "> lives in Porto.",
        "> My sister Ana",
        f"You said: {SAID} That was wrong.",
        "Recalled:\n- I'm vegetarian\n- I'm allergic to nuts",
        "Relevant memories:",
    ],
)
def test_what_the_stream_did_not_say_whole_is_no_repeat(text: str) -> None:
    assert not repeats(text, HISTORY)
