"""`personalized_pagerank` against NetworkX and the linear system solved in float64, and what it promises."""

from __future__ import annotations

import statistics
import time

import pytest
import torch
from torch import Tensor

from nscma_kernels import personalized_pagerank

SHAPES = [(1, 1, 1), (2, 5, 7), (3, 41, 90), (7, 401, 1271), (64, 1000, 3000)]  # q, n, E


def random_graph(n: int, edges: int, seed: int) -> tuple[Tensor, Tensor]:
    """Directed, with self-loops, parallel edges, nodes that nothing leaves and a tenth of the edges of weight 0."""
    generator = torch.Generator().manual_seed(seed)
    edge_index = torch.randint(0, n, (2, edges), generator=generator)
    edge_index[0] = edge_index[0] * 3 // 4
    weight = torch.rand(edges, generator=generator, dtype=torch.float64)
    return edge_index, weight * (torch.rand(edges, generator=generator) > 0.1)


def preferences(q: int, n: int, seed: int) -> Tensor:
    """A few nodes for each query, of differing weight."""
    generator = torch.Generator().manual_seed(seed)
    chosen = torch.randint(0, n, (q, 3), generator=generator)
    return torch.zeros(q, n, dtype=torch.float64).scatter_(
        1, chosen, 7 * torch.rand(q, 3, generator=generator).double()
    )


def solved(edge_index: Tensor, weight: Tensor, personalization: Tensor, damping: float) -> Tensor:
    """(1 - damping) (I - damping M')^-1 p, where M moves the surfer, by a dense solver."""
    n = personalization.shape[1]
    shares = torch.zeros(n, n, dtype=torch.float64).index_put_(tuple(edge_index), weight, accumulate=True)
    leaving = shares.sum(1, keepdim=True)
    rows = []
    for p in personalization / personalization.sum(1, keepdim=True):
        moves = torch.where(leaving > 0, shares / leaving, p)
        rows.append(torch.linalg.solve(torch.eye(n, dtype=torch.float64) - damping * moves.T, (1 - damping) * p))
    return torch.stack(rows)


def by_networkx(edge_index: Tensor, weight: Tensor, personalization: Tensor, damping: float = 0.85) -> Tensor:
    networkx = pytest.importorskip("networkx")
    pytest.importorskip("scipy")
    n = personalization.shape[1]
    graph = networkx.MultiDiGraph()
    graph.add_nodes_from(range(n))
    graph.add_weighted_edges_from(zip(*edge_index.tolist(), weight.tolist(), strict=True))
    rows = []
    for row in personalization:
        chosen = {node: float(row[node]) for node in row.nonzero()[:, 0].tolist()}
        scores = networkx.pagerank(graph, damping, chosen, tol=1e-13 / n, max_iter=10_000)
        rows.append([scores[node] for node in range(n)])
    return torch.tensor(rows, dtype=torch.float64)


@pytest.mark.parametrize(("q", "n", "edges"), SHAPES)
def test_equals_networkx(q: int, n: int, edges: int) -> None:
    edge_index, weight = random_graph(n, edges, seed=n)
    personalization = preferences(q, n, seed=q)
    scores = personalized_pagerank(edge_index, personalization, edge_weight=weight, tol=1e-12)
    assert (scores - by_networkx(edge_index, weight, personalization)).abs().max() < 1e-12
    single = personalized_pagerank(edge_index, personalization.float(), edge_weight=weight.float())
    assert (single - scores).abs().max() < 1e-7


@pytest.mark.parametrize("damping", [0.1, 0.5, 0.85, 0.99])
@pytest.mark.parametrize("tol", [1e-2, 1e-5, 1e-8, 1e-12])
def test_is_within_tol_of_the_linear_system(damping: float, tol: float) -> None:
    edge_index, weight = random_graph(97, 300, seed=1)
    personalization = preferences(9, 97, seed=2)
    options = {"edge_weight": weight, "damping": damping, "tol": tol, "max_iterations": 10_000}
    scores = personalized_pagerank(edge_index, personalization, **options)
    truth = solved(edge_index, weight, personalization, damping)
    assert (scores - truth).abs().sum(1).max() <= tol + 1e-13


@pytest.mark.parametrize("n", [2, 3, 50, 1001])
def test_a_cycle_has_its_closed_form(n: int) -> None:
    """Nothing mixes on a cycle: node k after the start holds damping^k (1 - damping) / (1 - damping^n)."""
    node, start = torch.arange(n), torch.eye(n, dtype=torch.float64)[:1]
    scores = personalized_pagerank(torch.stack([node, (node + 1) % n]), start, tol=1e-13)
    assert (scores[0] - 0.85 ** node.double() * 0.15 / (1 - 0.85**n)).abs().sum() < 2e-13


def test_a_surfer_who_is_stuck_starts_again() -> None:
    """0 -> 1 -> nothing, 2 -> 0: a start at 0 gives x1 = damping x0, and none reaches 2."""
    start = torch.tensor([[2.0, 0.0, 0.0]], dtype=torch.float64)
    scores = personalized_pagerank(torch.tensor([[0, 2], [1, 0]]), start)
    assert scores[0].tolist() == pytest.approx([1 / 1.85, 0.85 / 1.85, 0.0], abs=1e-8)
    assert scores[0, 2] == 0


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_rows_are_distributions_of_the_given_dtype(dtype: torch.dtype) -> None:
    edge_index, weight = random_graph(500, 1500, seed=3)
    scores = personalized_pagerank(edge_index, preferences(33, 500, seed=4).to(dtype), edge_weight=weight)
    assert scores.dtype == dtype and scores.is_contiguous() and scores.shape == (33, 500)
    assert (scores >= 0).all()
    assert (scores.double().sum(1) - 1).abs().max() < 100 * torch.finfo(dtype).eps
    whole = personalized_pagerank(edge_index, torch.ones(2, 500, dtype=torch.int64))
    assert whole.dtype == torch.get_default_dtype()


def test_same_bits_for_any_order_of_edges_and_number_of_threads() -> None:
    edge_index = torch.randint(0, 3000, (2, 20_000), generator=torch.Generator().manual_seed(5)).unique(dim=1)
    weight = torch.rand(edge_index.shape[1], generator=torch.Generator().manual_seed(6))
    personalization = preferences(17, 3000, seed=7)
    scores = personalized_pagerank(edge_index, personalization, edge_weight=weight)
    order = torch.randperm(len(weight), generator=torch.Generator().manual_seed(8))
    threads = torch.get_num_threads()
    try:
        for number in (1, 2, 3):
            torch.set_num_threads(number)
            assert torch.equal(scores, personalized_pagerank(edge_index, personalization, edge_weight=weight))
            again = personalized_pagerank(edge_index[:, order], personalization, edge_weight=weight[order])
            assert torch.equal(scores, again)
    finally:
        torch.set_num_threads(threads)


def test_scale_of_weights_and_company_make_no_difference() -> None:
    edge_index, weight = random_graph(200, 900, seed=9)
    personalization = preferences(12, 200, seed=10)
    scores = personalized_pagerank(edge_index, personalization, edge_weight=weight, tol=1e-10)
    for scale in (1e-290, 1e290):
        scaled = personalized_pagerank(edge_index, scale * personalization, edge_weight=scale * weight, tol=1e-10)
        assert (scaled - scores).abs().sum(1).max() <= 2e-10
    for query in range(12):
        alone = personalized_pagerank(edge_index, personalization[query : query + 1], edge_weight=weight, tol=1e-10)
        assert (alone[0] - scores[query]).abs().sum() <= 2e-10


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")
def test_takes_a_pyg_data() -> None:
    from torch_geometric.data import Data

    edge_index, weight = random_graph(60, 200, seed=11)
    personalization = preferences(4, 60, seed=12)
    data = Data(edge_index=edge_index, edge_weight=weight, num_nodes=60)
    scores = personalized_pagerank(data, personalization)
    assert torch.equal(scores, personalized_pagerank(edge_index, personalization, edge_weight=weight))
    ones = torch.ones_like(weight)
    assert torch.equal(
        personalized_pagerank(data, personalization, edge_weight=ones),
        personalized_pagerank(edge_index, personalization),
    )
    with pytest.raises(ValueError, match=r"must be \[q, 60\]"):
        personalized_pagerank(data, preferences(4, 61, seed=12))


def test_without_edges_or_queries() -> None:
    nothing = torch.empty(2, 0, dtype=torch.int64)
    scores = personalized_pagerank(nothing, torch.tensor([[1.0, 3.0]]))
    assert scores[0].tolist() == pytest.approx([0.25, 0.75])
    assert personalized_pagerank(torch.tensor([[0], [1]]), torch.empty(0, 2)).shape == (0, 2)
    assert personalized_pagerank(nothing, torch.empty(0, 0)).shape == (0, 0)


EDGE, START = torch.tensor([[0, 1], [1, 0]]), torch.tensor([[1.0, 0.0]])


@pytest.mark.parametrize(
    ("edge_index", "personalization", "options", "says"),
    [
        (EDGE[0], START, {}, r"edge_index must be \[2, E\]"),
        (EDGE.float(), START, {}, r"edge_index must be \[2, E\]"),
        (EDGE + 1, START, {}, "outside 0..1"),
        (EDGE - 1, START, {}, "outside 0..1"),
        (EDGE, START[0], {}, r"personalization must be \[q, n\]"),
        (EDGE, START, {"num_nodes": 3}, r"personalization must be \[q, 3\]"),
        (EDGE, torch.tensor([[1.0, 0.0], [0.0, 0.0]]), {}, "zero in row 1"),
        (EDGE, torch.tensor([[2.0, -1.0]]), {}, "personalization must be finite and not negative"),
        (EDGE, torch.tensor([[1.0, torch.nan]]), {}, "personalization must be finite and not negative"),
        (EDGE, torch.tensor([[1.0, torch.inf]]), {}, "personalization must be finite and not negative"),
        (EDGE, START, {"edge_weight": torch.ones(3)}, r"edge_weight must be \[2\]"),
        (EDGE, START, {"edge_weight": torch.tensor([1.0, -1.0])}, "edge_weight must not be negative"),
        (EDGE, START, {"edge_weight": torch.tensor([1.0, torch.nan])}, "edge_weight must be finite"),
        (EDGE, START, {"edge_weight": torch.tensor([1.0, torch.inf])}, "edge_weight must be finite"),
        (EDGE, START.to("meta"), {}, "on one device"),
        (EDGE, START, {"damping": 1.0}, "damping must lie between 0 and 1"),
        (EDGE, START, {"damping": 0.0}, "damping must lie between 0 and 1"),
        (EDGE, START, {"damping": float("nan")}, "damping must lie between 0 and 1"),
        (EDGE, START, {"tol": 0.0}, "tol and max_iterations must be positive"),
        (EDGE, START, {"max_iterations": 0}, "tol and max_iterations must be positive"),
    ],
)
def test_bad_input_is_refused(edge_index: Tensor, personalization: Tensor, options: dict, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        personalized_pagerank(edge_index, personalization, **options)


@pytest.mark.parametrize("damping", [0.01, 0.5, 0.85, 0.99])
@pytest.mark.parametrize("tol", [1e-1, 1e-8, 1e-12])
def test_too_few_iterations_are_an_error_that_names_enough(damping: float, tol: float) -> None:
    node, start = torch.arange(50), torch.eye(50, dtype=torch.float64)[:1]
    cycle = torch.stack([node, (node + 1) % 50])
    with pytest.raises(RuntimeError, match=r"after 1 steps .* raise max_iterations") as refused:
        personalized_pagerank(cycle, start, damping=damping, tol=min(tol, damping**2), max_iterations=1)
    enough = int(str(refused.value).split("at this damping ")[1].split()[0])
    scores = personalized_pagerank(cycle, start, damping=damping, tol=min(tol, damping**2), max_iterations=enough)
    assert scores.sum() == pytest.approx(1)


def test_a_tol_beyond_float64_is_an_error() -> None:
    edge_index, weight = random_graph(97, 300, seed=1)
    with pytest.raises(RuntimeError, match="or tol"):
        personalized_pagerank(edge_index, preferences(9, 97, seed=2), edge_weight=weight, tol=1e-20)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_cuda_agrees_and_repeats_itself() -> None:
    edge_index, weight = random_graph(1000, 9000, seed=13)
    personalization = preferences(64, 1000, seed=14)
    here = personalized_pagerank(edge_index, personalization, edge_weight=weight)
    there = edge_index.cuda(), personalization.cuda()
    scores = [personalized_pagerank(*there, edge_weight=weight.cuda()) for _ in range(3)]
    assert (scores[0].cpu() - here).abs().sum(1).max() <= 2e-8
    assert torch.equal(scores[0], scores[1]) and torch.equal(scores[0], scores[2])


@pytest.mark.prove
@pytest.mark.parametrize("kind", ["random", "blocks of 50"])
def test_speed_beside_networkx(kind: str) -> None:
    """64 queries of five nodes on 100,000 weighted edges: 20 times as fast as NetworkX at one bound on the error.

    Both with one thread. NetworkX, whose graph is built beforehand, does 4 of the queries; its time is scaled by 16.
    """
    networkx = pytest.importorskip("networkx")
    pytest.importorskip("scipy")
    n, edges, q, timed = 10_000, 100_000, 64, 4
    generator = torch.Generator().manual_seed(0)
    source, target = torch.randint(0, n, (2, edges), generator=generator)
    if kind != "random":  # one edge in fifty leaves its block
        near = source // 50 * 50 + target % 50
        target = torch.where(torch.rand(edges, generator=generator) < 0.02, target, near)
    edge_index = torch.stack([source, target]).unique(dim=1)
    weight = torch.rand(edge_index.shape[1], generator=generator)
    personalization = torch.zeros(q, n).scatter_(1, torch.randint(0, n, (q, 5), generator=generator), 1.0)
    graph = networkx.DiGraph()
    graph.add_nodes_from(range(n))
    graph.add_weighted_edges_from(zip(*edge_index.tolist(), weight.tolist(), strict=True))

    def ours() -> Tensor:
        return personalized_pagerank(edge_index, personalization, edge_weight=weight)

    def theirs(tol: float) -> Tensor:
        rows = []
        for row in personalization[:timed]:
            chosen = dict.fromkeys(row.nonzero()[:, 0].tolist(), 1.0)
            scores = networkx.pagerank(graph, personalization=chosen, tol=tol / n, max_iter=1000)
            rows.append([scores[node] for node in range(n)])
        return torch.tensor(rows, dtype=torch.float64)

    difference = float((ours()[:timed] - theirs(1e-12)).abs().max())
    seconds: dict[str, list[float]] = {"ours": [], "theirs": []}
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for _ in range(5):
            begin = time.perf_counter()
            ours()
            between = time.perf_counter()
            theirs(1e-8 * 0.15 / 0.85)
            seconds["ours"].append(between - begin)
            seconds["theirs"].append((time.perf_counter() - between) * q / timed)
    finally:
        torch.set_num_threads(threads)
    mine, other = (statistics.median(seconds[who]) for who in ("ours", "theirs"))
    print(
        f"\npersonalized_pagerank, {kind}, n={n:,} E={edge_index.shape[1]:,} q={q}, one thread: "
        f"{1000 * mine:.0f} ms, NetworkX / ours = {other / mine:.0f} ({timed} queries, scaled), "
        f"max difference {difference:.1e}"
    )
    assert difference < 1e-6
    assert other / mine >= 20
