"""What the bundled networks read in plain English sentences, and where they are silent."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
import torch

from nscma_torch.core.config import ReadingConfig
from nscma_torch.core.records import Scope, Unit
from nscma_torch.reading.asserted_statements import asserted
from nscma_torch.reading.read_statements import StatementsOfReader, configured_facts
from nscma_torch.reading.relations import load_relations

SAID = datetime(2026, 5, 14, 10, tzinfo=UTC)
SCHEMA = load_relations()
PLAIN = """
I live in Tartu. | Ludger lives_in Tartu
Oona works for Halden Bank. | Oona works_at Halden Bank
Oona is a translator. | Oona job translator
Oona's favourite fruit is quince. | Oona favourite [fruit] quince
Oona is 41 years old. | Oona age 41
I am married to Idris. | Ludger married_to Idris
My sister is called Wilma. | Ludger sibling Wilma
I speak Georgian. | Ludger speaks Georgian
Oona is allergic to kiwis. | Oona allergic_to kiwis
Oona is vegan. | Oona diet vegan
I have asthma. | Ludger has_condition asthma
I take metformin. | Ludger takes_medication metformin
Oona plays badminton. | Oona practises badminton
I hate rhubarb. | Ludger dislikes rhubarb
Oona owns a canoe. | Oona owns canoe
I use Inkscape. | Ludger uses Inkscape
The audit is due on 3 July. | audit deadline 3 July
The recital is on 3 July. | recital scheduled_for 3 July
The kettle costs 30 euros. | kettle costs 30 euros
I have three canoes. | Ludger count [canoes] three
The kiln is broken. | kiln status broken
The server is at version 2.7. | server version 2.7
Oona is responsible for the newsletter. | newsletter assigned_to Oona
My locker code is 7741. | Ludger value [locker code] 7741
Oona is in the greenhouse. | Oona located_in greenhouse
Oona is a member of the glee club. | Oona member_of glee club
I report to Idris. | Ludger manager Idris
I no longer live in Tartu. | not Ludger lives_in Tartu
I sold my canoe. | not Ludger owns canoe
Oona quit Bosch. | not Oona works_at Bosch
Idris gave the lantern to Oona. | lantern held_by Oona
"""
SILENT = """
Do you live in Tartu?
If I lived in Tartu, I would own a boat.
I wish I lived in Tartu.
I might move to Tartu.
Imagine I owned a castle.
What a week.
I'm in a hurry.
Anna is right.
"""
MISSED = 0.1  # share of plain sentences that may be read otherwise


@pytest.fixture(scope="module")
def reader() -> StatementsOfReader:
    made = configured_facts(ReadingConfig(dtype="float32"), SCHEMA, torch.device("cpu"))
    assert made is not None
    return made()


def told(reader: StatementsOfReader, texts: list[str]) -> list[list[str]]:
    """The asserted statements of each text as "not? subject relation[ topic] object"."""
    units = [Unit(str(i), Scope("user"), "chunk", text, (), SAID, name="Ludger") for i, text in enumerate(texts)]
    found = reader.read(units, listeners=["Anna"] * len(units), before=[[]] * len(units))
    return [
        [
            " ".join(filter(None, ("not" * s.negated, s.subject, s.relation, s.topic and f"[{s.topic}]", s.object)))
            for s in asserted(own, SCHEMA)
        ]
        for own in found
    ]


def test_plain_sentences_are_read(reader: StatementsOfReader) -> None:
    texts, labels = zip(*(line.split(" | ") for line in PLAIN.strip().splitlines()), strict=True)
    found = told(reader, list(texts))
    missed = [(label, own) for label, own in zip(labels, found, strict=True) if own != [label]]
    assert len(missed) <= MISSED * len(labels), missed


def test_what_is_asked_wished_or_supposed_is_no_fact(reader: StatementsOfReader) -> None:
    assert [own for own in told(reader, SILENT.strip().splitlines()) if own] == []
