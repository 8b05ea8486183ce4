"""Resolve Chinese pronouns within a message: 我 and 你 refer to the speakers, 她 and 它 to the last-named entity."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from nscma_torch.core.records import Statement
from nscma_torch.reading.chinese import is_name, standing_alone, without_lead
from nscma_torch.reading.chinese_kin import KIN, KIN_NOUNS
from nscma_torch.reading.phrase_names import name_of
from nscma_torch.reading.relations import Relation
from nscma_torch.text.pronouns import FIRST_PERSON, ONE_PERSON, SECOND_PERSON, THINGS
from nscma_torch.text.scripts import HANZI

_KIN_NAMED = re.compile(
    rf"^(?P<owner>(?:我|咱|你|您|他|她)们?)(?:的|家的?)?(?P<kin>{KIN})(?P<name>[小老阿][{HANZI}]{{1,2}}?"
    rf"|[{HANZI}]{{2,3}}?|[A-Z][a-z]+)"
    r"(?=(?:今年|今天|昨天|明天|下周|这周|现在|最近|已经|一直|刚刚?|上周|上个月|去年|早就|每天|以前|从小|特别|超|马上|平时)"
    r"|[有在是最喜住会去从对把和跟与得正每负养买用不也都想打讨爱生毕当做学教搬换辞升结离来患加考开卖弹飞回到要吃喝玩戴属出被说懂计准入跑读念嫁娶叫信参没就还才更比带拿\d]"
    r"|[一二三四五六七八九十]+岁|$)"
)
_PERSON = r"(?:我|咱|你|您|他|她)们?"
_KIN_IS = re.compile(
    rf"^(?P<name>.{{1,8}}?)(?:现在|其实|也|还|就|都|以前)*是(?P<owner>{_PERSON}|[^是的]{{2,4}}(?=的))(?:的|家的?)?"
    rf"(?P<kin>{KIN})(?:了|呢|啦|啊|哦)*$"
)
_WITH = re.compile(
    r"^(?P<name>[^和跟与]{1,6})[和跟与](?P<owner>[^和跟与是]{1,6}?)(?:现在|其实|也|还|就|都)*是"
    r"[^，是不]{0,8}?(?P<kin>同事|好?朋友|闺蜜|死党|室友|舍友|好友)(?:了|呢|啦|啊)*$"
)
_CHANGED = re.compile(r"^(?P<topic>.{2,10}?)(?:已经|又|刚刚?|最近)?(?:换|改|变|更新)(?:了|掉了?|过了?)$")
_NOW = re.compile(r"^(?:现在|目前|如今|新的|最新的?)?(?:是|叫|改成|换成|变成|改为)")


@dataclass
class ChineseCoreference:
    """Candidate referents of a message's pronouns, collected while the message is read from the beginning."""

    speaker: str
    listener: str
    person: str = ""
    thing: str = ""
    subject: str = ""  # of the clause before, resolved
    topic: str = ""  # what changed according to the previous clause
    kin: list[Statement] = field(default_factory=list)
    document: bool = False  # after which a clause without a subject may be about anybody
    alone: bool = False  # the thing was named without anything said of it

    def resolve(self, phrase: str) -> str:
        """Return the name that a noun phrase refers to, or "" if unclear."""
        if phrase in THINGS and self.topic not in THINGS:
            return self.resolve(self.topic) if self.topic else self.thing
        return name_of(phrase, self.speaker, self.listener, person=self.person)

    def read_kin(self, text: str, start: int, end: int) -> str:
        """Record a phrase such as "我同事老范" as a statement, and return the text with only "老范" left."""
        said = _KIN_IS.match(text) or _WITH.match(text)
        if said:
            return "" if self._kin_said(said, start, end) else text
        plain = without_lead(text)
        match = _KIN_NAMED.match(plain)
        if match is None or not is_name(match["name"]):
            return text
        owner = self.resolve(match["owner"])
        if not owner:
            return text
        self._kin_found(owner, match["kin"], match["name"], start, end)
        return plain[match.start("name") :]

    def _kin_said(self, match: re.Match[str], start: int, end: int) -> bool:
        """Record a statement such as "大伟是我哥" or "文静跟我是朋友", and return True, if both people are known."""
        names = [without_lead(match[group]) for group in ("name", "owner")]
        if not all(is_name(name) or name in FIRST_PERSON | ONE_PERSON | SECOND_PERSON for name in names):
            return False
        name, owner = (self.resolve(name) for name in names)
        if not name or not owner:
            return False
        if name == self.speaker:
            name, owner = owner, name
            if match.re is _KIN_IS:
                return False
        self._kin_found(owner, match["kin"], name, start, end)
        return True

    def _kin_found(self, owner: str, kin: str, name: str, start: int, end: int) -> None:
        relation = next(found for found, nouns in KIN_NOUNS.items() if re.fullmatch(nouns, kin))
        self.kin.append(Statement(owner, relation, name, confidence=0.9, start=start, end=end))
        self.person = self.subject = name

    def note_names(self, relation: Relation, subject: str, found: str) -> None:
        """Remember the people and things in a Chinese statement as referents of a later 他 or 它."""
        if relation.object == "person" and relation.subject == "person" and found != self.speaker:
            self.person = found
        elif relation.open and is_name(subject):
            self.person, self.thing = subject, found
        elif subject != self.speaker:
            if relation.subject == "person" or is_name(subject):
                self.person = subject
            else:
                self.thing = subject

    def with_topic(self, text: str) -> str:
        """Put the topic before a Chinese clause that only gives the topic's current state: "现在是马总"."""
        if self.topic and _NOW.match(text):
            return f"{self.topic}{text}"
        return text

    def note(self, text: str, found: Sequence[Statement], *, introduces: bool) -> None:
        """Remember the topic and subject of a Chinese clause.

        If `introduces`, the subject is its last statement's object.
        """
        changed = _CHANGED.match(text)
        self.topic = changed["topic"] if changed else ""
        alone = standing_alone(text)
        self.alone = bool(alone) or (self.alone and not found)
        self.thing = alone or self.thing
        if found:
            self.subject = found[-1].object if introduces and found[-1].object else found[-1].subject
