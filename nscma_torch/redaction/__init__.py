"""Mask secrets and personal numbers in messages before they are stored; see `[redaction]`."""
