"""Detect Chinese passages about somebody other than the asker: 我妈妈有糖尿病 for the question 我有糖尿病吗."""

from __future__ import annotations

import re

from nscma_torch.reading.chinese import without_lead
from nscma_torch.reading.chinese_kin import KIN

_ABOUT_ASKER = re.compile(r"(?:请问|那么?|你?(?:还)?(?:知道|记得))*我(?!们)")
_OF_OTHERS_TOO = re.compile(rf"{KIN}|[谁人他她你您说提聊送]|为什么|怎么|原因|什么时候")
_OTHER = re.compile(rf"(?:(?:我|咱|俺)们?(?:[的家最一个位名前新]{{0,4}})(?:{KIN})|[他她]们?)")
_ASKER = re.compile(r"[我咱俺]|一起|一块|全家|大家")
_END = re.compile(r"[。！？!?\n]+")


def is_of_another(question: str, passage: str) -> bool:
    """Return True if a question is only about the asker, and every sentence in the passage is about a relative or
    friend.
    """
    if not _ABOUT_ASKER.match(question.strip()) or _OF_OTHERS_TOO.search(question):
        return False
    sentences = [without_lead(one.strip()) for one in _END.split(passage) if one.strip()]
    subjects = [_OTHER.match(one) for one in sentences]
    return bool(sentences) and all(
        who is not None and not _ASKER.search(one[who.end() :]) for one, who in zip(sentences, subjects, strict=True)
    )
