"""Personal pronouns, English and Chinese, in lower case.

`restatement.py` tells "us" from "US" by its case, and the cue lexicon weighs its own list in the score of a message.
"""

from __future__ import annotations

FIRST_PERSON = frozenset({"i", "me", "we", "us", "myself", "mine", "ourselves"})
FIRST_PERSON |= {"我", "我们", "咱们", "咱", "俺", "本人"}
SECOND_PERSON = frozenset({"you", "yourself", "你", "您", "你们"})
