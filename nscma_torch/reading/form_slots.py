"""What the slots of a matched form hold: subjects, objects, topic and times."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time

from nscma_torch.reading import chinese
from nscma_torch.reading.capitalised import NAME
from nscma_torch.reading.coreference import Coreference
from nscma_torch.reading.noun_phrases import (
    bare,
    cut,
    fits,
    head_of,
    is_noun_phrase,
    is_person,
    split_list,
    unpossessed,
    without_owner,
    word_set,
)
from nscma_torch.relations import Kind, Relation
from nscma_torch.text.dates import find_dates
from nscma_torch.text.spelling_variants import american

_LISTED = frozenset({"thing", "name", "any", "person", "trait", "place"})
_UNTIL = re.compile(r"\b(?:until|till|by|before)\s+(?:the\s+)?$", re.IGNORECASE)
_SINCE = re.compile(r"\b(?:since|from|as of|starting(?: in| on)?)\s+$", re.IGNORECASE)
_BEGIN = r"\b(?:starting|beginning|effective|from|as of|as from)"
_BEGINS = re.compile(rf"{_BEGIN}\s", re.IGNORECASE)
_STARTING = re.compile(rf"{_BEGIN}(?:\s+(?:in|on|from))?\s+(?:the\s+)?$", re.IGNORECASE)
_TO = re.compile(r"\s*(?:to|until|till|through|[-–])\b", re.IGNORECASE)
_WEEKDAY = re.compile(r"(?:mon|tues|wednes|thurs|fri|satur|sun)day", re.IGNORECASE)
_INSTEAD = re.compile(
    r",?\s+(?:and\s+)?(?:not|instead of|rather than|no longer)\s+(?:(?:in|at|to|on|with|a|an"
    r"|the)\s+)*(?P<old>[^,]+?)(?:\s+any ?more|\s+any longer)?$",
    re.IGNORECASE,
)
_NOT_BUT = re.compile(r"^not\s+(?P<old>[^,]+?),?\s+but\s+", re.IGNORECASE)
_CALLED = re.compile(
    rf"^(?:an?|another|this|some|the|two|three)\s+(?:[\w-]+\s+){{1,4}}?(?:called|named|by the name "
    rf"of)\s+(?P<name>{NAME}(?:\s+(?:and\s+)?{NAME}){{0,2}})"
)
_CONJOINED = re.compile(r",?\s+(?:and|or|nor|&)\s+|\s*,\s+")
_KEPT = ("no", "one of", "brand new")
_HAN_PARTS = word_set("这块 这部分 这个 这事 这件事 构建工具 数据库 框架 编程语言 消息队列 缓存 前端 后端 打包工具")


def subjects_of(phrase: str, kind: Kind, mentions: Coreference, *, cjk: bool) -> list[str]:
    """Names of the one or more subjects that a phrase names; empty where it names none for sure."""
    if cjk:
        return _han_subjects(phrase, kind, mentions)
    plain = unpossessed(phrase)
    if not plain:
        return [mentions.speaker]
    parts = _CONJOINED.split(plain) if re.search(r"\s(?:and|nor|&)\s", plain) else [plain]
    if len(parts) > 1 and not all(is_person(part) or is_noun_phrase(part) for part in parts):
        return []
    if len(parts) > 1 and not is_person(parts[0]) and not re.match(r"(?i:the|my|our|your|his|her|a)\s", parts[1]):
        parts = [plain]
    found = []
    for part in parts:
        if not _can_be_subject(part, kind):
            return []
        found.append(mentions.resolve(part))
    if mentions.speaker in found:
        return [mentions.speaker]
    return found if all(found) else []


def names_attribute(phrase: str, relation: Relation) -> bool:
    """Whether a subject is what a one-valued relation is about, and not its owner: "the price of the loom"."""
    if relation.cardinality == "many" or " of " not in phrase:
        return False
    nouns = "|".join(re.escape(noun) for noun in relation.nouns if noun.isascii())
    return bool(nouns and re.match(rf"(?:[\w-]+\s){{0,3}}(?:{nouns})\sof\s", phrase, re.IGNORECASE))


def _han_subjects(phrase: str, kind: Kind, mentions: Coreference) -> list[str]:
    plain = chinese.subject_of(phrase, kind)
    if plain is None:
        return []
    if plain in _HAN_PARTS and mentions.subject != mentions.speaker:
        return [mentions.subject] if mentions.subject else []
    if not plain:
        about_people = kind.like in ("person", "any")
        name = mentions.subject or (mentions.speaker if about_people else "")
        return [name] if name and (about_people or name != mentions.speaker) else []
    name = mentions.resolve(plain)
    return [name] if name else []


def _can_be_subject(phrase: str, kind: Kind) -> bool:
    lowered = phrase.lower()
    if kind.like == "person":
        return is_person(phrase)
    if lowered in ("i", "we", "you", "he", "she", "it", "me", "us", "him", "her"):
        return kind.like == "any" or (lowered == "it" and not kind.patterns)
    return is_noun_phrase(phrase) and (kind.name == "any" or fits(head_of(phrase), kind) or fits(phrase, kind))


def instead(raw: str, kind: Kind) -> tuple[str, str]:
    """An object's words without the one that it took the place of, and that one: "tea, not coffee"."""
    for pattern in (_INSTEAD, _NOT_BUT):
        old = pattern.search(raw)
        if old:
            rest = raw[: old.start()] if pattern is _INSTEAD else raw[old.end() :]
            return rest, bare(cut(old["old"], kind))
    return raw, ""


def objects_of(raw: str, kind: Kind, relation: Relation, mentions: Coreference, *, cjk: bool) -> list[str]:
    """The objects that words name: several only where the relation holds many."""
    if cjk:
        parts = re.split(r"[、和跟]", raw) if relation.cardinality == "many" else [raw]
        return [one for one in (object_of(part, kind, mentions, cjk=True) for part in parts) if one]
    if relation.cardinality == "one" or kind.like not in _LISTED:
        parts = [raw]
    else:
        parts = split_list(raw)
        if len(parts) > 1 and not all(len(part.split()) <= 5 for part in parts[:-1]):
            parts = parts[:1]
    found = []
    for part in parts:
        name = object_of(part, kind, mentions, cjk=False)
        if not name:
            break
        found.append(name)
    return found


def object_of(raw: str, kind: Kind, mentions: Coreference, *, cjk: bool) -> str:
    """The object that words name, "" where they name none of this kind."""
    if cjk:
        return _han_object(raw, kind, mentions)
    called = _CALLED.match(raw)
    if called and kind.like in ("person", "name", "group", "any", "thing"):
        return (
            called["name"]
            if kind.like != "thing" or kind.admits(raw[: called.start("name")], _before_called(raw))
            else ""
        )
    phrase = unpossessed(cut(raw, kind))
    if phrase.lower() in ("it", "them", "this", "that") and kind.like in ("thing", "any"):
        meant = mentions.resolve(mentions.spoken_of())
        return meant if meant and fits(f"the {meant}", kind) else ""
    if not phrase or not fits(phrase, kind):
        return ""
    if kind.like in ("title", "trait"):
        return bare(without_owner(phrase), keep=_KEPT)
    if (
        kind.like == "person"
        or kind.name == "possessive"
        or re.match(r"(?:my|our|your|his|her)\s", phrase, re.IGNORECASE)
    ):
        return mentions.resolve(phrase)
    if kind.like in ("date", "deed", "number"):
        return bare(phrase, keep=("a", "new", "around", "about"))
    return bare(phrase, keep=_KEPT)


def _before_called(raw: str) -> str:
    return bare(re.split(r"\s+(?:called|named|by the name of)\s", raw)[0]).lower()


def _han_object(raw: str, kind: Kind, mentions: Coreference) -> str:
    phrase = re.sub(r"(?:了|啦|的|呢|哦|啊|一下|而已)+$", "", raw.strip(" 《》「」。"))
    phrase = re.sub(
        r"^(?:一[个只条辆台本部把张名位家件双片粒缸套款杯]|[0-9两三四五六七八九十几][只条匹缸](?=.)|[个只条辆台本部把张名位件双趟](?=..)|了|这[个只]|那[个只]|一家叫|叫|是)+",
        "",
        phrase,
    )
    if (
        not phrase
        or len(phrase) > 18
        or phrase in ("他", "她", "它", "什么", "谁", "这", "那")
        or phrase in kind.refuses
        or not chinese.object_fits(phrase, kind)
    ):
        return ""
    if phrase in ("我", "我们"):
        return mentions.speaker
    return mentions.listener if phrase in ("你", "您", "你们") else phrase


_PREPOSITIONS = frozenset(
    {"in", "on", "at", "of", "for", "with", "to", "from", "like", "as", "by", "about", "more", "was", "is", "were"}
)


def topic_of(raw: str, kind: Kind, *, cjk: bool) -> str:
    """The topic that words name, in American spelling, "" where they name none."""
    phrase = raw.strip() if cjk else head_of(cut(raw, kind)).lower()
    topic = phrase if cjk else bare(phrase)
    if (topic.split() and topic.split()[0] in _PREPOSITIONS) or (cjk and topic[:1] in "我你他她它"):
        return ""
    return american(topic) if topic and len(topic.split()) <= 4 and kind.admits(phrase, topic) else ""


def times_of(
    text: str, within: Sequence[str], said: datetime, *, past: bool
) -> tuple[datetime | None, datetime | None]:
    """When a statement began to hold and when it ended, by the dates in `text` that are not `within` its objects."""
    begins = ends = None
    for mention in find_dates(text, said):
        if any(text[mention.start : mention.end] in phrase for phrase in within):
            continue
        before = text[: mention.start]
        if _UNTIL.search(before):
            ends = ends or _instant(mention.first_day, said)
        elif mention.first_day <= said.date() and (not past or _SINCE.search(before)):
            begins = begins or _instant(mention.first_day, said)
    return (begins if begins and begins <= said else None), ends if past or (ends and ends <= said) else None


def begins_later(text: str, said: datetime) -> bool:
    """Whether `text` says that something begins after it was said; a weekday that it begins on is the next one."""
    if not _BEGINS.search(text):
        return False  # most texts: dates take longer to find
    for mention in find_dates(text, said):
        cue = _STARTING.search(text[: mention.start])
        if cue is None or _TO.match(text, mention.end):
            continue
        named = _WEEKDAY.fullmatch(text[mention.start : mention.end])
        if mention.first_day > said.date() or (named and not cue[0].lower().startswith("as of")):
            return True
    return False


def _instant(day: date, said: datetime) -> datetime:
    return datetime.combine(day, time(), tzinfo=said.tzinfo or UTC)


def spans_of(match: re.Match[str], kinds: Mapping[str, Kind]) -> list[tuple[int, int]]:
    """Places of the phrases of a match that no other relation may read: its object, and a subject that is a thing."""
    found = []
    for slot in ("O", "R", "S"):
        phrase = match.groupdict().get(slot)
        if phrase and (slot != "S" or kinds["S"].like not in ("person", "any")):
            size = len(phrase) if slot == "S" or not phrase.isascii() else len(cut(phrase, kinds[slot]))
            found.append((match.start(slot), match.start(slot) + max(1, size)))
    return found


def overlap(some: Sequence[tuple[int, int]], others: Sequence[tuple[int, int]]) -> bool:
    """Whether any two places share a letter."""
    return any(a < d and c < b for a, b in some for c, d in others)
