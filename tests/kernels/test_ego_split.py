"""`ego_split` and `update_split` against NetworkX and against their rules written out node by node."""

from __future__ import annotations

import random
from typing import Any

import networkx as nx
import pytest
import torch
from torch import Tensor

from nscma_kernels import PersonaGraph, ego_split, update_split
from tests.helpers.partitions import smallest_neighbours

LFR_SEEDS = (10, 11, 16)  # of graphs that the generator finds at once


FIXED = {"ring lattice", "ring of cliques", "clique", "star", "wheel", "path", "bipartite", "isolated nodes", "nothing"}


def edges(pairs: Any) -> Tensor:
    return torch.tensor([*pairs], dtype=torch.int64).reshape(-1, 2).T


def graphs(seed: int) -> list[tuple[str, nx.Graph]]:
    """Random and regular graphs of all the shapes that matter: dense, sparse, hubs, no triangles, nothing at all."""
    lfr = nx.LFR_benchmark_graph(250, 3, 1.5, 0.1, average_degree=6, min_community=20, seed=LFR_SEEDS[seed])
    lfr.remove_edges_from([*nx.selfloop_edges(lfr)])
    apart = nx.disjoint_union_all([nx.gnp_random_graph(20, 0.3, seed=seed), nx.path_graph(5), nx.complete_graph(6)])
    hub = nx.star_graph(300)
    hub.add_edges_from((i, i + 1) for i in range(1, 250))
    return [
        ("SBM", nx.planted_partition_graph(5, 30, 0.4, 0.02, seed=seed)),
        ("ring lattice", nx.watts_strogatz_graph(200, 12, 0.0, seed=seed)),
        ("small world", nx.watts_strogatz_graph(200, 10, 0.2, seed=seed)),
        ("preferential attachment", nx.barabasi_albert_graph(300, 4, seed=seed)),
        ("power law with clusters", nx.powerlaw_cluster_graph(300, 4, 0.7, seed=seed)),
        ("LFR", lfr),
        ("ring of cliques", nx.ring_of_cliques(12, 7)),
        ("clique", nx.complete_graph(40)),
        ("star", nx.star_graph(200)),
        ("wheel", hub),
        ("path", nx.path_graph(60)),
        ("bipartite", nx.complete_bipartite_graph(20, 30)),
        ("isolated nodes", nx.empty_graph(7)),
        ("nothing", nx.empty_graph(0)),
        ("disconnected", apart),
        ("random", nx.gnp_random_graph(120, 0.15, seed=seed)),
    ]


def components(graph: nx.Graph, node: int) -> list[list[int]]:
    """NetworkX's persona step: the components of the ego-net without the ego."""
    return sorted(sorted(c) for c in nx.connected_components(graph.subgraph(graph.neighbors(node))))


def anchors(graph: nx.Graph) -> list[int]:
    found = {(u, v): c[0] for u in graph for c in components(graph, u) for v in c}
    return [found[slot] for slot in sorted(found)]


def personas(split: PersonaGraph) -> dict[int, tuple[int, list[int]]]:
    """Node and neighbours of each persona."""
    out: dict[int, tuple[int, list[int]]] = {
        p: (u, []) for p, u in zip(split.ids.tolist(), split.owner.tolist(), strict=True)
    }
    for u, v, p in zip(*split.edge_index.tolist(), split.persona.tolist(), strict=True):
        assert out[p][0] == u
        out[p][1].append(v)
    return out


def neighbourhoods(split: PersonaGraph) -> dict[int, set[int]]:
    """Ids around each persona in the persona graph."""
    around: dict[int, set[int]] = {p: set() for p in split.ids.tolist()}
    for p, q in split.ids[split.persona_edge_index].T.tolist():
        assert q not in around[p]
        around[p].add(q)
    return around


def check(split: PersonaGraph, graph: nx.Graph) -> None:
    """The partition is NetworkX's and the fields fit together."""
    slots = sorted([*graph.edges(), *((v, u) for u, v in graph.edges())])
    assert split.edge_index.T.tolist() == [[*slot] for slot in slots]
    assert smallest_neighbours(split) == anchors(graph)
    assert split.num_nodes == len(graph)
    assert split.ids.tolist() == sorted(set(split.ids.tolist()))
    assert len(split.ids) == 0 or split.next_id > int(split.ids[-1])
    held = personas(split)
    assert sum(max(1, len(components(graph, u))) for u in graph) == len(held)
    assert {u for u, _ in held.values()} == set(graph)
    persona = split.ids[split.persona_edge_index]
    assert torch.equal(persona[0], split.persona)
    for (u, v), q in zip(split.edge_index.T.tolist(), persona[1].tolist(), strict=True):
        assert held[q][0] == v
        assert u in held[q][1]


def expected(split: PersonaGraph, graph: nx.Graph) -> tuple[dict[int, tuple[int, list[int]]], int]:
    """The identity rule of `update_split`, applied to every node in turn."""
    before: dict[int, list[tuple[int, list[int]]]] = {u: [] for u in graph}
    for p, (u, held) in sorted(personas(split).items()):
        before[u].append((p, held))
    out, next_id = {}, split.next_id
    for u in sorted(graph):
        parts = components(graph, u) or [[]]
        offers: dict[int, list[int]] = {i: [] for i in range(len(parts))}
        survivors = [(p, [v for v in held if graph.has_edge(u, v)]) for p, held in before[u]]
        if not any(held for _, held in survivors):
            survivors = [(p, parts[0]) for p, _ in before[u][:1]]
        for p, held in survivors:
            if held:
                offers[next(i for i, part in enumerate(parts) if held[0] in part)].append(p)
            elif parts == [[]]:
                offers[0].append(p)
        for i, part in enumerate(parts):
            name = min(offers[i], default=next_id)
            next_id += name == next_id
            out[name] = (u, part)
    return out, next_id


def edit(split: PersonaGraph, graph: nx.Graph, rng: random.Random, most: int) -> tuple[PersonaGraph, int]:
    """One random batch of insertions, deletions and new nodes, checked against a recompute and against the rules."""
    n = len(graph) + (rng.random() < 0.2)
    there = [*graph.edges()]
    delete = rng.sample(there, min(len(there), rng.randint(0, most)))
    insert = set()
    for _ in range(rng.randint(0 if delete else 1, most)):
        u = rng.randrange(n)
        near = [w for v in graph.adj.get(u, ()) for w in graph.adj[v]] or [rng.randrange(n)]
        v = rng.choice(near) if rng.random() < 0.7 else rng.randrange(n)
        if u != v and (u, v) not in delete and (v, u) not in delete:
            insert.add((u, v))
    graph.add_nodes_from(range(n))
    graph.remove_edges_from(delete)
    graph.add_edges_from(insert)
    after, changed = update_split(split, edges(insert), edges(delete), n)
    assert torch.equal(after.edge_index, ego_split(edges(graph.edges()), n).edge_index)
    assert smallest_neighbours(after) == smallest_neighbours(ego_split(edges(graph.edges()), n))
    assert (personas(after), after.next_id) == expected(split, graph)
    old, new = neighbourhoods(split), neighbourhoods(after)
    assert after.ids[changed].tolist() == [p for p in sorted(new) if old.get(p) != new[p]]
    return after, len(insert) + len(delete)


def edits(count: int, seed: int, checked: int = 10) -> int:
    rng = random.Random(seed)
    done = 0
    starts = [
        nx.powerlaw_cluster_graph(60, 4, 0.6, seed=seed),
        nx.watts_strogatz_graph(50, 8, 0.1, seed=seed),
        nx.empty_graph(9),
    ]
    for graph in starts:
        split = ego_split(edges(graph.edges()), len(graph), first_id=rng.randint(0, 5))
        here, step = 0, 0
        while here < count / len(starts):
            split, some = edit(split, graph, rng, 1 if step % 2 else 12)
            here, step = here + some, step + 1
            if step % checked == 0:
                check(split, graph)
        done += here
    return done


def test_partitions_are_those_of_networkx() -> None:
    for _, graph in graphs(0):
        check(ego_split(edges(graph.edges()), len(graph)), graph)


def test_updates_equal_a_recompute_and_keep_the_rules() -> None:
    assert edits(150, seed=0) >= 150


@pytest.mark.prove
def test_all_partitions_are_those_of_networkx() -> None:
    drawn, fixed = 0, 0
    for seed in range(len(LFR_SEEDS)):
        for name, graph in graphs(seed):
            if seed == 0 or name not in FIXED:
                check(ego_split(edges(graph.edges()), len(graph)), graph)
                drawn, fixed = drawn + (name not in FIXED), fixed + (name in FIXED)
    print(f"\nego_split: partitions identical to NetworkX's on {drawn} random and {fixed} regular graphs")


@pytest.mark.prove
def test_a_thousand_edits_equal_a_recompute() -> None:
    done = edits(1200, seed=1)
    assert done >= 1000
    print(f"\nupdate_split: bit-equal to a full recompute, identity rule kept, over {done} random edge edits")


def test_inserting_all_edges_equals_one_split() -> None:
    graph = nx.powerlaw_cluster_graph(200, 5, 0.5, seed=3)
    split, changed = update_split(ego_split(edges([]), 200), insert=edges(graph.edges()))
    check(split, graph)
    assert len(changed) == len(split.ids)
    check(update_split(split, delete=edges(graph.edges()))[0], nx.empty_graph(200))


def test_a_merge_keeps_the_smallest_id() -> None:
    split = ego_split(edges([(0, 1), (0, 2), (0, 3)]))
    assert personas(split) == {0: (0, [1]), 1: (0, [2]), 2: (0, [3]), 3: (1, [0]), 4: (2, [0]), 5: (3, [0])}
    split, changed = update_split(split, insert=edges([(3, 2)]))
    assert personas(split) == {0: (0, [1]), 1: (0, [2, 3]), 3: (1, [0]), 4: (2, [0, 3]), 5: (3, [0, 2])}
    assert split.ids[changed].tolist() == [1, 4, 5]
    split, _ = update_split(split, insert=edges([(1, 2)]))
    assert personas(split)[0] == (0, [1, 2, 3])
    assert split.next_id == 6


def test_a_split_leaves_the_id_with_the_smallest_neighbour() -> None:
    split = ego_split(edges([(0, 1), (0, 2), (0, 3), (1, 2), (2, 3)]))
    assert personas(split)[0] == (0, [1, 2, 3])
    split, changed = update_split(split, delete=edges([(2, 1)]))
    assert personas(split) == {0: (0, [1]), 1: (1, [0]), 2: (2, [0, 3]), 3: (3, [0, 2]), 4: (0, [2, 3])}
    assert split.ids[changed].tolist() == [0, 1, 2, 3, 4]
    split, _ = update_split(split, insert=edges([(1, 2)]))
    assert personas(split)[0] == (0, [1, 2, 3])
    assert 4 not in split.ids
    assert split.next_id == 5


def test_an_isolated_node_keeps_its_smallest_id_and_hands_it_on() -> None:
    split = ego_split(edges([(0, 1), (0, 2)]), 4)
    assert personas(split) == {0: (0, [1]), 1: (0, [2]), 2: (1, [0]), 3: (2, [0]), 4: (3, [])}
    alone, changed = update_split(split, delete=edges([(0, 1), (0, 2)]))
    assert personas(alone) == {0: (0, []), 2: (1, []), 3: (2, []), 4: (3, [])}
    assert alone.ids[changed].tolist() == [0, 2, 3]
    back, _ = update_split(alone, insert=edges([(0, 3), (0, 2)]))
    assert personas(back) == {0: (0, [2]), 2: (1, []), 3: (2, [0]), 4: (3, [0]), 5: (0, [3])}
    at_once, _ = update_split(split, insert=edges([(0, 3)]), delete=edges([(0, 1), (0, 2)]))
    assert personas(at_once) == {0: (0, [3]), 2: (1, []), 3: (2, []), 4: (3, [0])}


def test_new_nodes_are_isolated_until_edges_come() -> None:
    split, changed = update_split(ego_split(edges([(0, 1)]), first_id=7), insert=edges([(1, 3)]), num_nodes=5)
    assert personas(split) == {7: (0, [1]), 8: (1, [0]), 9: (1, [3]), 10: (2, []), 11: (3, [1]), 12: (4, [])}
    assert split.ids[changed].tolist() == [9, 10, 11, 12]


def test_edits_that_change_nothing() -> None:
    split = ego_split(edges([(0, 1), (1, 2), (0, 2)]), 5)
    same, changed = update_split(split, insert=edges([(1, 0), (3, 3)]), delete=edges([(3, 4)]))
    assert len(changed) == 0
    assert personas(same) == personas(split)
    assert same.next_id == split.next_id


def test_form_of_the_edges_does_not_matter() -> None:
    graph = nx.powerlaw_cluster_graph(80, 4, 0.5, seed=1)
    once = edges(graph.edges())
    both = torch.cat([once, once.flip(0)], dim=1)
    shuffled = both[:, torch.randperm(both.shape[1], generator=torch.Generator().manual_seed(0))]
    loops = torch.arange(80).expand(2, 80)
    splits = [ego_split(form) for form in (once, shuffled, torch.cat([both, once, loops], dim=1), shuffled.int())]
    splits.append(ego_split(splits[0].edge_index))
    for split in splits:
        assert torch.equal(split.edge_index, splits[0].edge_index)
        assert torch.equal(split.persona, splits[0].persona)


def test_half_a_graph_in_order_is_completed() -> None:
    assert ego_split(edges([(0, 1), (0, 2), (1, 2), (2, 1)])).edge_index.shape[1] == 6


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")
def test_a_batch_equals_its_graphs_one_by_one() -> None:
    from torch_geometric.data import Batch, Data

    alone = [graph for _, graph in graphs(2) if 0 < len(graph) < 200]
    data = [Data(edge_index=edges([*g.edges(), *((v, u) for u, v in g.edges())]), num_nodes=len(g)) for g in alone]
    batch = Batch.from_data_list(data)
    whole = ego_split(batch)
    first_node = first_slot = first_id = 0
    for graph in alone:
        one = ego_split(edges(graph.edges()), len(graph), first_id=first_id)
        here = slice(first_slot, first_slot + one.edge_index.shape[1])
        assert torch.equal(whole.edge_index[:, here], one.edge_index + first_node)
        assert torch.equal(whole.persona[here], one.persona)
        assert torch.equal(
            ego_split(Data(edge_index=edges(graph.edges()), num_nodes=len(graph)), first_id=first_id).persona,
            one.persona,
        )
        first_node, first_slot, first_id = first_node + len(graph), here.stop, one.next_id
    assert whole.next_id == first_id
    assert torch.equal(ego_split(batch.edge_index, batch=batch.batch).persona, whole.persona)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: ego_split(torch.ones(3, 4, dtype=torch.int64)), ValueError),
        (lambda: ego_split(torch.ones(2, 4)), ValueError),
        (lambda: ego_split(edges([(0, 5)]), 5), ValueError),
        (lambda: ego_split(edges([(0, 5), (5, 0)]), 5), ValueError),
        (lambda: ego_split(edges([(0, -1)])), ValueError),
        (lambda: ego_split([[0], [1]]), TypeError),
        (lambda: ego_split(edges([(0, 1)]), first_id=-1), ValueError),
        (lambda: ego_split(edges([(0, 1)]), batch=torch.tensor([0, 1])), ValueError),
        (lambda: ego_split(edges([(0, 1)]), 3, batch=torch.tensor([0, 0])), ValueError),
        (lambda: ego_split(edges([(0, 1)]), impl="cuda"), ValueError),  # type: ignore[arg-type]
        (lambda: update_split(ego_split(edges([(0, 1)])), num_nodes=1), ValueError),
        (lambda: update_split(ego_split(edges([(0, 1)])), insert=edges([(0, 2)])), ValueError),
        (lambda: update_split(ego_split(edges([(0, 1)])), delete=edges([(0, -1)])), ValueError),
        (lambda: update_split(ego_split(edges([(0, 1)])), insert=torch.ones(2, 1)), ValueError),
        (lambda: update_split(ego_split(edges([(0, 1)])), edges([(0, 1)]), edges([(1, 0)])), ValueError),
    ],
)
def test_bad_input_is_refused(call: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"must be|outside|joins|both"):
        call()
