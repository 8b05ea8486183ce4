"""English and Chinese number words.

The cue lexicon has its own list, as its words affect a message's score.
"""

from __future__ import annotations

_TO_TWENTY = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen twenty
"""
TO_TWENTY = tuple(_TO_TWENTY.split())  # each at the place of its value
LARGER = ("thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety", "hundred", "thousand", "million", "dozen")
HAN_DIGITS = {char: i for i, char in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2, "兩": 2}
HAN_NUMERALS = "一二两三四五六七八九十百千"  # those that hardly ever mean anything else
