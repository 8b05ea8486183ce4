"""Rows for statements, entities, facts and decisions."""
