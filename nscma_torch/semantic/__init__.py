"""Layer 3, semantic memory: statements, and the facts derived from them."""
