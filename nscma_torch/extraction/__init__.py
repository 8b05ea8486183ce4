"""The extract job: read statements, triples and notes from messages."""
