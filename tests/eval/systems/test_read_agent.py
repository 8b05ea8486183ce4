"""ReadAgent: where pages end, what is looked up, and that the pages stand where their gists did."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from eval.harness.contract import Shared
from eval.systems.read_agent import ReadAgent, pages_of
from nscma_torch.llm.engines.contract import Request
from tests.eval.systems.rig import ASKED, BEGUN, Scripted, ShowingReader, conversation, places, reading, shared

KILN = ("The kiln glaze was fired today.", "The kiln glaze was fired hot.", "The kiln glaze cracked when fired.")
BOAT = ("The boat sailed a race.", "The boat sailed another race.", "The boat won the race at sea.")
SMALL: dict[str, Any] = {"kind": "read-agent", "least": 8, "most": 30, "rest": 25, "gist": 6, "pages": 1}


def handed(run: Shared) -> list[str]:
    """What the reader was handed last, as the reader orders it."""
    assert isinstance(run.reader, ShowingReader)
    order = sorted(run.reader.handed[-1], key=lambda passage: (passage.place, passage.start))
    return [passage.text for passage in order]


def paginated(words: Sequence[int], choose: Sequence[int], **limits: int) -> tuple[list[range], list[tuple[int, ...]]]:
    """The pages, and what was asked."""
    asked: list[tuple[int, ...]] = []

    def pause(start: int, first: int, last: int) -> int:
        asked.append((start, first, last))
        return choose[len(asked) - 1]

    return pages_of(words, pause, **{"least": 280, "most": 600, "rest": 350, **limits}), asked


def test_a_page_ends_where_it_may() -> None:
    """100 words each: from 300 on, and by 600; from the fourth on again; 200 that are left are one page unasked."""
    pages, asked = paginated([100] * 12, [4, 10])
    assert pages == [range(4), range(4, 10), range(10, 12)] and asked == [(0, 3, 6), (4, 7, 10)]


def test_what_is_left_is_divided_from_a_length_on() -> None:
    assert paginated([100] * 3, []) == ([range(3)], [])
    assert paginated([100] * 4, [3]) == ([range(3), range(3, 4)], [(0, 3, 4)])
    assert paginated([700, 700], []) == ([range(1), range(1, 2)], []), "where a page can end at one place, none asks"
    assert paginated([], []) == ([], [])


def test_without_a_model_a_page_ends_where_the_words_change(tmp_path: Path) -> None:
    run = shared()
    with reading(SMALL, run, tmp_path, conversation(KILN + BOAT)) as session:
        reply = session.ask("Which race did the boat win at sea?", options=(), now=ASKED)
        finder = session._finder  # type: ignore[attr-defined]
        assert session.store_bytes() > 0
    assert isinstance(finder, ReadAgent) and finder.pages == [range(3), range(3, 6)]
    assert places(reply) == (5, 3, 4), "of the page that was looked up, what shares most words first"
    gist, *page = handed(run)
    assert page == list(BOAT) and "kiln" in gist and len(gist.split()) <= 6


def scripted(pauses: Sequence[int], pages: Sequence[Sequence[int]]) -> Scripted:
    """An engine that pauses, shortens, and looks up as it is told."""
    left = [json.dumps({"numbers": [number]}) for number in pauses]
    wanted = [json.dumps({"numbers": list(numbers)}) for numbers in pages]

    def write(request: Request) -> str:
        asked = request.turns[-1].content
        if request.schema is None:
            return "Of the boat." if "boat" in asked else "Of the kiln."
        return left.pop(0) if '"pieces"' in asked else wanted.pop(0)

    return Scripted(write)


def test_an_engine_pauses_shortens_and_looks_up(tmp_path: Path) -> None:
    engine = scripted([3], [[2]])
    run = shared(engine=engine)
    with reading(SMALL, run, tmp_path, conversation(KILN + BOAT)) as session:
        finder = session._finder  # type: ignore[attr-defined]
        assert isinstance(finder, ReadAgent) and finder.pages == [range(3), range(3, 6)]
        reply = session.ask("Who won?", options=(), now=ASKED)
    assert handed(run) == ["Of the kiln.", *BOAT] and set(places(reply)) == {3, 4, 5}
    (bounds,) = [request.schema for request in engine.asked[:1]]
    assert bounds is not None and bounds["properties"]["numbers"]["items"] == {
        "maximum": 5,
        "minimum": 2,
        "type": "integer",
    }


@pytest.mark.parametrize(("wanted", "read"), [([[2], [1]], [1, 2]), ([[2], []], [2]), ([[2], [2]], [2])])
def test_pages_are_looked_up_one_by_one(tmp_path: Path, wanted: list[list[int]], read: list[int]) -> None:
    engine = scripted([3], wanted)
    run = shared(engine=engine)
    section = SMALL | {"pages": 2, "look_up": "sequential"}
    with reading(section, run, tmp_path, conversation(KILN + BOAT)) as session:
        session.ask("Who won?", options=(), now=ASKED)
    assert handed(run) == [*(KILN if 1 in read else ["Of the kiln."]), *BOAT]
    assert BOAT[0] in engine.asked[-1].turns[-1].content, "the second time with the page that was read"


def test_nothing_wanted_leaves_the_gists(tmp_path: Path) -> None:
    run = shared(engine=scripted([3], [[]]))
    with reading(SMALL, run, tmp_path, conversation(KILN + BOAT)) as session:
        assert places(session.ask("Who won?", options=(), now=ASKED)) == ()
    assert handed(run) == ["Of the kiln.", "Of the boat."]


def test_no_page_and_pages_of_the_future(tmp_path: Path) -> None:
    run = shared()
    with reading(SMALL, run, tmp_path, []) as session:
        assert session.ask("Who won?", options=(), now=ASKED).abstained
    with reading(SMALL, run, tmp_path / "later", conversation(KILN + BOAT)) as session:
        session.ask("Was the kiln fired, or the boat?", options=(), now=BEGUN + timedelta(days=3))
    assert handed(run) == [*KILN, BOAT[0]], "of a page that goes on later, what was said by then"
