"""Judges what a memory gives for generated chains, now and in the past, against their truth."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from eval.harness.fakes import IndifferentSurpriseModel
from eval.tasks.update_chains import Chain
from nscma_torch import Memory
from nscma_torch.core.records import Answer, Fact
from nscma_torch.text.names import name_key

LIGHT: dict[str, Any] = {
    "embedder": {"model": "hash"},
    "gate": {"rule": "everything"},
    "hierarchy": {"enabled": False},
}

Verdict = Literal["right", "wrong", "stale", "abstained"]


@dataclass(frozen=True)
class Outcome:
    """What became of one chain; `shown` is what was given for now, for the past and as an answer, in words.

    "right": all values that hold and no other; where nothing holds any more, none, while what held is in the archive.
    "abstained": no value, not all of them, the sides of a dispute, or passages in place of facts. "stale": a value of
    the chain at another time than that at which it held. "wrong": any other value. `archived_wrongly` are values of a
    many-valued relation that hold and yet are in the archive alone.
    """

    chain: Chain
    now: Verdict
    past: Verdict
    asked: Verdict
    archived_wrongly: tuple[str, ...]
    shown: tuple[str, str, str]


def remember(chains: Sequence[Chain], folder: Path) -> list[Outcome]:
    """Tell every chain to a memory, a user each, and judge what it says then. Late messages come after a flush."""
    with Memory(folder / "chains.db", config=LIGHT, surprise_model=IndifferentSurpriseModel()) as memory:
        for arriving in ([chain.messages for chain in chains], [chain.late for chain in chains]):
            for chain, messages in zip(chains, arriving, strict=True):
                if messages:
                    memory.add(list(messages), user_id=chain.name, now=chain.asked_at)
            memory.flush()
        assert not memory.stats().failures
        return [_judged(memory, chain) for chain in chains]


def _judged(memory: Memory, chain: Chain) -> Outcome:
    now, past = _facts_of(memory, chain), _facts_of(memory, chain, as_of=chain.past_at)
    archive = [fact for fact in _facts_of(memory, chain, archived=True) if fact.status == "archived"]
    answer = memory.ask(chain.question, user_id=chain.name, now=chain.asked_at)
    told, kept = values(now, chain), values(archive, chain)
    lost = without(chain.current, told) if chain.relation.cardinality == "many" else []
    shown = (_shown(now), _shown(past), f"{answer.text!r} from {len(answer.facts)} facts")
    return Outcome(
        chain,
        _of_facts(chain.current, now, chain, kept),
        _of_facts(chain.past, past, chain, kept),
        _of_answer(answer, chain),
        tuple(value for value in lost if not without([value], kept)),
        shown,
    )


def _facts_of(memory: Memory, chain: Chain, **when: Any) -> list[Fact]:
    """The facts of the chain's subject and relation; a symmetric or inverse one may be kept at its other end."""
    relation, key = chain.relation, name_key(chain.subject)
    own = memory.facts(user_id=chain.name, relation=relation.name, topic=chain.topic or None, **when)
    found = [fact for fact in own if key == name_key(fact.subject)]
    other = relation.name if relation.symmetric else relation.inverse
    if other:
        turned = memory.facts(user_id=chain.name, relation=other, **when)
        found += [fact for fact in turned if key == name_key(fact.object)]
    return found


def values(facts: Iterable[Fact], chain: Chain) -> list[str]:
    """The other ends of the facts of the chain's subject."""
    key = name_key(chain.subject)
    return list(dict.fromkeys(f.object if name_key(f.subject) == key else f.subject for f in facts))


def _of_facts(expected: Collection[str], given: Sequence[Fact], chain: Chain, kept: Sequence[str]) -> Verdict:
    if any(fact.status == "disputed" for fact in given):
        return "abstained"
    if not given and not expected:
        return "right" if len(without(chain.values, kept)) < len(chain.values) else "abstained"
    return verdict(expected, values(given, chain), chain.values)


def _of_answer(answer: Answer, chain: Chain) -> Verdict:
    if answer.abstained or not answer.facts or any(fact.status == "disputed" for fact in answer.facts):
        return "abstained"
    said = answer.text.split(", ")
    if not chain.current:
        return "right" if len(without(chain.values, said)) == len(chain.values) else "stale"
    return verdict(chain.current, said, chain.values)


def verdict(expected: Collection[str], given: Sequence[str], others: Sequence[str]) -> Verdict:
    """Judge a set of values; `others` are those that held at some time."""
    surplus = without(given, expected)
    if surplus:
        return "wrong" if without(surplus, others) else "stale"
    return "right" if expected and not without(expected, given) else "abstained"


def without(some: Iterable[str], others: Iterable[str]) -> list[str]:
    """Those of `some` that none of `others` names."""
    known = list(others)
    return [value for value in some if not any(same(value, other) for other in known)]


def same(one: str, other: str) -> bool:
    """Whether two wordings name the same: all words of the one are among the other's."""
    a, b = (set(name_key(text).replace("-", " ").split()) for text in (one, other))
    return bool(a and b) and (a <= b or b <= a)


def _shown(facts: Sequence[Fact]) -> str:
    return ", ".join(f"{fact.subject} | {fact.object} ({fact.status})" for fact in facts) or "nothing"
