"""Who and what a phrase means within a message: I and you are the speakers, she and it what was spoken of last."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from nscma_torch.reading.capitalised import NAME
from nscma_torch.reading.chinese import is_name, standing_alone, without_lead
from nscma_torch.reading.noun_phrases import KIN_NOUNS, KIN_RELATION, OTHER_PERSONS, PRONOUNS, bare, is_person, word_set
from nscma_torch.reading.pronouns import FIRST_PERSON, ONE_PERSON, SECOND_PERSON, THINGS
from nscma_torch.records import Statement
from nscma_torch.relations import Relation
from nscma_torch.text.scripts import HANZI

_ADJECTIVE = (
    r"(?:(?:older|younger|elder|little|big|best|old|new|twin|eldest|youngest|oldest|late|dear|lovely|only|good"
    r"|close|childhood|current|"
    r"line|first|second|baby|great|former|two|three|both|teenage|oldest|school|college|dear|maternal|paternal)\s+)*"
)
_FULL_NAME = rf"{NAME}(?:\s+{NAME}){{0,2}}"
_KIN_NAMED = re.compile(
    rf"\b(?P<owner>[Mm]y|[Oo]ur|[Hh]is|[Hh]er|[Tt]heir|[Yy]our|{NAME}'s)\s+(?P<adjective>{_ADJECTIVE})(?P<kin>{KIN_NOUNS})s?"
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
_FIGURE = re.compile(r"[v$€£]?\d")
_HAN_KIN_NOUNS = {
    "parent": "妈妈|爸爸|母亲|父亲|老爸|老妈|妈|爸",
    "sibling": "姐姐|妹妹|哥哥|弟弟|[亲大二]?[哥姐]|[小亲]?[弟妹]",
    "married_to": "老公|老婆|丈夫|妻子|太太|先生|媳妇|爱人",
    "child": "[大小]?女儿|[大小]?儿子|孩子|闺女",
    "relative": "爷爷|奶奶|外婆|外公|姥姥|姥爷|舅舅|舅妈|叔叔|婶婶|伯伯|姑姑|姑妈|姨妈|阿姨|表[哥姐弟妹]|堂[哥姐弟妹]"
    "|侄子|侄女|外甥女?|嫂子|姐夫|妹夫|岳父|岳母|婆婆|公公|孙子|孙女",
    "colleague": "同事",
    "friend": "(?:好|最好的|多年的?)?朋友|好友|闺蜜|死党|哥们儿?",
    "roommate": "室友|舍友",
    "partner": "女朋友|男朋友|女友|男友|未婚妻|未婚夫|对象",
    "manager": "老板|经理|领导|上司|主管|上级",
}
_HAN_KIN = "|".join(sorted(_HAN_KIN_NOUNS.values(), key=len, reverse=True))
_HAN_KIN_NAMED = re.compile(
    rf"^(?P<owner>(?:我|咱|你|您|他|她)们?)(?:的|家的?)?(?P<kin>{_HAN_KIN})(?P<name>[小老阿][{HANZI}]{{1,2}}?"
    rf"|[{HANZI}]{{2,3}}?|[A-Z][a-z]+)"
    r"(?=(?:今年|今天|昨天|明天|下周|这周|现在|最近|已经|一直|刚刚?|上周|上个月|去年|早就|每天|以前|从小|特别|超|马上|平时)"
    r"|[有在是最喜住会去从对把和跟与得正每负养买用不也都想打讨爱生毕当做学教搬换辞升结离来患加考开卖弹飞回到要吃喝玩戴属出被说懂计准入跑读念嫁娶叫信参没就还才更比带拿\d]"
    r"|[一二三四五六七八九十]+岁|$)"
)
_HAN_PERSON = r"(?:我|咱|你|您|他|她)们?"
_HAN_KIN_IS = re.compile(
    rf"^(?P<name>.{{1,8}}?)(?:现在|其实|也|还|就|都|以前)*是(?P<owner>{_HAN_PERSON}|[^是的]{{2,4}}(?=的))(?:的|家的?)?"
    rf"(?P<kin>{_HAN_KIN})(?:了|呢|啦|啊|哦)*$"
)
_HAN_WITH = re.compile(
    r"^(?P<name>[^和跟与]{1,6})[和跟与](?P<owner>[^和跟与是]{1,6}?)(?:现在|其实|也|还|就|都)*是"
    r"[^，是不]{0,8}?(?P<kin>同事|好?朋友|闺蜜|死党|室友|舍友|好友)(?:了|呢|啦|啊)*$"
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


def _plain(phrase: str) -> str:
    return " ".join(phrase.strip(" ,.'\"").split())


@dataclass
class Coreference:
    """What the pronouns of one message can mean, as it is read from the beginning."""

    speaker: str
    listener: str
    person: str = ""
    thing: str = ""
    subject: str = ""  # as written, of the clause before (Chinese: resolved)
    topic: str = ""  # the noun phrase, as written, that the last clause about a thing began with
    kin: list[Statement] = field(default_factory=list)
    persons: set[str] = field(default_factory=set)
    alone: bool = False  # the thing was named without anything said of it

    def resolve(self, phrase: str) -> str:
        """The name of what a noun phrase means, "" where that is unclear."""
        plain = _plain(phrase)
        lowered = plain.lower()
        if lowered in FIRST_PERSON:
            return self.speaker
        if lowered in SECOND_PERSON:
            return self.listener
        if lowered in ONE_PERSON:
            return self.person
        if lowered in THINGS:
            meant = self.spoken_of()
            return self.resolve(meant) if _plain(meant).lower() not in THINGS else ""
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
        if re.fullmatch(rf"(?:{KIN_NOUNS})", plain, re.IGNORECASE) and lowered in (
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
        if not name or lowered in SECOND_PERSON or name == self.speaker or _FIGURE.match(name):
            return
        if lowered in THINGS or not is_person(phrase):
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
        said = _HAN_KIN_IS.match(text) or _HAN_WITH.match(text)
        if said:
            return "" if self._kin_said(said, start, end) else text
        plain = without_lead(text)
        match = _HAN_KIN_NAMED.match(plain)
        if match is None or not is_name(match["name"]):
            return text
        owner = self.resolve(match["owner"])
        if not owner:
            return text
        self._kin_found(owner, match["kin"], match["name"], start, end)
        return plain[match.start("name") :]

    def _kin_said(self, match: re.Match[str], start: int, end: int) -> bool:
        """Take down "大伟是我哥" or "文静跟我是朋友"; whether both are known."""
        names = [without_lead(match[group]) for group in ("name", "owner")]
        if not all(is_name(name) or name in FIRST_PERSON | ONE_PERSON | SECOND_PERSON for name in names):
            return False
        name, owner = (self.resolve(name) for name in names)
        if not name or not owner:
            return False
        if name == self.speaker:
            name, owner = owner, name
            if match.re is _HAN_KIN_IS:
                return False
        self._kin_found(owner, match["kin"], name, start, end)
        return True

    def _kin_found(self, owner: str, kin: str, name: str, start: int, end: int) -> None:
        relation = next(found for found, nouns in _HAN_KIN_NOUNS.items() if re.fullmatch(nouns, kin))
        self.kin.append(Statement(owner, relation, name, confidence=0.9, start=start, end=end))
        self.person = self.subject = name

    def note_han_names(self, relation: Relation, subject: str, found: str) -> None:
        """Remember whom and what a Chinese statement is about: a later 他 or 它 may mean it."""
        if relation.object == "person" and relation.subject == "person" and found != self.speaker:
            self.person = found
        elif subject != self.speaker:
            if relation.subject == "person" or is_name(subject):
                self.person = subject
            else:
                self.thing = subject

    def with_han_topic(self, text: str) -> str:
        """A Chinese clause with what it is about, where it only says what that is now: "现在是马总"."""
        if self.topic and _HAN_NOW.match(text):
            return f"{self.topic}{text}"
        return text

    def note_han(self, text: str, found: Sequence[Statement], *, introduces: bool) -> None:
        """Remember what a Chinese clause is about; with `introduces` it is the object of its last statement."""
        changed = _HAN_CHANGED.match(text)
        self.topic = changed["topic"] if changed else ""
        alone = standing_alone(text)
        self.alone = bool(alone) or (self.alone and not found)
        self.thing = alone or self.thing
        if found:
            self.subject = found[-1].object if introduces and found[-1].object else found[-1].subject


def _without_adjective(phrase: str) -> str:
    match = re.match(
        rf"(?:(?:lovely|dear|late|poor|beloved|old)\s+)(?P<rest>(?:{KIN_NOUNS})\b.*)", phrase, re.IGNORECASE
    )
    return match["rest"] if match else phrase
