"""The hierarchy under batches, deletions and edits: level by level what CAM says, whatever came before."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F  # noqa: N812

from nscma_torch.core.config import HierarchyConfig
from nscma_torch.hierarchy.cam import Cam, Change, assimilate
from nscma_torch.hierarchy.cluster_nodes import clusters_of
from nscma_torch.hierarchy.level_rows import from_rows, to_rows

LIVELY = HierarchyConfig(neighbours=5, gamma=0.3, max_members=7, min_members=2, links=4)
SETTINGS = {
    "default": HierarchyConfig(),
    "lively": LIVELY,
    "whole": LIVELY.model_copy(update={"overlapping": False}),
    "two levels": LIVELY.model_copy(update={"max_levels": 2}),
    "no levels": LIVELY.model_copy(update={"max_levels": 0}),
}


class Chunks:
    """A hierarchy, and the chunks that it must hold: vectors of several topics, in two streams."""

    def __init__(self, seed: int, settings: HierarchyConfig) -> None:
        self.rng = random.Random(seed)
        self.random = torch.Generator().manual_seed(seed)
        self.settings = settings
        self.cam = Cam()
        self.topics = F.normalize(torch.randn(7, 24, generator=self.random), dim=1)
        self.held: dict[int, tuple[torch.Tensor, int, int]] = {}  # number: vector, position, stream
        self.said = 0

    def new(self) -> tuple[torch.Tensor, int, int]:
        topic = self.topics[self.rng.randrange(7)] + self.topics[self.rng.randrange(7)] * self.rng.choice((0, 0, 0.9))
        vector = F.normalize(topic + 0.25 * torch.randn(24, generator=self.random), dim=0)
        self.said += 1
        return vector, self.said, self.rng.randrange(2)

    def integrate(self, count: int, leaving: int = 0) -> Cam:
        """A batch of `count` new chunks, while `leaving` old ones go."""
        removed = sorted(self.rng.sample(sorted(self.held), min(leaving, len(self.held))))
        return self.put([self.new() for _ in range(count)], removed)

    def put(self, new: list[tuple[torch.Tensor, int, int]], removed: list[int]) -> Cam:
        rows = [self.held[number] for number in sorted(self.held) if number not in removed] + new
        change = Change(
            self.cam,
            torch.tensor(removed, dtype=torch.int64),
            torch.stack([vector for vector, _, _ in rows]) if rows else torch.empty(0, 1),
            torch.tensor([position for _, position, _ in rows], dtype=torch.int64),
            torch.tensor([stream for _, _, stream in rows], dtype=torch.int64),
        )
        for number in removed:
            del self.held[number]
        (self.cam,) = assimilate([change], self.settings)
        added = self.cam.levels[0].nodes[len(self.held) :].tolist()
        assert not set(added) & set(self.held)
        self.held |= dict(zip(added, new, strict=True))
        return self.cam


def rows(cam: Cam) -> list[Any]:
    return [to_rows(level) for level in cam.levels]


def labels_of(cam: Cam, depth: int = 0) -> dict[int, int]:
    level = cam.levels[depth]
    return dict(zip(level.split.ids.tolist(), level.labels.tolist(), strict=True))


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.prove) for seed in range(1, 12))])
def test_random_batches_and_deletions(name: str, seed: int, hierarchy_problems: Callable[..., list[str]]) -> None:
    chunks = Chunks(seed, SETTINGS[name])
    rng = random.Random(seed)
    for step in range(12):
        before = rows(chunks.cam)
        old = chunks.cam
        cam = chunks.integrate(rng.choice((0, 1, 1, 5, 20)) if step else 40, rng.choice((0, 0, 1, 4, 15)))
        assert rows(old) == before, "what was before is as it was"
        assert cam.levels[0].nodes.tolist() == sorted(chunks.held)
        assert hierarchy_problems(cam, chunks.settings) == []
        assert rows(Cam(tuple(map(from_rows, rows(cam))))) == rows(cam)
    depth = {"default": 2, "lively": 3, "whole": 3, "two levels": 3, "no levels": 1}[name]
    assert len(cam.levels) >= min(depth, 2) if depth > 1 else len(cam.levels) == 1
    assert len(cam.levels) <= chunks.settings.max_levels + 1


@pytest.mark.parametrize("name", ["default", "lively", "whole"])
def test_the_last_chunk_may_go(name: str, hierarchy_problems: Callable[..., list[str]]) -> None:
    chunks = Chunks(3, SETTINGS[name])
    chunks.integrate(30)
    cam = chunks.integrate(0, leaving=30)
    assert not any(len(level.nodes) for level in cam.levels)
    assert hierarchy_problems(chunks.integrate(12), chunks.settings) == []


def test_ids_of_a_level_that_was_gone_are_not_given_out_again() -> None:
    """A node's number names its cluster for ever, in ids that were shown to others too."""
    chunks = Chunks(4, LIVELY)
    before = chunks.integrate(60)
    used = {(depth, number) for depth, level in enumerate(before.levels) for number in level.nodes.tolist()}
    assert len(before.levels) >= 3
    assert not any(len(level.nodes) for level in chunks.integrate(0, leaving=60).levels)
    after = chunks.integrate(60)
    now = {(depth, number) for depth, level in enumerate(after.levels) for number in level.nodes.tolist()}
    assert not now & used


def test_the_same_input_gives_the_same_hierarchy() -> None:
    results = []
    for _ in range(2):
        chunks = Chunks(5, LIVELY)
        for count, leaving in ((30, 0), (10, 3), (1, 0), (0, 5)):
            chunks.integrate(count, leaving)
        results.append(rows(chunks.cam))
    assert results[0] == results[1]


def test_it_goes_on_from_rows_as_from_memory() -> None:
    one, other = Chunks(6, LIVELY), Chunks(6, LIVELY)
    for chunks in (one, other):
        chunks.integrate(40)
    other.cam = Cam(tuple(map(from_rows, rows(other.cam))))
    for count, leaving in ((10, 0), (3, 4)):
        assert rows(one.integrate(count, leaving)) == rows(other.integrate(count, leaving))


def test_the_edges_are_those_of_equation_2(edges: Any) -> None:
    """Every new chunk draws its k best of all, old ones none; s = alpha cos + (1 - alpha) exp(-(i-j)^2 / 2 sigma^2)."""
    settings = LIVELY.model_copy(update={"max_levels": 0})
    chunks = Chunks(7, settings)
    chunks.integrate(25)
    before = edges(chunks.cam.levels[0])
    old = set(chunks.held)
    after = edges(chunks.integrate(10).levels[0])
    assert before.items() <= after.items()

    def score(a: int, b: int) -> float:
        (x, i, of_a), (y, j, of_b) = chunks.held[a], chunks.held[b]
        near = torch.tensor(-((i - j) ** 2) / (2 * settings.sigma**2), dtype=torch.float64).exp() * (of_a == of_b)
        return float(settings.alpha * torch.dot(x.double(), y.double()) + (1 - settings.alpha) * near)

    wanted = {}
    for a in sorted(set(chunks.held) - old):
        ranked = sorted((-score(a, b), b) for b in chunks.held if b != a)
        for minus, b in ranked[: settings.neighbours]:
            if -minus > settings.gamma:
                wanted[a, b] = wanted[b, a] = -minus
    new = {edge: weight for edge, weight in after.items() if edge not in before}
    assert new.keys() == wanted.keys()
    assert all(weight == pytest.approx(wanted[edge], abs=1e-5) for edge, weight in new.items())


def test_a_batch_touches_only_what_it_concerns() -> None:
    """Two topics that share nothing: what comes to one leaves the other's personas and clusters as they were."""
    settings = LIVELY.model_copy(update={"alpha": 1.0})
    chunks = Chunks(8, settings)
    here, there = torch.eye(24)[0], torch.eye(24)[12]

    def about(topic: torch.Tensor, n: int) -> list[tuple[torch.Tensor, int, int]]:
        noise = torch.randn(n, 24, generator=chunks.random) * 0.2
        mask = torch.zeros(24)
        mask[(slice(12, 24) if topic[12] else slice(0, 12))] = 1.0
        return [(F.normalize(topic + row * mask, dim=0), 0, 0) for row in noise]

    chunks.put(about(here, 20) + about(there, 20), [])
    first = sorted(chunks.held)[:20]
    before = chunks.cam
    level = before.levels[0]
    of_first = {
        int(i) for i, row in zip(level.split.ids, level.split.owner, strict=True) if int(level.nodes[row]) in first
    }
    clusters = {n for n, own in before.members()[0].items() if set(own) <= set(first)}
    assert clusters
    chunks.put(about(there, 6), sorted(chunks.held)[25:27])
    old, new = labels_of(before), labels_of(chunks.cam)
    assert {i: old[i] for i in of_first} == {i: new[i] for i in of_first}
    members = chunks.cam.members()[0]
    assert {n: members[n] for n in clusters} == {n: before.members()[0][n] for n in clusters}


def test_existing_personas_start_from_their_labels() -> None:
    """Labels are kept where nothing outweighs them: most clusters survive a batch under their number."""
    chunks = Chunks(9, LIVELY)
    chunks.integrate(80)
    old = set(chunks.cam.levels[1].nodes.tolist())
    chunks.integrate(4)
    assert len(old & set(chunks.cam.levels[1].nodes.tolist())) >= 0.6 * len(old)


def test_members_are_those_of_the_level_below() -> None:
    chunks = Chunks(10, LIVELY)
    cam = chunks.integrate(60)
    members = cam.members()
    assert len(members) == len(cam.levels) - 1 >= 2
    for below, above, own in zip(cam.levels, cam.levels[1:], members, strict=False):
        assert list(own) == above.nodes.tolist()
        assert own == clusters_of(below, LIVELY.min_members).members(below)
        assert all(len(numbers) >= LIVELY.min_members for numbers in own.values())


def test_without_flexibility_each_chunk_is_in_at_most_one_cluster() -> None:
    for overlapping in (True, False):
        settings = LIVELY.model_copy(update={"overlapping": overlapping})
        cam = Chunks(11, settings).integrate(80)
        belongs = [number for own in cam.members()[0].values() for number in own]
        assert (len(belongs) == len(set(belongs))) == (not overlapping)


@pytest.mark.parametrize("vectors", ["equal", "zero", "opposite"])
def test_odd_vectors(vectors: str, hierarchy_problems: Callable[..., list[str]]) -> None:
    chunks = Chunks(12, LIVELY)
    one = torch.eye(24)[0]
    made = {"equal": lambda _: one, "zero": lambda _: one * 0, "opposite": lambda i: one * (-1) ** i}[vectors]
    for batch in range(3):
        new = [(made(i), 100 * batch + i, 0) for i in range(20)]
        assert hierarchy_problems(chunks.put(new, []), LIVELY) == []
