"""Layer 4, the curator: keeps facts true as statements come, forgets what is no longer used, and cleans up in sleep."""
