"""`curator.rule = "model"`, mem0's operations, and `curator.opposites = "model"`: chosen, checked, logged, undone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.config import CuratorConfig
from nscma_torch.core.database.database import ALL_USERS
from nscma_torch.core.errors import ConfigError, EngineError, EngineUnavailableError, InvalidInputError, ReplyError
from nscma_torch.core.records import FactOperation, Scope, Statement, ToldFact
from nscma_torch.reading.relations import load_relations
from nscma_torch.semantic.store import facts
from nscma_torch.semantic.timeline.adviser import Adviser
from nscma_torch.semantic.timeline.curation import Curator
from tests.helpers import telling
from tests.helpers.telling import day, micros
from tests.helpers.told import Told

MODEL = CuratorConfig(rule="model", initial_strength=180.0)
OPPOSITES = CuratorConfig(opposites="model", initial_strength=180.0)


@dataclass
class Chooser:
    """Chooses by the text of the new fact: an action, and the texts of the known facts that it names."""

    plan: dict[str, tuple[str, Sequence[str]]] = field(default_factory=dict)
    shown: list[tuple[str, list[str]]] = field(default_factory=list)
    error: EngineError | None = None
    result: object = None

    def operate(self, new: Sequence[tuple[ToldFact, Sequence[ToldFact]]]) -> Any:
        if self.error is not None:
            raise self.error
        ((one, known),) = new
        self.shown.append((one.text, [fact.text for fact in known]))
        if self.result is not None:
            return self.result
        action, named = self.plan.get(one.text, ("ADD", ()))
        return [FactOperation(action, tuple(fact.id for fact in known if fact.text in named))]  # type: ignore[arg-type]


Advised = Callable[..., tuple[Told, Chooser]]


@pytest.fixture
def advised(open_memory: Callable[..., Memory], light_surprise: Any) -> Advised:
    def make(section: CuratorConfig = MODEL, name: str = "advised.db") -> tuple[Told, Chooser]:
        memory = open_memory(
            name, config={"curator": section.model_dump(exclude_defaults=True)}, surprise_model=light_surprise
        )
        parts, chooser, schema = memory.components, Chooser(), load_relations()
        adviser = Adviser(lambda: chooser, lambda: "chooser", lambda: parts.embedder, schema, section)
        curator = Curator(parts.database, schema, section, clock=lambda: day(1000), adviser=adviser)
        return Told(memory, curator), chooser

    return make


def likes(thing: str, subject: str = "Ben", **more: Any) -> Statement:
    return Statement(subject, "likes", thing, **more)


def lives(place: str, **more: Any) -> Statement:
    return Statement("Ben", "lives_in", place, **more)


def test_add_stands_beside_what_the_default_rule_would_end(advised: Advised) -> None:
    told, chooser = advised()
    told.tell(lives("Rome"), at=1)
    told.tell(lives("Oslo"), at=9)
    assert sorted(told.held()) == ["Oslo", "Rome"]
    assert chooser.shown == [("Ben lives in Oslo", ["Ben lives in Rome"])], "without known facts nobody is asked"
    assert [made.action for made in told.log()] == ["ADD", "ADD"]


def test_update_takes_the_place_and_is_undone(advised: Advised) -> None:
    told, chooser = advised()
    chooser.plan = {"Ben lives in Oslo": ("UPDATE", ["Ben lives in Rome"])}
    told.tell(lives("Rome"), at=1)
    before = told.memory.digest()
    told.tell(lives("Oslo"), at=9)
    rome, oslo = sorted(told.facts(), key=lambda fact: fact.sequence)
    assert (rome.object, rome.status, rome.valid_to) == ("Rome", "archived", day(9))
    assert (oslo.object, oslo.status, oslo.valid_from) == ("Oslo", "active", day(9))
    assert told.held(as_of=micros(3)) == ["Rome"]
    made = told.log()[-1]
    assert (made.action, made.reason) == ("UPDATE", "UPDATE by chooser: Ben lives in Rome")
    assert set(made.fact_ids) == {rome.id, oslo.id}
    with pytest.raises(InvalidInputError, match="depends on"):
        told.undo(told.log()[0])
    told.undo(made)
    assert told.held() == ["Rome"]
    assert before != told.memory.digest(), "the message is there"
    told.undo(told.log()[0])
    assert told.held() == []


def test_delete_archives_a_fact_of_another_relation(advised: Advised) -> None:
    told, chooser = advised()
    chooser.plan = {"Ben likes meat: no longer": ("DELETE", ["Ben likes steak", "Ben likes burgers"])}
    told.tell(likes("steak"), at=1)
    told.tell(likes("burgers"), at=2)
    told.tell(likes("jazz"), at=3)
    told.tell(likes("meat", negated=True), at=9)
    assert told.held() == ["jazz"]
    made = told.log()[-1]
    assert (made.action, len(made.fact_ids)) == ("ARCHIVE", 2)
    told.undo(made)
    assert sorted(told.held()) == ["burgers", "jazz", "steak"]


def test_noop_changes_nothing_but_a_repetition_supports_the_fact(advised: Advised) -> None:
    told, chooser = advised()
    known = ["Ben likes steak"]
    chooser.plan = {"Ben likes rare steak": ("NOOP", known), "Ben likes steak": ("NOOP", known)}
    first = told.tell(likes("steak"), at=1)
    told.tell(likes("rare steak"), at=2)
    told.tell(likes("steak"), at=3)
    assert [(fact.object, fact.strength) for fact in told.facts()] == [("steak", 2)]
    told.memory.delete(first, user_id="ada")
    told.curate()
    assert sorted(told.held()) == ["rare steak", "steak"], "of the third message; the second one repeats the first"


def test_whatever_takes_an_operation_back_brings_back_facts_of_other_relations(advised: Advised) -> None:
    told, chooser = advised()
    chooser.plan = {"Ben likes tofu": ("DELETE", ["Ben lives in Rome"])}
    told.tell(lives("Rome"), at=1)
    tofu = told.tell(likes("tofu"), at=2)
    assert told.held() == ["tofu"]
    told.memory.delete(tofu, user_id="ada")
    told.curate()
    assert told.held() == ["Rome"]
    told.memory.restore(tofu, user_id="ada")
    told.curate()
    told.undo(told.log()[-1])
    assert told.held() == ["Rome"]
    told.tell(likes("tofu"), at=3)
    assert told.held() == ["tofu"]
    assert told.memory.erase(user_id="ada", memory_id=told.facts(relations=["likes"])[0].episode_ids[0]).found == 0
    told.curate()
    assert told.held() == ["Rome"]


def test_of_a_late_statement_the_newer_fact_takes_the_place(advised: Advised) -> None:
    told, chooser = advised()
    chooser.plan = {"Ben lives in Rome": ("UPDATE", ["Ben lives in Oslo"])}
    told.tell(lives("Oslo"), at=9)
    told.tell(lives("Rome"), at=1)
    assert told.held() == ["Oslo"]
    assert told.held(as_of=micros(3)) == ["Rome"]


def test_what_is_said_again_later_holds_again(advised: Advised) -> None:
    told, chooser = advised()
    chooser.plan = {"Ben lives in Oslo": ("UPDATE", ["Ben lives in Rome"])}
    for place, at in (("Rome", 1), ("Oslo", 5)):
        told.tell(lives(place), at=at)
    chooser.plan = {"Ben lives in Rome": ("UPDATE", ["Ben lives in Oslo"])}
    told.tell(lives("Rome"), at=9)
    assert told.held() == ["Rome"]
    assert len([fact for fact in told.facts() if fact.object == "Rome"]) == 2


WRONG: list[tuple[object, str]] = [
    ([FactOperation("UPDATE", ("fact-of-nobody",))], "not one of the facts shown"),
    ([FactOperation("DELETE")], "must name the facts"),
    ([FactOperation("ERASE", ())], "'ERASE', not one of ADD, UPDATE, DELETE, NOOP"),  # type: ignore[arg-type]
    ([], "must return a list of one FactOperation"),
    ("ADD", "must return a list of one FactOperation"),
    ([FactOperation("UPDATE", (["x"],))], "not one of the facts shown"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("result", "why"), WRONG)
def test_what_cannot_be_applied_is_refused_once_and_changes_no_fact(advised: Advised, result: object, why: str) -> None:
    told, chooser = advised()
    told.tell(likes("steak"), at=1)
    before = told.facts()
    chooser.result = result
    told.tell(likes("tofu"), at=2)
    assert told.facts() == before
    (refusal,) = told.log()[1:]
    assert (refusal.action, refusal.fact_ids) == ("NOOP", ()) and why in refusal.reason
    told.curate()
    assert len(told.log()) == 2, "it is not asked again by itself"
    assert told.memory.verify() == []
    chooser.result = None
    told.undo(refusal)
    told.curate()
    assert sorted(told.held()) == ["steak", "tofu"]


def test_a_fact_of_another_user_is_refused(advised: Advised) -> None:
    told, chooser = advised()
    told.tell(likes("steak"), at=1)
    telling.tell(told.memory, "hello", likes("soup"), likes("beans"), user_id="eve", at=1)
    telling.curate(told.memory, user_id="eve")
    with told.memory.components.database.read(ALL_USERS) as connection:
        foreign = facts.select_facts(connection, Scope("eve"))
    chooser.result = [FactOperation("DELETE", (foreign[0].id,))]
    told.tell(likes("tofu"), at=2)
    assert told.held() == ["steak"] and "not one of the facts shown" in told.log()[-1].reason
    with told.memory.components.database.read(ALL_USERS) as connection:
        assert facts.select_facts(connection, Scope("eve")) == foreign
    assert all("soup" not in text for _, known in chooser.shown for text in known), "nor is it ever shown"


def test_a_reply_that_cannot_be_used_is_refused_without_a_word_of_it(advised: Advised) -> None:
    told, chooser = advised()
    told.tell(likes("steak"), at=1)
    chooser.error = ReplyError("the reply is no OperationOnFacts; it began 'secret'")
    told.tell(likes("tofu"), at=2)
    assert told.held() == ["steak"]
    assert "refused: ReplyError" in told.log()[-1].reason and "secret" not in told.log()[-1].reason


def test_while_the_model_is_away_the_statement_waits(advised: Advised) -> None:
    told, chooser = advised()
    told.tell(likes("steak"), at=1)
    chooser.error = EngineUnavailableError("away")
    with pytest.raises(EngineUnavailableError):
        told.tell(likes("tofu"), at=2)
    assert told.held() == ["steak"] and len(told.log()) == 1
    chooser.error = None
    told.curate()
    assert sorted(told.held()) == ["steak", "tofu"]


def test_the_digest_does_not_depend_on_when_jobs_run(advised: Advised) -> None:
    plan = {"Ben lives in Oslo": ("UPDATE", ["Ben lives in Rome"]), "Ben likes tofu": ("DELETE", ["Ben likes steak"])}
    said = [lives("Rome"), likes("steak"), lives("Oslo"), likes("tofu"), lives("Rome")]
    digests = []
    for name, step in (("a.db", 1), ("b.db", 2), ("c.db", 9)):
        told, chooser = advised(name=name)
        chooser.plan = plan  # type: ignore[assignment]
        for i, one in enumerate(said):
            told.hear(one, at=i)
            if i % step == step - 1:
                told.curate()
        told.curate()
        digests.append(told.memory.digest())
        assert told.memory.verify() == []
    assert len(set(digests)) == 1


def test_an_import_keeps_what_was_chosen(advised: Advised) -> None:
    told, chooser = advised()
    chooser.plan = {"Ben likes tofu": ("DELETE", ["Ben likes steak"])}
    steak = told.tell(likes("steak"), at=1)
    told.tell(likes("tofu"), at=2)
    other, asked = advised(name="import.db")
    other.memory.import_(list(told.memory.export()))
    other.now = 1001
    other.memory.delete(steak, user_id="ada")
    other.curate()
    other.memory.restore(steak, user_id="ada")
    other.curate()
    assert other.memory.digest() == told.memory.digest() and not asked.shown


def test_erasing_a_named_fact_erases_what_was_chosen_on_it_and_asks_again(advised: Advised) -> None:
    told, chooser = advised()
    chooser.plan = {"Ben likes tofu": ("UPDATE", ["Ben likes steak"])}
    steak = told.tell(likes("steak"), at=1)
    told.tell(likes("tofu"), at=2)
    assert told.memory.erase(user_id="ada", memory_id=steak).found == 0
    told.curate()
    assert told.held() == ["tofu"] and told.log()[-1].action == "ADD"
    assert "steak" not in "".join(made.reason for made in told.log())
    assert told.memory.verify() == []


def test_what_is_asked_again_is_not_compared_with_its_own_fact(advised: Advised) -> None:
    told, chooser = advised(CuratorConfig(rule="model", similar=1))
    chooser.plan = {"Ben likes fried tofu": ("UPDATE", ["Ben likes tofu"])}
    told.tell(lives("Rome"), at=1)
    tofu = told.tell(likes("tofu"), at=2)
    told.tell(likes("fried tofu"), at=3)
    chooser.plan = {}
    told.memory.erase(user_id="ada", memory_id=tofu)
    told.curate()
    assert chooser.shown[-1] == ("Ben likes fried tofu", ["Ben lives in Rome"])


def test_opposites_a_statement_ends_a_fact_of_another_relation_under_the_default_rule(advised: Advised) -> None:
    told, chooser = advised(OPPOSITES)
    chooser.plan = {"Ben likes meat: no longer": ("DELETE", ["Ben likes steak"])}
    told.tell(likes("steak"), at=1)
    told.tell(lives("Rome"), at=2)
    told.tell(lives("Oslo"), at=3)
    told.tell(likes("meat", negated=True), at=9)
    assert told.held() == ["Oslo"], "homes follow the default rule"
    steak = next(fact for fact in told.facts() if fact.object == "steak")
    assert (steak.status, steak.valid_to) == ("archived", day(9))
    asked = dict(chooser.shown)
    assert asked["Ben lives in Oslo"] == ["Ben likes steak"], "of its own group the rule decides"
    made = told.log()[-1]
    assert made.action == "ARCHIVE" and "DELETE by chooser: Ben likes steak" in made.reason
    told.undo(made)
    assert sorted(told.held()) == ["Oslo", "steak"]


def test_opposites_are_of_the_same_subject(advised: Advised) -> None:
    told, chooser = advised(OPPOSITES)
    told.tell(likes("steak", subject="Ana"), at=1)
    told.tell(likes("meat", negated=True), at=9)
    assert chooser.shown == [] and told.held() == ["steak"]


def test_opposites_a_refusal_leaves_the_default_rule_to_decide(advised: Advised) -> None:
    told, chooser = advised(OPPOSITES)
    told.tell(likes("steak"), at=1)
    chooser.result = [FactOperation("DELETE", ("nothing",))]
    told.tell(likes("tofu"), at=2)
    assert sorted(told.held()) == ["steak", "tofu"]
    assert "refused" in told.log()[-1].reason


def test_the_most_similar_facts_are_shown_and_no_more(advised: Advised) -> None:
    told, chooser = advised(CuratorConfig(rule="model", similar=2))
    for i, thing in enumerate(("grilled steak", "stamps", "chess", "raw steak")):
        told.tell(likes(thing), at=i)
    told.tell(likes("steak"), at=9)
    assert sorted(chooser.shown[-1][1]) == ["Ben likes grilled steak", "Ben likes raw steak"]


def test_without_language_tasks_a_model_cannot_decide(open_memory: Callable[..., Memory]) -> None:
    memory = open_memory("bare.db")
    with pytest.raises(ConfigError, match="adviser"):
        Curator(memory.components.database, load_relations(), MODEL)


def test_a_store_of_the_default_rule_is_asked_about_where_something_new_is_said(advised: Advised) -> None:
    told, chooser = advised()
    by_model, settings = told.curator, CuratorConfig(initial_strength=180.0)
    told.curator = Curator(told.memory.components.database, load_relations(), settings, clock=lambda: day(1000))
    for place, at in (("Rome", 1), ("Oslo", 2)):
        told.tell(lives(place), at=at)
    told.tell(likes("tea"), at=3)
    assert sorted(told.held()) == ["Oslo", "tea"]
    told.curator = by_model
    told.tell(lives("Lima"), at=4)
    assert sorted(told.held()) == ["Lima", "Oslo", "Rome", "tea"], "the model ends none of them"
    assert [text for text, _ in chooser.shown] == ["Ben lives in Rome", "Ben lives in Oslo", "Ben lives in Lima"]
    assert told.memory.verify() == []


def test_a_fact_of_the_default_rule_that_the_model_names_is_asked_about_too(advised: Advised) -> None:
    told, chooser = advised()
    by_model, settings = told.curator, CuratorConfig(initial_strength=180.0)
    told.curator = Curator(told.memory.components.database, load_relations(), settings, clock=lambda: day(1000))
    told.tell(likes("tea"), at=3)
    told.curator = by_model
    chooser.plan = {"Ben lives in Lima": ("DELETE", ["Ben likes tea"])}
    told.tell(lives("Lima"), at=4)
    assert {fact.object: fact.status for fact in told.facts()} == {"Lima": "active", "tea": "archived"}
    assert [made.object for made in told.log() if "ADD: nothing" in made.reason or "ADD by" in made.reason] == ["tea"]
