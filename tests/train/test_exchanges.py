"""train/reader: exchanges are read whole or refused, and their examples keep every label and no false negative."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from nscma_torch.reading.fact_proposer import Proposal
from nscma_torch.reading.fact_questions import object_question, subject_question
from nscma_torch.reading.reader import ReadSpan
from nscma_torch.reading.reader_model import KINDS, STANCES
from nscma_torch.reading.relations import load_relations
from train.reader.dialogue_text import DialogueError
from train.reader.examples import Example
from train.reader.exchange_examples import NEGATIVES, OTHER_RELATIONS, exchange_examples, subject_wordings
from train.reader.exchange_text import Exchange, read_all

SCHEMA = load_relations()
TEXT = """== maya-keys
-- 2025-03-02
1 Maya: so the keys to the flat in lyon are finally mine. paris, it was nice knowing you
2 Tom: congrats! did anyone want the old printer? they ask 40 for those
3 Maya: nope, it sits on my desk. my sister takes the red kettle and the lamp
= 1 | lives_in | Maya | lyon
= 1 | lives_in | Maya | paris | ended
= 2 | costs | old printer | 40 | supposed
= 3 | located_in | old printer | my desk
= 3 | owns | Maya's sister | red kettle | future
= 3 | owns | Maya's sister | lamp | future
~ 3 | old printer | sits on | my desk
"""


def parsed(folder: Path, text: str) -> list[Exchange]:
    (folder / "ana").mkdir(exist_ok=True)
    (folder / "ana" / "01.txt").write_text(text, encoding="utf-8")
    return list(read_all(folder, SCHEMA))


def test_an_exchange_is_read_whole(tmp_path: Path) -> None:
    (exchange,) = parsed(tmp_path, TEXT)
    assert [message.speaker for message in exchange.messages] == ["Maya", "Tom", "Maya"]
    assert exchange.messages[0].said_at < exchange.messages[1].said_at
    _, paris, printer, *_, told = exchange.facts
    assert (paris.relation, paris.object, paris.stance) == ("lives_in", "paris", "ended")
    assert (printer.subject, printer.stance, printer.open) == ("old printer", "supposed", False)
    assert (told.relation, told.open) == ("sits on", True)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("= 4 | lives_in | Maya | lyon", "no message has the number '4'"),
        ("= 1 | dwells | Maya | lyon", "no relation 'dwells'"),
        ("= 1 | lives_in | Maya | oslo", "'oslo' stands in no message up to 1"),
        ("= 1 | costs | old printer | 40", "'40' stands in no message up to 1"),
        ("= 1 | lives_in | Maya | lyon | perhaps", "no stance is called 'perhaps'"),
        ("= 1 | favourite | Maya | lyon", "favourite needs a topic"),
        ("= 1 | lives_in | Maya | lyon | topic: town", "lives_in has no topic"),
        ("= 1 | lives_in | Maya", "a fact is"),
        ("5 Tom: and now?", "messages are numbered from 1"),
    ],
)
def test_what_an_exchange_does_not_bear_out_is_refused(tmp_path: Path, line: str, problem: str) -> None:
    with pytest.raises(DialogueError, match=problem) as caught:
        parsed(tmp_path, f"{TEXT}{line}\n")
    assert "01.txt:13" in str(caught.value)


def proposal(exchange: Exchange, number: int, relation: str, value: str) -> Proposal:
    at = exchange.messages[number - 1].text.index(value)
    span = ReadSpan(value, 0, at, at + len(value), True, 0.9)
    return Proposal(relation, span, span, "", 0.9, 0.9, (1.0,) * len(STANCES))


def examples(tmp_path: Path, seed: int = 0) -> list[Example]:
    """Of proposals that are right, nearly right, and false."""
    (exchange,) = parsed(tmp_path, TEXT)
    proposed = [
        [proposal(exchange, 1, *own) for own in (("lives_in", "lyon"), ("visited", "paris"), ("owns", "keys"))],
        [proposal(exchange, 2, *own) for own in (("costs", "40"), ("count", "40"))],
        [proposal(exchange, 3, *own) for own in (("owns", "the lamp"), ("held_by", "desk"), ("pet", "red kettle"))],
    ]
    proposed[2] += [proposal(exchange, 3, name, "sister") for name in ("sibling", "relative", "statement")]
    return list(exchange_examples(exchange, SCHEMA, random.Random(seed), proposed))


def shown(example: Example) -> set[str]:
    return {
        one.passage.text[span.start : span.end] if span.of_text else one.passage.speaker
        for one in example.passages
        for span in one.answers
    }


def test_subjects_have_their_spans_and_stances(tmp_path: Path) -> None:
    for seed in range(20):  # a number of turns, and whether the user has a name, are drawn
        found = {(e.question, e.passages[-1].passage.text[:2]): e for e in examples(tmp_path, seed)}
        objects = found[object_question(SCHEMA["owns"]), "no"]
        assert shown(objects) == {"red kettle", "lamp"}
        assert objects.kind == KINDS.index("list")
        whose = found[subject_question(SCHEMA["owns"], "lamp"), "no"]
        assert shown(whose) == {"my sister"}
        assert whose.label == STANCES.index("future")
        where = found[subject_question(SCHEMA["lives_in"], "paris"), "so"]
        assert shown(where) in ({"Maya"}, {"user"})
        assert where.label == STANCES.index("ended")
        printer = found[subject_question(SCHEMA["located_in"], "my desk"), "no"]
        if len(printer.passages) > 1:
            assert shown(printer) == {"old printer"}, "it is named in the turn before"


def test_what_is_falsely_proposed_is_asked_and_no_fact_as_if_it_were_not_stated(tmp_path: Path) -> None:
    false = {
        "so": {subject_question(SCHEMA["visited"], "paris"), subject_question(SCHEMA["owns"], "keys")},
        "co": {subject_question(SCHEMA["count"], "40")},
        "no": {
            subject_question(SCHEMA[name], value)
            for name, value in (
                ("held_by", "desk"),
                ("pet", "red kettle"),
                ("sibling", "sister"),
                ("relative", "sister"),
            )
        },
    }
    objects = {object_question(relation) for relation in SCHEMA.relations.values()}
    seen: dict[str, set[str]] = {begin: set() for begin in false}
    for seed in range(20):
        every = [e for e in examples(tmp_path, seed) if e.passages[-1].holds is False]
        unstated = [e for e in every if e.question not in objects]
        assert len(unstated) == 2 + 1 + NEGATIVES
        assert len(every) - len(unstated) == 3 * OTHER_RELATIONS
        told = {"so": {"lives_in"}, "co": {"costs"}, "no": {"located_in", "owns"}}
        for example in every:
            begin = example.passages[-1].passage.text[:2]
            assert example.question not in {object_question(SCHEMA[name]) for name in told[begin]}
        for example in unstated:
            assert not any(one.answers for one in example.passages)
            seen[example.passages[-1].passage.text[:2]].add(example.question)
    assert seen == false


def test_wordings_of_a_subject() -> None:
    assert subject_wordings("the lamp") == ["the lamp", "lamp"]
    assert {"Maya's sister", "my sister", "your sister", "sister"} <= set(subject_wordings("Maya's sister"))
