"""Procedural memory: named skills found by their trigger."""
