"""The profile: bounded, dated, sourced, and true to the facts."""

from __future__ import annotations

from collections.abc import Callable

from nscma_torch.api.memory import Memory
from tests.helpers.noting import day, held, tell

Open = Callable[..., Memory]


def test_a_profile_follows_the_facts(memory: Memory) -> None:
    tell(memory, "{Ann|lives_in|Oslo} {Ann|likes|tea}", 1, name="Ann")
    memory.sleep(now=day(2))
    assert any("Oslo" in line.text for line in memory.profile(user_id="ada"))
    moved = tell(memory, "{Ann|lives_in|Rome} {Ann|likes|tea|not}", 5, name="Ann")
    assert memory.sleep(now=day(6)).profile_lines
    (line,) = memory.profile(user_id="ada")
    assert "Rome" in line.text and line.day == day(5).date()
    memory.delete(moved, user_id="ada", now=day(7))
    memory.sleep(now=day(8))
    assert sorted(line.text for line in memory.profile(user_id="ada")) == ["Ann lives in Oslo", "Ann likes tea"][::-1]


def test_profiles_belong_to_an_agent(memory: Memory) -> None:
    tell(memory, "{Ann|lives_in|Oslo}", 1, name="Ann")
    tell(memory, "{Ann|lives_in|Rome}", 1, name="Ann", agent_id="cook")
    tell(memory, "{Ann|lives_in|Bern}", 1, name="Ann", user_id="eve")
    memory.sleep(now=day(2))
    assert [line.text for line in memory.profile(user_id="ada", agent_id="cook")] == ["Ann lives in Rome"]
    assert sorted(line.text for line in memory.profile(user_id="ada")) == ["Ann lives in Oslo", "Ann lives in Rome"]
    assert [line.text for line in memory.profile(user_id="eve")] == ["Ann lives in Bern"]
    assert memory.profile(user_id="nobody") == []


def test_disputes_are_settled_when_newer_evidence_outweighs(noted: Open) -> None:
    """Under rules by which the older side has faded, the dispute ends in the night."""
    memory = noted()
    tell(memory, "{Bob|lives_in|Bonn}", 1, name="Ann")
    tell(memory, "{Bob|lives_in|Kyoto}", 9, name="Carl")
    assert memory.sleep(now=day(10)).disputed == 1
    memory.close()
    memory = noted(config={"curator": {"half_life": 2.0}})
    report = memory.sleep(now=day(10))
    assert (report.settled, report.disputed) == (1, 0)
    assert memory.conflicts(user_id="ada") == [] and held(memory) == ["Kyoto"]


def test_deleted_and_corrected_messages_take_their_lines_along_at_once(memory: Memory) -> None:
    """Before any job or sleep has run; what else a line says stays."""
    home = tell(memory, "{user|lives_in|Rome}", 1, name=None)
    tea = tell(memory, "{user|likes|tea}", 2, name=None)
    tell(memory, "{user|likes|jazz}", 3, name=None)
    tell(memory, "{user|works_at|Acme}", 4, name=None)
    memory.sleep(now=day(5))
    assert {"Rome", "tea", "jazz", "Acme"} <= set(" ".join(shown(memory)).replace(",", "").split())
    memory.delete(home, user_id="ada")
    memory.update(tea, "Never mind.", user_id="ada")
    assert held(memory) == ["Acme", "jazz"]
    words = set(" ".join(shown(memory)).replace(",", "").split())
    assert {"jazz", "Acme"} <= words and not {"Rome", "tea"} & words
    tell(memory, "{user|works_at|Bosch}", 6, name=None)
    assert "Acme" not in " ".join(shown(memory))


def shown(memory: Memory) -> list[str]:
    return [line.text for line in memory.profile(user_id="ada")]
