"""Removable capabilities: structured records, skills, and bulk loading."""
