"""Reads statements out of a message by the forms of the relation schema; silent where a clause fits none."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache

from nscma_torch.reading.chinese import plain_clauses, was_past
from nscma_torch.reading.clauses import PREDICATE, Clause, clauses, head_noun_phrase
from nscma_torch.reading.coreference import Coreference
from nscma_torch.reading.form_slots import (
    begins_later,
    instead,
    names_attribute,
    object_of,
    objects_of,
    overlap,
    spans_of,
    subjects_of,
    times_of,
    topic_of,
)
from nscma_torch.reading.inflection import participle
from nscma_torch.reading.noun_phrases import AUXILIARIES, cut, is_person, runs_on, word_set
from nscma_torch.reading.statement_forms import Form, compile_forms, read_verb, verb_stems, verbs_of
from nscma_torch.records import Statement, Unit
from nscma_torch.relations import Schema, family
from nscma_torch.text.names import name_key

_ANYMORE = re.compile(r"^(?!.*,\s+not\s).*\b(?:any ?more|any longer)\b", re.IGNORECASE)
_GONE = re.compile(r"\b(?:no longer|no more|any ?more|any longer|stopped|quit|gave up)\b|不再", re.IGNORECASE)
_DENIES = re.compile(r"\b(?:not|never)\b|[不没]", re.IGNORECASE)
_DATED = re.compile(
    r"\b(?:ago|yesterday|once|twice|(?:last|the) (?:day|night|week\w*|month|year|spring|summer|autumn|fall|winter)"
    r"|(?:in|since|before|until) (?:[A-Z]\w+|\d{4})|times|never"
    r"|for (?:my|our|the|a|his|her) (?:honeymoon|holidays?|birthday))\b"
)
_FIRST_WORD = re.compile(r"(?:(?:not|no longer|never|since|then|only|long)\s+)*([A-Za-z'-]+)")
_IT = re.compile(
    r"(?:it|they)(?=\s+(?:is|are|was|were|has|have|had|will|used|runs?|costs?|does|did|do|can|needs?|lies?|stands?"
    r"|belongs?|goes|went|must|takes|comes|got)\b)",
    re.I,
)
_HAN_NEGATIONS = ("不", "没", "再也")
_HAN_AHEAD = ("要", "会", "想", "打算", "准备")
_FUTURE = frozenset({"able_to", "plans_to", "wants"})
_TOLD = word_set(
    """sold bought got went moved took left quit lost found been am gave broke met made ran had became began gone
    taken put saw"""
)


_NOTED = frozenset({"person", "place", "group", "thing", "name", "any"})  # shapes of what "it" can mean
_MAIN_VERB = re.compile(r"\s(?:is|was|are|were|has|have|had|can|will|would|makes|gives|helps|means|feels)\b")


@lru_cache(maxsize=8)
def statement_reader(schema: Schema) -> StatementReader:
    """The reader of a schema, made once: compiling its forms takes a second."""
    return StatementReader(schema)


class StatementReader:
    """The extractor of the embedded language tasks.

    Args:
        schema: relations with their forms.
    """

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._forms = compile_forms(schema)
        self._verbs = verbs_of(self._forms)
        self._by_word: dict[str, list[int]] = {}
        self._always: list[int] = []
        for i, form in enumerate(self._forms):
            for word in form.needs[0] if form.needs else ():
                self._by_word.setdefault(word, []).append(i)
            if not form.needs:
                self._always.append(i)

    def read(self, unit: Unit, listener: str = "") -> tuple[Statement, ...]:
        """Statements of a unit in the order of its text; offsets are within the unit's text.

        What is said again is left out, unless something else was said of it in between.
        """
        mentions = Coreference(unit.name or unit.role, listener)
        found: list[Statement] = []
        sentence = -1
        for clause in clauses(unit.text, self._verbs, document=unit.role == "document"):
            found += self._of_clause(clause, mentions, unit.occurred_at, first=clause.start != sentence, earlier=found)
            sentence = clause.start
        last: dict[tuple[str, tuple[str, ...], str, str], tuple[str, str, bool, bool]] = {}
        fresh = []
        for statement in found:
            value = name_key(statement.object)
            among = "" if self._schema[statement.relation].cardinality == "one" else value
            group = (name_key(statement.subject), family(statement.relation, self._schema), statement.topic, among)
            said = (statement.relation, value, statement.negated, statement.past)
            more = statement.replaces or statement.valid_from or statement.valid_to
            if more or last.get(group) != said:
                last[group] = said
                fresh.append(statement)
        return tuple(fresh)

    def asserted(self, text: str) -> list[str]:
        """The clauses of a text that assert something."""
        return [clause.text for clause in clauses(text, self._verbs)]

    def _of_clause(
        self, clause: Clause, mentions: Coreference, said: datetime, *, first: bool, earlier: Sequence[Statement]
    ) -> list[Statement]:
        mentions.kin = []
        mentions.listener = clause.listener or mentions.listener
        if clause.cjk:
            return _completed(self._of_han(clause, mentions, said), earlier)
        text = mentions.read_kin(clause.text, clause.start, clause.end)
        ended = self._matches(clause.text, clause, mentions, said, moods=("ends",)) if mentions.kin else []
        text = self._with_subject(text, mentions, first=first)
        head = head_noun_phrase(text, self._verbs)
        found = self._matches(text, clause, mentions, said)
        mentions.note_head(head, text)
        over = {(s.relation, s.object) for s in [*ended, *found] if s.negated or s.past}
        kin = [replace(s, correction=clause.correction) for s in mentions.kin if (s.relation, s.object) not in over]
        fresh = [
            s
            for s in ended
            if (s.relation, s.object, s.negated) not in {(f.relation, f.object, f.negated) for f in found}
        ]
        return _completed([*kin, *fresh, *found], earlier)

    def _of_han(self, clause: Clause, mentions: Coreference, said: datetime) -> list[Statement]:
        made: list[Statement] = []
        for plain in plain_clauses(clause.text, mentions.thing if mentions.alone else ""):
            mentions.kin = []
            text = mentions.read_han_kin(mentions.with_han_topic(plain), clause.start, clause.end)
            found = self._matches(text, clause, mentions, said) if text else []
            last = self._schema[found[-1].relation] if found else None
            introduces = last is not None and last.subject == last.object == "person"
            mentions.note_han(plain, found, introduces=introduces)
            made += [*mentions.kin, *found]
        return made

    def _with_subject(self, text: str, mentions: Coreference, *, first: bool) -> str:
        """A clause with the subject that it leaves out, that of the one before or I; "it" as what was spoken of."""
        it = _IT.match(text)
        if it and mentions.spoken_of():
            return mentions.spoken_of() + text[it.end() :]
        if PREDICATE.match(text):
            owner = mentions.subject if mentions.subject and not first else "I"
            return f"{owner} {'am' if owner == 'I' else 'is'} {text}"
        start = _FIRST_WORD.match(text)
        if start is None:
            return text
        word = start[1].lower()
        if word == "like" or (word not in self._verbs and word not in AUXILIARIES):  # "like a bouquet of flowers"
            return text
        if word == "been":
            text = f"have {text[0].lower()}{text[1:]}"
        elif word == "being" or (word.endswith("ing") and _MAIN_VERB.search(text)):  # "Digging deeper has been …"
            return text
        elif word.endswith("ing") and word not in AUXILIARIES:
            text = f"am {text[0].lower()}{text[1:]}" if first or not mentions.subject else f"is {text}"
        head = text[:1].lower() + text[1:]
        if mentions.subject and (not first or word.endswith("s") or word in AUXILIARIES):
            return f"{mentions.subject} {head}"
        return f"I {head}" if first and (word.endswith(("ed", "ing")) or word in _TOLD) else text

    def _matches(
        self,
        text: str,
        clause: Clause,
        mentions: Coreference,
        said: datetime,
        moods: Sequence[str] = ("begins", "ends", "states"),
    ) -> list[Statement]:
        """Statements of all forms that fit; what one form took for an object or a thing is read by no later one."""
        found: list[Statement] = []
        taken: list[tuple[str, tuple[int, int]]] = []
        for i in self._candidates(text, clause.cjk):
            form = self._forms[i]
            match = form.pattern.match(text if clause.cjk else f" {text}") if form.mood in moods else None
            if match is None:
                continue
            statements, spans = self._build(form, match, clause, mentions, said)
            if not statements:
                continue
            dated = clause.cjk or bool(_DATED.search(clause.sentence))
            overlapping = () if dated else self._schema[form.relation].may_overlap
            if overlap(spans, [span for relation, span in taken if relation not in overlapping]):
                continue
            if any(
                s.relation == form.relation and (not statements[0].object or s.topic == statements[0].topic != "")
                for s in found
            ):
                continue
            taken += [(form.relation, span) for span in spans]
            found += statements
        return found

    def _candidates(self, text: str, cjk: bool) -> list[int]:
        if cjk:
            return [i for i, form in enumerate(self._forms) if form.cjk]
        words = set(re.findall(r"[\w'-]+", text.lower()))
        found = {i for word in words for i in self._by_word.get(word, ())} | set(self._always)
        return sorted(
            i
            for i in found
            if not self._forms[i].cjk and not any(words.isdisjoint(need) for need in self._forms[i].needs)
        )

    def _build(
        self, form: Form, match: re.Match[str], clause: Clause, mentions: Coreference, said: datetime
    ) -> tuple[list[Statement], list[tuple[int, int]]]:
        """Statements of one match, and the places of the phrases that it took for its things."""
        relation = self._schema[form.relation]
        kinds = {slot: self._schema.kinds[kind] for slot, kind in form.slots}
        verb = self._verb(form, match, clause.cjk)
        if verb is None:
            return [], []
        negated, past = verb
        groups = {slot: (words or "").strip() for slot, words in match.groupdict().items()}
        subject = groups.get("S", "")
        if subject and not form.source.startswith("S") and not clause.cjk:
            subject = cut(subject, kinds["S"])
        raw = groups.get("O", "")
        inside = not clause.cjk and bool(raw) and match.end("O") < len(match.string.rstrip(" .!"))
        if inside and runs_on(raw, kinds["O"]):
            return [], []
        replaced = object_of(groups["R"], kinds["R"], mentions, cjk=clause.cjk) if groups.get("R") else ""
        if groups.get("R") and not replaced:
            return [], []
        if raw and not replaced and not clause.cjk:
            raw, replaced = instead(raw, kinds["O"])
        if "S" not in groups and not clause.cjk and is_person(mentions.subject):
            subject = mentions.subject
        subjects = subjects_of(subject, kinds.get("S", self._schema.kinds["any"]), mentions, cjk=clause.cjk)
        if not subjects or names_attribute(subject, relation):
            return [], []
        if raw:
            objects = objects_of(raw, kinds["O"], relation, mentions, cjk=clause.cjk)
        elif negated:
            objects = [""]
        else:
            objects = (
                []
                if "O" in groups or clause.cjk or form.mood != "begins"
                else _outcome(groups["verb"], verb_stems(form))
            )
        topic = topic_of(groups["T"], kinds["T"], cjk=clause.cjk) if "T" in groups else ""
        if not objects or ("T" in groups and not topic) or objects == subjects:
            return [], []
        if not clause.cjk and not (past or negated) and begins_later(clause.sentence, said):
            return [], []
        within = [groups[slot] for slot in ("O", "R") if groups.get(slot) and kinds[slot].like == "date"]
        begins, ends = times_of(clause.sentence, within, said, past=form.mood == "states" and past)
        if clause.cjk:
            mentions.note_han_names(relation, subjects[0], objects[0])
        for one in () if clause.cjk else subjects:
            mentions.note(subject, one)
        if raw and not clause.cjk and kinds["O"].like in _NOTED:
            for one in objects:
                mentions.note(raw, one)
        made = [
            Statement(
                subject=who,
                relation=relation.name,
                object=what,
                topic=topic,
                negated=negated,
                replaces=_unowned(who, [replaced])[0] if relation.cardinality == "one" else "",
                correction=clause.correction and (not negated or _never(clause)),
                past=past and not negated,
                valid_from=begins,
                valid_to=ends,
                confidence=0.9,
                start=clause.start,
                end=clause.end,
            )
            for who in subjects
            for what in _unowned(who, objects)[: 1 if relation.cardinality == "one" else None]
        ]
        if relation.cardinality == "many" and replaced:
            replaced = _unowned(made[0].subject, [replaced])[0]
            made += [replace(made[0], object=replaced, negated=True)]
            made[0] = replace(made[0], replaces=replaced)
        return made, spans_of(match, kinds)

    def _verb(self, form: Form, match: re.Match[str], cjk: bool) -> tuple[bool, bool] | None:
        """(negated, past) that the verb of a match means for its relation; None where it states nothing yet."""
        group = match.groupdict().get("verb")
        if group is None:
            return form.mood == "ends", False
        if cjk:
            no = any(word in group for word in _HAN_NEGATIONS)
            if any(word in group for word in _HAN_AHEAD) and form.relation not in _FUTURE:
                return None
            if form.mood != "states" and no:
                return None
            lead = (match.groupdict().get("S") or "") if form.mood == "states" else ""
            return no or form.mood == "ends", was_past(group) or was_past(lead)
        verb = read_verb(group, verb_stems(form))
        if form.mood == "states":
            relation = self._schema[form.relation]
            if verb.tense == "unfit" or (verb.tense == "ahead" and form.relation not in _FUTURE):
                return None
            if verb.tense == "past" and relation.episodic:
                return None
            negated = verb.negated or bool(_ANYMORE.match(match.string))
            past = verb.tense == "used" or (verb.tense == "past" and not relation.lasting)
            return negated, past and not negated
        if verb.tense in ("ahead", "holds", "used", "unfit") or verb.negated:
            return None
        return form.mood == "ends", False


def _never(clause: Clause) -> bool:
    """Whether a clause denies that something was ever true, rather than telling that it has ended."""
    return bool(_DENIES.search(clause.text)) and not _GONE.search(clause.sentence)


def _outcome(verb: str, stems: tuple[str, ...]) -> list[str]:
    """What an event makes of its thing where the form names no object: "we shipped the app", so it is shipped."""
    made = (participle(word, stems) for word in verb.lower().split())
    return [next((name for name in made if name), "")]


def _unowned(subject: str, objects: Sequence[str]) -> list[str]:
    """Objects without their owner where that is the subject: "I treated myself to my own kayak"."""
    return [name.removeprefix(f"{subject}'s ").removeprefix("own ") for name in objects]


def _completed(statements: Iterable[Statement], earlier: Sequence[Statement]) -> list[Statement]:
    """Denials without an object ("I quit") with that of what was said before; what was said to be past needs none."""
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
