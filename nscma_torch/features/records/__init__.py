"""Structured records for messages: type, entities, sentiment, resolution."""
