"""What tests say to a `Memory`, language tasks that record and fail, and what is read back of its hierarchy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import select

from nscma_torch.api.memory import Memory
from nscma_torch.core.database.database import ALL_USERS
from nscma_torch.core.database.schema import episodes
from nscma_torch.core.errors import ModelError
from nscma_torch.core.records import Message, Unit
from nscma_torch.episodic.index.unit_schema import unit_sources, units
from nscma_torch.hierarchy.cam import Cam
from nscma_torch.hierarchy.level_rows import cam_of
from nscma_torch.hierarchy.store import hierarchies
from nscma_torch.reading.embedded_tasks import EmbeddedTasks
from nscma_torch.text.sentences import split_sentences

Open = Callable[..., Memory]
NOW = datetime(2024, 9, 1, tzinfo=UTC)
LIVELY = {"neighbours": 4, "min_members": 2, "max_members": 6}
LIVELY_CONFIG: dict[str, Any] = {
    "gate": {"rule": "everything"},
    "reading": {"facts": "none"},  # as tasks that a test hands over read them
    "hierarchy": LIVELY,
}
SUBJECTS = ("My sister Ana", "The landlord", "Our cat Miso", "Dr. Okafor", "The team in Lisbon")
DEEDS = ("painted the harbour house", "moved to Kyoto with the bicycle", "signed the contract for warehouse 42")


def text_of(i: int) -> str:
    """A message of one of fifteen topics, with a word that no other has."""
    return f"{SUBJECTS[i % 5]} {DEEDS[i // 5 % 3]} again, and the reference is uniq{i}mark."


def word_of(i: int) -> str:
    return f"uniq{i}mark"


def said(numbers: Iterable[int], **more: Any) -> list[Message]:
    return [Message("user", text_of(i), NOW - timedelta(days=1000 - i), **more) for i in numbers]


class Tasks(EmbeddedTasks):
    """Records what it is asked to summarise; `before` runs in the middle of its work, with the call's number."""

    def __init__(self, before: Callable[[int], None] | None = None) -> None:
        super().__init__()
        self.calls: list[list[list[str]]] = []
        self.before = before

    def summarize(self, groups: Sequence[Sequence[Unit]]) -> list[str]:
        self.calls.append([[unit.text for unit in group] for group in groups])
        if self.before is not None:
            self.before(len(self.calls))
        return super().summarize(groups)


class Failing(Tasks):
    """Goes wrong in its call number `at`, and after that while `stuck`."""

    def __init__(self, how: str, at: int = 1) -> None:
        super().__init__()
        self.how, self.at, self.stuck = how, at, True

    def summarize(self, groups: Sequence[Sequence[Unit]]) -> list[str]:
        texts = super().summarize(groups)
        if len(self.calls) < self.at or not self.stuck:
            return texts
        if self.how == "raises":
            raise ModelError("the engine is out of memory")
        return {
            "too few": texts[:-1],
            "too many": [*texts, "one more"],
            "blank": [" \n", *texts[1:]],
            "half a surrogate": ["\ud800 is no text", *texts[1:]],
        }[self.how]


def cam(memory: Memory, user: str = "ada", agent: str | None = None) -> Cam:
    with memory.components.database.read(ALL_USERS) as connection:
        return cam_of(hierarchies.load(connection, user, agent).levels)


def summaries(memory: Memory) -> list[str]:
    """The text of every summary in the store, active or not."""
    with memory.components.database.read(ALL_USERS) as connection:
        return list(connection.execute(select(units.c.text).where(units.c.kind == "summary")).scalars())


def chunks_due(memory: Memory, user: str, agent: str | None) -> set[int]:
    """Chunks that must be in a hierarchy: active ones of episodes that were encoded."""
    own = episodes.c.agent_id.is_(None) if agent is None else episodes.c.agent_id == agent
    query = (
        select(units.c.seq)
        .join(unit_sources, unit_sources.c.unit_seq == units.c.seq)
        .join(episodes, episodes.c.seq == unit_sources.c.episode_seq)
        .where(episodes.c.user_id == user, own, episodes.c.encoded, episodes.c.status == "active")
        .where(units.c.kind == "chunk")
    )
    with memory.components.database.read(ALL_USERS) as connection:
        return set(connection.execute(query).scalars())


def sentences(text: str) -> set[str]:
    return {" ".join(text[span.start : span.end].split()) for span in split_sentences(text)}


def words(groups: Iterable[Sequence[str]]) -> set[tuple[str, ...]]:
    return {tuple(group) for group in groups}


def assert_silent(memory: Memory, gone: Iterable[int], user: str = "ada") -> None:
    """No summary says anything of these messages: not in the tables, the tree, or a search."""
    words = [word_of(i) for i in gone]
    found = summaries(memory) + [node.text for node in memory.tree(user_id=user)]
    found += [hit.text for hit in memory.search("reference", user_id=user, kinds=("summary",), top_k=9999)]
    assert [word for word in words if any(word in text for text in found)] == []
