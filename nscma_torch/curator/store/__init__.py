"""Rows of derived texts and profiles."""
