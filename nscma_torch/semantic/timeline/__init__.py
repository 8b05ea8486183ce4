"""Derive facts from statements: claims in order of world time, resolved by group."""
