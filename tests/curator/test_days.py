"""Summaries of days and portraits: a line has its sources, and goes with anything below it, over several steps too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.errors import ConfigError
from nscma_torch.core.records import Message, SourcedLine, Unit
from nscma_torch.reading.embedded_tasks import EmbeddedTasks
from tests.helpers.telling import day

ON: dict[str, Any] = {"daily": {"summaries": True, "portrait": True}}
SAID = (  # day, who, text
    (0, "Mel", "I moved to Bergen last week."),
    (0, "Mel", "I love running along the harbour."),
    (0, "Bob", "My sister Ana bought a sailing boat."),
    (1, "Bob", "I hate the rain in November."),
    (1, "Mel", "I started a new job at the museum yesterday."),
    (2, "Mel", "I enjoy running before breakfast."),
    (2, "Bob", "What do you do at the weekend?"),
)


def said(at: int, name: str, text: str, place: int = 0) -> Message:
    return Message("user", text, day(at) + timedelta(minutes=place), name=name)


@pytest.fixture
def told(open_memory: Callable[..., Memory]) -> Memory:
    memory = open_memory(config=ON)
    list(memory.add_many([said(*one, i) for i, one in enumerate(SAID)], user_id="ada", now=day(3)))
    memory.sleep(user_id="ada", now=day(3))
    return memory


def texts(memory: Memory, kind: Any) -> list[str]:
    return [one.text for one in memory.derived(kind, user_id="ada")]


def test_each_day_has_its_lines_with_their_message(told: Memory) -> None:
    lines = told.derived("daily_summary", user_id="ada")
    assert [one.part for one in lines] == ["2024-01-01"] * 3 + ["2024-01-02"] * 2 + ["2024-01-03"]
    assert lines[0].text == "Mel: I moved to Bergen last week [25 December 2023 to 31 December 2023]."
    for one in lines:
        (behind,) = [told.get(source, user_id="ada", now=day(3)) for source in one.episode_ids]
        assert behind and behind.text.split()[-1].rstrip(".") in one.text
    assert all("weekend" not in text for text in texts(told, "daily_summary")), "a question tells nothing"
    assert told.verify() == []


def test_all_days_are_summed_up_by_the_lines_of_the_days(told: Memory) -> None:
    daily = {one.id: one for one in told.derived("daily_summary", user_id="ada")}
    overall = told.derived("global_summary", user_id="ada")
    assert any(one.text.startswith("1 January 2024, Mel: I moved to Bergen") for one in overall)
    for one in overall:
        (below,) = one.derived_ids
        assert daily[below].text in one.text and one.episode_ids == daily[below].episode_ids
    (hit, *_) = told.search("Bergen", user_id="ada", kinds=["global_summary"], now=day(3))
    assert "Bergen" in hit.text and hit.unit.episode_ids


def test_a_portrait_is_of_one_person_and_of_what_comes_up_again(told: Memory) -> None:
    daily = {one.id: one.text for one in told.derived("daily_insight", user_id="ada")}
    assert sorted(daily.values()) == [
        "Bob: I hate the rain in November.",
        "Mel: I enjoy running before breakfast.",
        "Mel: I love running along the harbour.",
    ]
    portrait = told.derived("portrait", user_id="ada")
    assert [one.text for one in portrait] == [
        "1 January 2024, Mel: I love running along the harbour.",
        "3 January 2024, Mel: I enjoy running before breakfast.",
    ]
    for one in portrait:
        assert one.confidence == pytest.approx(2 / 3)
        assert sorted(daily[below] for below in one.derived_ids) == sorted(
            text for text in daily.values() if "run" in text
        )
    assert [line.text for line in told.profile(user_id="ada") if line.episode_ids] == [one.text for one in portrait]


def test_a_day_is_read_once_it_is_over_and_again_when_it_changes(told: Memory) -> None:
    before = told.digest()
    assert told.sleep(now=day(3)).derived_texts == 0 and told.digest() == before
    told.add(said(3, "Mel", "I sold my bicycle this morning."), user_id="ada", now=day(3))
    assert told.sleep(now=day(3) + timedelta(hours=5)).derived_texts == 0, "the day is not over"
    assert told.sleep(now=day(4), dry_run=True).derived_texts == 2, "its summary, and what it shows of Mel"
    told.sleep(now=day(4))
    assert any("bicycle" in text for text in texts(told, "daily_summary"))
    assert any("bicycle" in text for text in texts(told, "global_summary")), "all days are summed up anew"
    told.add(said(0, "Bob", "I got married on Sunday."), user_id="ada", now=day(4))
    told.sleep(now=day(4))
    assert any("married" in text for text in texts(told, "daily_summary")), "it came late, for a day that was read"


def test_whatever_saw_a_message_goes_with_it(told: Memory) -> None:
    (line,) = [one for one in told.derived("portrait", user_id="ada") if "harbour" in one.text]
    target = line.episode_ids[0]
    assert told.erase(user_id="ada", memory_id=target).found == 0
    for kind in ("daily_summary", "global_summary", "daily_insight", "portrait"):
        assert all("harbour" not in text for text in texts(told, kind))
    assert texts(told, "global_summary") == texts(told, "portrait") == [], "each had it in view"
    assert any("museum" in text for text in texts(told, "daily_summary")), "of another day"
    assert told.verify() == []
    told.sleep(now=day(3))
    assert texts(told, "portrait") == [], "running comes up on one day only"
    assert any("museum" in text for text in texts(told, "global_summary"))


def test_what_is_forgotten_is_still_summed_up(open_memory: Callable[..., Memory]) -> None:
    memory = open_memory(config={**ON, "curator": {"initial_strength": 1.0}})
    memory.add(said(0, "Mel", "I moved to Bergen last week."), user_id="ada", now=day(0))
    assert memory.sleep(now=day(20)).forgotten_messages == 1
    assert any("Bergen" in text for text in texts(memory, "global_summary"))


def test_a_summary_of_all_days_goes_when_that_of_one_is_worded_anew(open_memory: Callable[..., Memory]) -> None:
    class Rewording(EmbeddedTasks):
        suffix = ""

        def lines(
            self, kind: str, groups: Sequence[Sequence[Unit]], words: int | None = None
        ) -> list[list[SourcedLine]]:
            if kind == "daily_summary":
                return [[SourcedLine(f"{one.text}{self.suffix}", (i,)) for i, one in enumerate(own)] for own in groups]
            if self.suffix:
                raise ConfigError("no model")
            return super().lines(kind, groups, words)

    tasks = Rewording()
    memory = open_memory(config={"daily": {"summaries": True}}, tasks=tasks)
    memory.add(said(0, "Mel", "I moved to Bergen."), user_id="ada", now=day(0))
    memory.sleep(now=day(1))
    assert len(texts(memory, "global_summary")) == 1
    memory.add(said(0, "Mel", "I moved to Oslo."), user_id="ada", now=day(1))
    tasks.suffix = " Really."
    report = memory.sleep(now=day(1))
    assert report.failures == ("ConfigError: no model",)
    assert texts(memory, "global_summary") == [] and len(texts(memory, "daily_summary")) == 2
