"""Layer 3, semantic memory: statements, and the facts that follow from them."""
