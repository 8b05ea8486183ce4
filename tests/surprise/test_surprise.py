"""Surprise and information of a message, clamps against codes, and what a stream already said."""

from __future__ import annotations

import base64
import math
import random
import uuid

import pytest
import torch

from nscma_torch.core.errors import InvalidInputError
from nscma_torch.surprise import measurement as surprise
from nscma_torch.surprise.measurement import NAT, is_code, measure, memory_nats, repeats

UUID = str(uuid.UUID(int=random.Random(0).getrandbits(128)))
BASE64 = base64.b64encode(random.Random(0).randbytes(90)).decode()


def uniform(text: str, nats: float) -> torch.Tensor:
    return torch.full((len(text.encode()) + 1,), nats)


def test_mean_is_the_papers_surprise() -> None:
    nll = torch.tensor([0.5, 1.0, 1.5, 3.0])
    assert measure("abc", nll).mean == pytest.approx(1.5)
    assert measure("abc", nll).nats == pytest.approx(6.0)
    assert measure("abc", nll).tokens == 4


def test_clamps_bound_a_byte_a_run_and_a_code() -> None:
    assert measure("a b", torch.tensor([50.0, 0.1, 0.1, 0.1])).nats == pytest.approx(6.3)
    word = "a" * 20
    assert measure(word, uniform(word, 5.0), run_clamp=30.0).nats == pytest.approx(35.0)
    assert measure(UUID, uniform(UUID, 4.0)).nats == pytest.approx(8.0 + 4.0)
    assert measure(UUID, uniform(UUID, 4.0)).mean == pytest.approx(4.0)


def test_a_page_of_codes_carries_less_than_a_few_sentences() -> None:
    page = " ".join(str(uuid.UUID(int=random.Random(i).getrandbits(128))) for i in range(10))
    prose = "My sister Ana moved to Lisbon in March and works at the harbour now. " * 2
    assert measure(page, uniform(page, 4.5)).nats < measure(prose, uniform(prose, 1.5)).nats
    assert measure(page, uniform(page, 4.5)).code_share > 0.9
    assert measure(prose, uniform(prose, 1.5)).code_share == 0.0


@pytest.mark.parametrize(
    "run",
    [
        UUID,
        BASE64,
        "0x7ffe12ab",
        "kaktus99",
        "x" * 24,
        "2024-05-01T12:00:11Z",
        '{"a":[1,',
        "/usr/lib/python3/site-packages",
    ],
)
def test_codes(run: str) -> None:
    assert is_code(run.encode())


@pytest.mark.parametrize(
    "run",
    ["vegetarian", "kaktus9", "x" * 23, "4711", "!!!!", "......", "Tuesday,", "mother-in-law's", "7:30pm", "$1,200"],
)
def test_no_codes(run: str) -> None:
    assert not is_code(run.encode())


def test_one_short_code_is_what_a_sentence_is_about() -> None:
    one, two = "The wifi password is kaktus99now.", "The passwords are kaktus99now and moonlight7x."
    assert measure(one, uniform(one, 3.0)).code_share == 0.0
    assert measure(two, uniform(two, 3.0)).code_share > 0.4
    alone = "kaktus99now"
    assert measure(alone, uniform(alone, 3.0)).code_share == 1.0
    long = f"The id of the order is {UUID} now"
    assert measure(long, uniform(long, 3.0)).code_share > 0.5


def test_chinese_without_spaces_is_no_code() -> None:
    text = "我女儿叫小雨今年五岁她喜欢画画也喜欢游泳"
    assert measure(text, uniform(text, 3.0)).code_share == 0.0
    assert measure(text, uniform(text, 3.0)).nats == pytest.approx(3.0 * (len(text.encode()) + 1))


def test_nll_that_does_not_fit_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="shape"):
        measure("abc", torch.zeros(3))
    with pytest.raises(InvalidInputError, match="NaN"):
        measure("abc", torch.tensor([0.0, math.nan, 0.0, 0.0]))


def test_tokens_of_several_bytes_count_as_their_bytes() -> None:
    code = torch.tensor([10.0, 0.5, 2.0, 1.0])
    surprise = measure("abcd e", code, torch.tensor([2, 4, 6, 7]))  # ab, cd, " e", the line feed
    assert (surprise.tokens, surprise.mean) == (4, pytest.approx(13.5 / 4))
    assert surprise.nats == pytest.approx(13.5)
    assert measure("abcd e", code, torch.tensor([1, 4, 6, 7])).nats == pytest.approx(13.5 - 4), "10 nats on a byte"
    one_each = torch.rand(len(UUID) + 1)
    assert measure(UUID, one_each, torch.arange(1, len(UUID) + 2)) == measure(UUID, one_each)
    assert measure(UUID, torch.full((13,), 9.0), torch.arange(1, 14) * 37 // 13).nats < 8.0 + 9.0 + 1e-6


def test_a_token_without_bytes_counts_with_its_neighbour() -> None:
    nll = torch.tensor([1.0, 2.0, 3.0, 4.0])
    assert measure("é", nll, torch.tensor([0, 2, 2, 3])).nats == pytest.approx(10.0)
    assert measure("é", nll, torch.tensor([0, 2, 2, 3]), byte_clamp=2.5).nats == pytest.approx(7.5)


@pytest.mark.parametrize("ends", [[1, 2], [1, 2, 3], [2, 1, 4], [0, 0, 0], []])
def test_ends_that_do_not_cover_the_message_are_refused(ends: list[int]) -> None:
    with pytest.raises(InvalidInputError, match="ends"):
        measure("abc", torch.ones(3), torch.tensor(ends, dtype=torch.long))


def test_memory_nats_fall_with_what_history_holds() -> None:
    fact = "The vet said Biscuit needs the blue tablets twice a day."
    fresh, known = memory_nats(fact, ""), memory_nats(fact, f"Hi there\n{fact}\n")
    assert known < 0.3 * fresh
    assert memory_nats("zq" * 3, fact) <= 8 * NAT * 20


def test_memory_looks_back_32_kilobytes() -> None:
    fact = "The vet said Biscuit needs the blue tablets twice a day."
    filler = "".join(random.Random(0).choices("abcdefghijklmnopqrstuvwxyz ", k=40_000))
    assert memory_nats(fact, fact + filler) > 2 * memory_nats(fact, filler + fact)


def test_a_known_sentence_with_another_value_is_no_repeat() -> None:
    history = "\n".join(f"My sister number {i} was born in Kyoto in the year 195{i}." for i in range(6))
    assert not repeats("My sister number 7 was born in Kyoto in the year 1957.", history)
    assert repeats("So, my sister number 4 was born in Kyoto in the year 1954.", history + "\nSo, here we are")


def test_repeats() -> None:
    history = "Hi!\nMy  locker code is 4711.\nok\n" + "please find the weekly report below, it has all figures " * 2
    assert repeats("my locker code is 4711.", history)
    assert repeats("OK", history)
    assert repeats("please find the weekly report below, it has all figures!", history)
    assert not repeats("My locker code is 4712.", history)
    assert not repeats("locker", history)
    assert not repeats("anything", "")
    assert repeats("My locker code is 4711.\nok", history)
    assert repeats("My locker code is\n4711.\n\nok", history)


def test_a_quotation_repeats_a_sentence_within_a_line() -> None:
    assert repeats("> My locker code is 4711.", 'Well. "My locker code is 4711." Fine.')
    assert repeats("> My locker code is 4711", 'Well. "My locker code is 4711". Fine.')
    assert not repeats("> My locker code is 4711.", "Hardly: if my locker code is 4711.")
    assert not repeats("> My locker code is 4711", 'Well. "My locker code is 4711" or so.')


@pytest.mark.parametrize("text", ["The gate code is\n12", "gate code is\n1234", "> The gate code is\n> 12"])
def test_a_message_with_line_breaks_repeats_whole_lines_or_sentences(text: str) -> None:
    assert not repeats(text, "The gate code is 1234")
    assert not repeats(text, "The gate\ncode is 1234\nok")


def test_many_occurrences_of_many_statements_are_looked_up_without_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    history = "aa " * 10_000
    looked: list[str] = []
    stands = surprise._stands
    monkeypatch.setattr(surprise, "_stands", lambda *given: looked.append(given[0]) or stands(*given))
    assert not repeats("- aa\n" * 1000, history)
    assert looked == ["- aa " * 999 + "- aa", "aa"]
    assert surprise._stands("aa", " aa", " aa")
    assert not surprise._stands("aa", '"' * 1000 + "aa", "x" + '"' * 999 + "aa")
