"""Short-term memory: the list of sessions, and the window of the last turns of one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.errors import InvalidInputError, NotFoundError
from nscma_torch.core.records import Message, Scope

BEGIN = datetime(2026, 3, 1, 9, tzinfo=UTC)


def said(minute: int, text: str, session: str | None = "tea", role: str = "user") -> Message:
    return Message(role, text, BEGIN + timedelta(minutes=minute), session=session)


@pytest.fixture
def talks(memory: Memory) -> Memory:
    first = [
        said(0, "Which tea is best?"),
        said(1, "Sencha.", role="assistant"),
        said(2, "lookup: sencha, 12 EUR", role="tool"),
        said(3, "And the second best?"),
        said(4, "Assam.", role="assistant"),
    ]
    other = [said(10, "I am off to Bergen.", "travel"), said(11, "Safe travels!", "travel", role="assistant")]
    memory.add([*first, *other], user_id="ada")
    memory.add("A manual of kettles.", user_id="ada", run_id="r2", timestamp=BEGIN + timedelta(minutes=20))
    memory.add(Message("document", "Kettles boil.", BEGIN, source="kettles.md"), user_id="ada")
    memory.add("Bob was here.", user_id="bob")
    return memory


def texts(memory: Memory, **how: object) -> list[str]:
    return [episode.text for episode in memory.window(user_id="ada", **how)]  # type: ignore[arg-type]


def test_sessions_are_listed_newest_first(talks: Memory) -> None:
    found = talks.sessions(user_id="ada")
    assert [(one.name, one.scope.run_id, one.messages) for one in found] == [
        (None, "r2", 1),
        ("travel", None, 2),
        ("tea", None, 5),
    ]
    tea = found[-1]
    assert (tea.opening, tea.begun_at, tea.last_at) == ("Which tea is best?", BEGIN, BEGIN + timedelta(minutes=4))
    assert tea.scope == Scope("ada")
    assert [one.name for one in talks.sessions(user_id="ada", limit=2)] == [None, "travel"]
    assert [one.scope.run_id for one in talks.sessions(user_id="ada", run_id="r2")] == ["r2"]
    assert talks.sessions(user_id="carol") == []


def test_the_window_is_of_the_newest_session(talks: Memory) -> None:
    assert texts(talks) == ["A manual of kettles."]
    talks.add(said(30, "Is Assam strong?"), user_id="ada")
    assert texts(talks, turns=1) == ["Is Assam strong?"]
    assert texts(talks, turns=2) == ["And the second best?", "Assam.", "Is Assam strong?"]
    assert len(texts(talks)) == 6, "the whole session is within controller.active_turns"


def test_a_session_is_named(talks: Memory) -> None:
    assert texts(talks, session="travel") == ["I am off to Bergen.", "Safe travels!"]
    assert texts(talks, session="tea", turns=1) == ["And the second best?", "Assam."]
    with pytest.raises(NotFoundError, match="no session 'cake'"):
        talks.window(user_id="ada", session="cake")
    with pytest.raises(NotFoundError):
        talks.window(user_id="bob", session="tea")
    for turns in (0, True, 1.5):
        with pytest.raises(InvalidInputError, match="turns is"):
            talks.window(user_id="ada", turns=turns)  # type: ignore[arg-type]


def test_what_is_hidden_or_erased_is_in_neither(talks: Memory) -> None:
    (bergen, wish) = talks.window(user_id="ada", session="travel")
    talks.delete(wish.id, user_id="ada")
    assert texts(talks, session="travel") == ["I am off to Bergen."]
    talks.erase(user_id="ada", memory_id=bergen.id)
    assert [one.name for one in talks.sessions(user_id="ada")] == [None, "tea"]
    soon, later = BEGIN + timedelta(hours=1), BEGIN + timedelta(days=1)
    talks.add(said(40, "one day only", "short"), user_id="ada", expiration_date=later, now=soon)
    names = [one.name for one in talks.sessions(user_id="ada", now=BEGIN + timedelta(hours=2))]
    assert names[0] == "short"
    assert "short" not in [one.name for one in talks.sessions(user_id="ada", now=BEGIN + timedelta(days=2))]


def test_system_messages_and_documents_are_in_no_session(memory: Memory) -> None:
    memory.add(
        [Message("system", "Be brief.", BEGIN), Message("user", "Kettles.", BEGIN, source="k.md")], user_id="ada"
    )
    assert memory.sessions(user_id="ada") == [] == memory.window(user_id="ada")
