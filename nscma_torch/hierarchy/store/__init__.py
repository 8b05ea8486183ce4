"""Rows for hierarchies: nodes, summaries and links."""
