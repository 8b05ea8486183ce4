"""The answer to a question that the memory can't answer, in the script of the question."""

from __future__ import annotations

from nscma_torch.text.scripts import script

UNKNOWN = "I don't know: nothing I remember answers that."
UNKNOWN_IN_CHINESE = "我不知道：记忆里没有能回答这个问题的内容。"


def unknown_answer(question: str) -> str:
    """Return the answer in Chinese to a Chinese question, else in English."""
    return UNKNOWN_IN_CHINESE if script(question) == "cjk" else UNKNOWN
