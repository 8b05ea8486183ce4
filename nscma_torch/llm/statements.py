"""Reads statements out of a message by the forms of the relation schema; silent where a clause fits none."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, time

from nscma_torch.llm.clauses import Clause, clauses
from nscma_torch.llm.forms import Form, Verb, compile_forms, read_verb, verb_stems, verbs_of
from nscma_torch.llm.mentions import Mentions
from nscma_torch.llm.phrases import bare, cut, fits, is_person, split_list, unpossessed
from nscma_torch.records import Statement, Unit
from nscma_torch.relations import Kind, Relation, Schema
from nscma_torch.text.dates import DateMention, find_dates
from nscma_torch.text.names import name_key

_LISTED = frozenset({"thing", "name", "any", "person", "trait", "place"})
_ANYMORE = re.compile(r"\b(?:any ?more|any longer)\b", re.IGNORECASE)
_UNTIL = re.compile(r"\b(?:until|till)\s+$", re.IGNORECASE)
_SINCE = re.compile(r"\b(?:since|from|as of|starting(?: in| on)?)\s+$", re.IGNORECASE)
_INSTEAD = re.compile(r",?\s+(?:and\s+)?(?:not|instead of|rather than|no longer)\s+(?:(?:in|at|to|on|with|a|an|the)\s+)*(?P<old>[^,]+?)(?:\s+any ?more)?$", re.I)
_HAN_NEGATIONS = ("不", "没", "再也")


class StatementReader:
    """The extractor of the embedded language tasks.

    Args:
        schema: relations with their forms.
    """

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._forms = compile_forms(schema)
        self._verbs = verbs_of(self._forms)
        self._by_anchor: dict[str, list[int]] = {}
        self._always: list[int] = []
        for i, form in enumerate(self._forms):
            for anchor in form.anchors:
                self._by_anchor.setdefault(anchor, []).append(i)
            if not form.anchors:
                self._always.append(i)

    def read(self, unit: Unit, listener: str = "") -> tuple[Statement, ...]:
        """Statements of a unit in the order of its text, each once; offsets are within the unit's text."""
        mentions = Mentions(unit.name or unit.role, listener)
        found: list[Statement] = []
        for clause in clauses(unit.text, self._verbs):
            found += self._of_clause(clause, mentions, unit.occurred_at)
        unique: dict[tuple[str, str, str, str, bool], Statement] = {}
        for statement in found:
            key = (name_key(statement.subject), statement.relation, statement.topic, name_key(statement.object), statement.negated)
            unique.setdefault(key, statement)
        return tuple(unique.values())

    def _of_clause(self, clause: Clause, mentions: Mentions, said: datetime) -> list[Statement]:
        mentions.kin = []
        mentions.listener = clause.listener or mentions.listener
        text = clause.text if clause.cjk else mentions.read_kin(clause.text, clause.start, clause.end)
        ended = self._matches(clause.text, clause, mentions, said, moods=("ends",)) if mentions.kin else []
        found = self._matches(self._with_subject(text, clause, mentions), clause, mentions, said)
        over = {(s.relation, s.object) for s in ended if s.negated}
        kin = [s for s in mentions.kin if (s.relation, s.object) not in over]
        if found:
            named = self._schema[found[0].relation].object == "person" and clause.cjk
            mentions.subject = found[0].object if named and found[0].object else found[0].subject
        return [*kin, *ended, *found]

    def _matches(
        self, text: str, clause: Clause, mentions: Mentions, said: datetime, moods: Sequence[str] = ("begins", "ends", "states")
    ) -> list[Statement]:
        """Statements of all forms that fit; words that one form took for an object or a thing are not read by a later one."""
        found: list[Statement] = []
        taken: list[tuple[int, int]] = []
        for i in self._candidates(text, clause.cjk):
            form = self._forms[i]
            match = form.pattern.match(text) if form.mood in moods else None
            if match is None:
                continue
            statements, spans = self._build(form, match, clause, mentions, said)
            if statements and not any(a < d and c < b for a, b in spans for c, d in taken):
                taken += spans
                found += statements
        return found

    def _with_subject(self, text: str, clause: Clause, mentions: Mentions) -> str:
        """A clause that begins with its verb, under the subject of the one before, or under I in telegram style."""
        first = re.match(r"(?:(?:just|now|also|recently|finally|currently|still|already|never|always|not|no longer)\s+)*([A-Za-z'-]+)", text)
        if clause.cjk or first is None or first[1].lower() not in self._verbs | {"am", "is", "are", "was", "were", "has", "have", "can", "will"}:
            return text
        head = text[: first.start(1)] + first[1][0].lower() + text[first.start(1) + 1 :]
        return f"{mentions.subject} {head}" if mentions.subject else f"I {head}" if _told(first[1].lower()) else text

    def _candidates(self, text: str, cjk: bool) -> list[int]:
        if cjk:
            return [i for i, form in enumerate(self._forms) if form.cjk]
        words = set(re.findall(r"[\w'-]+", text.lower()))
        found = {i for word in words for i in self._by_anchor.get(word, ())}
        return sorted(found | {i for i in self._always if not self._forms[i].cjk})

    def _build(
        self, form: Form, match: re.Match[str], clause: Clause, mentions: Mentions, said: datetime
    ) -> tuple[list[Statement], list[tuple[int, int]]]:
        """Statements of one match, and the places of the phrases that it took for its things."""
        relation = self._schema[form.relation]
        kinds = {slot: self._schema.kinds[kind] for slot, kind in form.slots}
        verb = self._verb(form, match, clause.cjk)
        if verb is None:
            return [], []
        negated, past = verb
        groups = match.groupdict()
        subject_phrase = (groups.get("S") or "").strip()
        if subject_phrase and form.slots[0][0] != "S" and not clause.cjk:
            subject_phrase = cut(subject_phrase, kinds["S"])
        if clause.cjk:
            subject_phrase = _HAN_LEAD.sub("", subject_phrase)
            subject = mentions.resolve(subject_phrase) if subject_phrase else mentions.subject or mentions.speaker
        else:
            subject_phrase = unpossessed(subject_phrase)
            subject = mentions.resolve(subject_phrase) if subject_phrase else mentions.speaker
        if not subject or not _is_subject(subject_phrase, kinds.get("S", self._schema.kinds["any"]), clause.cjk):
            return [], []
        raw = groups.get("O") or ""
        old = _INSTEAD.search(raw)
        replaced = self._object(groups["R"], kinds["R"], mentions, clause.cjk) if groups.get("R") else ""
        if old and not replaced and not clause.cjk:
            raw, replaced = raw[: old.start()], bare(cut(old["old"], kinds["O"]))
        objects = self._objects(raw, kinds["O"], relation, mentions, clause.cjk) if raw else [""]
        objects = [o for o in objects if o or not raw]
        if not objects or (not raw and not negated):
            return [], []
        topic = ""
        if "T" in groups:
            topic = self._topic(groups["T"] or "", relation)
            if not topic:
                return [], []
        dates = find_dates(match.string, said)
        begins, ends = self._times(match.string, raw if raw and kinds["O"].like == "date" else "", dates, said, form.mood == "states" and past)
        mentions.note(subject_phrase, subject)
        for one in objects:
            mentions.note(raw.strip(), one)
        made = [
            Statement(
                subject=subject,
                relation=relation.name,
                object=one,
                topic=topic,
                negated=negated,
                replaces=replaced if i == 0 else "",
                correction=clause.correction and not negated,
                past=past and not negated,
                valid_from=begins,
                valid_to=ends,
                confidence=0.9,
                start=clause.start,
                end=clause.end,
            )
            for i, one in enumerate(objects)
        ]
        if relation.cardinality == "one" and len(made) > 1:
            made = made[:1]
        if relation.cardinality == "many" and replaced:
            made.append(replace(made[0], object=replaced, replaces="", negated=True))
            made[0] = replace(made[0], replaces=replaced)
        return made, _spans(match, kinds)

    def _verb(self, form: Form, match: re.Match[str], cjk: bool) -> tuple[bool, bool] | None:
        """(negated, past) that the verb of a match means for its relation; None where it states nothing yet."""
        group = match.groupdict().get("verb")
        if group is None:
            return form.mood == "ends", False
        if cjk:
            no = any(word in group for word in _HAN_NEGATIONS)
            if any(word in group for word in ("要", "会", "想", "打算", "准备")) and form.relation not in ("plans_to", "wants", "able_to"):
                return None
            if form.mood == "ends":
                return None if no else (True, False)
            if form.mood == "begins" and no:
                return None
            return no, "以前" in group or "曾" in group
        verb = read_verb(group, verb_stems(form))
        if form.mood == "states":
            if verb.tense == "ahead" and form.relation not in ("able_to", "plans_to", "wants"):
                return None
            gone = bool(_ANYMORE.search(match.string))
            past = verb.tense == "past" and not self._schema[form.relation].lasting
            return verb.negated or gone, past and not (verb.negated or gone)
        if verb.tense == "ahead" or verb.negated or (verb.tense == "holds" and _mere(group)):
            return None
        return form.mood == "ends", False

    def _objects(self, raw: str, kind: Kind, relation: Relation, mentions: Mentions, cjk: bool) -> list[str]:
        if cjk:
            return [self._object(part, kind, mentions, True) for part in re.split(r"[、和跟]", raw)] if relation.cardinality == "many" else [self._object(raw, kind, mentions, True)]
        if relation.cardinality == "one" or kind.like not in _LISTED:
            return [self._object(raw, kind, mentions, False)]
        parts = split_list(raw)
        if len(parts) == 1 or not all(len(part.split()) <= 5 for part in parts[:-1]):
            return [self._object(raw if len(parts) == 1 else parts[0], kind, mentions, False)]
        found = [self._object(part, kind, mentions, False) for part in parts]
        return found[: found.index("")] if "" in found else found

    def _object(self, raw: str, kind: Kind, mentions: Mentions, cjk: bool) -> str:
        if cjk:
            phrase = re.sub(r"(?:了|啦|的|呢|哦|啊|一下)+$", "", raw.strip())
            phrase = re.sub(r"^(?:一[个只条辆台本部把张名位家件双]|了|这[个只]|那[个只])", "", phrase)
            if not phrase or len(phrase) > 16 or phrase in ("他", "她", "它", "你", "什么", "谁") or not kind.admits(phrase, phrase):
                return ""
            return mentions.speaker if phrase == "我" else phrase
        phrase = unpossessed(cut(raw, kind))
        if not phrase or not fits(phrase, kind):
            return ""
        if kind.like == "person" or kind.name == "possessive" or re.match(r"(?:my|our|your|his|her)\s", phrase, re.IGNORECASE):
            return mentions.resolve(phrase)
        return bare(phrase, keep=("no", "one of", "brand new")) if kind.like not in ("date", "deed", "number") else bare(phrase, keep=("a", "new", "around", "about"))

    def _topic(self, raw: str, relation: Relation) -> str:
        topic = bare(raw.strip().lower())
        if not topic or len(topic.split()) > 4 or (relation.topics and relation.name != "favourite" and not _known_topic(topic, relation)):
            return ""
        return topic

    def _times(
        self, text: str, within: str, dates: Sequence[DateMention], said: datetime, past: bool
    ) -> tuple[datetime | None, datetime | None]:
        begins = ends = None
        for mention in dates:
            if within and text[mention.start : mention.end] in within:
                continue
            before = text[: mention.start]
            if _UNTIL.search(before):
                ends = _instant(mention.first_day, said)
            elif mention.first_day <= said.date() and not past:
                begins = begins or _instant(mention.first_day, said)
            elif past and _SINCE.search(before):
                begins = begins or _instant(mention.first_day, said)
        return (begins if begins and begins <= said else None), ends


def _spans(match: re.Match[str], kinds: Mapping[str, Kind]) -> list[tuple[int, int]]:
    """Places of the phrases of a match that no other relation may read: its object, and a subject that is a thing."""
    found = []
    for slot in ("O", "R", "S"):
        phrase = match.groupdict().get(slot)
        if phrase and (slot != "S" or kinds["S"].like not in ("person", "any")):
            size = len(phrase) if slot == "S" else len(cut(phrase, kinds[slot])) if phrase.isascii() else len(phrase)
            found.append((match.start(slot), match.start(slot) + max(1, size)))
    return found


_HAN_LEAD = re.compile(
    r"^(?:现在|目前|今年|明年|去年|今天|昨天|明天|最近|后来|已经|周末|平时|每天(?:早上|晚上)?|特别|也|还|其实|对了|嗯|哦|上个月|上周|下周的?|下周|下个月|这周|春天|夏天|秋天"
    r"|冬天|不过|但|而|就|原来|以前|那[个台辆只张本]|这[个台辆只张本]|从)+"
)


def _instant(day: object, said: datetime) -> datetime:
    return datetime.combine(day, time(), tzinfo=said.tzinfo or UTC)  # type: ignore[arg-type]


def _told(word: str) -> bool:
    """Whether a sentence may begin with this verb form in telegram style ("Sold the car"): no command."""
    return word.endswith(("ed", "ing")) or word in {"sold", "bought", "got", "went", "moved", "took", "left", "quit", "lost", "found", "been", "am", "gave", "broke", "met", "made", "ran", "had"}


def _mere(group: str) -> bool:
    """A bare form: a command, a habit or a plan, not an event. "Mary moves to the garden" tells one."""
    return not group.lower().split()[-1].endswith("s") or group.lower().split()[0] in ("am", "is", "are")


def _known_topic(topic: str, relation: Relation) -> bool:
    return any(topic == known or topic.endswith(" " + known) for known in relation.topics)


def _is_subject(phrase: str, kind: Kind, cjk: bool) -> bool:
    if not phrase:
        return True
    if cjk:
        return len(phrase) <= 12 and not re.search(r"[什么谁哪]|^(?:这|那|今天|昨天|它)$|[现正住叫搬做学读去到给把]$|^[的在]|了", phrase)
    words = phrase.split()
    if len(words) > 7 or re.search(r"\b(?:is|are|was|were|has|have|will|that|to|if|because|there|what|who)\b", phrase, re.IGNORECASE):
        return False
    if kind.like == "person":
        return is_person(phrase)
    if kind.name != "any" and kind.patterns and not fits(phrase, kind):
        return False
    lowered = phrase.lower()
    return lowered not in {"i", "we", "you", "he", "she", "they", "there", "everything", "nothing", "everyone", "someone", "who", "what", "one", "life"}
