"""Texts that sleep derives from messages: a file a kind, named after it, with a function `deriver`."""
