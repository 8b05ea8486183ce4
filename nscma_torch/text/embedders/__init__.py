"""Embedders: convert texts to vectors."""
