"""Statements to facts: claims in order of world time, resolved group by group."""
