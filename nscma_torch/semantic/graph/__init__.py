"""Facts as a graph, for questions and for PyTorch Geometric."""
