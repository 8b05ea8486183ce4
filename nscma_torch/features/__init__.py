"""Removable capabilities: structured records, skills, bulk loading."""
