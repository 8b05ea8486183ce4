"""What the reader is given: windows that hold the whole text, and spans that come back as its characters."""

from __future__ import annotations

from datetime import datetime

import pytest
from tokenizers import Tokenizer

from nscma_torch.reading.reader_input import CLS, SEP, Packer, Passage
from nscma_torch.text.minilm import bundled_folder, load_tokenizer

TEXT = "I moved to Porto in May, since the rent in Lisbon went up to 1,450 euros."


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return load_tokenizer(bundled_folder())


@pytest.mark.parametrize("wording", ["Porto", "1,450 euros", "Lisbon went up", "I", "euros."])
def test_characters_become_tokens_and_come_back(tokenizer: Tokenizer, wording: str) -> None:
    passage = Passage(TEXT, "Ana", datetime(2025, 5, 3, 9), ("Bo: where are you?",))
    (window,) = Packer(tokenizer, 128).windows("Where does Ana live?", passage)
    start = TEXT.index(wording)
    tokens = window.tokens_of(start, start + len(wording))
    assert tokens is not None
    piece = window.characters_of(*tokens)
    assert piece.of_text and TEXT[piece.start : piece.end] == wording
    assert window.tokens_of(0, 3, of_text=False) is not None, "the speaker's name"


def test_a_row_begins_with_the_question_and_holds_day_and_turns_before(tokenizer: Tokenizer) -> None:
    passage = Passage(TEXT, "Ana", datetime(2025, 5, 3, 9), ("Bo: where are you?",))
    (window,) = Packer(tokenizer, 128).windows("Where?", passage)
    assert window.ids[0] == CLS and window.ids[-1] == SEP and window.ids[window.question_length - 1] == SEP
    said = tokenizer.decode(window.ids)
    assert "bo : where are you?" in said and "03 may 2025 ana :" in said


def test_a_long_text_is_cut_into_windows_that_overlap_and_miss_nothing(tokenizer: Tokenizer) -> None:
    text = " ".join(f"word{i}" for i in range(300))
    windows = list(Packer(tokenizer, 96).windows("Which?", Passage(text)))
    assert len(windows) > 3 and all(len(window.ids) <= 96 for window in windows)
    for i in range(300):
        start = text.index(f"word{i}")
        assert any(window.tokens_of(start, start + len(f"word{i}")) for window in windows), i
    last = text.index("word299")
    assert windows[0].tokens_of(last, last + 7) is None


def test_a_long_question_leaves_room_for_the_passage(tokenizer: Tokenizer) -> None:
    (window,) = Packer(tokenizer, 128).windows("why " * 500, Passage("Because."))
    assert len(window.ids) <= 128 and window.tokens_of(0, 7) is not None
