"""Writing systems: character classes for patterns, and the dominant script of a text.

`script_of` in `surprise/` has its own table, because it imports only torch and its names occur in stored gate states.
"""

from __future__ import annotations

import re
from typing import Literal

Script = Literal["latin", "cjk", "cyrillic", "arabic", "other"]

HAN = r"\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_KANA_HANGUL = (
    r"\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u31a0-\u31bf\u31f0-\u31ff\u1100-\u11ff\uac00-\ud7af"
)
_SOUTH_EAST_ASIAN = r"\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ede\u1000-\u103f\u1780-\u17d3"
UNSPACED = HAN + _KANA_HANGUL + _SOUTH_EAST_ASIAN
HANZI = r"\u4e00-\u9fff"  # what Chinese words are written with; 〇 is a digit and 々 repeats a character
HAN_CHAR = re.compile(rf"[{HAN}]")
CJK_CHAR = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]")  # punctuation too
_LETTERS = re.compile(r"[^\W\d_]+")
_SCRIPTS: dict[Script, re.Pattern[str]] = {
    "latin": re.compile(r"[A-Za-zªºÀ-ÖØ-öø-\u024f\u1e00-\u1eff\uff21-\uff3a\uff41-\uff5a]+"),
    "cjk": re.compile(rf"(?:[{HAN}{_KANA_HANGUL}\uff66-\uff9f](?<=\w))+"),
    "cyrillic": re.compile(r"(?:[\u0400-\u052f\u1c80-\u1c8f\u2de0-\u2dff\ua640-\ua69f](?<=[^\W\d_]))+"),
    "arabic": re.compile(r"(?:[\u0600-\u06ff\u0750-\u077f\u08a0-\u08ff\ufb50-\ufdff\ufe70-\ufeff](?<=[^\W\d_]))+"),
}


def script(text: str) -> Script:
    """Return the script of most of the text, weighting each letter by its UTF-8 bytes; "other" if there are no letters
    or another script.

    Bytes are used because the surprise model reads bytes, and because one Chinese character carries as much information
    as several letters.
    """
    if text.isascii():
        return "latin" if any(map(str.isalpha, text)) else "other"
    weights: dict[Script, int] = {
        name: sum(len(run.encode("utf-8", "surrogatepass")) for run in pattern.findall(text))
        for name, pattern in _SCRIPTS.items()
    }
    other = sum(len(run.encode("utf-8", "surrogatepass")) for run in _LETTERS.findall(text)) - sum(weights.values())
    weights["other"] = max(other, 1)
    return max(weights, key=weights.__getitem__)
