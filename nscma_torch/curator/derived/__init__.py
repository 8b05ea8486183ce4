"""Texts that sleep derives from messages: one file per kind, named after it, with a function `deriver`."""
