"""Retrieval: lanes that score units, their fusion, the strategies built on them, and answers from facts."""
