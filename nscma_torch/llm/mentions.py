"""Who and what a phrase means within a message: I and you are the speakers, she and it what was spoken of last."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from nscma_torch.llm.phrases import KIN_RELATION, NAME, OTHER_PERSONS, PRONOUNS, bare, is_person, word_set
from nscma_torch.records import Statement

_KIN = "|".join(sorted(map(re.escape, KIN_RELATION), key=len, reverse=True))
_ADJECTIVE = (
    r"(?:(?:older|younger|elder|little|big|best|old|new|twin|eldest|youngest|oldest|late|dear|lovely|only|good"
    r"|close|childhood|current|"
    r"line|first|second|baby|great|former|two|three|both|teenage|oldest|school|college|dear|maternal|paternal)\s+)*"
)
_FULL_NAME = rf"{NAME}(?:\s+{NAME}){{0,2}}"
_KIN_NAMED = re.compile(
    rf"\b(?P<owner>[Mm]y|[Oo]ur|[Hh]is|[Hh]er|[Tt]heir|[Yy]our|{NAME}'s)\s+(?P<adjective>{_ADJECTIVE})(?P<kin>{_KIN})s?"
    rf"(?:\s+(?:called|named|is called|is named)|\s*,)?\s+(?P<name>(?:(?:Dr|Mr|Mrs|Ms)\.?\s+)?{_FULL_NAME})(?:\s*,)?"
    rf"(?:\s+and\s+(?P<second>(?!I\b){NAME})(?=\s+(?:are|were|have|and|both)\b|$|,))?"
)
_OTHER_NAMED = re.compile(
    rf"\b(?:[Mm]y|[Oo]ur|[Hh]is|[Hh]er|[Tt]heir|[Tt]he)\s+{_ADJECTIVE}(?:{OTHER_PERSONS})\s*,?\s+(?P<name>(?:(?:Dr"
    rf"|Mr|Mrs|Ms)\.?\s+)?{_FULL_NAME})(?=\s|,|$)(?:,(?=\s+[a-z]+s\s))?"
)
_OWNED_LAST = re.compile(
    r"\b((?!.*\b(?:face|head|mind|life|heart|hands?|eyes?|way|time)$)(?:[Mm]y|[Oo]ur)\s(?:[\w'-]+\s){0,2}?[\w'-]+)$"
)
_SPEAKERS = {"i", "me", "we", "us", "myself", "mine", "ourselves", "我", "我们", "咱们", "咱", "俺", "本人"}
_LISTENERS = {"you", "yourself", "你", "您", "你们"}
_PERSONS = {"he", "she", "him", "her", "他", "她"}
_THINGS = {"it", "this", "that", "它", "这", "那", "这个", "那个"}
_HAN_KIN_NOUNS = {
    "parent": "妈妈|爸爸|母亲|父亲|妈|爸",
    "sibling": "姐姐|妹妹|哥哥|弟弟|姐|妹|哥|弟",
    "married_to": "老公|老婆|丈夫|妻子|太太|先生",
    "child": "女儿|儿子|孩子",
    "relative": "爷爷|奶奶|外婆|外公|姥姥|姥爷|舅舅|叔叔|阿姨|表哥|表姐|表弟|表妹"
    "|堂哥|堂姐|堂弟|堂妹|侄子|侄女|外甥|外甥女",
    "colleague": "同事",
    "friend": "朋友|好友|闺蜜",
    "roommate": "室友|舍友",
    "partner": "女朋友|男朋友|女友|男友|未婚妻|未婚夫",
    "manager": "老板|经理|领导|上司|主管",
}
_HAN_RELATION = {noun: relation for relation, nouns in _HAN_KIN_NOUNS.items() for noun in nouns.split("|")}
_HAN_KIN = "|".join(sorted(_HAN_RELATION, key=len, reverse=True))
_HAN_KIN_NAMED = re.compile(
    rf"^(?P<owner>我们?|咱们?|你|您)(?:的|家的?)?(?P<kin>{_HAN_KIN})(?P<name>[小老阿][\u4e00-\u9fff]{{1,2}}?"
    rf"|[\u4e00-\u9fff]{{2,3}}?)"
    r"(?=(?:今年|现在|最近|已经|上周|上个月|去年)?(?:有|在|是|最|喜欢|住|会|去|从|对|把|和|得|正|刚|每|负责|养|买|用|不|也|想|打算|讨厌|爱|生|毕业|当|做|学|教|搬|换|辞|升"
    r"|结|离|来|患|加入|考|开|卖|弹|打|跟|\d|[一二三四五六七八九十]+岁))"
)
_HAN_OWNED = re.compile(rf"^(?P<owner>我们?|咱们?|你|您|他|她)(?:的|家的?|(?=(?:{_HAN_KIN})))(?P<rest>.+)$")
_HAN_CHANGED = re.compile(r"^(?P<topic>.{2,10}?)(?:已经|又|刚刚?|最近)?(?:换|改|变|更新)(?:了|掉了?|过了?)$")
_HAN_NOW = re.compile(r"^(?:现在|目前|如今|新的|最新的?)?(?:是|叫|改成|换成|变成|改为)")
_CAPITAL_HOURS = word_set(
    """Monday Tuesday Wednesday Thursday Friday Saturday Sunday January February March April May June July August
    September October November December Today Tomorrow Yesterday The This That These Those There Here Everyone
    Everybody Somebody Someone Nobody Nothing Everything Something Both All Some Most Many People It He She We
    They What Who Which When Where Why How And But So"""
)


@dataclass
class Mentions:
    """What the pronouns of one message can mean, as it is read from the beginning."""

    speaker: str
    listener: str
    person: str = ""
    thing: str = ""
    subject: str = ""  # as written, of the clause before (Chinese: resolved)
    topic: str = ""  # the noun phrase, as written, that the last clause about a thing began with
    kin: list[Statement] = field(default_factory=list)
    persons: set[str] = field(default_factory=set)

    def resolve(self, phrase: str) -> str:
        """The name of what a noun phrase means, "" where that is unclear."""
        plain = " ".join(phrase.strip(" ,.'\"").split())
        lowered = plain.lower()
        if lowered in _SPEAKERS:
            return self.speaker
        if lowered in _LISTENERS:
            return self.listener
        if lowered in _PERSONS:
            return self.person
        if lowered in _THINGS:
            meant = self.spoken_of()
            return self.resolve(meant) if meant.lower() not in _THINGS else ""
        if lowered in PRONOUNS or not plain:
            return ""
        kin = _KIN_NAMED.fullmatch(plain) or _KIN_NAMED.fullmatch(plain.rstrip(","))
        if kin and not kin["second"]:
            return kin["name"]
        named = re.fullmatch(
            rf"(?:a|an|another|this|the)\s+(?:\w+\s+){{0,3}}(?:called|named)\s+(?P<name>{_FULL_NAME})", plain
        )
        if named:
            return named["name"]
        han = _HAN_OWNED.match(plain)
        if han:
            owner = self.resolve(han["owner"])
            return f"{owner}'s {han['rest']}" if owner and han["rest"] else ""
        owned = re.match(
            rf"(?P<owner>my|our|your|his|her|their|its|{NAME}(?:\s+{NAME})?'s?(?=\s))\s+(?:own\s+)?(?P<rest>.+)",
            plain,
            re.IGNORECASE,
        )
        if owned and not owned["rest"].lower().startswith(("s ", "and ")):
            owner = self._owner(owned["owner"])
            return f"{owner}'s {_without_adjective(owned['rest'])}" if owner else ""
        if re.fullmatch(rf"(?:{_KIN})", plain, re.IGNORECASE) and lowered in (
            "mum",
            "mom",
            "dad",
            "grandma",
            "grandpa",
            "granny",
            "gran",
            "nan",
            "papa",
            "mama",
            "mam",
        ):
            return f"{self.speaker}'s {lowered}"
        return bare(plain, keep=("new", "brand-new", "brand new", "all", "one of", "only", "both"))

    def _owner(self, word: str) -> str:
        lowered = word.lower()
        if lowered in ("my", "our"):
            return self.speaker
        if lowered == "your":
            return self.listener
        if lowered in ("his", "her"):
            return self.person
        if lowered == "its":
            return self.thing
        if lowered == "their":
            return ""
        return word.removesuffix("'s").removesuffix("'")

    def note(self, phrase: str, name: str) -> None:
        """Remember a resolved phrase: later pronouns may mean it."""
        lowered = phrase.strip().lower()
        if not name or lowered in _LISTENERS or name == self.speaker:
            return
        if lowered in _THINGS or not is_person(phrase):
            self.thing = name
        else:
            self.person = name

    def read_kin(self, text: str, start: int, end: int) -> str:
        """Take down "my sister Anna" as a statement; the text with "Anna" in its place."""

        def named(match: re.Match[str]) -> str:
            owner = self._owner(match["owner"])
            names = [name for name in (match["name"], match["second"]) if name]
            if match["name"].split()[0] in _CAPITAL_HOURS or not owner:
                return match[0]
            relation = KIN_RELATION[match["kin"].lower()]
            for name in names:
                self.persons.add(name)
                self.kin.append(Statement(owner, relation, name, confidence=0.95, start=start, end=end))
            self.person = names[0]
            return " and ".join(names)

        return _KIN_NAMED.sub(named, _OTHER_NAMED.sub(lambda match: match["name"], text))

    def note_head(self, phrase: str, text: str) -> None:
        """Remember the noun phrase that a clause begins with; where that is a person, the owned thing it ends with."""
        owned = _OWNED_LAST.search(text)
        if owned and (not phrase or is_person(phrase)) and not is_person(owned[1]):
            self.topic = owned[1]
        if not phrase:
            return
        self.subject = phrase
        if phrase.lower() in PRONOUNS:
            return
        if is_person(phrase) and re.match(r"(?:my|our|his|her)\s|mum\b|mom\b|dad\b|grand", phrase, re.IGNORECASE):
            self.person = self.resolve(phrase) or self.person
            self.topic = phrase
        elif phrase in self.persons:
            self.person = phrase
        else:
            self.topic = self.topic if owned and is_person(phrase) else phrase
            if is_person(phrase):
                self.person = phrase

    def spoken_of(self) -> str:
        """What "it" means, as written; "" where that is unclear."""
        if self.thing and (not self.topic or (is_person(self.topic) and self.thing != self.person)):
            return self.thing if is_person(self.thing) else f"the {self.thing}"
        return self.topic

    def read_han_kin(self, text: str, start: int, end: int) -> str:
        """Take down "我同事老范" as a statement; the text with "老范" in its place."""
        match = _HAN_KIN_NAMED.match(text)
        if match is None or match["name"][0] in "叫是的和在有现今最已正每也都还刚不对从妈爸姐妹哥弟去上会要喜":
            return text
        owner = self.resolve(match["owner"])
        if not owner:
            return text
        self.kin.append(
            Statement(owner, _HAN_RELATION[match["kin"]], match["name"], confidence=0.9, start=start, end=end)
        )
        return text[match.start("name") :]

    def with_han_topic(self, text: str) -> str:
        """A Chinese clause with what it is about, where it only says what that is now: "现在是马总"."""
        if self.topic and _HAN_NOW.match(text):
            return f"{self.topic}{text}"
        return text

    def note_han(self, text: str, found: Sequence[Statement], *, introduces: bool) -> None:
        """Remember what a Chinese clause is about; with `introduces` it is the object of its last statement."""
        changed = _HAN_CHANGED.match(text)
        self.topic = changed["topic"] if changed else ""
        if found:
            self.subject = found[-1].object if introduces and found[-1].object else found[-1].subject


def _without_adjective(phrase: str) -> str:
    match = re.match(rf"(?:(?:lovely|dear|late|poor|beloved|old)\s+)(?P<rest>(?:{_KIN})\b.*)", phrase, re.IGNORECASE)
    return match["rest"] if match else phrase
