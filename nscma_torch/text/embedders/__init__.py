"""Embedders, which convert texts to vectors."""
