"""Rows of hierarchies: nodes, summaries and links."""
