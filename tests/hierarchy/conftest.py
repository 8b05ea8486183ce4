"""Fixtures of the hierarchy: what must hold of it, random edits, and memories with many small clusters."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from sqlalchemy import select

from nscma_torch.api.memory import Memory
from nscma_torch.core.config import HierarchyConfig
from nscma_torch.core.database.database import ALL_USERS
from nscma_torch.core.database.schema import drafts
from nscma_torch.hierarchy.cam import Cam
from nscma_torch.hierarchy.level import Edit, Level
from nscma_torch.hierarchy.store import hierarchies
from tests.hierarchy.invariants import Edge, cam_problems, edges_of, parts_of, problems
from tests.hierarchy.lively import LIVELY, LIVELY_CONFIG, SUBJECTS, Open, cam, chunks_due, sentences


@pytest.fixture(scope="session")
def level_problems() -> Callable[..., list[str]]:
    return problems


@pytest.fixture(scope="session")
def hierarchy_problems() -> Callable[[Cam, HierarchyConfig], list[str]]:
    return cam_problems


@pytest.fixture(scope="session")
def edges() -> Callable[[Level], dict[Edge, float]]:
    return edges_of


@pytest.fixture(scope="session")
def parts() -> Callable[[Level], dict[int, set[frozenset[int]]]]:
    return parts_of


@pytest.fixture(scope="session")
def edit_of() -> Callable[..., Edit]:
    """`edit_of(added, removed, {(a, b): weight}, gone)`."""

    def make(
        added: Iterable[int] = (), removed: Iterable[int] = (), edges: Mapping[Edge, float] | None = None,
        gone: Iterable[Edge] = (),
    ) -> Edit:  # fmt: skip
        ends = torch.tensor(list(edges or {}), dtype=torch.int64).reshape(-1, 2).T.contiguous()
        weight = torch.tensor(list((edges or {}).values()), dtype=torch.float32)
        leaving = torch.tensor(list(gone), dtype=torch.int64).reshape(-1, 2).T.contiguous()
        numbers = (torch.tensor(sorted(some), dtype=torch.int64) for some in (added, removed))
        return Edit(*numbers, ends, weight, leaving)

    return make


class Twin:
    """A level, and the graph that it must hold, in a dictionary."""

    def __init__(self, seed: int, settings: HierarchyConfig, edit_of: Callable[..., Edit]) -> None:
        self.rng = random.Random(seed)
        self.settings = settings
        self.level = Level.empty()
        self.numbers: set[int] = set()
        self.edges: dict[Edge, float] = {}  # from the smaller number
        self.ever = 0
        self._edit_of = edit_of

    def random_edit(self) -> Edit:
        """Some nodes come, some go, edges come, change and go; the model is changed alike."""
        rng = self.rng
        removed = set(rng.sample(sorted(self.numbers), min(len(self.numbers), rng.choice((0, 0, 1, 3)))))
        added = {self.ever + i for i in range(rng.choice((0, 1, 4, 9)))}
        self.ever += len(added)
        stay = sorted((self.numbers | added) - removed)
        kept = {edge: w for edge, w in self.edges.items() if not removed & set(edge)}
        gone = set(rng.sample(sorted(kept), min(len(kept), rng.choice((0, 1, 3)))))
        new: dict[Edge, float] = {}
        for _ in range(rng.choice((0, 2, 12)) if len(stay) > 1 else 0):
            a = rng.choice(stay)
            b = rng.choice([c for c in stay[max(0, stay.index(a) - 5) :][:11] if c != a])
            edge = (min(a, b), max(a, b))
            if edge not in gone:
                new[edge] = float(torch.tensor(rng.choice((0.25, 0.5, rng.uniform(0.2, 1.0))), dtype=torch.float32))
        self.numbers = set(stay)
        self.edges = {**{edge: w for edge, w in kept.items() if edge not in gone}, **new}
        given = {edge if rng.random() < 0.5 else edge[::-1]: w for edge, w in new.items()}
        leaving = [edge if rng.random() < 0.5 else edge[::-1] for edge in sorted(gone)]
        return self._edit_of(added, removed, given, leaving)

    def both_ways(self) -> dict[Edge, float]:
        return self.edges | {(b, a): w for (a, b), w in self.edges.items()}


@pytest.fixture(scope="session")
def twin(edit_of: Callable[..., Edit]) -> Callable[[int, HierarchyConfig], Twin]:
    return lambda seed, settings: Twin(seed, settings, edit_of)


@pytest.fixture
def open_lively(open_memory: Open, light_surprise: Any) -> Open:
    """Memories whose gate writes everything, and whose hierarchy has many small clusters."""

    def open_(name: str | Path = "store.db", hierarchy: dict[str, Any] | None = None, **more: Any) -> Memory:
        config = {
            **LIVELY_CONFIG,
            "hierarchy": {**LIVELY, **(hierarchy or {})},
            **more.pop("config", {}),
        }
        return open_memory(name, config, **{"surprise_model": light_surprise, **more})

    return open_


@pytest.fixture
def assert_whole(hierarchy_problems: Callable[..., list[str]]) -> Callable[..., None]:
    """After `flush`: the structure is sound, all that is due is in it, and every node speaks for its leaves alone."""

    def check(memory: Memory, user: str = "ada", agent: str | None = None) -> None:
        assert memory.verify() == []
        assert (memory.stats().jobs_queued, memory.stats().jobs_failed) == (0, 0)
        held = cam(memory, user, agent)
        assert hierarchy_problems(held, memory.config.hierarchy) == []
        key = hierarchies.hierarchy_id(user, agent)
        with memory.components.database.read(ALL_USERS) as connection:
            of_node = hierarchies.units_of(connection, key)
            assert connection.execute(select(drafts).where(drafts.c.hierarchy_id == key)).all() == []
        numbers = {(depth, n) for depth, level in enumerate(held.levels) for n in level.nodes.tolist()}
        assert set(of_node) == numbers, "every node has a unit, and no other has one"
        assert {seq for (depth, _), own in of_node.items() if not depth for seq in own} == chunks_due(
            memory, user, agent
        )
        nodes = memory.tree(user_id=user, agent_id=agent)
        assert len(nodes) == len(numbers)
        by_id = {node.id: node for node in nodes}
        assert len(by_id) == len(nodes)
        texts = {episode.id: episode.text for episode in memory.log(user_id=user)}
        expected = [{}, *held.members()]
        for node in nodes:
            assert node.text and not node.stale
            if node.level:
                below = [by_id[member] for member in node.members]
                assert {m.level for m in below} == {node.level - 1}
                assert set(node.episode_ids) == {i for member in below for i in member.episode_ids}
                own = set().union(*(sentences(texts[i]) for i in node.episode_ids))
                assert set(node.text.split("\n")) <= own, "every sentence is the members'"
        for depth, members in enumerate(expected[1:], start=1):
            assert sorted(len(own) for own in members.values()) == sorted(
                len(node.members) for node in nodes if node.level == depth
            )
        leaves = {node.text for node in nodes if node.level}
        provenance = {
            text: [set(node.episode_ids) for node in nodes if node.level and node.text == text] for text in leaves
        }
        for hit in memory.search(" ".join(SUBJECTS), user_id=user, agent_id=agent, kinds=("summary",), top_k=9999):
            if hit.unit.scope.agent_id == agent and hit.text in leaves:  # a long summary is found in parts
                assert set(hit.unit.episode_ids) in provenance[hit.text]

    return check
