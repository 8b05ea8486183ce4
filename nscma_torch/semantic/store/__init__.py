"""Rows of statements, entities, facts and decisions."""
