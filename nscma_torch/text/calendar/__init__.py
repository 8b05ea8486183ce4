"""Dates and times in text: timestamps, English and Chinese expressions, tense."""
