"""Short answers: the newest of what is as good, days by when they were said, lists whole, counts of their members."""

from __future__ import annotations

from datetime import UTC, datetime

from nscma_torch.config import Reading
from nscma_torch.reading.reader import ReadResult, ReadSpan
from nscma_torch.reading.reader_input import Passage
from nscma_torch.reading.reader_model import KINDS
from nscma_torch.reading.short_answer import confidence, short_answer

OLD = Passage("the rent is 900", "Ana", datetime(2025, 1, 8, tzinfo=UTC))
NEW = Passage("they want 950 since yesterday", "Ana", datetime(2025, 6, 4, tzinfo=UTC))
ASKED = "What is the rent?"
SETTINGS = Reading(member=0.3, as_good=0.2)


def span(passages: list[Passage], passage: int, text: str, share: float) -> ReadSpan:
    start = passages[passage].text.index(text)
    return ReadSpan(text, passage, start, start + len(text), True, share)


def read(spans: list[ReadSpan], kind: str = "span", evidence: tuple[float, ...] = (0.9, 0.8)) -> ReadResult:
    kinds = tuple(0.9 if own == kind else 0.02 for own in KINDS)
    return ReadResult(tuple(spans), 0.7, evidence, kinds)


def test_the_likeliest_span() -> None:
    passages = [OLD, NEW]
    found = short_answer(
        ASKED, read([span(passages, 1, "950", 0.5), span(passages, 0, "900", 0.2)]), passages, SETTINGS
    )
    assert found is not None and (found.text, found.passage) == ("950", 1)


def test_the_newest_of_what_answers_about_equally_well() -> None:
    passages = [OLD, NEW]
    both = [span(passages, 0, "900", 0.5), span(passages, 1, "950", 0.2)]
    found = short_answer(ASKED, read(both), passages, SETTINGS)
    assert found is not None and (found.text, found.passage) == ("950", 1)
    worse = [both[0], span(passages, 1, "950", 0.05)]
    found = short_answer(ASKED, read(worse), passages, SETTINGS)
    assert found is not None and found.text == "900"
    found = short_answer("What was the rent before?", read(both), passages, SETTINGS)
    assert found is not None and found.text == "900", "of what was before"
    older = [span(passages, 1, "950", 0.5), span(passages, 0, "900", 0.4)]
    found = short_answer(ASKED, read(older), passages, SETTINGS)
    assert found is not None and found.text == "950"


def test_yes_and_no() -> None:
    passages = [OLD, NEW]
    one = [span(passages, 0, "900", 0.5)]
    for kind in ("yes", "no"):
        found = short_answer(ASKED, read(one, kind=kind, evidence=(0.3, 0.7)), passages, SETTINGS)
        assert found is not None and (found.text, found.passage) == (kind, 1)


def test_a_day_is_counted_from_when_it_was_said() -> None:
    passages = [OLD, NEW]
    found = short_answer(ASKED, read([span(passages, 1, "yesterday", 0.9)], kind="when"), passages, SETTINGS)
    assert found is not None and found.text == "3 June 2025 (yesterday)"


def test_a_list_has_each_member_once_and_a_count_counts_them() -> None:
    passages = [Passage("we had soup, then fish and soup again", "Ana"), NEW]
    spans = [
        span(passages, 0, "fish", 0.4),
        span(passages, 0, "soup", 0.3),
        span(passages, 0, "soup again", 0.2),
        span(passages, 1, "950", 0.05),
    ]
    found = short_answer(ASKED, read(spans, kind="list"), passages, SETTINGS)
    assert found is not None and found.text == "soup, fish"
    found = short_answer(ASKED, read(spans, kind="count"), passages, SETTINGS)
    assert found is not None and found.text == "2"


def test_confidence_grows_with_what_was_read_and_what_was_found() -> None:
    sure = ReadResult((), 0.9, (), ())
    unsure = ReadResult((), 0.2, (), ())
    assert 0 < confidence(unsure, 0.5) < confidence(sure, 0.5) < 1
    assert confidence(sure, 0.5) <= confidence(sure, 1.5)
    assert confidence(ReadResult((), 0.0, (), ()), -1.0) > 0 and confidence(ReadResult((), 1.0, (), ()), 2.0) < 1


def test_nothing_read_is_no_answer() -> None:
    assert short_answer(ASKED, ReadResult((), 0.0, (), ()), [], SETTINGS) is None
