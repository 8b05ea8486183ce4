"""The transforms in PyG's pipelines: against PyG's own propagation, and batches against graphs one by one."""

from __future__ import annotations

import copy
import pickle
import random
from collections.abc import Sequence
from typing import Any

import pytest
import torch
import torch_geometric.transforms as T  # noqa: N812
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Batch, Data, HeteroData
from torch_geometric.loader import DataLoader
from torch_geometric.nn import LabelPropagation as SpreadClasses
from torch_geometric.nn import MessagePassing
from torch_geometric.utils import coalesce, one_hot, sort_edge_index, to_undirected

import nscma_torch
from nscma_kernels import label_propagation
from nscma_torch.integrations.pyg import EgoSplit, LabelPropagation


def random_graph(seed: int, n: int, degree: float) -> Data:
    """A graph as users have them: edges in any order, some in one direction only, some twice, some loops."""
    generator = torch.Generator().manual_seed(seed)
    edges = torch.randint(0, max(n, 1), (2, int(n * degree / 2)), generator=generator)
    if random.Random(seed).random() < 0.5:
        edges = torch.cat([edges, edges.flip(0)], dim=1)
    weight = torch.rand(edges.shape[1], generator=generator)
    x = torch.randn(n, 3, generator=generator)
    return Data(x=x, edge_index=edges, edge_weight=weight, y=torch.tensor([seed]), num_nodes=n)


def same(one: Data, other: Data) -> bool:
    """The same attributes with the same values."""
    names = set(one.keys())  # `keys` in another order after a batch
    if names != set(other.keys()):
        return False
    pairs = [(one[name], other[name]) for name in names]
    return all(torch.equal(a, b) if isinstance(a, Tensor) else a == b for a, b in pairs)


GRAPHS = st.lists(
    st.tuples(st.integers(0, 2**20), st.sampled_from((0, 1, 2, 7, 30)), st.sampled_from((0.0, 1.0, 3.0, 6.0))),
    min_size=1,
    max_size=6,
)
PIPELINES = (EgoSplit(), LabelPropagation(), T.Compose([EgoSplit(), LabelPropagation()]))


@settings(max_examples=15, deadline=None)
@given(GRAPHS, st.sampled_from(PIPELINES))
def test_a_batch_becomes_the_batch_of_what_its_graphs_become(shapes: Sequence[Any], pipeline: Any) -> None:
    graphs = [random_graph(*shape) for shape in shapes]
    before = [graph.clone() for graph in graphs]
    alone = [pipeline(graph) for graph in graphs]
    together = pipeline(Batch.from_data_list(graphs))
    assert same(together, Batch.from_data_list(alone))
    assert all(same(a, b) for a, b in zip(together.to_data_list(), alone, strict=True))
    assert all(same(a, b) for a, b in zip(graphs, before, strict=True)), "a transform changes nothing in place"


class Smallest(MessagePassing):
    """Each node's smallest value among its own and its neighbours', until nothing changes."""

    def __init__(self) -> None:
        super().__init__(aggr="min")

    def forward(self, value: Tensor, edge_index: Tensor) -> Tensor:
        while True:
            near = self.propagate(edge_index, x=value[:, None], size=None)[:, 0]
            heard = torch.isin(torch.arange(len(value)), edge_index[1])
            smaller = torch.where(heard, torch.minimum(value, near), value)
            if torch.equal(smaller, value):
                return value
            value = smaller


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**20), st.sampled_from((1, 5, 20)), st.sampled_from((0.0, 3.0, 6.0)))
def test_personas_are_the_components_that_message_passing_finds(seed: int, n: int, degree: float) -> None:
    """A half-edge u -> v is a node of its own graph, joined to u -> w where v and w are neighbours."""
    data = random_graph(seed, n, degree)
    proper = data.edge_index[:, data.edge_index[0] != data.edge_index[1]]
    halves = coalesce(to_undirected(proper, num_nodes=n)).T.tolist()
    place = {half: i for i, half in enumerate(map(tuple, halves))}
    pairs = [(i, place[u, w]) for (u, v), i in place.items() for v_too, w in place if v == v_too and (u, w) in place]
    joined = torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2).T.contiguous()
    component = Smallest()(torch.arange(len(halves)), joined).tolist()
    split = EgoSplit()(data)
    assert split.num_edges == len(halves)
    persona = dict(zip(map(tuple, halves), split.edge_index[0].tolist(), strict=True))
    apart = {(component[i], persona[tuple(half)]) for i, half in enumerate(halves)}
    assert len(apart) == len(set(component)) == len(set(persona.values()))
    lonely = n - len({u for u, _ in halves})
    assert split.num_nodes == len(set(component)) + lonely
    assert all(split.owner[persona[u, v]] == u for u, v in persona)


def weights_of_labels(data: Data) -> Tensor:
    """[n, n] what each community weighs among each node's neighbours, by PyG's message passing."""
    edges, weight = data.edge_index, data.edge_weight
    proper = edges[0] != edges[1]
    edges, weight = to_undirected(edges[:, proper], weight[proper], num_nodes=data.num_nodes, reduce="max")

    class Heard(MessagePassing):
        def forward(self, x: Tensor) -> Tensor:
            return self.propagate(edges, x=x, weight=weight.double())

        def message(self, x_j: Tensor, weight: Tensor) -> Tensor:
            return weight[:, None] * x_j

    return Heard(aggr="add")(one_hot(data.community, data.num_nodes).double())


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**20), st.sampled_from((1, 6, 40)), st.sampled_from((0.0, 2.0, 5.0)))
def test_no_node_hears_a_community_that_weighs_more_than_its_own(seed: int, n: int, degree: float) -> None:
    data = LabelPropagation()(random_graph(seed, n, degree))
    heard = weights_of_labels(data)
    own = heard.gather(1, data.community[:, None])
    assert bool((heard <= own + n * 2.0**-16).all()), "weights count in units of 2**-16"
    silent = heard.sum(1) == 0
    assert torch.equal(data.community[silent], torch.arange(n)[silent])


@pytest.mark.parametrize("seed", range(4))
def test_a_step_of_pyg_propagation_changes_no_community(seed: int) -> None:
    """Where all degrees are the same, PyG's normalised propagation prefers what plain weights prefer."""
    generator = torch.Generator().manual_seed(seed)
    ring = torch.stack([torch.arange(60), (torch.arange(60) + 1) % 60])
    order = torch.randperm(60, generator=generator)
    edges = to_undirected(torch.cat([ring, order[ring], ring.roll(2, 1)], dim=1))
    degree = torch.bincount(edges[0])
    regular = degree == degree.max()
    data = LabelPropagation()(Data(edge_index=edges, num_nodes=60))
    classes = one_hot(data.community, 60)
    if bool(regular.all()):
        spread = SpreadClasses(num_layers=1, alpha=1.0)(classes, edges)
    else:  # the same operation with weight 1
        spread = SpreadClasses(num_layers=1, alpha=1.0)(classes / 64, edges, edge_weight=torch.ones(edges.shape[1]))
    own = spread.gather(1, data.community[:, None])
    assert bool((spread <= own + 1e-6).all())
    assert 1 < len(data.community.unique()) < 60


def test_places_of_nodes_survive_a_batch() -> None:
    """`DataLoader` stacks graphs that were transformed one by one: values must not mean nodes of another graph."""
    graphs = [random_graph(seed, n, 3.0) for seed, n in ((1, 9), (2, 0), (3, 14))]
    pipeline = T.Compose([LabelPropagation(community="before"), EgoSplit(), LabelPropagation()])
    (batch,) = DataLoader([pipeline(graph) for graph in graphs], batch_size=3)
    communities = [set(batch.community[batch.batch == i].tolist()) for i in range(3)]
    assert not communities[0] & communities[2]
    assert bool((batch.batch[batch.community] == batch.batch).all()), "of nodes of the same graph"
    whole = Batch.from_data_list(graphs)
    for attribute in (batch.owner, batch.before):
        assert torch.equal(whole.batch[attribute], batch.batch)
    assert torch.equal(whole.x[batch.owner], batch.x)
    again = Batch.from_data_list(pickle.loads(pickle.dumps(batch)).to_data_list())
    assert same(again, batch)
    assert torch.equal(copy.copy(again[2]).community, pipeline(graphs[2]).community)


@pytest.mark.parametrize("pairs", [3, 5, 6])  # as many as nodes, as edges, or neither
def test_a_link_split_keeps_its_pairs(pairs: int) -> None:
    edges = torch.tensor([[0, 0, 1, 2, 2, 3], [1, 2, 2, 3, 4, 4]])
    given = {"edge_label_index": torch.randint(0, 5, (2, pairs)), "edge_label": torch.arange(pairs)}
    data = Data(edge_index=edges, edge_attr=torch.arange(6.0), x=torch.arange(5.0), num_nodes=5, **given)
    split = EgoSplit()(data)
    assert all(torch.equal(split[name], value) for name, value in given.items())
    assert torch.equal(split.x, data.x[split.owner]) and len(split.edge_attr) == split.num_edges
    both = Batch.from_data_list([split, split])
    assert torch.equal(both.edge_label_index, torch.cat([given["edge_label_index"], given["edge_label_index"] + 5], 1))


def test_attributes_are_taken_along_the_axis_of_their_class() -> None:
    class Columns(Data):  # type: ignore[misc] # PyG has no types
        def __cat_dim__(self, key: str, value: Any, *args: Any, **kwargs: Any) -> Any:
            return 1 if key == "wide" else super().__cat_dim__(key, value, *args, **kwargs)

    edges = torch.tensor([[0, 0, 1, 2, 2, 3], [1, 2, 2, 3, 4, 4]])
    split = EgoSplit()(Columns(edge_index=edges, wide=torch.arange(10).view(2, 5), num_nodes=5))
    assert isinstance(split, Columns) and torch.equal(split.wide, torch.arange(10).view(2, 5)[:, split.owner])


def test_a_transform_shows_its_parameters() -> None:
    clustered = LabelPropagation()(random_graph(1, 3, 2.0))
    assert repr(clustered).startswith("Data(") and repr(Batch.from_data_list([clustered])).startswith("DataBatch(")
    assert repr(EgoSplit("of")) == "EgoSplit(owner='of')"
    assert repr(T.Compose([LabelPropagation(None, max_rounds=3)])).count(
        "LabelPropagation(weight=None, community='community', max_rounds=3)"
    )


def test_communities_overlap_in_a_pipeline() -> None:
    """Two triangles that share a node: one community alone, two after the split, with the shared node in both."""
    bowtie = Data(edge_index=torch.tensor([[0, 0, 1, 2, 2, 3], [1, 2, 2, 3, 4, 4]]), num_nodes=6)
    pipeline = T.Compose([T.ToUndirected(), EgoSplit(), LabelPropagation()])
    data = pipeline(bowtie)
    assert data.validate() and data.is_undirected()
    members = {tuple(data.owner[data.community == label].tolist()) for label in data.community.unique()}
    assert members == {(0, 1, 2), (2, 3, 4), (5,)}


def test_attributes_go_along() -> None:
    edges = torch.tensor([[0, 1, 1, 2, 1, 0], [1, 0, 2, 2, 2, 1]])
    data = Data(x=torch.arange(3.0), edge_index=edges, edge_attr=torch.arange(6.0), name="path", num_nodes=3)
    split = EgoSplit(owner="node")(data)
    assert split.node.tolist() == [0, 1, 1, 2] and split.x.tolist() == [0.0, 1.0, 1.0, 2.0]
    assert split.edge_index.tolist() == [[0, 1, 2, 3], [1, 0, 3, 2]]
    assert split.edge_attr.tolist() == [0.0, 1.0, 2.0, 2.0], "the first of 0 -> 1; for 2 -> 1 what 1 -> 2 has"
    assert split.name == "path" and "owner" not in split


def test_weights_by_another_name_or_none() -> None:
    edges = torch.tensor([[0, 1, 1, 2, 2, 3, 3, 4], [1, 0, 2, 1, 3, 2, 4, 3]])
    heavy = torch.tensor([9.0, 9.0, 1.0, 1.0, 9.0, 9.0, 1.0, 1.0])
    data = Data(edge_index=edges, far=heavy, num_nodes=5)
    named = LabelPropagation(weight="far", community="group")(data).group
    assert torch.equal(named, label_propagation(edges, heavy, 5))
    assert torch.equal(LabelPropagation(weight=None)(data).community, label_propagation(edges, num_nodes=5))
    assert torch.equal(LabelPropagation(max_rounds=0)(data).community, torch.arange(5))


def test_in_a_loader() -> None:
    graphs = [random_graph(seed, 9, 4.0) for seed in range(5)]
    pipeline = T.Compose([EgoSplit(), LabelPropagation()])
    batches = [pipeline(batch) for batch in DataLoader(graphs, batch_size=2)]
    alone = [pipeline(graph) for graph in graphs]
    found = [graph for batch in batches for graph in batch.to_data_list()]
    assert all(same(a, b) for a, b in zip(found, alone, strict=True))


@pytest.mark.parametrize("transform", [EgoSplit(), LabelPropagation()])
@pytest.mark.parametrize("what", [HeteroData(), Data(num_nodes=3), torch.zeros(2, 1)])
def test_what_is_no_graph_is_refused(transform: Any, what: Any) -> None:
    with pytest.raises(TypeError, match=r"PyG Data or Batch with an edge_index is needed, got \w+"):
        transform(what)


def test_they_are_public() -> None:
    assert nscma_torch.EgoSplit is EgoSplit and nscma_torch.LabelPropagation is LabelPropagation
    assert sort_edge_index(EgoSplit()(random_graph(1, 20, 4.0)).edge_index).shape[0] == 2
