"""A network under edits: what stays keeps id and label, and its personas are always those of a fresh split."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import pytest
import torch

from nscma_kernels import ego_split
from nscma_torch.core.config import HierarchyConfig
from nscma_torch.hierarchy.level import Level
from nscma_torch.hierarchy.level_rows import from_rows, to_rows
from nscma_torch.hierarchy.split_clusters import accommodated
from tests.helpers.partitions import smallest_neighbours

SETTINGS = HierarchyConfig(max_members=6)
WHOLE = HierarchyConfig(max_members=6, overlapping=False)
SEEDS = [*range(3), *(pytest.param(seed, marks=pytest.mark.prove) for seed in range(3, 40))]


def same(one: Level, other: Level) -> bool:
    tensors = all(torch.equal(getattr(one, f.name), getattr(other, f.name)) for f in fields(Level) if f.name != "split")
    a, b = one.split, other.split
    split = all(torch.equal(getattr(a, name), getattr(b, name)) for name in ("edge_index", "persona", "ids", "owner"))
    return tensors and split and (a.num_nodes, a.next_id) == (b.num_nodes, b.next_id)


def labels_of(level: Level) -> dict[int, int]:
    return dict(zip(level.split.ids.tolist(), level.labels.tolist(), strict=True))


def edited(level: Level, edit: Any) -> Level:
    return level.edited(edit, overlapping=True)[0]


@pytest.mark.parametrize("settings", [SETTINGS, WHOLE], ids=["overlapping", "whole"])
@pytest.mark.parametrize("seed", SEEDS)
def test_random_edits(seed: int, settings: HierarchyConfig, twin: Any, level_problems: Any, edges: Any) -> None:
    held = twin(seed, settings)
    for _ in range(25):
        before, edit = held.level, held.random_edit()
        as_it_was = to_rows(before)
        after, frontier = before.edited(edit, overlapping=settings.overlapping)
        assert to_rows(before) == as_it_was, "an edit changes nothing in place"
        assert level_problems(after, settings, clustered=False) == []
        assert set(after.nodes.tolist()) == held.numbers
        assert edges(after) == held.both_ways()
        assert after.next_id >= before.next_id, "ids are never given out twice"
        if settings.overlapping:
            fresh = ego_split(after.split.edge_index, len(after.nodes))
            assert smallest_neighbours(after.split) == smallest_neighbours(fresh)
            assert len(after.split.ids) == len(fresh.ids)
        old, new = labels_of(before), labels_of(after)
        assert all(new[persona] == old[persona] for persona in old.keys() & new.keys()), (
            "a persona that stays keeps its label"
        )
        assert all(label == persona for persona, label in new.items() if persona not in old), (
            "a new one founds a cluster"
        )
        assert all(persona >= before.next_id for persona in new.keys() - old.keys())
        settled = after.settled(frontier)
        everybody = torch.arange(len(settled.split.ids))
        assert torch.equal(settled.settled(everybody).labels, settled.labels), "the frontier has missed somebody"
        held.level = accommodated(settled, settings.max_members)
        assert level_problems(held.level, settings) == []
        assert same(from_rows(to_rows(held.level)), held.level)


@pytest.mark.parametrize("seed", range(3))
def test_the_edges_order_and_direction_do_not_matter(seed: int, twin: Any) -> None:
    one, other = twin(seed, SETTINGS), twin(seed, SETTINGS)
    generator = torch.Generator().manual_seed(seed)
    for _ in range(12):
        edit = one.random_edit()
        other.random_edit()
        mixed = torch.randperm(edit.edges.shape[1], generator=generator)
        leaving = torch.randperm(edit.gone.shape[1], generator=generator)
        shuffled = replace(
            edit,
            edges=torch.cat([edit.edges[:, mixed], edit.edges.flip(0)], dim=1),  # some twice, in both directions
            weight=torch.cat([edit.weight[mixed], edit.weight]),
            gone=edit.gone[:, leaving].flip(0),
        )
        for held, change in ((one, edit), (other, shuffled)):
            level, frontier = held.level.edited(change, overlapping=True)
            held.level = accommodated(level.settled(frontier), 6)
        assert same(one.level, other.level)


def test_what_is_far_from_an_edit_keeps_everything(edit_of: Any, parts: Any) -> None:
    triangle = {(0, 1): 0.5, (1, 2): 0.5, (0, 2): 0.5}
    pair = {(10, 11): 0.9}
    level, frontier = Level.empty().edited(edit_of([0, 1, 2, 10, 11], [], triangle | pair), overlapping=True)
    level = level.settled(frontier)
    of_triangle = {i: label for i, label in labels_of(level).items() if level.split.owner[level.split.ids == i] < 3}
    after, frontier = level.edited(edit_of([12], [10], {(11, 12): 0.4}), overlapping=True)
    after = after.settled(frontier)
    assert of_triangle.items() <= labels_of(after).items()
    assert {number: parts(after)[number] for number in (0, 1, 2)} == {
        0: {frozenset({1, 2})}, 1: {frozenset({0, 2})}, 2: {frozenset({0, 1})}
    }  # fmt: skip


def persona_at(level: Level, number: int, neighbour: int) -> int:
    """The persona of a node that holds this neighbour."""
    row, col = level.rows(torch.tensor([number, neighbour])).tolist()
    here = (level.split.edge_index[0] == row) & (level.split.edge_index[1] == col)
    return int(level.split.persona[here])


def test_identity_survives_splits_and_merges(edit_of: Any) -> None:
    """DESIGN section 5: on merge the smallest survives, on split the part with the smallest neighbour keeps it."""
    star = {(0, leaf): 0.5 for leaf in (1, 2, 3, 4)}
    level = edited(Level.empty(), edit_of([0, 1, 2, 3, 4], [], star))
    faces = {leaf: persona_at(level, 0, leaf) for leaf in (1, 2, 3, 4)}
    assert len(set(faces.values())) == 4, "no two leaves know each other"
    joined = edited(level, edit_of(edges={(2, 4): 0.5}))
    assert persona_at(joined, 0, 2) == persona_at(joined, 0, 4) == min(faces[2], faces[4])
    assert {leaf: persona_at(joined, 0, leaf) for leaf in (1, 3)} == {leaf: faces[leaf] for leaf in (1, 3)}
    apart = edited(joined, edit_of(gone=[(2, 4)]))
    assert persona_at(apart, 0, 2) == min(faces[2], faces[4]), "the part with the smallest neighbour"
    assert persona_at(apart, 0, 4) >= joined.next_id, "the other one is new; the retired id never returns"


def test_an_isolated_node_has_one_persona_and_keeps_it(edit_of: Any) -> None:
    level = edited(Level.empty(), edit_of([0, 1, 2]))
    ids = level.split.ids.tolist()
    assert ids == [0, 1, 2] and labels_of(level) == {0: 0, 1: 1, 2: 2}
    level = edited(level, edit_of(edges={(0, 1): 0.5, (0, 2): 0.5}))
    assert level.split.owner.tolist().count(0) == 2
    smallest = int(level.split.ids[level.split.owner == 0].min())
    level = edited(level, edit_of(gone=[(0, 1), (0, 2)]))
    assert sorted(level.split.owner.tolist()) == [0, 1, 2]
    assert int(level.split.ids[level.split.owner == 0]) == smallest


def test_a_weight_that_changes_moves_the_border(edit_of: Any) -> None:
    """Between two pairs stands a node that belongs where its edge is heavier."""
    triangles = {(0, 1): 0.9, (0, 2): 0.9, (1, 2): 0.9, (2, 3): 0.8, (3, 4): 0.9, (3, 5): 0.9, (4, 5): 0.9, (2, 4): 0.1}
    level, frontier = Level.empty().edited(edit_of(range(6), [], triangles), overlapping=False)
    level = level.settled(frontier)
    assert level.labels[2] == level.labels[0] != level.labels[3]
    heavier, frontier = level.edited(edit_of(edges={(2, 3): 1.0, (4, 2): 1.0}), overlapping=False)
    assert set(frontier.tolist()) == {2, 3, 4}
    assert heavier.settled(frontier).labels[2] == heavier.labels[3]
    unchanged, frontier = level.edited(edit_of(edges={(3, 2): 0.8}), overlapping=False)
    assert len(frontier) == 0 and same(unchanged, level)


def test_a_cut_stays_until_its_edge_goes(edit_of: Any, edges: Any) -> None:
    clique = {(a, b): 0.5 + a / 100 for a in range(8) for b in range(a + 1, 8)}
    level, frontier = Level.empty().edited(edit_of(range(8), [], clique), overlapping=True)
    level = accommodated(level.settled(frontier), 4)
    cut = {edge for edge, is_cut in zip(edges(level), level.cut.tolist(), strict=True) if is_cut}
    assert cut
    one = min(cut)
    for edit, still in (
        (edit_of(edges={one: 0.9}), True),
        (edit_of(gone=[one]), False),
        (edit_of(edges={one: 0.9}), False),
    ):
        level = edited(level, edit)
        now = {edge for edge, is_cut in zip(edges(level), level.cut.tolist(), strict=True) if is_cut}
        assert (one in now, one[::-1] in now) == (still, still)
        assert cut - {one, one[::-1]} <= now


def test_a_level_may_lose_all_its_nodes(edit_of: Any) -> None:
    level = edited(Level.empty(), edit_of([0, 1, 2], [], {(0, 1): 0.5, (1, 2): 0.5}))
    empty, frontier = level.edited(edit_of(removed=[0, 1, 2]), overlapping=True)
    assert len(empty.nodes) == len(empty.split.ids) == len(empty.labels) == empty.split.edge_index.shape[1] == 0
    assert len(frontier) == 0
    assert empty.next_id >= level.next_id
    assert same(from_rows(to_rows(empty)), empty)
    again = edited(empty, edit_of([level.next_id]))
    assert again.split.ids.tolist() == [empty.next_id]


def test_rows_hold_each_edge_once(twin: Callable[..., Any]) -> None:
    held = twin(5, SETTINGS)
    for _ in range(8):
        held.level = edited(held.level, held.random_edit())
    rows = to_rows(held.level)
    assert {(a, b): w for a, b, w, *_ in rows.links} == held.edges
    assert rows.nodes == held.numbers
    owner = {persona: node for persona, node, _ in rows.personas}
    assert all(owner[pa] == a and owner[pb] == b for a, b, _, pa, pb, _ in rows.links)
