"""Patterns that recognise names by their capital letter, in languages with letter case.

The first word in a sentence is always capitalised, so names are searched for after it. Each pattern is kept exactly as
it was measured: `WEIGHED` and `COMPARED` affect which messages are written, `EXPECTED` and `LENT` affect answers.
"""

from __future__ import annotations

import re

NAME = r"[A-ZÀ-ÖØ-ÞŁŚŠŽČŽĐİ][\w.'’&-]*"  # one word of a name, in a pattern
INSIDE = re.compile(rf"(?<=[\w,] ){NAME}")  # in a clause
WEIGHED = re.compile(r"(?<=[a-z0-9,;:] )(?!I\b)[A-Z][\w'’-]+(?: [A-Z][\w'’-]+)*")  # a cue of the lexicon
COMPARED = re.compile(r"(?<=[\w,;:'’\")] )(?!I\b)[A-Z][\w'’-]*")  # what a restatement must also say
EXPECTED = re.compile(r"(?<=[a-z,;:'’\"] )[\"“']?[A-Z][\w'’]+")  # what answers "who" and "where"
LENT = re.compile(  # what a passage lends to the next question
    r"(?<![.!?:]\s)(?<!^)\b[A-ZÀ-Þ][\w'’-]+(?: +[A-ZÀ-Þ][\w'’-]+)*", re.MULTILINE
)
