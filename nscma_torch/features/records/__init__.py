"""Structured records of messages: type, entities, sentiment, resolution."""
