"""The log: messages, their streams, history and sessions."""
