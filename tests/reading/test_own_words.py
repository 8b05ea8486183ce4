"""Text that a message only hands over is nobody's own word."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest

from nscma_torch.core.records import Scope, Unit
from nscma_torch.reading.own_words import in_own_words, own_words

HANDED_OVER = """
Generate a reply to:¦ Hi, I'm Anna, I work at Google and I love cats.
Draft two polite responses to this:¦ We moved to Vienna and miss you.
Translate to Spanish: ¦I am allergic to penicillin.
Please proofread this email: ¦Dear team, I moved to Vienna. Best, Karl
Could you rephrase: ¦we moved to Ghent last year
Can you summarise this article for me?¦ / / I grew up in Rome.
Make this more formal: ¦I live in Lima and my boss is Ana
My friend texted me: ¦I got a job at Netflix!
Here is the bio of our CEO: ¦I was born in Madrid.
What is the tone of this message: ¦I quit my job at Intel
Anna's cover letter: ¦I have worked at Acme since 2019.
把下面的话翻译成英文：¦我对花生过敏。
我朋友发消息说：¦我搬到北京了。
Fix this email: ¦I moved to Bern.
Check this for typos: ¦I live in Rmoe.
Put this in French: ¦I live in Bern.
Make a haiku out of this: ¦I own a lighthouse.
Mum sent me this note: ¦I am in Bern.
Tom asked me: ¦I need your car, can I have it?
Paraphrase the following paragraph. ¦I grew up in Yerevan and I have two daughters.
Can you proofread the text below? ¦I live in Oslo.
Translate the following into French. ¦I am allergic to nuts.
修改这段话：¦我住在北京。
请把下面的段落翻译成英文。¦我住在北京。
"""
OWN = """
Update: I moved to Berlin.
Edit: I live in Rome now.
Remember this: I am allergic to penicillin.
My bio: I was born in Madrid.
About me: I live in Rome.
I told my boss: I'm moving to Rome.
To answer your question: I live in Rome.
I have to fix my car: I need it for work.
I got a message from my wife: she moved to Rome.
My address is: 12 Main Street
I said "I live in Rome now" and she laughed.
I love "The Lord of the Rings" and live in Rome.
My favourite film is "I Know What You Did Last Summer".
我说：我搬到北京了。
记住：我对花生过敏
Fix this for me: my tap drips. I live in Utrecht, who can I call?
Find me a packing list: I'm allergic to wool.
Write a letter to my boss: I'm ill.
Write me a story: I live in Atlantis.
The form asks for it: I was born in Jena.
Explain it to me slowly: I have dyslexia.
Check this for me: I take ramipril and aspirin.
Analyse my situation: I am 45 and live in Bern.
Summarise my week: I moved to Graz.
Correct this: I live in Rome, not in Bern.
Write a letter to my landlord about this: I have asthma.
My boss asked me where I live: I live in Kiel.
Mum sent me a cake: I'm allergic to eggs.
Can you summarise this article? I live in Rome.
帮我分析一下：我对花生过敏，能吃什么？
总结一下我的情况：我住在北京
"""


def lines(table: str) -> list[str]:
    return [line.replace(" / ", "\n") for line in table.strip().splitlines()]


@pytest.mark.parametrize("text", lines(HANDED_OVER))
def test_material_of_a_task_and_reported_speech_are_blank(text: str) -> None:
    head, _, material = text.partition("¦")
    assert own_words(head + material).rstrip() == head.rstrip()
    assert len(own_words(head + material)) == len(head + material)


@pytest.mark.parametrize("text", lines(OWN))
def test_what_a_speaker_says_of_themselves_stays(text: str) -> None:
    assert own_words(text) == text


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ('Translate "I am vegan" into French. I live in Bern.', "Translate into French. I live in Bern."),
        ('Lea said "I live in Rome now" and left.', "Lea said and left."),
        ("> I moved to Lyon\nThat is his note. I live in Bern.", "That is his note. I live in Bern."),
        ("Write me a packing list: I'm allergic to wool.", "I'm allergic to wool."),
        ("Make this trip perfect: I'm allergic to nuts.", "I'm allergic to nuts."),
        ("Create a meal plan for the following: I'm vegan.", "I'm vegan."),
        ("Hi! Please make a menu for six: I live in Bern.", "Hi! I live in Bern."),
        ("```\nowner = 'I live in Rome'\n```\nI live in Bern.", "I live in Bern."),
        ("I live in Bern.\nFrom: Karl\nSubject: news\n\nI moved to Vienna.", "I live in Bern."),
        ("I is at Sony.\n\nPlease fix the grammar of the above.", "Please fix the grammar of the above."),
    ],
)
def test_what_stands_around_a_quotation_stays(text: str, own: str) -> None:
    assert " ".join(own_words(text).split()) == own


@pytest.mark.parametrize("part", ["said: ", '"I am he" ', ":\n", "> a\n", "from: a\n", "：", "'a b c' "])
def test_the_cost_is_linear_in_the_text(part: str) -> None:
    begin = time.process_time()
    own_words(part * (2_000 // len(part)))
    short = time.process_time() - begin
    begin = time.process_time()
    own_words(part * (8_000 // len(part)))
    assert time.process_time() - begin < 8 * short + 0.15


@pytest.mark.parametrize(
    ("handed_over", "role", "source", "masked"),
    [
        ("> I live in Paris.", "document", "about.md", True),
        ("```\nI live in Paris.\n```", "document", "about.md", True),
        ("She said “I live in Paris now”.", "document", "about.markdown", True),
        ("It prints `I live in Paris`.", "document", "about.md", True),
        ("> I live in Paris.", "document", "novel.txt", False),
        ("> I live in Paris.", "assistant", None, False),
        ("> I live in Paris.", "user", None, True),
    ],
)
def test_quotes_and_code_of_a_note_are_not_the_users_words(
    handed_over: str, role: str, source: str | None, masked: bool
) -> None:
    text = f"# Health\n\nI am well.\n\n{handed_over}\n"
    unit = Unit("1", Scope("user"), "chunk", text, (), datetime(2026, 1, 1, tzinfo=UTC), role=role, source=source)
    heard = in_own_words(unit).text
    assert "I am well." in heard and ("Paris" in heard) != masked
