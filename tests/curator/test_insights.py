"""Insights: clusters of messages become dated lines with sources, renewed weekly, gone with their sources."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.errors import EngineUnavailableError, ModelError
from nscma_torch.core.records import Message, SourcedLine
from nscma_torch.curator.derived import insight
from nscma_torch.reading.embedded_tasks import EmbeddedTasks
from tests.helpers.telling import day

POTTERY = (
    "I signed up for a pottery class at the studio.",
    "My pottery bowl came out of the kiln today.",
    "I bought new clay for my pottery class.",
    "I broke a pottery bowl in the studio.",
    "I am proud of my pottery at the studio.",
)
RUNNING = (
    "I ran ten kilometres of the marathon track.",
    "My marathon shoes are worn out.",
    "I want to run the marathon in Bergen.",
    "I train for the marathon with a coach.",
)
ON: dict[str, Any] = {"insights": {"enabled": True, "gamma": 0.2}}


def said(texts: Sequence[str], first: int = 0, name: str | None = "Mel") -> list[Message]:
    return [Message("user", text, day(first + i), name=name) for i, text in enumerate(texts)]


@pytest.fixture
def told(open_memory: Callable[..., Memory]) -> Memory:
    memory = open_memory(config=ON)
    list(memory.add_many([*said(POTTERY), *said(RUNNING, 10)], user_id="ada", now=day(20)))
    list(memory.add_many(said([text.replace("pottery", "chess") for text in POTTERY]), user_id="bob", now=day(20)))
    return memory


def texts(memory: Memory, user: str = "ada") -> list[str]:
    return [one.text for one in memory.derived("insight", user_id=user)]


def test_a_cluster_becomes_a_dated_line_with_its_sources(told: Memory) -> None:
    report = told.sleep(user_id="ada", now=day(20))
    assert (report.failures, report.derived_texts) == ((), 2)
    pottery, marathon = told.derived("insight", user_id="ada")
    assert pottery.text.startswith("Mel spoke of pottery in at least 5 messages on 5 days")
    assert marathon.text.startswith("Mel spoke of marathon in at least 4 messages on 4 days")
    assert (pottery.since, pottery.until) == (day(0), day(4))
    behind = [told.get(source, user_id="ada", now=day(20)) for source in pottery.episode_ids]
    assert [episode.text for episode in behind if episode] == list(POTTERY)
    quote = pottery.text.partition("“")[2].rstrip("”")
    assert any(quote in text for text in POTTERY)
    assert 0 < marathon.confidence < pottery.confidence <= 1
    assert texts(told, "bob") == []
    assert told.verify() == []


def test_it_is_in_the_profile_and_in_search(told: Memory) -> None:
    assert told.search("marathon training", user_id="ada", kinds=["insight"], now=day(20)) == []
    told.sleep(now=day(20))
    lines = [line for line in told.profile(user_id="ada") if line.episode_ids]
    assert [line.text for line in lines] == texts(told)
    assert lines[0].day == day(4).date() and not lines[0].fact_ids
    assert [line.number for line in told.profile(user_id="ada")] == list(range(len(told.profile(user_id="ada"))))
    (hit, *_) = told.search("marathon training", user_id="ada", kinds=["insight"], now=day(20))
    (found,) = [one for one in told.derived("insight", user_id="ada") if "marathon" in one.text]
    assert (hit.text, hit.unit.episode_ids) == (found.text, found.episode_ids)
    assert hit.id == hit.unit.id, "it is of many messages"
    assert all("chess" not in hit.text for hit in told.search("chess", user_id="ada", kinds=["insight"], now=day(20)))


def test_renewed_after_a_week_and_only_if_something_was_said(told: Memory) -> None:
    told.sleep(now=day(20))
    before = told.digest()
    assert told.sleep(now=day(21)).derived_texts == 0 and told.digest() == before
    list(told.add_many(said(["I sold a pottery bowl at the studio."], 21), user_id="ada", now=day(22)))
    assert told.sleep(now=day(23)).derived_texts == 0, "younger than a week"
    assert told.sleep(now=day(23), dry_run=True).derived_texts == 0
    assert told.sleep(now=day(27), dry_run=True).derived_texts == 1
    assert all("at least 6" not in hit.text for hit in told.search("pottery", user_id="ada", kinds=["insight"]))
    assert told.sleep(now=day(27)).derived_texts > 0
    assert "at least 6 messages" in texts(told)[0]
    assert any("at least 6" in hit.text for hit in told.search("pottery", user_id="ada", kinds=["insight"]))


def test_a_dry_run_counts_what_is_due_and_clusters_nothing(told: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    clustered: list[int] = []
    clusters = insight.knn_graph

    def counted(vectors: Any, *args: Any, **more: Any) -> Any:
        clustered.append(len(vectors))
        return clusters(vectors, *args, **more)

    monkeypatch.setattr(insight, "knn_graph", counted)
    assert told.sleep(now=day(20), dry_run=True).derived_texts == 2, "a part each of ada and bob"
    assert clustered == []
    told.sleep(now=day(20))
    assert clustered == [9, 5]


@pytest.mark.parametrize(("section", "found"), [({"min_messages": 4}, 2), ({"min_messages": 5}, 1), ({"most": 1}, 1)])
def test_how_many(section: dict[str, Any], found: int, open_memory: Callable[..., Memory]) -> None:
    """The largest clusters first, of so many messages at least; what the assistant says is in none."""
    memory = open_memory(config={"insights": {**ON["insights"], **section}})
    list(memory.add_many([*said(RUNNING), *said(POTTERY, 10)], user_id="ada", now=day(20)))
    echoes = [Message("assistant", text, day(15), name="Mel") for text in (*POTTERY, *RUNNING)]
    list(memory.add_many(echoes, user_id="ada", now=day(20)))
    memory.sleep(now=day(20))
    counts = ["pottery in at least 5 messages", "marathon in at least 4 messages"][:found]
    assert [count in text for count, text in zip(counts, texts(memory), strict=True)] == [True] * found


@pytest.mark.parametrize(("error", "asked"), [(EngineUnavailableError("away"), 1), (ModelError("broken"), 2)])
def test_a_model_that_is_away_is_not_asked_for_the_other_agents(
    error: Exception, asked: int, open_memory: Callable[..., Memory]
) -> None:
    class Raising(EmbeddedTasks):
        calls = 0

        def lines(self, kind: str, groups: Any, words: Any = None) -> Any:  # noqa: ARG002
            self.calls += 1
            raise error

    tasks = Raising()
    memory = open_memory(config=ON, tasks=tasks)
    for agent in ("one", "two"):
        list(memory.add_many(said(POTTERY), user_id="ada", agent_id=agent, now=day(20)))
    report = memory.sleep(now=day(20))
    assert (tasks.calls, len(report.failures), texts(memory)) == (asked, asked, [])


def test_nothing_is_asked_again_of_the_same_messages(open_memory: Callable[..., Memory]) -> None:
    asked: list[int] = []

    class Counting(EmbeddedTasks):
        def lines(self, kind: str, groups: Any, words: Any = None) -> Any:
            asked.append(len(groups))
            return super().lines(kind, groups, words)

    memory = open_memory(config=ON, tasks=Counting())
    list(memory.add_many(said(POTTERY), user_id="ada", now=day(20)))
    for at in (20, 40, 60):
        memory.sleep(now=day(at))
    assert asked == [1]


def test_gone_with_any_message_that_was_in_view(told: Memory) -> None:
    told.sleep(now=day(20))
    pottery, _ = told.derived("insight", user_id="ada")
    (hurt, *_) = pottery.episode_ids
    receipt = told.erase(user_id="ada", memory_id=hurt)
    assert receipt.found == 0 and receipt.rows["derived_texts"] == 2 - len(texts(told))
    assert all("pottery" not in text for text in texts(told))
    left = told.search("pottery", user_id="ada", kinds=["insight"], now=day(20))
    assert all("pottery" not in hit.text for hit in left)
    assert told.verify() == []
    told.sleep(now=day(20))
    assert "at least 4 messages" in next(text for text in texts(told) if "pottery" in text), "made again, at once"


def test_a_message_in_view_that_is_not_cited(open_memory: Callable[..., Memory]) -> None:
    class Citing(EmbeddedTasks):
        def lines(self, kind: str, groups: Any, words: Any = None) -> Any:  # noqa: ARG002
            return [[SourcedLine("Mel makes pottery.", (1, 2), 0.9)] for _ in groups]

    memory = open_memory(config=ON, tasks=Citing())
    list(memory.add_many(said(POTTERY), user_id="ada", now=day(20)))
    memory.sleep(now=day(20))
    (found,) = memory.derived("insight", user_id="ada")
    assert len(found.episode_ids) == 2
    (first, *_) = (episode.id for episode in memory.get_all(user_id="ada", now=day(20)))
    assert first not in found.episode_ids
    memory.erase(user_id="ada", memory_id=first)
    assert texts(memory) == [], "it was written with the message in view"


@pytest.mark.parametrize(
    "line", [SourcedLine("x", ()), SourcedLine(" ", (0,)), SourcedLine("x", (99,)), SourcedLine("x", (0,), 0.0)]
)
def test_a_line_without_source_text_or_confidence_is_refused(
    open_memory: Callable[..., Memory], line: SourcedLine
) -> None:
    class Wrong(EmbeddedTasks):
        def lines(self, kind: str, groups: Any, words: Any = None) -> Any:  # noqa: ARG002
            return [[line] for _ in groups]

    memory = open_memory(config=ON, tasks=Wrong())
    list(memory.add_many(said(POTTERY), user_id="ada", now=day(20)))
    report = memory.sleep(now=day(20))
    assert texts(memory) == [] and "JobError" in report.failures[0]


def test_what_changes_meanwhile_is_not_stored(open_memory: Callable[..., Memory]) -> None:
    class Slow(EmbeddedTasks):
        def lines(self, kind: str, groups: Any, words: Any = None) -> Any:
            memory.delete(groups[0][0].id, user_id="ada")
            return super().lines(kind, groups, words)

    memory = open_memory(config=ON, tasks=Slow())
    list(memory.add_many(said(POTTERY), user_id="ada", now=day(20)))
    report = memory.sleep(now=day(20))
    assert texts(memory) == [] and "sleep again" in report.failures[0]


def test_each_agent_and_person_has_its_own(open_memory: Callable[..., Memory]) -> None:
    memory = open_memory(config=ON)
    list(memory.add_many(said(POTTERY), user_id="ada", agent_id="one", now=day(20)))
    list(memory.add_many(said(RUNNING, name="Zoe"), user_id="ada", agent_id="two", now=day(20)))
    list(memory.add_many(said(POTTERY[:2], 5, name="Zoe"), user_id="ada", agent_id="one", now=day(20)))
    memory.sleep(now=day(20))
    (one,) = memory.derived("insight", user_id="ada", agent_id="one")
    (two,) = memory.derived("insight", user_id="ada", agent_id="two")
    assert one.text.startswith("Mel spoke of pottery in at least 5") and two.text.startswith("Zoe spoke of marathon")
    assert len(memory.derived("insight", user_id="ada")) == 2
    memory.erase(user_id="ada")
    assert memory.derived("insight", user_id="ada") == []


def test_what_is_to_expire_stays_out(open_memory: Callable[..., Memory]) -> None:
    memory = open_memory(config=ON)
    for message in said(POTTERY):
        memory.add(message, user_id="ada", expiration_date=day(99), now=day(20))
    memory.sleep(now=day(20))
    assert texts(memory) == []
