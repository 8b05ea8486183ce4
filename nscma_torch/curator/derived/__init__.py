"""Texts that sleep derives from messages: one file per kind, named after the kind, with a function `deriver`."""
