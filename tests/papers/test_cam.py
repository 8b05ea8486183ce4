"""The equations of CAM in plain Python, against the library under `papers/cam`."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
import torch

from nscma_kernels import ego_split
from nscma_torch.api.memory import Memory
from nscma_torch.core.config import read_toml
from nscma_torch.hierarchy.cam import Cam, Change, _clustered, assimilate
from nscma_torch.hierarchy.cluster_nodes import clusters_of
from nscma_torch.hierarchy.level import Edit, Level
from nscma_torch.llm.prompted import PromptedTasks
from tests.llm.scripted import ScriptedEngine, extraction
from tests.papers.presets import FOLDER, preset
from tests.search.strategies.test_strategies_over_stand_ins import OF_BOTH, SUMMARY, Written, run


def chunks(count: int, seed: int) -> tuple[torch.Tensor, Cam]:
    """Vectors [n, 8] of one stream, and the hierarchy of them."""
    generator = torch.Generator().manual_seed(seed)
    topics = torch.randn(4, 8, generator=generator)
    vectors = topics[torch.randint(0, 4, (count,), generator=generator)] + 0.8 * torch.randn(
        count, 8, generator=generator
    )
    none, place = torch.empty(0, dtype=torch.int64), torch.arange(count)
    (cam,) = assimilate([Change(Cam(), none, vectors, place, torch.zeros_like(place))], preset("cam").hierarchy)
    return vectors, cam


def edges_of(level: Level) -> dict[tuple[int, int], float]:
    pairs = zip(*level.split.edge_index.tolist(), level.weight.tolist(), strict=True)
    return {(one, other): weight for one, other, weight in pairs}


def test_equation_2() -> None:
    """s = alpha cos + (1 - alpha) exp(-(i - j)^2 / (2 sigma^2)); edges to the k best above gamma."""
    settings = preset("cam").hierarchy
    vectors, cam = chunks(30, 0)
    rows = vectors.tolist()

    def s(i: int, j: int) -> float:
        dot = sum(a * b for a, b in zip(rows[i], rows[j], strict=True))
        cosine = dot / math.sqrt(sum(a * a for a in rows[i]) * sum(b * b for b in rows[j]))
        near = math.exp(-((i - j) ** 2) / (2 * settings.sigma**2))
        return settings.alpha * cosine + (1 - settings.alpha) * near

    expected = {}
    for i in range(30):
        best = sorted((j for j in range(30) if j != i), key=lambda j: -s(i, j))[: settings.neighbours]
        for j in best:
            if s(i, j) > settings.gamma:
                expected[i, j] = expected[j, i] = s(i, j)
    found = edges_of(cam.levels[0])
    assert found.keys() == expected.keys()
    assert all(weight == pytest.approx(expected[edge], abs=1e-5) for edge, weight in found.items())


def components(nodes: set[int], near: dict[int, set[int]]) -> list[set[int]]:
    """Of the subgraph that some nodes induce."""
    found = []
    while nodes:
        part, waiting = set(), [min(nodes)]
        while waiting:
            node = waiting.pop()
            if node in nodes:
                nodes = nodes - {node}
                part.add(node)
                waiting += near[node]
        found.append(part)
    return found


@pytest.mark.parametrize("seed", range(3))
def test_ego_centric_disentanglement(seed: int) -> None:
    """Section 4.1: t_v replicas, one for each component of G[N(v)]; (u, v) joins u's of v and v's of u."""
    chance = random.Random(seed)
    pairs = {(a, b) for a in range(20) for b in range(a) if chance.random() < 0.15}
    near: dict[int, set[int]] = {node: set() for node in range(20)}
    for a, b in pairs:
        near[a].add(b)
        near[b].add(a)
    replica = {}  # of a node, by its neighbour: the component that the neighbour is in
    for node in near:
        for part in components(near[node], near):
            for other in part:
                replica[node, other] = (node, min(part))
    split = ego_split(torch.tensor(sorted(pairs)).T.reshape(2, -1), 20)
    counts = Counter(split.owner.tolist())
    assert all(counts[node] == max(1, len(components(near[node], near))) for node in near)
    found = dict(zip(zip(*split.edge_index.tolist(), strict=True), split.persona.tolist(), strict=True))
    assert len({(replica[edge], persona) for edge, persona in found.items()}) == len(set(replica.values()))
    assert found.keys() == replica.keys()
    ends = split.persona_edge_index.tolist()
    for (a, b), one, other in zip(found, *ends, strict=True):
        assert split.ids.tolist()[one] == found[a, b] and split.ids.tolist()[other] == found[b, a]


def torn() -> Level:
    """Two cliques of four, and node 8 with two heavy edges to the one and three light ones to the other."""
    edges = {(a, b): 0.9 for base in (0, 4) for a in range(base, base + 4) for b in range(a + 1, base + 4)}
    edges |= {(0, 4): 0.05, (1, 5): 0.05, (0, 8): 0.9, (1, 8): 0.9, (4, 8): 0.3, (5, 8): 0.3, (6, 8): 0.3}
    ends, none = torch.tensor(list(edges)).T.contiguous(), torch.empty(0, dtype=torch.int64)
    edit = Edit(torch.arange(9), none, ends, torch.tensor(list(edges.values())), none.reshape(2, 0))
    return _clustered(Level.empty(), edit, edit.networks(1), preset("cam").hierarchy)


@pytest.mark.parametrize("level", [torn(), *(chunks(40, seed)[1].levels[0] for seed in range(3))])
def test_labels_are_those_of_the_majority(level: Level) -> None:
    """Section 4.1: the label of each node is the majority label of its neighbours when no label changes any more."""
    labels = level.labels.tolist()
    near: dict[int, list[int]] = {}
    for one, other in zip(*level.split.persona_edge_index.tolist(), strict=True):
        near.setdefault(one, []).append(labels[other])
    assert near
    for persona, own in near.items():
        counts = Counter(own)
        assert counts[labels[persona]] == max(counts.values())


def test_every_cluster_becomes_a_supernode_and_all_edges_between_them_count() -> None:
    """Section 4.1: closely connected nodes become a supernode, and the edges between clusters go up with them."""
    settings = preset("cam").hierarchy
    cam = chunks(60, 1)[1]
    below, above = cam.levels[:2]
    labels = below.labels.tolist()
    sizes = Counter()
    for label, members in _members(below).items():
        sizes[label] = len(members)
    large = {label for label, size in sizes.items() if size >= settings.min_members == 2}
    assert set(clusters_of(below, settings.min_members).labels.tolist()) == large == set(above.nodes.tolist())
    joined = {
        tuple(sorted((labels[a], labels[b])))
        for a, b in zip(*below.split.persona_edge_index.tolist(), strict=True)
        if labels[a] != labels[b] and {labels[a], labels[b]} <= large
    }
    number = above.nodes.tolist()
    assert joined <= {tuple(sorted((number[a], number[b]))) for a, b in edges_of(above)}


def _members(level: Level) -> dict[int, set[int]]:
    found: dict[int, set[int]] = {}
    for label, row in zip(level.labels.tolist(), level.split.owner.tolist(), strict=True):
        found.setdefault(label, set()).add(row)
    return found


@pytest.mark.parametrize("seed", range(5))
def test_prune_and_grow(seed: int) -> None:
    """Section 4.2: the s best, then all peers and children of what was active, until P does not grow; all of P."""
    settings = preset("cam").retrieval
    chance = random.Random(seed)
    scores = {n: chance.random() for n in [*range(60), *range(SUMMARY, SUMMARY + 12)]}
    below = {n: chance.sample(range(60), 5) for n in range(SUMMARY, SUMMARY + 12)}
    beside = {n: chance.sample(range(60), 2) for n in range(60)}
    helps = frozenset(n for n in scores if chance.random() < 0.4)
    written = Written({"q": scores}, helps=helps, below=below, beside=beside, bounds=OF_BOTH, settings=settings)
    candidates = set(sorted(scores, key=lambda n: -scores[n])[: settings.prune_and_grow.candidates])
    active: set[int] = set()
    judged: set[int] = set()
    for _ in range(settings.prune_and_grow.rounds):
        chosen = {n for n in candidates - judged if n in helps}
        judged |= candidates
        if not chosen:
            break
        active |= chosen
        candidates = {near for n in chosen for near in (*beside.get(n, ()), *below.get(n, ()))}
    assert set(run("prune-and-grow", written, 3).scores) == active


def test_a_language_model_summarizes_clusters_and_chooses_nodes(
    open_memory: Callable[..., Memory], light_surprise: Any
) -> None:
    """Section 4.2: P is what the model chooses of D, and of the peers and children of what it chose, nothing else."""
    judged: list[str] = []

    def model(data: dict[str, Any]) -> dict[str, Any]:
        if "messages" in data:
            text = data["messages"][0].partition(": ")[2]
            judged.append(text)
            return {"contain_answer": "7" in text}
        return extraction() if "sentences" in data else {"summary": f"{len(data['texts'])} notes up to number 17"}

    tasks = PromptedTasks(ScriptedEngine(model))
    memory = open_memory("cam.db", read_toml(FOLDER / "cam.toml"), surprise_model=light_surprise, tasks=tasks)
    for number in range(60):
        memory.add(f"The kettle of note {number} is in the shed.", user_id="kim")
    memory.flush()
    hits = memory.search("Where is the kettle of note 3?", user_id="kim", top_k=1)
    assert {hit.text for hit in hits} == {text for text in judged if "7" in text}
    assert {hit.unit.kind for hit in hits} == {"chunk", "summary"} and len(hits) > 1
    assert len(set(judged)) > preset("cam").retrieval.prune_and_grow.candidates, "peers and children are judged, too"
