"""English and Chinese personal pronouns, in lower case.

`restatement.py` distinguishes "us" from "US" by case, and the cue lexicon has its own list, as it affects a message's
score.
"""

from __future__ import annotations

import re

from nscma_torch.text.scripts import HANZI

FIRST_PERSON = frozenset({"i", "me", "we", "us", "myself", "mine", "ourselves"})
FIRST_PERSON |= {"我", "我们", "咱们", "咱", "俺", "本人"}
SECOND_PERSON = frozenset({"you", "yourself", "你", "您", "你们"})
ASSISTANT = "assistant"  # name of the entity that "you" in a question means
ONE_PERSON = frozenset({"he", "she", "him", "her", "他", "她"})
THINGS = frozenset({"it", "this", "that", "它", "这", "那", "这个", "那个"})
REFERRING = ONE_PERSON | THINGS  # to something mentioned before
REFERRING |= {"they", "them", "his", "hers", "their", "theirs", "its", "these", "those", "there"}
REFERRING |= {"他们", "她们", "它们"}

_SPACED = "|".join(sorted(one for one in REFERRING if not re.match(rf"[{HANZI}]", one)))
_UNSPACED = "|".join(sorted(one for one in REFERRING if re.match(rf"[{HANZI}]", one)))
_REFERS = re.compile(rf"\b(?:{_SPACED})\b|(?<![其吉])(?:{_UNSPACED})", re.IGNORECASE)  # not 其他 "other", 吉他 "guitar"


def refers_back(text: str) -> bool:
    """Return True if a text contains a pronoun that could refer to a person or thing mentioned earlier."""
    return _REFERS.search(text) is not None
