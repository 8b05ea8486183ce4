"""The extract job: statements, triples and notes from messages."""
