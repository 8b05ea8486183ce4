"""A reader of facts that tests can foretell, in the place of the trained one: a few plain sentences, word for word."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

import nscma_torch.reading.read_statements as read_statements
from nscma_torch.core.records import Statement, Unit
from nscma_torch.reading.asserted_statements import ReadMessage
from nscma_torch.reading.fact_reader import ReadFact
from nscma_torch.reading.phrase_names import name_of
from nscma_torch.reading.reader import ReadSpan
from nscma_torch.reading.reader_model import STANCES
from nscma_torch.reading.statement_times import times_of
from nscma_torch.text.names import name_key
from nscma_torch.text.scripts import script
from nscma_torch.text.sentences import split_sentences

_KIN = {
    **dict.fromkeys(("mother", "father"), "parent"),
    **dict.fromkeys(("brother", "sister"), "sibling"),
    **dict.fromkeys(("husband", "wife"), "married_to"),
    **dict.fromkeys(("son", "daughter"), "child"),
    **dict.fromkeys(("aunt", "uncle"), "relative"),
    **dict.fromkeys(("cat", "dog"), "pet"),
    "boss": "manager",
}
_NOUN = "|".join(_KIN)
_WHO = rf"(?P<s>I|(?:[Mm]y|[Oo]ur|[Hh]is|[Hh]er) (?:{_NOUN})(?: \d)?|she|he|[A-Z]\w+)"
_NAMED = re.compile(rf"\b(?P<owner>My|my) (?P<noun>{_NOUN}) (?P<name>[A-Z]\w+)\b")
_SENTENCES = tuple(
    (re.compile(pattern), relation, stance)
    for relation, stance, pattern in (
        ("lives_in", "ended", rf"{_WHO} no longer lives? in (?P<o>\w+)"),
        ("lives_in", "ended", rf"{_WHO} moved from (?P<o>\w+) to"),
        ("lives_in", "holds", rf"{_WHO} (?:lives?|have lived|moved(?: from \w+)? to|moved) (?:in )?(?P<o>[A-Z]\w+)"),
        ("lives_in", "holds", r"(?P<s>\w+)'s home is in (?P<o>\w+)"),
        ("works_at", "ended", rf"{_WHO} (?:left|quit) (?P<o>[A-Z]\w+)"),
        ("works_at", "holds", rf"{_WHO} (?:works? at|joined) (?P<o>\w+)"),
        ("value", "holds", r"(?P<s>My) (?P<t>budget|\w+ phone number) is (?P<o>[\d-]+)"),
        ("allergic_to", "holds", rf"{_WHO} (?:am|is) allergic to (?P<o>\w+)"),
        ("diet", "holds", rf"{_WHO} (?:am|is) (?P<o>vegan)"),
        ("age", "holds", rf"{_WHO} (?:am|is) (?P<o>\d+)"),
        ("located_in", "holds", rf"{_WHO} went to the (?P<o>\w+)"),
        ("speaks", "ended", rf"{_WHO} no longer speaks? (?P<o>\w+)"),
        ("speaks", "holds", rf"{_WHO} speaks? (?P<o>\w+)"),
        ("owns", "holds", rf"{_WHO} bought an? (?P<o>\w+)"),
    )
)
_HAS = re.compile(rf"I have an? (?P<noun>{_NOUN}) called (?P<name>\w+)|My (?P<noun2>{_NOUN}) is called (?P<name2>\w+)")
_SPAN = ReadSpan("", 0, 0, 0, True, 1.0)
_CERTAIN = (1.0,) * 5


class PlainSentences:
    """Reads what `_SENTENCES` and the names of kin say, surely, and nothing else."""

    def read(
        self,
        units: Sequence[Unit],
        *,
        listeners: Sequence[str],
        before: Sequence[Sequence[Unit]],  # noqa: ARG002 - as the trained reader is called
    ) -> list[ReadMessage]:
        """The statements of each unit."""
        return [self._of(unit, listener) for unit, listener in zip(units, listeners, strict=True)]

    def _of(self, unit: Unit, listener: str) -> ReadMessage:
        speaker = unit.name or unit.role
        found: list[tuple[Statement, ReadFact]] = []
        for span in split_sentences(unit.text) if script(unit.text) != "cjk" else ():
            sentence = unit.text[span.start : span.end]
            if sentence.endswith("?"):
                continue
            told = [(_KIN[m["noun"]], "holds", speaker, m["name"], "") for m in _NAMED.finditer(sentence)]
            told += [
                (_KIN[m["noun"] or m["noun2"]], "holds", speaker, m["name"] or m["name2"], "")
                for m in _HAS.finditer(sentence)
            ]
            plain = _NAMED.sub(r"\g<name>", sentence)
            for pattern, relation, stance in _SENTENCES:
                for m in pattern.finditer(plain):
                    own = m.groupdict()
                    person = told[-1][2] if told else ""
                    subject = speaker if own["s"] == "My" else name_of(own["s"], speaker, listener, person=person)
                    told.append((relation, stance, subject, own["o"], own.get("t") or ""))
            for relation, stance, subject, value, topic in told:
                times = times_of(sentence, [], unit.occurred_at, past=False)
                statement = Statement(
                    subject, relation, value, topic=topic, negated=stance == "ended", valid_from=times.begins,
                    valid_to=times.ends, begun_by=times.begun_by, confidence=0.9, start=span.start, end=span.end,
                )  # fmt: skip
                stances = tuple(float(own == stance) for own in STANCES)
                found.append((statement, ReadFact(relation, _SPAN, _SPAN, stances, topic, _CERTAIN)))
        return ReadMessage(found, {one.relation: 1.0 for one, _ in found if name_key(one.object)})


def read_plainly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has memories that are opened from now on read facts so."""
    monkeypatch.setattr(read_statements, "configured_facts", lambda *_: PlainSentences)
