"""How well the embedded extractor, or a model, reads free paraphrases of a fact: right, wrong or silent.

    python -m eval.experiments.facts.paraphrases [--half test|dev] [--errors] [--config FILE]

Every line of `eval/data/statements/paraphrases_*.jsonl` is filled with seeded values. It is read right when a
statement of its relation, subject and topic has the new value (negated where the line denies it), wrong when one
has another value that would hold now, silent otherwise.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from eval.readers.choose_reader import add_config, reader_of
from eval.tasks.plain_statements import Half, load_plain
from nscma_torch.records import Scope, Statement, Unit
from nscma_torch.relations import load_relations
from nscma_torch.text.names import name_key

FOLDER = Path(__file__).parents[2] / "data" / "statements"
SAID = datetime(2026, 5, 14, 10, tzinfo=UTC)
SPEAKER = "Ludger"
ROUNDS = 3

_PEOPLE = ("Hedwig", "Tomasz", "Ayesha", "Jarle", "Nandini", "Benoit", "Oluchi", "Pilar", "Vikram", "Greta Lindholm")
_PLACES = ("Zagreb", "Leuven", "Valparaíso", "Tampere", "Kigali", "Brighton", "Osaka", "Lucerne", "Porto", "Windhoek")
_TASKS = (
    "the login page",
    "the audit report",
    "the newsletter",
    "the data import",
    "the pricing sheet",
    "the Atlas release",
)
_EVENTS = ("the board meeting", "the team dinner", "the yoga workshop", "the design review", "the concert", "the demo")
_DAYS = ("Monday", "12 June", "Thursday", "3 July", "next Friday", "the 21st of May", "Wednesday", "30 June")
_THINGS = ("the red umbrella", "the tripod", "the toolbox", "the blue folder", "the spare key", "the suitcase")
_FIRMS = ("Orbitek", "Halden Bank", "Nordlys Media", "Brightwater", "Ferrum Steel", "Pixelforge", "Tavira Foods")
_DISHES = ("lasagne", "ramen", "fish tacos", "pad thai", "dumplings", "moussaka", "pierogi")
_NUMBERS = ("two", "5", "three", "four", "7", "six")
_SECRETS = ("bluefox42", "tr33house", "moonlight-7", "kaktus99")
_LIKED = ("oolong tea", "jazz", "crosswords", "opera", "oysters", "long train rides", "horror films", "gardening")
_COLOURS = ("teal", "maroon", "yellow", "silver", "purple", "beige", "green", "orange")

VALUES: Mapping[str, tuple[Sequence[str], Sequence[str]]] = {  # subjects of the third person, objects
    "lives_in": (_PEOPLE, _PLACES),
    "works_at": (_PEOPLE, _FIRMS),
    "job": (
        _PEOPLE,
        ("plumber", "translator", "paramedic", "accountant", "gardener", "radiologist", "set designer", "baker"),
    ),
    "located_in": (_PEOPLE, _PLACES),
    "married_to": (_PEOPLE[:5], _PEOPLE[5:]),
    "partner": (_PEOPLE[:5], _PEOPLE[5:]),
    "age": (_PEOPLE, ("27", "41", "sixty-three", "19", "fifty", "38", "72")),
    "diet": (_PEOPLE, ("vegan", "halal", "vegetarian", "kosher", "gluten-free", "keto", "pescatarian")),
    "status": (_TASKS, ("blocked", "done", "on hold", "in progress", "under review", "cancelled", "approved")),
    "deadline": (_TASKS, _DAYS),
    "scheduled_for": (_EVENTS, _DAYS),
    "costs": (
        ("the blender", "the day pass", "the course", "the ticket", "a haircut", "the bike lock"),
        ("45 euros", "$120", "30 pounds", "18 francs", "$9.50"),
    ),
    "version": (
        ("Pinwheel", "the payment gateway", "the mobile app", "Corvus", "the firmware"),
        ("2.4", "3.0.1", "5.2", "v8.1", "1.12"),
    ),
    "assigned_to": (_TASKS, _PEOPLE),
    "color": (("the garden gate", "the van", "the kitchen wall", "the front door", "the sofa", "the boat"), _COLOURS),
    "held_by": (_THINGS, _PEOPLE),
    "manager": (_PEOPLE[:5], _PEOPLE[5:]),
    "likes": (_PEOPLE, _LIKED),
    "owns": (_PEOPLE, ("kayak", "camera", "cargo bike", "drone", "telescope", "record player", "caravan")),
    "uses": (_PEOPLE, ("Notion", "Figma", "Blender", "Trello", "Emacs", "Obsidian", "Ableton")),
    "speaks": (_PEOPLE, ("Turkish", "Dutch", "Mandarin", "Portuguese", "Hindi", "Swedish", "Arabic")),
    "allergic_to": (_PEOPLE, ("peanuts", "pollen", "shellfish", "penicillin", "cats", "strawberries", "latex")),
    "member_of": (
        _PEOPLE,
        ("the rowing club", "the chess club", "the brass band", "the gospel choir", "the film society"),
    ),
}

FAVOURITES: Mapping[str, Sequence[str]] = {  # by the last word of the topic
    "colour": _COLOURS,
    "color": _COLOURS,
    "food": _DISHES,
    "dish": _DISHES,
    "drink": ("oolong tea", "ginger ale", "espresso", "apple juice", "horchata", "cocoa", "lemonade"),
    "season": ("spring", "summer", "autumn", "winter"),
    "film": ("Casablanca", "Alien", "Amélie", "Vertigo", "Fargo", "Spirited Away"),
    "movie": ("Casablanca", "Alien", "Amélie", "Vertigo", "Fargo", "Spirited Away"),
    "book": ("Middlemarch", "Dracula", "Emma", "Dune", "Solaris", "Beloved"),
    "song": ("Jolene", "Hallelujah", "Waterloo", "Imagine", "Creep", "Dancing Queen"),
    "animal": ("otter", "heron", "badger", "octopus", "hedgehog", "lynx"),
    "sport": ("tennis", "handball", "curling", "rugby", "fencing", "badminton"),
    "city": _PLACES,
    "place": _PLACES,
}
ATTRIBUTES: Mapping[str, Sequence[str]] = {
    "number": ("0171 5551234", "555-0142", "030 1234567", "0664 887766"),
    "address": ("m.okafor@postbox.example", "hello@larkmail.example", "ines77@quince.example", "info@tern.example"),
    "email": ("m.okafor@postbox.example", "hello@larkmail.example", "ines77@quince.example", "info@tern.example"),
    "size": ("38", "41", "44", "36"),
    "height": ("172 cm", "1.81 m", "165 cm", "1.9 m"),
    "budget": ("4000 euros", "$12,500", "900 pounds", "7500 francs"),
    "salary": ("4000 euros", "$52,500", "3900 pounds", "7500 francs"),
}
_STAFF = frozenset({"employees", "staff", "people", "workers", "offices", "branches", "customers", "members"})


def values_of(relation: str, topic: str, half: Half) -> tuple[Sequence[str], Sequence[str]]:
    """Subjects of the third person and objects of any relation and topic: the plain sentences' where none are here."""
    if relation in VALUES:
        return VALUES[relation]
    last = topic.split()[-1] if topic else ""
    if relation == "count":
        return (_FIRMS if last in _STAFF else _PEOPLE), _NUMBERS
    if relation == "favourite":
        return _PEOPLE, FAVOURITES.get(last, _LIKED)
    if relation == "value":
        return _PEOPLE, ATTRIBUTES.get(last, _SECRETS)
    plain = load_plain()
    own = plain.relations[relation]
    subjects = plain.entries(own.subjects, half)
    named = subjects if own.subjects == "people" else tuple(f"the {subject}" for subject in subjects)
    return named, plain.entries(own.pool(topic), half)


@dataclass(frozen=True)
class Filled:
    """A paraphrase with its values."""

    text: str
    relation: str
    topic: str
    subject: str
    value: str
    denied: bool


def load(half: Half) -> list[Filled]:
    """Paraphrases of the test or the development half, each filled `ROUNDS` times."""
    lines = (FOLDER / f"paraphrases_{half}.jsonl").read_text(encoding="utf-8").splitlines()
    return [
        _fill(json.loads(line), number, round_, half)
        for number, line in enumerate(lines)
        if line
        for round_ in range(ROUNDS)
    ]


def _fill(line: Mapping[str, Any], number: int, round_: int, half: Half) -> Filled:
    chance = random.Random(f"{number} {round_}")
    subjects, objects = values_of(line["relation"], line["topic"] or "", half)
    subject = chance.choice(subjects)
    new, old = chance.sample([value for value in objects if value != subject], 2)
    text = line["text"].format(s=subject, o=new, old=old)
    who = SPEAKER if line["subject"] == "I" else subject
    return Filled(text[0].upper() + text[1:], line["relation"], line["topic"] or "", who, new, line["kind"] == "negate")


def outcome(filled: Filled, statements: Sequence[Statement]) -> Literal["right", "wrong", "silent"]:
    """What a reader's statements of one paraphrase come to."""
    found: Literal["right", "silent"] = "silent"
    for statement in statements:
        if (
            statement.relation != filled.relation
            or filled.topic.split()[-1:] != statement.topic.split()[-1:]
            or statement.past
        ):
            continue
        same = name_key(statement.object) == name_key(filled.value) and name_key(statement.subject) == name_key(
            filled.subject
        )
        symmetric = filled.relation in ("married_to", "partner") and {
            name_key(statement.object),
            name_key(statement.subject),
        } == {
            name_key(filled.value),
            name_key(filled.subject),
        }
        if (same or symmetric) and statement.negated == filled.denied:
            found = "right"
        elif not statement.negated:
            return "wrong"
    return found


def main() -> None:
    """Print how many paraphrases are read right, wrong or not at all, by relation."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=("test", "dev"), default="test")
    parser.add_argument("--errors", action="store_true", help="print every paraphrase that is not read right")
    add_config(parser)
    arguments = parser.parse_args()
    lines = load(arguments.half)
    units = [Unit("1", Scope("user"), "chunk", filled.text, (), SAID, name=SPEAKER) for filled in lines]
    with reader_of(load_relations(), arguments.config) as reader:
        found = reader.read(units, [""] * len(units))
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for filled, statements in zip(lines, found, strict=True):
        result = outcome(filled, statements)
        counts[f"{filled.relation} {filled.topic}".strip()][result] += 1
        counts["all"][result] += 1
        if arguments.errors and result != "right":
            read = [f"{'not ' * s.negated}{s.subject} | {s.relation} {s.topic} | {s.object}" for s in statements]
            print(f"{result:6s} {filled.relation} {filled.value}: {filled.text}   read: {read}")
    print(f"{'relation':22s} right  wrong silent  lines")
    for name, count in counts.items():
        total = count.total()
        print(
            f"{name:22s} {count['right'] / total:5.2f}  {count['wrong'] / total:5.2f}  "
            f"{count['silent'] / total:5.2f}  {total:5d}"
        )
    if reader.work():
        print(reader.work())


if __name__ == "__main__":
    main()
