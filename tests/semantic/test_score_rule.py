"""`curator.rule = "score"`, `curator.conflict_set = "relation"`: the conflict rule of NSCMA section 3.5, literally."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.config import CuratorConfig
from nscma_torch.core.database.database import ALL_USERS
from nscma_torch.core.records import Statement
from nscma_torch.reading.relations import load_relations
from nscma_torch.semantic.store import namespaces
from nscma_torch.semantic.timeline.claims import Claim, Rules
from nscma_torch.semantic.timeline.curation import Curator
from nscma_torch.semantic.timeline.dispute_verdicts import open_disputes
from nscma_torch.semantic.timeline.resolve_claims import resolve
from tests.helpers.telling import day
from tests.helpers.told import Told

DAY = 86_400_000_000
PAPER = CuratorConfig(rule="score", conflict_set="relation", decision_ratio=1.0, half_life=30.0)
RULES = Rules.of(PAPER)


def claim(seq: int, value: str, at: float, confidence: float, trust: float = 1.0, speaker: str = "ben") -> Claim:
    return Claim(seq, value, int(at * DAY), seq, speaker, confidence=confidence, trust=trust)


def score(one: Claim, now: float) -> float:
    """confidence * delta(age) * trust, delta halving every 30 days (NSCMA section 3.5)."""
    return float(one.confidence * one.trust * 2.0 ** (-(now - one.said_at / DAY) / 30.0))


def active(claims: list[Claim], rules: Rules) -> list[str]:
    return [span.value for span in resolve(claims, rules).spans if span.status == "active" and span.valid_to is None]


def test_of_two_values_the_one_with_the_higher_score_is_active_whoever_speaks() -> None:
    rng = random.Random(5)
    older_won = 0
    for _ in range(300):
        old = claim(1, "rome", rng.uniform(40, 60), rng.uniform(0.2, 1), rng.choice((0.5, 0.8, 1.0)))
        new = claim(2, "oslo", rng.uniform(60, 80), rng.uniform(0.2, 1), rng.choice((0.5, 0.8, 1.0)))
        new = replace(new, speaker=rng.choice(("ben", "ana")), replaces=rng.choice(("", "rome")))
        kept = new.value if score(new, 90) > score(old, 90) else old.value
        older_won += kept == "rome"
        assert active([old, new], RULES) == [kept]
    assert 30 < older_won < 270, "both outcomes are tried"


def test_scores_of_several_speakers_are_not_added_up() -> None:
    old = [claim(1, "rome", 10, 0.6), claim(2, "rome", 10, 0.6, speaker="ana"), claim(3, "rome", 10, 0.5, speaker="cy")]
    new = claim(4, "oslo", 11, 0.9, speaker="dan")
    assert active([*old, new], RULES) == ["oslo"], "one statement against one edge"
    assert active([*old, new], replace(RULES, by_score=False)) == ["rome"]
    surer = claim(5, "rome", 10, 1.0, speaker="eve")
    assert active([*old, surer, new], RULES) == ["rome"]


def test_a_denial_and_a_correction_are_weighed_too() -> None:
    sure = claim(1, "rome", 10, 1.0)
    unsure = replace(claim(2, "rome", 11, 0.3), negated=True)
    assert active([sure, unsure], RULES) == ["rome"]
    assert active([sure, replace(unsure, confidence=1.0)], RULES) == []
    assert active([sure, replace(claim(2, "", 11, 0.3), replaces="rome", decisive=True)], RULES) == ["rome"]
    assert active([sure, replace(claim(2, "oslo", 11, 0.3), correction=True)], RULES) == ["rome"]


def test_with_the_default_rule_the_speakers_newest_word_ends_what_he_said_before() -> None:
    old, new = claim(1, "rome", 10, 1.0), claim(2, "oslo", 11, 0.3)
    assert active([old, new], Rules.of(CuratorConfig())) == ["oslo"]
    assert active([old, new], RULES) == ["rome"]


@pytest.fixture
def weigh(open_memory: Callable[..., Memory], light_surprise: Any) -> Callable[[CuratorConfig], Told]:
    def told(section: CuratorConfig) -> Told:
        memory = open_memory(f"{section.conflict_set}.db", surprise_model=light_surprise)
        return Told(memory, Curator(memory.components.database, load_relations(), section, clock=lambda: day(1000)))

    return told


def test_figure_1_of_the_paper_likes_blue_takes_the_place_of_likes_red(weigh: Callable[[CuratorConfig], Told]) -> None:
    told = weigh(PAPER)
    told.tell(Statement("Ben", "likes", "red"), at=1)
    told.tell(Statement("Ben", "likes", "blue"), at=60)
    assert told.held() == ["blue"]
    assert {(fact.relation, fact.object): fact.status for fact in told.facts()} == {
        ("likes", "red"): "archived",
        ("likes", "blue"): "active",
    }
    told.undo(told.log()[-1])
    assert told.held() == ["red"]


def test_by_cardinality_both_likes_stand(weigh: Callable[[CuratorConfig], Told]) -> None:
    told = weigh(CuratorConfig(rule="score", decision_ratio=1.0))
    told.tell(Statement("Ben", "likes", "red"), at=1)
    told.tell(Statement("Ben", "likes", "blue"), at=60)
    assert sorted(told.held()) == ["blue", "red"]


def test_near_scores_are_a_dispute_that_the_tasks_may_judge(weigh: Callable[[CuratorConfig], Told]) -> None:
    told = weigh(CuratorConfig(rule="score", conflict_set="relation"))
    told.tell(Statement("Ben", "likes", "red"), at=1)
    told.tell(Statement("Ben", "likes", "blue"), at=2)
    assert {fact.status for fact in told.facts()} == {"disputed"}
    with told.memory.components.database.read(ALL_USERS) as connection:
        namespace = namespaces.namespace_id("ada", None)
        (dispute,) = open_disputes(connection, namespace, load_relations(), "judge", one_object=True)
    assert [side.fact.object for side in dispute.sides if side.fact is not None] == ["red", "blue"]
