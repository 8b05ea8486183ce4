"""Find overlapping communities in a PyTorch Geometric graph with ego-splitting, then label propagation.

    python -m nscma_torch.examples.cluster_a_pyg_graph

Each person in the graph is split into one persona for each circle of friends, so that a person may belong to several
clusters of personas. Label propagation alone puts everybody into one community. Nothing is stored. It prints:

    Ana, Ines, Marta, Rui
    Leo, Nora, Rui, Sami
    Kim, Paul, Sami, Vera
    in more than one: Rui, Sami
"""

from __future__ import annotations

from itertools import combinations

import torch
from torch_geometric.data import Data

from nscma_kernels import ego_split, label_propagation

CIRCLES = {
    "family": ("Ana", "Marta", "Ines", "Rui"),
    "choir": ("Rui", "Leo", "Nora", "Sami"),
    "office": ("Sami", "Kim", "Paul", "Vera"),
}


def main() -> None:
    """Build and split the graph, cluster the personas, and print the people in each cluster."""
    people = list(dict.fromkeys(name for circle in CIRCLES.values() for name in circle))
    pairs = [pair for circle in CIRCLES.values() for pair in combinations(circle, 2)]
    edge_index = torch.tensor([[people.index(a), people.index(b)] for a, b in pairs]).T
    graph = Data(edge_index=edge_index, num_nodes=len(people))

    split = ego_split(graph)
    clusters = label_propagation(split.persona_edge_index, num_nodes=len(split.ids))  # one label for each persona
    for label in sorted(set(clusters.tolist())):
        print(", ".join(sorted(people[owner] for owner in split.owner[clusters == label])))
    twice = split.owner.bincount() > 1
    print("in more than one:", ", ".join(people[owner] for owner in twice.nonzero().view(-1)))


if __name__ == "__main__":
    main()
