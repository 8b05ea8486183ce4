"""What a question is after is told by its form."""

from __future__ import annotations

import pytest

from nscma_torch.reading.question_intent import intent

CURRENT = (
    "How many sources are in my library?",
    "What is Ana's phone number?",
    "What's the deadline of the first sprint?",
    "When does the course start?",
    "Where do you live?",
    "Which train line does she take?",
    "Can you help me remember what my sister's phone number is?",
    "Can you show me what Ana's address is?",
    "Which dentist does Ana recommend?",
    "我的预算是多少？",
    "不过我的预算是多少？",
    "我的护照什么时候过期？",
    "帮我查一下我的车牌号是多少？",
    "医生给我的建议是什么？",
    "我儿子多大了？",
    "我现在在哪个城市工作？",
)
OVERVIEW = ("Can you summarize what we discussed?", "Give me an overview of my plans.", "总结一下我们的讨论")
ADVICE = (
    "Can you suggest a restaurant for tonight?",
    "How should I plan my week?",
    "What kind of bike should I buy?",
    "Could you help me with my essay?",
    "你能推荐一家餐馆吗？",
    "帮我写一封信吧",
    "关于旅行有什么建议？",
)
NEITHER = (
    "How many sources did I have in May?",
    "What was my budget before that?",
    "Where were you living?",
    "What hadn't been paid when we met?",
    "以前我的预算是多少？",
    "我去过哪里？",
    "Which film did you recommend to me?",
    "How many days are there between my two exams?",
    "What are both of my addresses?",
    "我一共有多少书？",
    "Why is the sky blue?",
    "Tell me about Ana.",
    "",
)


@pytest.mark.parametrize("question", CURRENT)
def test_one_value_is_asked_for_as_it_stands_now(question: str) -> None:
    assert intent(question) == "current"


@pytest.mark.parametrize("question", OVERVIEW)
def test_an_overview_is_asked_for(question: str) -> None:
    assert intent(question) == "overview"


@pytest.mark.parametrize("question", ADVICE)
def test_advice_is_asked_for(question: str) -> None:
    assert intent(question) == "advice"


@pytest.mark.parametrize("question", NEITHER)
def test_all_else_has_no_intent(question: str) -> None:
    assert intent(question) is None
