"""Measure how the cost of the graph operations grows with the number of nodes, as a table and a plot.

    python kernels/cost.py [--nodes 1000 … 300000] [--out kernels/cost.png]

Stochastic block models of degree 15 on one device, milliseconds (median of three calls after a warm-up). Peers:
NetworkX for the personas (on at most 2,000 egos, scaled), networkit and igraph for the labels.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import torch
from bench import milliseconds
from cases.case import Part
from cases.ego_split import literal_personas
from cases.graphs import blocks
from cases.label_propagation import community_peers

from nscma_kernels import ego_split, knn_graph, label_propagation, update_split

Runs = dict[str, Callable[[], object]]
_DEGREE = 15
_BATCH = 100  # new rows, or edges, of the incremental operations


def runs_of(n: int, device: torch.device) -> Runs:
    """Return the operations timed at n nodes."""
    edges, _ = blocks(n, _DEGREE, 100, 0.75)
    edge_index = edges.to(device)
    split = ego_split(edge_index, n)
    few = edge_index[:, :: max(1, edge_index.shape[1] // _BATCH)]
    labels = label_propagation(edge_index, num_nodes=n)
    x = torch.randn(n, 64, device=device)
    egos = min(n, 2000)
    return {
        "ego_split": lambda: ego_split(edge_index, n),
        f"update_split, {_BATCH} edges deleted": lambda: update_split(split, delete=few),
        "label_propagation": lambda: label_propagation(edge_index, num_nodes=n),
        f"label_propagation, frontier of {_BATCH}": lambda: label_propagation(
            edge_index, num_nodes=n, labels=labels, frontier=few[0]
        ),
        f"knn_graph, {_BATCH} new rows, d=64": lambda: knn_graph(x, 8, start=n - _BATCH),
        "personas: NetworkX": Part(literal_personas(edges, n, egos), egos / n),
        **{f"labels: {name}": run for name, run in community_peers(n, edges).items()},
    }


def plot(sizes: list[int], times: dict[str, list[float]], out: Path, where: str) -> None:
    """Draw one line for each operation; peers dashed."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 5.5), layout="constrained")
    for name, row in times.items():
        axes.plot(sizes, row, marker="o", markersize=3, linestyle="--" if ": " in name else "-", label=name)
    axes.set(xscale="log", yscale="log", xlabel="nodes", ylabel="milliseconds")
    axes.set_title(f"Stochastic block models of degree {_DEGREE} on {where}")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    figure.savefig(out, dpi=130)


def main() -> None:
    """Print one row for each operation, and draw them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sizes = [1000, 3000, 10_000, 30_000, 100_000, 300_000]
    parser.add_argument("--nodes", nargs="+", type=int, default=sizes)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--out", type=Path, help="PNG file")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    device = torch.device(arguments.device)
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else f"a CPU, {torch.get_num_threads()} threads"
    times: dict[str, list[float]] = {}
    for n in arguments.nodes:
        for what, run in runs_of(n, device).items():
            times.setdefault(what, []).append(milliseconds(run, 3, device))
    print(f"milliseconds, torch {torch.__version__}, {name}")
    print(f"{'nodes':44}" + "".join(f"{n:>10,}" for n in arguments.nodes))
    for what, row in times.items():
        print(f"{what:44}" + "".join(f"{ms:10.1f}" for ms in row))
    if arguments.out:
        plot(arguments.nodes, times, arguments.out, name)


if __name__ == "__main__":
    main()
