"""Capabilities that can be removed: structured records, skills, bulk loading."""
