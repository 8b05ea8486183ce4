"""Networks clustered together come out as each does alone: number for number, weight for weight."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from nscma_torch.core.config import HierarchyConfig
from nscma_torch.hierarchy.cam import Cam, Change, assimilate
from nscma_torch.hierarchy.level import NUMBER_BITS, Edit, Level
from nscma_torch.hierarchy.level_rows import from_rows, to_rows
from nscma_torch.hierarchy.side_by_side import apart, joined
from nscma_torch.hierarchy.split_clusters import accommodated

LIVELY = HierarchyConfig(neighbours=4, gamma=0.3, max_members=5, min_members=2, links=3)
KINDS = {
    "lively": LIVELY,
    "whole": LIVELY.model_copy(update={"overlapping": False}),
    "as the paper": LIVELY.model_copy(update={"propagation": "majority", "propagation_rounds": 2}),
    "one level": LIVELY.model_copy(update={"max_levels": 1}),
    "no levels": LIVELY.model_copy(update={"max_levels": 0}),
}


def same(one: Level, other: Level) -> bool:
    """Bit for bit, types included, and both sound as a level of one network."""
    split = ("edge_index", "persona", "ids", "owner", "persona_edge_index")
    pairs = [(getattr(one, name), getattr(other, name)) for name in ("nodes", "weight", "cut", "labels", "next_ids")]
    pairs += [(getattr(one.split, name), getattr(other.split, name)) for name in split]
    return all(a.dtype == b.dtype and torch.equal(a, b) for a, b in pairs) and (
        (one.split.num_nodes, one.split.next_id) == (other.split.num_nodes, other.split.next_id)
    )


def side_by_side(edits: list[Edit]) -> Edit:
    """The edit that makes all of these, each of the network in its place."""

    def together(name: str) -> Tensor:
        shift = 0 if name == "weight" else 1 << NUMBER_BITS
        return torch.cat([getattr(edit, name) + i * shift for i, edit in enumerate(edits)], dim=-1)

    return Edit(*(together(name) for name in ("added", "removed", "edges", "weight", "gone")))


class Subjects:
    """A hierarchy whose chunks come and go at random; with `topics`, its network falls into components."""

    def __init__(self, seed: int, most: int, topics: int) -> None:
        self.rng, self.random = random.Random(seed), torch.Generator().manual_seed(seed)
        self.most, self.topics = most, torch.eye(8)[:topics]
        self.rows: list[tuple[Tensor, int, int]] = []
        self.said = 0

    def change(self, cam: Cam) -> Change:
        numbers = cam.levels[0].nodes.tolist() if cam.levels else []
        leaving = sorted(self.rng.sample(range(len(numbers)), self.rng.choice((0, 0, len(numbers) // 3, len(numbers)))))
        coming = self.rng.choice((0, 1, self.most // 2, self.most))
        self.rows = [row for i, row in enumerate(self.rows) if i not in leaving]
        for _ in range(coming):
            topic = self.topics[self.rng.randrange(len(self.topics))]
            self.said += 1
            vector = topic + 0.2 * torch.randn(8, generator=self.random) if self.rng.random() < 0.9 else topic
            self.rows.append((vector, self.said, self.rng.randrange(2)))
        return Change(
            cam,
            torch.tensor([numbers[i] for i in leaving], dtype=torch.int64),
            torch.stack([vector for vector, _, _ in self.rows]) if self.rows else torch.empty(0, 1),
            torch.tensor([position for _, position, _ in self.rows], dtype=torch.int64),
            torch.tensor([stream for _, _, stream in self.rows], dtype=torch.int64),
        )


@settings(max_examples=8, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from((0, 1, 2, 9, 25)), st.integers(1, 4)), min_size=1, max_size=7),
    st.sampled_from(sorted(KINDS)),
    st.integers(0, 2**20),
)
def test_hierarchies_together_are_as_each_alone(sizes: list[tuple[int, int]], kind: str, seed: int) -> None:
    """Empty ones, single chunks, several components; batches and deletions on what earlier ones left."""
    subjects = [Subjects(seed + i, most, topics) for i, (most, topics) in enumerate(sizes)]
    cams = [Cam() for _ in subjects]
    for _ in range(3):
        changes = [own.change(cam) for own, cam in zip(subjects, cams, strict=True)]
        together = assimilate(changes, KINDS[kind])
        for change, cam in zip(changes, together, strict=True):
            (alone,) = assimilate([change], KINDS[kind])
            assert len(cam.levels) == len(alone.levels)
            assert all(same(a, b) for a, b in zip(cam.levels, alone.levels, strict=True))
        cams = together


@pytest.mark.parametrize("overlapping", [True, False])
@pytest.mark.parametrize("seed", range(2))
def test_edits_together_are_as_each_alone(seed: int, overlapping: bool, twin: Any) -> None:
    """Edits that nothing but a test makes: edges that go, weights that change, nodes that leave in the middle."""
    held = [twin(100 * seed + i, LIVELY) for i in range(6)]
    for _ in range(8):
        levels, edits = [one.level for one in held], [one.random_edit() for one in held]
        after, frontier = joined(levels).edited(side_by_side(edits), overlapping=overlapping)
        together = apart(accommodated(after.settled(frontier), 5))
        for one, level, edit, batched in zip(held, levels, edits, together, strict=True):
            after, frontier = level.edited(edit, overlapping=overlapping)
            alone = accommodated(after.settled(frontier), 5)
            assert same(batched, alone)
            one.level = alone


def test_joined_and_apart_again(twin: Callable[..., Any]) -> None:
    levels = [Level.empty()]
    for seed in range(4):
        held = twin(seed, LIVELY)
        for _ in range(3 * seed):
            held.level = held.level.edited(held.random_edit(), overlapping=True)[0]
        levels.append(held.level)
    levels.append(Level.empty(next_id=7))
    assert all(same(one, other) for one, other in zip(apart(joined(levels)), levels, strict=True))


def test_a_network_without_an_edit_is_left_alone(edit_of: Any) -> None:
    """Its clusters are not even bounded anew, as they are not where it is alone: its levels are the same objects."""
    clique = {(a, b): 0.5 for a in range(6) for b in range(a + 1, 6)}
    level, frontier = Level.empty().edited(edit_of(range(6), [], clique), overlapping=True)
    level = level.settled(frontier)
    vectors = torch.ones(6, 2)
    none, zeros = torch.empty(0, dtype=torch.int64), torch.zeros(6, dtype=torch.int64)
    unchanged = Change(Cam((level,)), none, vectors, zeros, zeros)
    coming = Change(Cam(), none, vectors, torch.arange(6), zeros)
    narrow = LIVELY.model_copy(update={"max_members": 3})
    first, second = assimilate([unchanged, coming], narrow)
    assert first.levels[0] is level
    for change, cam in ((unchanged, first), (coming, second)):
        (alone,) = assimilate([change], narrow)
        assert all(same(a, b) for a, b in zip(cam.levels, alone.levels, strict=True))


def test_a_network_is_pyg_data_and_a_batch_of_several_is_a_level(edit_of: Any) -> None:
    from nscma_torch.hierarchy.pyg_network import Batch, Network, level_of

    pair = from_rows(to_rows(Level.empty(next_id=3).edited(edit_of([3, 5], [], {(3, 5): 0.5}), overlapping=True)[0]))
    one = Network.of(pair)
    assert one.validate() and (one.num_nodes, one.num_edges) == (2, 2) and one.is_undirected()
    batch = Batch.from_data_list([one, one])
    assert batch.edge_index.tolist() == [[0, 1, 2, 3], [1, 0, 3, 2]]
    assert batch.number.tolist() == [3, 5, 3 + (1 << NUMBER_BITS), 5 + (1 << NUMBER_BITS)]
    assert all(same(level, pair) for level in apart(level_of(batch)))
    assert all(same(level_of(each), pair) for each in batch.to_data_list())
