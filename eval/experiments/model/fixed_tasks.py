"""Direct calls of the language tasks that the chat doesn't need, on fixed inputs with the expected result beside."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from eval.experiments.model.faults import Faults
from nscma_torch.core.records import Hit, Scope, ToldFact, Unit
from nscma_torch.llm.prompted import PromptedTasks

Call = tuple[str, Callable[[], Any], str]  # task, call, expected result


def run_fixed_tasks(tasks: PromptedTasks, faults: Faults) -> None:
    """Make each call, and print its result."""
    for task, call, expected in _calls(tasks):
        with faults.caught(task):
            print(f"  {task}: {call()}  (expected: {expected})", flush=True)


def _calls(tasks: PromptedTasks) -> Iterator[Call]:
    question = "When does the dentist open on Fridays?"
    hits = [
        Hit(_said(text, number), 1 - number / 10)
        for number, text in enumerate(
            (
                "The dentist opens at nine, but on Fridays not before noon.",
                "The dentist moved to Mill Lane in January.",
                "I bought a new toothbrush.",
                "It rained all Friday.",
            )
        )
    ]
    yield "rerank", lambda: tasks.rerank(question, hits), "the first is highest"
    yield "select", lambda: tasks.select(question, hits), "only the first is True"
    yield "refine", lambda: tasks.refine(question, hits[:1]), "'', the hit suffices"
    asked = "Where does Ada's dentist live?"
    named = [Hit(_said("My dentist is Dr Quist.", 9), 1.0)]
    yield "refine", lambda: tasks.refine(asked, named), "a question about Dr Quist"
    disputes = [
        [[_said("I live in Lund now, since March.", 1)], [_said("Ada still lives in Malmo, I think.", 2, "Bo")]],
        [[_said("The key is under the mat.", 3, "Bo")], [_said("The key is in the shed.", 4, "Cleo")]],
    ]
    yield "adjudicate", lambda: tasks.adjudicate(disputes), "[0, None]"
    known = [
        _fact("a", "Ada's favourite colour is green", "my favourite colour is green"),
        _fact("b", "Ada lives in Malmo", "i live in Malmo"),
        _fact("c", "Ada has a dog called Rex", "Rex is my dog"),
    ]
    new = [
        ("ADD", _fact("n", "Ada plays the cello", "i play the cello")),
        ("UPDATE of b", _fact("n", "Ada lives in Lund", "we moved, i live in Lund now")),
        ("DELETE of c", _fact("n", "Ada no longer has a dog", "we had to give Rex away, no dog any more")),
        ("NOOP on a", _fact("n", "Ada's favourite colour is green", "green is still my favourite colour")),
    ]
    for expected, fact in new:
        yield "operate", lambda fact=fact: tasks.operate([(fact, known)])[0], expected  # type: ignore[misc]
    units = [_said("My daughter was born this morning!", 1), _said("Had a sandwich for lunch.", 2)]
    yield "rate", lambda: tasks.rate(units), "high, low"
    talk = [
        _said("What time does the library close on Saturdays?", 1),
        _said("At four on Saturdays, at seven on other days.", 2, "Bo"),
        _said("thanks!", 3),
    ]
    yield "pairs", lambda: tasks.pairs([talk]), "when the library closes"
    described = [talk[0], _said("The heating works again, a fuse was blown.", 4)]
    before: Sequence[Sequence[Unit]] = [[], [_said("the heating is cold since this morning", 3)]]
    yield (
        "describe",
        lambda: tasks.describe(described, extractions=(), listeners=["Bo", "Bo"], before=before),
        "a question; a problem or event that settles turn 0",
    )


def _said(text: str, number: int, name: str = "Ada") -> Unit:
    at = datetime(2026, 5, 1 + number, 9, tzinfo=UTC)
    return Unit(f"u{number}", Scope("Ada"), "chunk", text, (f"m{number}",), at, name=name)


def _fact(id_: str, text: str, said: str) -> ToldFact:
    return ToldFact(id_, text, _said(said, 20 if id_ == "n" else 1))
