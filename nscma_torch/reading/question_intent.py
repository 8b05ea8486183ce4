"""Detect from a question's form whether it asks for a current state, an overview of past messages, or advice."""

from __future__ import annotations

import re
from typing import Literal

Intent = Literal["current", "overview", "advice"]

_OVERVIEW = re.compile(r"\b(?:summar(?:y|i[sz]e|i[sz]ing)|overview|recap|sum up)\b|总结|概括|概述|回顾", re.IGNORECASE)
_ADVICE = re.compile(
    r"\b(?:suggest|recommend|help me|(?:can|could|would|will) you (?:please )?(?:help|show|explain|teach))\b"
    r"|\bhow (?:can|could|do|should) (?:i|we)\b"
    r"|\b(?:what(?! time| day| date)|where|which|who)\b[^?.!]{0,60} should (?:i|we)\b"
    r"|推荐|(?:给我(?!的)|有什么|有没有|哪些)[^。？！]{0,6}建议|帮我|教我|应该怎么|怎么办",
    re.IGNORECASE,
)
# questions about earlier messages, phrased as requests
_RECORDED = re.compile(
    r"\b(?:help me (?:remember|recall|find)|(?:show|tell) me (?:what|where|when|who|which|how (?:many|much)))\b"
    r"|\b(?:do|does|has|have) (?!you\b|we\b)[\w'’]+(?: [\w'’]+)? (?:suggest|recommend)"
    r"|帮我(?:查|找|看|回忆|想|记)",
    re.IGNORECASE,
)
_VALUE = re.compile(
    r"\bhow (?:many|much|long|often|old|far|big|large|tall|high|fast)\b"
    r"|\b(?:when|where|who)(?:['’]s| is| are| do| does| will)\b"
    r"|\bwhat(?:['’]s| is| are)\b"
    r"|\b(?:what|which)(?: [\w'’-]+){1,4}? (?:is|are|do|does|has|have|should|will)\b"
    r"|多[少大久远长高]|几|什么(?:时候|颜色|名字)|何时|哪[里儿个天年]|谁|是什么|叫什么",
    re.IGNORECASE,
)
_SEVERAL = re.compile(  # answered by several statements together
    r"\b(?:between|different|each|both|in total|altogether|combined)\b|之间|一共|总共|分别", re.IGNORECASE
)
_PAST = re.compile(
    r"\b(?:did|was|were|had|used to|originally|previously|formerly)\b|(?:didn|wasn|weren|hadn)['’]t\b"
    r"|以前|之前|曾经|当时|原来|(?<![不通超])过(?![期敏程年度于分])",
    re.IGNORECASE,
)


def intent(question: str) -> Intent | None:
    """Return "overview" if a question asks for a summary, "advice" if it asks what to do or how, "current" if it is in
    the present tense and has a single answer (how many, when is, what is, where does, …), else None.
    """
    if _OVERVIEW.search(question):
        return "overview"
    if _PAST.search(question):
        return None
    if _ADVICE.search(question) and not _RECORDED.search(question):
        return "advice"
    return "current" if _VALUE.search(question) and not _SEVERAL.search(question) else None
