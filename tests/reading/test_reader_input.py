"""What the reader is given: rows that hold every passage whole, and spans that come back as its characters."""

from __future__ import annotations

from datetime import datetime

import pytest
from tokenizers import Tokenizer

from nscma_torch.reading.reader_input import PART_TOKENS, InputPassage, InputRow, Packer
from nscma_torch.text.embedders.minilm import bundled_folder, load_tokenizer

CLS, SEP = 101, 102  # of BERT's uncased vocabulary
TEXT = "I moved to Porto in May, since the rent in Lisbon went up to 1,450 euros."
DAY = datetime(2025, 5, 3, 9)
LATER = datetime(2025, 6, 1, 9)


def read_in(row: InputRow) -> list[int]:
    return [part.passage for part in row.parts]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return load_tokenizer(bundled_folder())


@pytest.mark.parametrize("wording", ["Porto", "1,450 euros", "Lisbon went up", "I", "euros."])
def test_characters_become_tokens_and_come_back(tokenizer: Tokenizer, wording: str) -> None:
    passages = [InputPassage("where are you?", "Bo", DAY), InputPassage(TEXT, "Ana", DAY)]
    (row,) = Packer(tokenizer, 128).rows("Where does Ana live?", passages)
    start = TEXT.index(wording)
    tokens = row.tokens_of(1, start, start + len(wording))
    assert tokens is not None
    piece = row.characters_of(*tokens)
    assert (piece.passage, piece.of_text) == (1, True) and TEXT[piece.start : piece.end] == wording
    assert row.tokens_of(1, 0, 3, of_text=False) is not None, "the speaker's name"


def test_a_row_has_the_question_then_the_passages_in_order_and_a_day_where_it_is_another(tokenizer: Tokenizer) -> None:
    passages = [
        InputPassage("hello", "Bo", DAY, rank=2),
        InputPassage("hi", "Ana", DAY, rank=1),
        InputPassage("bye", "Bo", LATER),
    ]
    (row,) = Packer(tokenizer, 128).rows("Where?", passages)
    assert row.ids[0] == CLS and row.ids[row.question_length - 1] == SEP
    assert [row.ids[end] for end in row.ends] == [SEP] * 3 and read_in(row) == [0, 1, 2]
    said = tokenizer.decode(row.ids, skip_special_tokens=False)
    assert said.endswith("03 may 2025 bo : hello [SEP] ana : hi [SEP] 01 june 2025 bo : bye [SEP]")


def test_what_ranks_first_is_read_together_and_context_where_there_is_room(tokenizer: Tokenizer) -> None:
    words = "one two three four five six seven eight nine ten"
    passages = [
        InputPassage(f"worst {words}", rank=2),
        InputPassage(f"context {words}", context=True),
        InputPassage(f"best {words}", rank=0),
        InputPassage("small talk", context=True),
        InputPassage(f"good {words}", rank=1),
    ]
    rows = Packer(tokenizer, 34).rows("Where?", passages)
    assert [read_in(row) for row in rows] == [[2, 3, 4], [0, 1]]
    rows = Packer(tokenizer, 22).rows("Where?", passages)
    assert [read_in(row) for row in rows] == [[2, 3], [4], [0]], "context opens no row"


def test_a_long_text_is_cut_into_pieces_that_overlap_and_miss_nothing(tokenizer: Tokenizer) -> None:
    text = " ".join(f"word{i}" for i in range(300))
    rows = Packer(tokenizer, 96).rows("Which?", [InputPassage(text)])
    assert len(rows) > 3 and all(len(row.ids) <= 96 for row in rows)
    for i in range(300):
        start = text.index(f"word{i}")
        assert any(row.tokens_of(0, start, start + len(f"word{i}")) for row in rows), i
    last = text.index("word299")
    assert rows[0].tokens_of(0, last, last + 7) is None


def test_the_best_parts_of_many_rows_make_one_row(tokenizer: Tokenizer) -> None:
    packer = Packer(tokenizer, 256)
    text = " ".join(f"word{i}" for i in range(400))
    passages = [InputPassage(text, "Ana"), InputPassage("hello"), InputPassage("hi")]
    parts = [part for row in packer.rows("Which?", passages) for part in row.parts]
    long = [part.around(100) for part in parts if part.passage == 0]
    assert len(long) > 3 and all(len(part.tokens) <= PART_TOKENS + 2 for part in long)
    row = packer.joined("Which?", [parts[-1], long[1], long[2], long[0]])
    assert read_in(row) == [0, parts[-1].passage] and row.parts[0] == long[1], "no piece that overlaps another"
    assert len(row.ids) <= 256
    assert tokenizer.decode(row.ids[row.question_length :]).startswith("ana :")
    middle = parts[0].tokens[100][1]
    assert middle is not None
    assert middle in [piece for _, piece in parts[0].around(100).tokens], "the token that was asked for is in it"


def test_a_long_question_leaves_room_for_the_passage(tokenizer: Tokenizer) -> None:
    (row,) = Packer(tokenizer, 128).rows("why " * 500, [InputPassage("Because.")])
    assert len(row.ids) <= 128 and row.tokens_of(0, 0, 7) is not None
