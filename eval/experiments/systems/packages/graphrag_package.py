"""GraphRAG's hierarchical Leiden (https://github.com/microsoft/graphrag), beside `eval.systems.leiden_levels`.

It runs under an interpreter of its own, with graphrag, and imports nothing of this project. The standard input is one
JSON object with `edges` ([name, name, weight]), `largest` (members from which on a community is not divided) and
`seed`; the last line of the standard output another: `version`, and `communities` ([level, names of the members]).
No language model is asked.
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import version


def main() -> None:
    """Divide the graph."""
    asked = json.load(sys.stdin)
    import pandas as pd
    from graphrag.index.operations.cluster_graph import cluster_graph

    edges = pd.DataFrame(asked["edges"], columns=["source", "target", "weight"])
    found = cluster_graph(edges, max_cluster_size=asked["largest"], use_lcc=False, seed=asked["seed"])
    communities = [[level, sorted(members)] for level, _, _, members in found]
    print(json.dumps({"version": version("graphrag"), "communities": communities}))


if __name__ == "__main__":
    main()
