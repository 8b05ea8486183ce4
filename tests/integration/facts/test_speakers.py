"""Facts through `Memory`: who says it, and who contradicts whom."""

from __future__ import annotations

from nscma_torch.api.memory import Memory
from tests.helpers.noting import day, held, tell


def test_two_speakers_who_contradict_each_other_are_both_shown(memory: Memory) -> None:
    one = tell(memory, "{Anna|lives_in|Rome}", 1, name="Ben")
    other = tell(memory, "{Anna|lives_in|Oslo}", 2, name="Carl")
    ((rome, oslo),) = memory.conflicts(user_id="ada")
    assert {(rome.object, rome.episode_ids), (oslo.object, oslo.episode_ids)} == {("Rome", (one,)), ("Oslo", (other,))}
    assert {rome.status, oslo.status} == {"disputed"}
    assert held(memory) == ["Oslo", "Rome"]
    assert memory.stats(user_id="ada").facts == {"disputed": 2}
    answer = memory.ask("Where does Anna live?", user_id="ada", now=day(3))
    assert "Rome" in answer.text and "Oslo" in answer.text and answer.text.endswith("?")
    assert {fact.object for fact in answer.facts} == {"Rome", "Oslo"}
    assert {evidence.hit.id for evidence in answer.evidence} == {one, other}


def test_the_question_back_is_in_the_language_of_the_question(memory: Memory) -> None:
    tell(memory, "{小明|lives_in|北京}", 1, name="小红")
    tell(memory, "{小明|lives_in|上海}", 2, name="小刚")
    answer = memory.ask("小明住在哪里？", user_id="ada", now=day(3))
    assert "北京" in answer.text and "上海" in answer.text and answer.text.endswith("？")


def test_a_user_puts_an_assistant_right(memory: Memory) -> None:
    tell(memory, "{Ben|lives_in|Oslo}", 1, name=None, role="assistant")
    assert held(memory) == ["Oslo"]
    tell(memory, "{Ben|lives_in|Rome}", 2)
    assert held(memory) == ["Rome"]
    assert memory.conflicts(user_id="ada") == []


def test_many_values_of_several_speakers_do_not_contradict(memory: Memory) -> None:
    tell(memory, "{Anna|likes|tea}", 1, name="Ben")
    tell(memory, "{Anna|likes|jazz}", 2, name="Carl")
    assert held(memory) == ["jazz", "tea"]
    assert memory.conflicts(user_id="ada") == []
