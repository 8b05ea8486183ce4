"""Layer 4, the curator: keeps facts true as statements arrive, forgets unused ones, and cleans up in sleep."""
