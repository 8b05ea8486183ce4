"""Repetitive texts cost what their length says: four times the text takes about four times the processor time.

Each family is measured at n and 4 n characters; the slack covers the clock's grain and first calls. A path that is
quadratic is far above it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
import torch

from nscma_torch.core.records import Scope, Unit
from nscma_torch.reading.chinese_statements import chinese_reader
from nscma_torch.reading.cues import find_cues
from nscma_torch.reading.question_network import shared_network
from nscma_torch.reading.questions import QuestionReader
from nscma_torch.reading.relations import load_relations
from nscma_torch.reading.restatement import wording
from nscma_torch.search.query import parse
from nscma_torch.text.calendar.dates import find_dates
from nscma_torch.text.chunker import Chunker
from nscma_torch.text.sentences import split_sentences

NOW = datetime(2026, 4, 1, tzinfo=UTC)
SHORT = 3_000  # characters
RATIO, SLACK = 8.0, 0.15  # of a linear 4; seconds

BEGINNINGS = {"auxiliaries": "I ", "perfect": "I ", "adverbs": "I ", "possessives": "Where does my "}
REPEATED = {
    "possessives": "sister's ",
    "friends of friends": "the friend of ",
    "unfinished": "I live in ",
    "no stops": "the man walked over to the house and ",
    "joined": "I like tea and ",
    "semicolons": "my dog is red; ",
    "denials": "I quit. ",
    "sentences": "I live in Rome. ",
    "names": "Anna ",
    "names in a list": "Anna and ",
    "kin": "my sister Anna ",
    "relative clauses": "Anna who ",
    "named": "a dog called ",
    "auxiliaries": "am ",
    "perfect": "have been ",
    "adverbs": "never ",
    "determiners": "the ",
    "conditions": "if ",
    "dates": "3 May 2024 ",
    "dates in a list": "3rd of May, ",
    "hours": "at 5 o'clock ",
    "numbers": "12 ",
    "digits": "1",
    "quotations": "\"he said '",
    "open quotations": "“",
    "apostrophes": "'",
    "commas": "red, ",
    "bare commas": ",",
    "a long word": "a",
    "a long name": "A",
    "hyphens": "a-",
    "dashes": " - ",
    "brackets": "(a ",
    "blanks": " ",
    "lines": "\n",
    "dots": ".",
    "abbreviations": "e.g. ",
    "addresses": "a@",
    "links": "http://a.b/",
    "questions": "what is ",
    "emoji": "😀",
    "Chinese": "我住在",
    "Chinese possessives": "的",
    "Chinese questions": "我最喜欢的颜色是什么",
    "Chinese clauses": "我住在北京，",
}


def _unit(text: str) -> Unit:
    return Unit("1", Scope("ada"), "chunk", text, (), NOW, name="Ada")


def _words(texts: list[str]) -> list[int]:
    return [len(text) // 4 + 1 for text in texts]


STATEMENTS = chinese_reader(load_relations())
QUESTIONS = QuestionReader(load_relations(), lambda: shared_network(load_relations(), torch.device("cpu")))
ENTRANCES: dict[str, Callable[[str], object]] = {
    "Chinese statements": lambda text: STATEMENTS.read(_unit(text)),
    "question": lambda text: QUESTIONS.read(text, now=NOW),
    "query": lambda text: parse(f"x {text}", names=("Ada", "Anna"), now=NOW),
    "sentences": split_sentences,
    "chunks": Chunker(_words, 64).chunk,
    "dates": lambda text: find_dates(text, NOW),
    "cues": find_cues,
    "wording": wording,
}


def _seconds(work: Callable[[str], object], text: str) -> float:
    begin = time.thread_time()
    work(text)
    return time.thread_time() - begin


@pytest.mark.parametrize("entrance", ENTRANCES)
def test_cost_is_proportional_to_length(entrance: str) -> None:
    work = ENTRANCES[entrance]
    work("I live in Rome since 3 May 2024.")
    for family in REPEATED:
        begin, repeated = BEGINNINGS.get(family, ""), REPEATED[family]
        short, long = (begin + repeated * (size // len(repeated)) + "x" for size in (SHORT, 4 * SHORT))
        for attempt in (1, 2):  # a collection of garbage may fall into one
            less, more = _seconds(work, short), _seconds(work, long)
            if more <= RATIO * less + SLACK:
                break
            assert attempt == 1, f"{entrance} of {family}: {less:.3f} s, then {more:.3f} s"
