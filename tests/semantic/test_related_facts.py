"""Facts related to a text and to messages."""

from __future__ import annotations

from nscma_torch.api.memory import Memory
from tests.helpers.telling import curate, day, lives, tell


def related(memory: Memory, text: str, *messages: str, user_id: str = "ada") -> list[tuple[str, str]]:
    found = memory.related_facts(text, messages, user_id=user_id, now=day(20))
    return [(fact.subject, fact.object) for fact in found]


def test_what_a_message_stated_is_returned_as_it_holds_now(memory: Memory) -> None:
    before = tell(memory, "Ben lives in Rome.", lives("Ben", "Rome"), at=1)
    tell(memory, "Ben moved to Oslo.", lives("Ben", "Oslo"), at=5)
    eva = tell(memory, "Eva lives in Porto.", lives("Eva", "Porto"), at=6)
    curate(memory)
    assert related(memory, "Anything new?") == []
    assert related(memory, "Anything new?", before) == [("Ben", "Oslo")]
    assert related(memory, "How is Eva's mother?") == [("Eva", "Porto")]
    assert related(memory, "And Ben?", eva) == [("Eva", "Porto"), ("Ben", "Oslo")], "those of the messages first"
    assert related(memory, "And Ben?", before, eva, user_id="bob") == []
    (ben,) = memory.facts(user_id="ada", subject="Ben", now=day(20))
    assert memory.facts(user_id="ada", ids=[ben.id, "unknown"], now=day(20)) == [ben]
