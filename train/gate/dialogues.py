"""Dialogues made up from a grammar, with the turns known that a later question needs: training data of the gate.

Two people, or one and an assistant, talk. Some turns say a fact about somebody: the generator knows a question that
needs this turn. The others greet, thank, praise, ask, agree, muse, explain, echo what was just heard or say again what
was said before; no question needs them. All wording is in `configs/train/dialogues.toml`. Its templates and pools are
split in two, so that a head is judged on wording and names that it never saw.
"""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

Split = Literal["train", "held out"]

HELD_OUT_TEMPLATES = 5  # of so many templates the last is held out
HELD_OUT_FILLINGS = 4  # of so many entries of a pool the last is held out
REMEMBERED = 12  # facts that a speaker may say again

_CHOICE = re.compile(r"\[([^\[\]]*)\]")
_SLOT = re.compile(r"\{(\w+)\}")
_LONG_FORMS = {
    "I'm": "I am",
    "I've": "I have",
    "We're": "We are",
    "can't": "cannot",
    "don't": "do not",
    "It's": "It is",
}
_TO_LISTENER = {
    "i was": "you were", "i am": "you are", "i'm": "you're", "i've": "you've", "i'll": "you'll", "i'd": "you'd",
    "i": "you", "my": "your", "me": "you", "mine": "yours", "we": "you", "we're": "you're", "our": "your", "us": "you",
}  # fmt: skip
_FIRST_PERSON = re.compile(r"\b(" + "|".join(sorted(_TO_LISTENER, key=len, reverse=True)) + r")\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Turn:
    """One message. `question` needs it and nothing earlier; None where no question does."""

    speaker: str
    text: str
    kind: str  # of the grammar's `facts` or `empty`, or "echo", "restatement"
    question: str | None


@dataclass(frozen=True, slots=True)
class _Style:
    """How a speaker types."""

    lower: bool
    emoji: float
    exclaims: float
    long_forms: bool
    clipped: float  # how often "I" at the start is left out


class Grammar:
    """Templates and pools of one split."""

    def __init__(self, wording: Mapping[str, Any], split: Split) -> None:
        def part(entries: Sequence[str], every: int) -> list[str]:
            return [x for i, x in enumerate(entries) if (i % every == every - 1) == (split == "held out")]

        self._pools = {name: part(own, HELD_OUT_FILLINGS) for name, own in wording["pools"].items()}
        self._facts = {name: part(own["say"], HELD_OUT_TEMPLATES) for name, own in wording["facts"].items()}
        self._empty = {name: part(own["say"], HELD_OUT_TEMPLATES) for name, own in wording["empty"].items()}
        self._asks: dict[str, str] = {name: own["ask"] for name, own in wording["facts"].items()}
        self.kinds = tuple(self._facts)

    @classmethod
    def load(cls, path: Path, split: Split) -> Grammar:
        """Read a file like configs/train/dialogues.toml."""
        return cls(tomllib.loads(path.read_text(encoding="utf-8")), split)

    def fill(self, template: str, rng: random.Random, you: str = "you") -> str:
        """A sentence of a template: every choice made and every slot filled."""
        while True:
            template = _CHOICE.sub(lambda found: rng.choice(found.group(1).split("|")), template)
            slots = _SLOT.findall(template)
            if not slots:
                return template
            template = _SLOT.sub(
                lambda found: you if found.group(1) == "you" else rng.choice(self._pools[found.group(1)]), template
            )

    def fact(self, kind: str, rng: random.Random) -> str:
        """A sentence that says something about somebody."""
        return self.fill(rng.choice(self._facts[kind]), rng)

    def empty(self, kind: str, rng: random.Random, you: str) -> str:
        """A sentence that nobody would ask about later."""
        return self.fill(rng.choice(self._empty[kind]), rng, you)

    def ask(self, kind: str, speaker: str) -> str:
        """The question that a fact of this kind answers."""
        return self._asks[kind].replace("{speaker}", speaker)

    def emoji(self, rng: random.Random) -> str:
        """One from the pool."""
        return rng.choice(self._pools["emoji"])

    def filler(self, rng: random.Random) -> str:
        """A word that opens a sentence and says nothing."""
        return rng.choice(self._pools["adverb"])

    def names(self, rng: random.Random) -> list[str]:
        """Two names."""
        return rng.sample(self._pools["person"], 2)


_BEFORE_FACT = ("praise", "agree", "thanks", "greeting", "sympathy", "vague", "remark")
_AFTER_FACT = ("question", "question", "vague", "vague", "remark", "offer", "closing", "thanks")
_EMPTY_OPENERS = ("praise", "praise", "agree", "agree", "thanks", "sympathy", "vague", "greeting", "encourage")
_EMPTY_MORE = ("question", "question", "encourage", "remark", "remark", "vague", "vague", "offer", "praise", "closing")
_USER_EMPTY = ("task", "task", "task", "agree", "thanks", "vague", "greeting")
_USER_KINDS = ("project", "project", "memo", "work", "study", "plan", "decision", "opinion", "health", "home")


def dialogue(grammar: Grammar, rng: random.Random, turns: int = 40, assistant: bool = False) -> list[Turn]:
    """One made-up dialogue.

    Args:
        grammar: wording.
        rng: decides everything.
        turns: how many messages.
        assistant: whether the second speaker is an assistant, who explains and knows no facts about itself.
    """
    first, second = grammar.names(rng)
    speakers = (first, "Assistant" if assistant else second)
    styles = {speaker: _style(rng) for speaker in speakers}
    share = rng.uniform(0.3, 0.6)  # of the turns that say a fact
    topics = rng.sample(grammar.kinds, 8)
    said: dict[str, list[str]] = {speaker: [] for speaker in speakers}
    made: list[Turn] = []
    for i in range(turns):
        speaker, you = speakers[i % 2], speakers[1 - i % 2]
        if assistant and speaker == "Assistant":
            made.append(_explained(grammar, rng, speaker, said[you]))
            continue
        kinds = _USER_KINDS if assistant and rng.random() < 0.7 else topics
        if rng.random() < share:
            made.append(_told(grammar, rng, styles[speaker], (speaker, you), rng.choice(kinds), said[speaker]))
        elif said[you] and rng.random() < 0.12:
            made.append(_echoed(grammar, rng, styles[speaker], (speaker, you), said[you][-1]))
        elif len(said[speaker]) > 3 and rng.random() < 0.05:
            again = rng.choice(said[speaker][-REMEMBERED:])
            text = _joined(
                [rng.choice(["Like I said, ", "As I told you, ", ""]) + again], styles[speaker], grammar, rng
            )
            made.append(Turn(speaker, text, "restatement", None))
        else:
            opening = rng.choice(_USER_EMPTY if assistant else _EMPTY_OPENERS)
            more = rng.choices(_EMPTY_MORE, k=rng.choice((0, 1, 1, 2, 2, 3)))
            parts = [grammar.empty(kind, rng, you) for kind in (opening, *more)]
            made.append(Turn(speaker, _joined(parts, styles[speaker], grammar, rng), opening, None))
    return made


def dialogues(grammar: Grammar, seed: int, count: int, turns: int, assistants: float) -> list[list[Turn]]:
    """`count` dialogues, a share of `assistants` with an assistant; the same for the same seed."""
    rng = random.Random(seed)
    return [dialogue(grammar, rng, turns, rng.random() < assistants) for _ in range(count)]


def to_listener(sentence: str) -> str:
    """What was said of oneself, said to that person: "I sold my car" -> "you sold your car"."""
    return _FIRST_PERSON.sub(lambda found: _TO_LISTENER[found.group().lower()], sentence)


def _style(rng: random.Random) -> _Style:
    return _Style(
        lower=rng.random() < 0.15,
        emoji=rng.choice((0.0, 0.0, 0.1, 0.3)),
        exclaims=rng.choice((0.0, 0.1, 0.3, 0.6)),
        long_forms=rng.random() < 0.2,
        clipped=rng.choice((0.0, 0.0, 0.1, 0.3)),
    )


def _told(
    grammar: Grammar, rng: random.Random, style: _Style, who: tuple[str, str], kind: str, said: list[str]
) -> Turn:
    """A turn with one to three facts, often between pleasantries."""
    speaker, you = who
    facts = [grammar.fact(kind, rng) for _ in range(rng.choice((1, 1, 1, 2, 2, 3)))]
    said += facts
    if len(facts) > 1 and rng.random() < 0.4:
        link = rng.choice([" and ", ", so ", " because ", ", but ", " - "])
        facts[:2] = [facts[0] + link + _lowered(facts[1])]
    if rng.random() < 0.15:
        facts[0] = f"{grammar.filler(rng)}, {_lowered(facts[0])}"
    if rng.random() < 0.06:
        facts[0] = f"{rng.choice(['Did I tell you that', 'Did you know', 'Guess what,'])} {_lowered(facts[0])}?"
    if rng.random() < style.clipped and facts[0].startswith("I "):
        facts[0] = facts[0][2:]
    before = [grammar.empty(rng.choice(_BEFORE_FACT), rng, you) for _ in range(rng.choice((0, 0, 1, 1, 2)))]
    after = [grammar.empty(rng.choice(_AFTER_FACT), rng, you) for _ in range(rng.choice((0, 0, 1, 1, 2)))]
    return Turn(speaker, _joined([*before, *facts, *after], style, grammar, rng), kind, grammar.ask(kind, speaker))


def _echoed(grammar: Grammar, rng: random.Random, style: _Style, who: tuple[str, str], heard: str) -> Turn:
    speaker, you = who
    opening = rng.choice(["So {}?", "Wow, {}!", "I can't believe {}!", "Wait, {}?", "It's so cool that {}", "And {}?"])
    parts = [opening.format(_lowered(to_listener(heard)))]
    parts += [grammar.empty(kind, rng, you) for kind in rng.choices(_EMPTY_MORE, k=rng.choice((0, 1, 2)))]
    return Turn(speaker, _joined(parts, style, grammar, rng), "echo", None)


def _explained(grammar: Grammar, rng: random.Random, speaker: str, heard: Sequence[str]) -> Turn:
    parts = [grammar.empty("assistant", rng, "you") for _ in range(rng.choice((1, 2, 3, 4, 6)))]
    if heard and rng.random() < 0.3:
        parts.insert(
            0, f"{rng.choice(['Since', 'Given that', 'As'])} {_lowered(to_listener(heard[-1]))}, here is more."
        )
    return Turn(speaker, "\n".join(parts) if rng.random() < 0.5 else " ".join(parts), "assistant", None)


def _lowered(sentence: str) -> str:
    keep = sentence.split(" ", 1)[0] in {"I", "I'm", "I've", "I'll"} or sentence[:1].isupper() is False
    return sentence if keep else sentence[:1].lower() + sentence[1:]


def _joined(parts: Sequence[str], style: _Style, grammar: Grammar, rng: random.Random) -> str:
    """Sentences as this speaker types them."""
    typed = []
    for part in parts:
        part = part[:1].upper() + part[1:]
        if style.long_forms:
            for short, long in _LONG_FORMS.items():
                part = part.replace(short, long)
        if part[-1:] not in "?!.`":
            part += "!" if rng.random() < style.exclaims else "."
        if rng.random() < style.emoji:
            part += " " + grammar.emoji(rng)
        typed.append(part)
    text = " ".join(typed)
    if style.lower:
        text = text.lower().rstrip(".")
    return text
