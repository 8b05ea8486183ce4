"""Detect cues that a message is worth remembering, in English and Chinese, with a fixed lexicon and no model.

A language model's surprise measures how unexpected a wording is, not whether it will be asked about: "I'm vegetarian"
is short, predictable and vital. The lexicon lists kinds of statement that carry personal facts (a request to remember,
preferences, people, names, times, numbers, changes, events, plans) and kinds that carry few (questions, small talk,
talk about the listener).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from functools import cache

from nscma_torch.text.capitalised import WEIGHED
from nscma_torch.text.scripts import HAN_CHAR

# Phrases of one to three words, separated by commas; a phrase may belong to several kinds.
_ENGLISH = {
    "remember": """
        remember that, remember this, remember to, remember my, remember i, please remember, don't forget,
        do not forget, never forget, keep in mind, note that, note to self, for the record, remind me,
        for future reference, make a note, write this down, write that down""",
    "self": "i, i'm, im, i am, i've, i'd, i'll, my, mine, myself, we, we're, we've, we'd, we'll, our, ours, ourselves",
    "preference": """
        prefer, prefers, preferred, preference, favorite, favourite, favorites, favourites, i like, i liked,
        like to, i love, i loved, love to, love the, i hate, i hated, i enjoy, i enjoyed, enjoy, enjoys, dislike,
        can't stand, allergic, allergy, allergies, intolerant, vegetarian, vegan, pescatarian, kosher, halal,
        gluten, passion, passionate, fan of, hobby, hobbies, interested in, afraid of, scared of, i don't like,
        i don't eat, i don't drink, i can't eat""",
    "person": """
        wife, husband, partner, spouse, girlfriend, boyfriend, fiance, fiancé, fiancee, fiancée, mother, mom, mum,
        father, dad, parent, parents, sister, sisters, brother, brothers, son, sons, daughter, daughters, kid, kids,
        child, children, baby, aunt, uncle, cousin, cousins, niece, nephew, grandma, grandpa, grandmother,
        grandfather, grandson, granddaughter, grandparents, family, friend, friends, boss, manager, colleague,
        colleagues, coworker, coworkers, neighbor, neighbour, neighbors, neighbours, roommate, roommates, teacher,
        doctor, therapist, dog, dogs, cat, cats, puppy, kitten, pet, pets""",
    "date": """
        january, february, in march, on march, since march, last march, april, in may, on may, last may, june, july,
        august, september, october, november, december, monday, tuesday, wednesday, thursday, friday, saturday,
        sunday, mondays, tuesdays, wednesdays, thursdays, fridays, saturdays, sundays, today, yesterday, tomorrow,
        tonight, last day, last night, last week, last weekend, last month, last year, last spring, last summer,
        last fall, last autumn, last winter, this morning, this afternoon, this evening, this week, this weekend,
        this month, this year, this spring, this summer, this fall, this autumn, this winter, next week,
        next weekend, next month, next year, next spring, next summer, next fall, next autumn, next winter,
        every day, every week, every month, every year, ago, recently, lately, since, the other day, birthday,
        birthdays, anniversary, christmas, easter, thanksgiving, holiday, holidays, o'clock, noon, midnight,
        weekend, weekends""",
    "number": """
        two, three, four, five, six, seven, eight, nine, ten, eleven, twelve, twenty, thirty, forty, fifty, hundred,
        thousand, million, dozen, first, second, third, once, twice, half, couple of""",
    "change": """
        moved, moving to, no longer, not anymore, anymore, any more, switched, switching, changed, changing, now,
        quit, started, starting, stopped, used to, instead, became, becoming, broke up, got married, engaged,
        divorced, promoted, promotion, retired, fired, laid off, hired, joined, left, finally, new, i got, we got,
        just got, bought, sold, adopted, graduated, decided, began, won, lost, was born, died, passed away""",
    "event": """
        was, were, been, had, did, went, came, saw, took, made, met, gave, found, told, said, wrote, read, built,
        ran, spoke, taught, learnt, thought, brought, caught, felt, fell, flew, drove, rode, ate, drank, slept,
        woke, spent, paid, sent, kept, led, hurt, broke, chose, forgot, grew, hung, heard, knew, lent, sang, sat,
        stood, swam, wore, trip, happening, i work, i live, working, living, studying""",
    "negation": """
        not, no, never, none, nothing, nobody, without, neither, nor, cannot, can't, don't, doesn't, didn't, isn't,
        aren't, wasn't, weren't, won't, wouldn't, couldn't, shouldn't, haven't, hasn't, hadn't""",
    "plan": """
        going to, gonna, planning, plan to, plans, want to, wanted to, hope to, hoping to, i'll, we'll, i will,
        we will, thinking of, thinking about, scheduled, booked, appointment, looking forward, signing up, deadline,
        due, goal, goals, dream of, about to""",
    "small_talk": """
        hi, hey, hello, bye, goodbye, good morning, good night, good evening, good afternoon, good luck, see you,
        see ya, take care, thanks, thank you, thx, ty, cheers, ok, okay, k, yes, yeah, yep, yup, nope, sure, right,
        exactly, agreed, cool, great, awesome, amazing, nice, wow, wonderful, fantastic, lovely, perfect, congrats,
        congratulations, haha, hahaha, lol, lmao, hmm, mm, uh, oh, ah, sounds good, sounds great, sounds fun,
        sounds like, no problem, no worries, you're welcome, of course, absolutely, definitely, totally, got it,
        i see, i agree, my pleasure, glad, sorry, talk soon, talk later, keep it up, way to go, how are you,
        what's up, proud of you, happy for, excited for""",
    "listener": "you, your, yours, you're, you've, you'll, you'd, u, yourself",
}

_CHINESE = {  # regular expressions; Chinese has no spaces to find words by
    "remember": "记住|记得|记一下|记下|别忘|不要忘|不能忘|提醒我|备忘",
    "self": "我们|我",
    "preference": "喜欢|最爱|爱吃|爱喝|讨厌|不爱|不再?吃|不再?喝|过敏|吃素|素食|偏好|习惯|感兴趣|害怕|怕",
    "person": "老婆|妻子|太太|老公|丈夫|女朋友|男朋友|妈妈|母亲|爸爸|父亲|父母|儿子|女儿|孩子|哥哥|弟弟|姐姐|"
    "妹妹|爷爷|奶奶|外公|外婆|叔叔|阿姨|朋友|同事|老板|领导|老师|医生|邻居|室友|狗|猫",
    "name": "名字|我叫|他叫|她叫|叫做|姓|《[^《》]+》|「[^「」]+」",
    "date": "今天|昨天|前天|明天|后天|今晚|昨晚|早上|下午|晚上|中午|上周|下周|这周|本周|周末|"
    "周[一二三四五六日]|星期[一二三四五六日天]|上个?月|下个?月|这个月|去年|今年|明年|前年|年底|年初|"
    r"生日|纪念日|春节|国庆|中秋|\d{1,8} ?[年月日号点]|[一二三四五六七八九十]{1,8}[月号点]|以前|之前|最近|刚才",
    "number": r"\d[\d.,]*%?|"
    "[一二两三四五六七八九十百千万半]{1,12} ?(?:个|次|岁|年|天|周|月|块|元|公斤|公里|只|人|本|辆|套|点|小时|分钟)",
    "change": "搬|换|不再|改|现在|已经|开始|停|辞职|离职|入职|跳槽|结婚|离婚|分手|升职|退休|变成|成为|刚|终于|"
    "毕业|买了|卖了|决定|戒|新",
    "event": "去了|去过|来了|参加|做了|见了|见到|拿到|收到|学|工作|上班|住|旅行|旅游|出差|搬到|发生|在",
    "negation": "不是|不会|不能|不想|不要|没有|没|从不|从来不|别|不",
    "plan": "打算|计划|准备|想要|想去|要去|将要|预约|预定|订了|目标|希望|会",
    "question": "吗|呢|什么|怎么|为什么|哪里|哪儿|谁|几点|多少",
    "small_talk": "你好|您好|嗨|早上好|早安|晚安|再见|拜拜|谢谢|多谢|感谢|不客气|没关系|没事|好的|好吧|好啊|好呀|"
    "行吧|可以的|嗯+|哦+|噢+|啊+|哈哈+|嘿嘿+|呵呵+|嘻嘻+|是的|是啊|对的|对啊|没错|收到|明白|知道了|"
    "了解|辛苦了|加油|恭喜|太好了|太棒了|真的吗|厉害|不错|当然",
}

# Logistic regression on conversations, rounded; kinds too rare there ("remember", changes, plans) are set by hand.
WEIGHTS: Mapping[str, float] = {
    "remember": 2.0,
    "self": 0.6,
    "preference": 0.6,
    "person": 0.4,
    "name": 0.5,
    "date": 0.7,
    "number": 0.3,
    "change": 0.4,
    "event": 0.6,
    "negation": 0.1,
    "plan": 0.2,
    "question": -0.4,
    "small_talk": -0.5,
    "listener": -0.3,
}

_LONGEST = 3  # words of a phrase
_TOKEN = re.compile(r"[a-zé]+(?:'[a-z]+)?|\d[\d.,:]*(?:st|nd|rd|th|am|pm|%)?")
_PAST = re.compile(r"[a-z]{3,}ed")  # regular past tense
_NOT_PAST = frozenset(
    [
        "need",
        "indeed",
        "speed",
        "feed",
        "hundred",
        "sacred",
        "embed",
        "exceed",
        "proceed",
        "succeed",
        "interested",
        "excited",
    ]
)
_CLOCK_OR_YEAR = re.compile(r"(?:19|20)\d\d|\d{1,2}:\d\d(?:am|pm)?|\d{1,2}(?:st|nd|rd|th|am|pm)")
_CODE = re.compile(r"(?<!\S)(?=\S*\d)(?=\S*[A-Za-z])[!-~]{8,}(?!\S)|[!-~]{24,}")  # ids, hashes, base64, time stamps


@cache
def _lexicon() -> tuple[dict[str, tuple[str, ...]], dict[str, re.Pattern[str]]]:
    """Return the kinds for each English phrase, and one pattern per kind for Chinese."""
    kinds: dict[str, tuple[str, ...]] = {}
    for kind, phrases in _ENGLISH.items():
        for phrase in phrases.split(","):
            words = " ".join(phrase.split())
            kinds[words] = (*kinds.get(words, ()), kind)
    return kinds, {kind: re.compile(words) for kind, words in _CHINESE.items()}


def find_cues(text: str) -> dict[str, int]:
    """Count the cues of each kind (a key of `WEIGHTS`) in `text`, omitting absent kinds."""
    english, chinese = _lexicon()
    found: Counter[str] = Counter()
    text = _CODE.sub(" ", text)
    words = _TOKEN.findall(text.lower().replace("’", "'"))
    for end in range(1, len(words) + 1):
        for start in range(max(end - _LONGEST, 0), end):
            for kind in english.get(" ".join(words[start:end]), ()):
                found[kind] += 1
        word = words[end - 1]
        if word[0].isdigit():
            found["date" if _CLOCK_OR_YEAR.fullmatch(word.rstrip(".,:")) else "number"] += 1
        elif _PAST.fullmatch(word) and word not in _NOT_PAST:
            found["event"] += 1
    found["name"] += len(WEIGHED.findall(text))
    found["question"] += text.count("?") + text.count("？")
    if HAN_CHAR.search(text):
        statements, greetings = chinese["small_talk"].subn(" ", text)  # 早上好 is no time of day
        found["small_talk"] += greetings
        for kind, pattern in chinese.items():
            found[kind] += len(pattern.findall(statements))
    return {kind: count for kind, count in found.items() if count}


def only_small_talk(text: str) -> bool:
    """Return True if the whole text is small talk ("Hi, how are you?"): every word belongs to a small-talk cue."""
    english, chinese = _lexicon()
    words = _TOKEN.findall(text.lower().replace("’", "'"))
    covered = [False] * len(words)
    for start in range(len(words)):
        for end in range(start + 1, min(start + _LONGEST, len(words)) + 1):
            if "small_talk" in english.get(" ".join(words[start:end]), ()):
                covered[start:end] = [True] * (end - start)
    han = chinese["small_talk"].sub(" ", text)
    rest = _TOKEN.sub(" ", han.lower().replace("’", "'"))
    spoken = bool(words) or han != text
    return spoken and all(covered) and not any(char.isalnum() for char in rest)


def salience(text: str) -> float:
    """Score how worth remembering `text` is, in (0, 1): weighted cues on a logistic scale.

    Each kind counts with the logarithm of its number of occurrences. A text without cues scores 0.5.
    """
    total = sum(WEIGHTS[kind] * math.log1p(count) for kind, count in find_cues(text).items())
    return 1.0 / (1.0 + math.exp(-total))
