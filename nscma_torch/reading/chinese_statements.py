"""Read statements from Chinese sentences, using the forms in the relation schema.

Clauses that match no form are skipped.

The trained reader doesn't know Chinese.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache

from nscma_torch.core.records import Statement, Unit
from nscma_torch.reading import chinese
from nscma_torch.reading.asserted_statements import said_anew
from nscma_torch.reading.chinese_clauses import Clause, clauses
from nscma_torch.reading.chinese_coreference import ChineseCoreference
from nscma_torch.reading.chinese_forms import Form, compile_forms
from nscma_torch.reading.chinese_names import sounded, written
from nscma_torch.reading.first_person import first_person
from nscma_torch.reading.noun_phrases import word_set
from nscma_torch.reading.relations import Kind, Relation, Schema
from nscma_torch.reading.statement_times import times_of

_GONE = re.compile(r"不再")
_DENIES = re.compile(r"[不没]")
_NEGATIONS = ("不", "没", "再也")
_AHEAD = ("要", "会", "想", "打算", "准备")
_FUTURE = frozenset({"able_to", "plans_to", "wants"})  # relations that what lies ahead states
_OF_THE_ONE_BEFORE = word_set(
    "这块 这部分 这个 这事 这件事 构建工具 数据库 框架 编程语言 消息队列 缓存 前端 后端 打包工具"
)
_NAMED = re.compile(r"^名(?:为|叫)[“「\"]?(?P<name>[^”」\"的]+)[”」\"]?的.+$")  # "名为“星语”的助手"
_CONFIDENCE = 0.9


@lru_cache(maxsize=8)
def chinese_reader(schema: Schema) -> ChineseReader:
    """Return the reader for a schema, created once."""
    return ChineseReader(schema)


class ChineseReader:
    """Reads statements using the Chinese forms in a schema."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._forms = compile_forms(schema)

    def read(self, unit: Unit, listener: str = "") -> tuple[Statement, ...]:
        """Return the statements in a unit in text order, with offsets into the unit's text.

        Repetitions are dropped unless a different statement lies in between.
        """
        mentions = ChineseCoreference(first_person(unit), listener, document=unit.role == "document")
        found: list[Statement] = []
        for clause in clauses(sounded(unit.text)):
            found += _completed(self._of_clause(clause, mentions, unit.occurred_at), found)
        return tuple(_written(one, unit.text) for one in said_anew(found, self._schema))

    def _of_clause(self, clause: Clause, mentions: ChineseCoreference, said: datetime) -> list[Statement]:
        made: list[Statement] = []
        for plain in chinese.plain_clauses(clause.text, mentions.thing if mentions.alone else ""):
            mentions.kin = []
            text = mentions.read_kin(mentions.with_topic(plain), clause.start, clause.end)
            found = self._matches(text, clause, mentions, said) if text else []
            last = self._schema[found[-1].relation] if found else None
            introduces = last is not None and last.subject == last.object == "person"
            mentions.note(plain, found, introduces=introduces)
            made += [*mentions.kin, *found]
        return made

    def _matches(self, text: str, clause: Clause, mentions: ChineseCoreference, said: datetime) -> list[Statement]:
        """Return the statements from all matching forms.

        An object or thing matched by one form can't be reused by later forms.
        """
        found: list[Statement] = []
        taken: list[tuple[int, int]] = []
        for form in self._forms:
            match = form.pattern.match(text)
            if match is None:
                continue
            kinds = {slot: self._schema.kinds[kind] for slot, kind in form.slots.items()}
            statements = self._build(form, match, kinds, clause, mentions, said)
            spans = _spans(match, kinds)
            if not statements or any(a < d and c < b for a, b in spans for c, d in taken):
                continue
            if any(
                s.relation == form.relation and (not statements[0].object or s.topic == statements[0].topic != "")
                for s in found
            ):
                continue
            taken += spans
            found += statements
            mentions.note_names(self._schema[form.relation], statements[0].subject, statements[0].object)
        return found

    def _build(
        self,
        form: Form,
        match: re.Match[str],
        kinds: Mapping[str, Kind],
        clause: Clause,
        mentions: ChineseCoreference,
        said: datetime,
    ) -> list[Statement]:
        relation = self._schema[form.relation]
        verb = _verb(form, match)
        if verb is None:
            return []
        negated, past = verb
        groups = {slot: (words or "").strip() for slot, words in match.groupdict().items()}
        replaced = _object(groups["R"], kinds["R"], mentions) if groups.get("R") else ""
        subject = _subject(groups.get("S", ""), kinds.get("S", self._schema.kinds["any"]), mentions)
        topic = _topic(groups["T"]) if "T" in groups else ""
        if not subject or (groups.get("R") and not replaced) or ("T" in groups and not topic):
            return []
        raw = groups.get("O", "")
        objects = _objects(raw, kinds["O"], relation, mentions) if raw else [""] if negated else []
        if not objects or objects == [subject]:
            return []
        within = [groups[slot] for slot in ("O", "R") if groups.get(slot) and kinds[slot].like == "date"]
        times = times_of(clause.sentence, within, said, past=form.mood == "states" and past)
        one = relation.cardinality == "one"
        made = [
            Statement(
                subject=subject,
                relation=relation.name,
                object=what.removeprefix(f"{subject}'s "),
                topic=topic,
                negated=negated,
                replaces=replaced.removeprefix(f"{subject}'s ") if one else "",
                correction=clause.correction and (not negated or _never(clause)),
                past=past and not negated,
                valid_from=times.begins,
                valid_to=times.ends,
                begun_by=times.begun_by,
                confidence=_CONFIDENCE,
                start=clause.start,
                end=clause.end,
            )
            for what in objects[: 1 if one else None]
        ]
        if not one and replaced:
            replaced = replaced.removeprefix(f"{subject}'s ")
            made += [replace(made[0], object=replaced, negated=True)]
            made[0] = replace(made[0], replaces=replaced)
        return made


def _written(statement: Statement, text: str) -> Statement:
    """Restore the text's spelling of foreign names in a statement."""
    subject, value, replaced = (
        written(name, text) for name in (statement.subject, statement.object, statement.replaces)
    )
    return replace(statement, subject=subject, object=value, replaces=replaced)


def _verb(form: Form, match: re.Match[str]) -> tuple[bool, bool] | None:
    """Return (negated, past) for the verb of a match, or None if the verb doesn't assert anything yet."""
    group = match.groupdict().get("verb")
    if group is None:
        return form.mood == "ends", False
    no = any(word in group for word in _NEGATIONS)
    if any(word in group for word in _AHEAD) and form.relation not in _FUTURE:
        return None
    if form.mood != "states" and no:
        return None
    lead = (match.groupdict().get("S") or "") if form.mood == "states" else ""
    return no or form.mood == "ends", chinese.was_past(group) or chinese.was_past(lead)


def _never(clause: Clause) -> bool:
    """Return True if a clause denies that something was ever true, False if it states that something has ended."""
    return bool(_DENIES.search(clause.text)) and not _GONE.search(clause.sentence)


def _subject(phrase: str, kind: Kind, mentions: ChineseCoreference) -> str:
    """Return the name of a phrase's subject, or "" if uncertain."""
    plain = chinese.subject_of(phrase, kind)
    if plain is None:
        return ""
    if plain in _OF_THE_ONE_BEFORE and mentions.subject != mentions.speaker:
        return mentions.subject
    if plain:
        return mentions.resolve(plain)
    about_people = kind.like in ("person", "any")
    name = mentions.subject or (mentions.speaker if about_people and not mentions.document else "")
    return name if about_people or name != mentions.speaker else ""


def _objects(raw: str, kind: Kind, relation: Relation, mentions: ChineseCoreference) -> list[str]:
    """Return the objects named by a phrase: several only if the relation can have many objects."""
    parts = re.split(r"[、和跟]", raw) if relation.cardinality == "many" else [raw]
    return [one for one in (_object(part, kind, mentions) for part in parts) if one]


def _object(raw: str, kind: Kind, mentions: ChineseCoreference) -> str:
    """Return the object named by a phrase, or "" if the phrase names no object of this kind."""
    phrase = re.sub(r"(?:了|啦|的|呢|哦|啊|一下|而已)+$", "", raw.strip(" 《》「」。"))
    phrase = _NAMED.sub(r"\g<name>", phrase)
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
    if phrase in ("你", "您", "你们"):
        return mentions.listener
    is_clause = kind.like == "person" and phrase[0] in "我你您"  # "阿姨叫我吃饭" tells no name
    return "" if is_clause else phrase


def _topic(raw: str) -> str:
    """Return the topic named by a phrase, or "" if there is none."""
    topic = raw.strip().lower()
    return topic if topic and topic[:1] not in "我你他她它" else ""


def _spans(match: re.Match[str], kinds: Mapping[str, Kind]) -> list[tuple[int, int]]:
    """Return the spans of a match that no other relation may use: its object, and its subject if that is a thing."""
    found = []
    for slot in ("O", "R", "S"):
        phrase = match.groupdict().get(slot)
        if phrase and (slot != "S" or kinds["S"].like not in ("person", "any")):
            found.append((match.start(slot), match.start(slot) + len(phrase)))
    return found


def _completed(statements: Sequence[Statement], earlier: Sequence[Statement]) -> list[Statement]:
    """Give denials without an object ("我不干了") the object of the earlier statement.

    They are dropped if that statement is past or negated.
    """
    found = []
    for statement in statements:
        if statement.negated and not statement.object:
            same = (
                b
                for b in reversed(earlier)
                if (b.subject, b.relation, b.topic) == (statement.subject, statement.relation, statement.topic)
            )
            before = next(same, None)
            if before is not None and (before.past or before.negated):
                continue
            statement = replace(statement, object=before.object if before else "")
        found.append(statement)
    return found
