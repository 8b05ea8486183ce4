"""Rows for derived texts and profiles."""
