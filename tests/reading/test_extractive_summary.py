"""Extractive summaries: the members' own sentences, bounded, the same every time, in any script."""

from __future__ import annotations

import random
import subprocess
import sys
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nscma_torch.core.records import Scope, Unit, UnitKind
from nscma_torch.reading.embedded_tasks import EmbeddedTasks
from nscma_torch.reading.extractive_summary import extract_summary
from nscma_torch.reading.passage import word_count
from nscma_torch.text.sentences import split_sentences

MEMBERS = (
    "My sister Ana moved to Bergen in May 2023. She works as a nurse there.",
    "Ana says that Bergen is rainy. The landlord painted the kitchen blue! Who would have thought?",
    "Dr. Okafor signed the contract for warehouse 42 at 3.15 p.m. on Monday. Ana was at work in Bergen.",
    "ok",
    "我上个月搬到了成都。她最喜欢的颜色从红色变成了蓝色。我们星期五去爬山！",
)


def sentences(*texts: str) -> set[str]:
    return {" ".join(text[span.start : span.end].split()) for text in texts for span in split_sentences(text)}


def lines(summary: str) -> list[str]:
    return summary.split("\n") if summary else []


@pytest.mark.parametrize("words", [1, 5, 12, 40, 500])
def test_every_line_is_a_sentence_of_a_member(words: int) -> None:
    summary = extract_summary(MEMBERS, words)
    assert summary
    assert set(lines(summary)) <= sentences(*MEMBERS)
    assert len(lines(summary)) == len(set(lines(summary)))


@pytest.mark.parametrize("words", [2, 5, 12, 30, 60])
def test_it_is_not_longer_than_allowed(words: int) -> None:
    summary = extract_summary(MEMBERS, words)
    assert sum(word_count(line) for line in lines(summary)) <= words
    assert word_count(summary) <= words


def test_where_no_sentence_fits_the_shortest_begins() -> None:
    members = ("Seven words are in this very sentence. There are twelve words in this one, which is a bit longer.",)
    assert extract_summary(members, 3) == "Seven words are"


def test_a_long_sentence_is_passed_over_and_cut_only_where_nothing_else_is_there() -> None:
    endless = "and then " * 400 + "it ended in Bergen"
    assert extract_summary((endless, "Ana lives in Bergen."), 20) == "Ana lives in Bergen."
    cut = extract_summary((endless,), 20)
    assert endless.startswith(cut) and word_count(cut) == 20


def test_a_sentence_that_adds_nothing_does_not_end_the_summary() -> None:
    members = ("Ana moved to Porto.", "Ana moved to Porto!", "The cat sleeps at noon.")
    assert lines(extract_summary(members, 100)) == ["Ana moved to Porto.", "The cat sleeps at noon."]


def test_it_is_in_the_order_of_the_members() -> None:
    towns = ("alpha Porto", "beta Kyoto", "gamma Bergen", "delta Lisbon")
    ordered = [f"Fact number {town} concerns its harbour." for town in towns]
    assert lines(extract_summary(ordered, 100)) == ordered
    assert lines(extract_summary(ordered[::-1], 100)) == ordered[::-1]


def test_what_members_share_comes_first() -> None:
    members = (
        "The bridge over the river was closed in April. I like jazz.",
        "They closed the bridge over the river. My knee hurts.",
        "The river bridge is closed since April. Tea is better than coffee.",
    )
    summary = extract_summary(members, 9)
    assert "bridge" in summary and "river" in summary


def test_a_wording_stands_once() -> None:
    members = ("The kettle is blue. It whistles.", "The  kettle\nis blue.", "the kettle is blue")
    assert lines(extract_summary(members, 100)).count("The kettle is blue.") == 1


def test_what_adds_nothing_is_left_out() -> None:
    summary = extract_summary(("The blue kettle whistles.", "The kettle whistles.", "The kettle is blue."), 100)
    assert summary == "The blue kettle whistles."


def test_chinese_counts_two_characters_as_a_word() -> None:
    members = ("我上个月搬到了成都。她最喜欢的颜色从红色变成了蓝色。", "我们星期五去爬山！成都的天气很好。")
    for words in (6, 12, 30):
        summary = extract_summary(members, words)
        assert summary and set(lines(summary)) <= sentences(*members)
        assert word_count(summary) <= words
    assert len(lines(extract_summary(members, 100))) == 4


@pytest.mark.parametrize("members", [(), ("",), (" \n\t ", "\u3000")])
def test_nothing_has_no_summary(members: tuple[str, ...]) -> None:
    assert extract_summary(members, 10) == ""


@pytest.mark.parametrize("text", ["...", "🙂", "?!", "ok", "the of and", "\u2800", "a" * 5000, "·", "1. 2. 3."])
def test_odd_text_is_a_summary_of_itself(text: str) -> None:
    assert extract_summary((text,), 10).split() == text.split()[: len(extract_summary((text,), 10).split())] != []
    assert extract_summary((text, text), 10) == extract_summary((text,), 10)


def test_white_space_inside_a_sentence_is_made_even() -> None:
    assert extract_summary(("I  moved\tto\u00a0Porto\u2009yesterday.",), 10) == "I moved to Porto yesterday."


def test_the_summary_of_summaries_invents_no_sentence() -> None:
    """Two messages without a full stop must not become one statement on the way up."""
    members = [
        "I moved from Kyoto to the small harbour house near Bergen with my bicycle",
        "The landlord of warehouse 42 has sold the old library to the team in Lisbon",
        "our cat Miso is afraid of the thunder and hides under the table in the kitchen",
        "Grandfather signed the contract for an orchard, and paid for it with his coins",
    ]
    tasks = EmbeddedTasks(summary_words=200)

    def summary(kind: UnitKind, *texts: str) -> str:
        when = datetime(2026, 1, 6, tzinfo=UTC)
        return tasks.summarize([[Unit("id", Scope("ada"), kind, text, (), when) for text in texts]])[0]

    first = [summary("chunk", *members[:2]), summary("chunk", *members[2:])]
    for text in first:
        assert set(lines(text)) <= sentences(*members)
    second = summary("summary", *first)
    assert set(lines(second)) <= sentences(*members), "a sentence that nobody said"
    third = summary("summary", second, first[0])
    assert set(lines(third)) <= sentences(*members)


PIECES = [
    "word",
    " ",
    "Dr. ",
    "e.g. ",
    "Ana ",
    "3.5 ",
    "\r\n",
    "👍",
    "I moved to Porto",
    *'aB.!?\n,;:"()-•…。！？，蓝色\t',
]
texts = st.lists(st.lists(st.sampled_from(PIECES), max_size=30).map("".join), max_size=6)


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(members=texts, words=st.integers(1, 30))
def test_any_text(members: list[str], words: int) -> None:
    summary = extract_summary(members, words)
    own = sentences(*members)
    assert bool(summary) == bool(own - {""})
    if len(lines(summary)) == 1:
        assert any(sentence.startswith(summary) for sentence in own)
    else:
        assert set(lines(summary)) <= own
    assert extract_summary(members, words) == summary
    assert word_count(summary) <= max(words, 1)


def test_it_depends_on_nothing_but_its_input() -> None:
    """Sets of strings iterate differently in every process: no choice may hang on that."""
    program = (
        "from nscma_torch.reading.extractive_summary import extract_summary;"
        "import random; rng = random.Random(1);"
        "words = [f'w{i}' for i in range(40)];"
        "say = lambda: ' '.join(rng.choices(words, k=6)).capitalize() + '.';"
        "members = [' '.join(say() for _ in range(4)) for _ in range(12)];"
        "print(extract_summary(members, 60))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": str(seed)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in (0, 1)
    }
    assert len(outputs) == 1 and len(outputs.pop().split()) > 20


def test_the_embedded_task_summarises_a_batch() -> None:
    def unit(text: str) -> Unit:
        return Unit("u", Scope("ada"), "chunk", text, ("e",), datetime(2024, 1, 1, tzinfo=UTC), name="Kim")

    groups = [[unit(text) for text in random.Random(i).sample(MEMBERS, 3)] for i in range(4)]
    tasks = EmbeddedTasks(summary_words=15)
    summaries = tasks.summarize(groups)
    assert summaries == [extract_summary([unit.text for unit in group], 15) for group in groups]
    assert tasks.summarize([]) == []
