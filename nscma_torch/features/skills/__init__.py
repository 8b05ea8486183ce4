"""Procedural memory: named skills found by their triggers."""
