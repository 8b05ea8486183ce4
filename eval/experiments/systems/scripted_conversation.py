"""A conversation written by hand, with what a language model is to make of it: the same for the authors' code and ours.

Rita and Tom speak in turns, an exchange a day. Each message tells one fact or more, and of each fact it stands here
what a model decides about it: it is new (ADD), it takes the place of an older one (UPDATE), an older one holds no
longer and nothing is left to know (DELETE), or it is known (NOOP). A model that is not shown the older one cannot
decide so and adds the fact.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from nscma_torch.records import Message

Action = Literal["ADD", "UPDATE", "DELETE", "NOOP"]
_BEGUN = datetime(2024, 3, 4, 9, tzinfo=UTC)
ASKED = _BEGUN + timedelta(days=60)


@dataclass(frozen=True, slots=True)
class Told:
    """A fact that a message tells.

    Attributes:
        text: as a model writes it.
        subject, predicate, object: the same as an edge between two entities.
        action: what it does to memories.
        old: text of the memory that it is about, "" for ADD.
        new: text of that memory afterwards, for UPDATE.
    """

    text: str
    subject: str
    predicate: str
    object: str
    action: Action = "ADD"
    old: str = ""
    new: str = ""


@dataclass(frozen=True, slots=True)
class Spoken:
    """A message."""

    name: str
    text: str
    told: tuple[Told, ...]


_MUSEUM = "Rita works at the harbour museum."
_BISCUIT = "Rita has a dog called Biscuit."
_KILN = "Rita's kiln is set to 900 degrees."
_LISBON = "Rita lives in Lisbon."
_RUNS = "Tom runs ten kilometres every Sunday."
_NUTS = "Rita is allergic to nuts."
_JUNE = "Ana is moving to Berlin in June."
_CHEMISTRY = "Tom teaches chemistry at the Camoes school."
_BICYCLE = "Tom has a new bicycle."

SPOKEN = (
    Spoken(
        "Rita",
        "I moved to Lisbon in January, and I work at the harbour museum.",
        (Told(_LISBON, "Rita", "lives in", "Lisbon"), Told(_MUSEUM, "Rita", "works at", "harbour museum")),
    ),
    Spoken(
        "Tom",
        "I am still in Porto, and teach chemistry at the Camoes school.",
        (
            Told("Tom lives in Porto.", "Tom", "lives in", "Porto"),
            Told(_CHEMISTRY, "Tom", "teaches chemistry at", "Camoes school"),
        ),
    ),
    Spoken("Rita", "My dog Biscuit loves the river here.", (Told(_BISCUIT, "Rita", "has dog", "Biscuit"),)),
    Spoken(
        "Tom",
        "My sister Ana has a cat called Miso.",
        (
            Told("Tom has a sister called Ana.", "Tom", "has sister", "Ana"),
            Told("Ana has a cat called Miso.", "Ana", "has cat", "Miso"),
        ),
    ),
    Spoken(
        "Rita",
        "I took up pottery; my kiln is set to 900 degrees.",
        (Told(_KILN, "Rita", "fires kiln at", "900 degrees"),),
    ),
    Spoken("Tom", "I run ten kilometres every Sunday.", (Told(_RUNS, "Tom", "runs every Sunday", "ten kilometres"),)),
    Spoken("Rita", "Careful with that cake, I am allergic to nuts.", (Told(_NUTS, "Rita", "is allergic to", "nuts"),)),
    Spoken(
        "Tom",
        "I play the cello in the city orchestra.",
        (Told("Tom plays the cello in the city orchestra.", "Tom", "plays cello in", "city orchestra"),),
    ),
    Spoken(
        "Rita",
        "Marta's book club is reading Middlemarch with me.",
        (
            Told("Rita is in Marta's book club.", "Rita", "is in book club of", "Marta"),
            Told("Rita is reading Middlemarch.", "Rita", "is reading", "Middlemarch"),
        ),
    ),
    Spoken("Tom", "Ana is moving to Berlin in June.", (Told(_JUNE, "Ana", "is moving to", "Berlin"),)),
    Spoken(
        "Rita",
        "As I said, Biscuit is my dog.",
        (Told("Rita's dog is called Biscuit.", "Rita", "has dog", "Biscuit", "NOOP", _BISCUIT),),
    ),
    Spoken(
        "Tom",
        "I gave up running, my knee is hurt.",
        (Told("Tom does not run any more.", "Tom", "gave up running", "ten kilometres", "DELETE", _RUNS),),
    ),
    Spoken(
        "Rita",
        "I left the museum; since Monday I work at the aquarium.",
        (
            Told(
                "Rita works at the aquarium now.",
                "Rita",
                "works at",
                "aquarium",
                "UPDATE",
                _MUSEUM,
                "Rita works at the aquarium, and before at the harbour museum.",
            ),
        ),
    ),
    Spoken("Tom", "I bought a bicycle.", (Told(_BICYCLE, "Tom", "has", "bicycle"),)),
    Spoken(
        "Rita",
        "The kiln is now set to 1100 degrees.",
        (
            Told(
                "Rita's kiln is now set to 1100 degrees.",
                "Rita",
                "fires kiln at",
                "1100 degrees",
                "UPDATE",
                _KILN,
                "Rita's kiln is set to 1100 degrees, before to 900.",
            ),
        ),
    ),
    Spoken(
        "Tom",
        "The orchestra plays Dvorak in May.",
        (Told("The city orchestra plays Dvorak in May.", "city orchestra", "plays in May", "Dvorak"),),
    ),
    Spoken(
        "Rita",
        "I moved to Sintra last week.",
        (
            Told(
                "Rita moved to Sintra.",
                "Rita",
                "lives in",
                "Sintra",
                "UPDATE",
                _LISBON,
                "Rita lives in Sintra, and lived in Lisbon before.",
            ),
        ),
    ),
    Spoken(
        "Tom",
        "Ana has arrived in Berlin.",
        (
            Told(
                "Ana has arrived in Berlin.",
                "Ana",
                "lives in",
                "Berlin",
                "UPDATE",
                _JUNE,
                "Ana moved to Berlin and lives there now.",
            ),
        ),
    ),
    Spoken(
        "Rita",
        "The test says that I have no allergy to nuts after all.",
        (Told("Rita has no allergy to nuts.", "Rita", "has no allergy to", "nuts", "DELETE", _NUTS),),
    ),
    Spoken(
        "Tom",
        "I teach chemistry, you know.",
        (Told("Tom teaches chemistry.", "Tom", "teaches chemistry at", "Camoes school", "NOOP", _CHEMISTRY),),
    ),
    Spoken(
        "Rita",
        "Marta and I will open a pottery studio in Sintra.",
        (
            Told("Rita will open a pottery studio.", "Rita", "will open", "pottery studio"),
            Told("The pottery studio will be in Sintra.", "pottery studio", "will be in", "Sintra"),
        ),
    ),
    Spoken(
        "Tom",
        "I sold the bicycle.",
        (Told("Tom has no bicycle any more.", "Tom", "sold", "bicycle", "DELETE", _BICYCLE),),
    ),
    Spoken(
        "Rita", "Biscuit is afraid of thunder.", (Told("Biscuit is afraid of thunder.", "Biscuit", "fears", "thunder"),)
    ),
    Spoken(
        "Tom",
        "My mother Helena visits me every August.",
        (Told("Tom's mother Helena visits him every August.", "Helena", "visits every August", "Tom"),),
    ),
)
QUERIES = (
    "Where does Rita live?",
    "Where does Rita work?",
    "What is Rita's dog called?",
    "To how many degrees is the kiln set?",
    "Which pets does Tom's family have?",
    "What does Tom teach?",
    "What music does Tom play?",
    "Where is Ana?",
    "What will Rita do with Marta?",
    "What should Rita not eat?",
    "How does Tom keep fit?",
    "Who visits Tom?",
)
LINES = 2  # messages of an exchange
TOP_K = 5


def said(spoken: Spoken) -> str:
    """The message behind its speaker's name, as every prompt has it."""
    return f"{spoken.name}: {spoken.text}"


def messages() -> list[Message]:
    """The conversation as a system of this project reads it."""
    return [
        Message("user", one.text, _BEGUN + timedelta(days=place // LINES, minutes=place % LINES), name=one.name)
        for place, one in enumerate(SPOKEN)
    ]


def told_in(text: str) -> list[Told]:
    """The facts of the messages that a text quotes, in the order of the conversation."""
    return [fact for one in SPOKEN if one.text in text for fact in one.told]


def named_by(facts: Iterable[Told]) -> list[str]:
    """Subjects and objects of facts, each once, in their order."""
    return list(dict.fromkeys(name for fact in facts for name in (fact.subject, fact.object)))


def fact_of(text: str) -> Told:
    """The fact with this text; KeyError where there is none."""
    return _BY_TEXT[text]


def decided(fact: Told, memories: Sequence[str]) -> tuple[Action, int]:
    """What a model that is shown these memories does with a fact, and the place of the memory that it is about."""
    if fact.old in memories:
        return fact.action, memories.index(fact.old)
    return "ADD", -1


_BY_TEXT: Mapping[str, Told] = {fact.text: fact for one in SPOKEN for fact in one.told}
