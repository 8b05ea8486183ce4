"""Knowledge update: does a reply hold the value that is true now, and not the one that it replaced?

Two sources. "beam": the questions of BEAM (`eval/tasks/beam.py`) on a statement and its update. The new value is what
the rubric looks for, the old one what its makers say may be taken for it (`potential_confusion`); where the new value
names quantities (nearly always), those of it that the first statement does not name are looked for in the reply, and a
reply is outdated that holds all quantities of the old one. "chains": statements on a value that changes, generated
(`eval/tasks/update_chains.py`) and strewn in their order into a conversation of LoCoMo, which has no questions of this
kind; each chain is of another relation and other names. Statements that arrive late stand at the end, with their own
date. LoCoMo's conversations of even index get the sentences' names for development, odd ones those for tests.

What "chains" shows of this project's own reading of statements is less than it seems: its rules were developed on the
very sentences that the chains are made of, and the odd half has other names and values alone, not other sentences.
"beam" is the measure of it.

This scoring is ours: BEAM's own is a language model's, by its rubric. "correct": the new value and not the old one;
"first": of the first ten places of evidence one is the update, and none before it the original. With contradictions,
"both" is that each side is among the first ten, and what the reply says of it is left to a judge. A long reply is more
likely to hold a value, new or old: "words" says how long they are.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from eval.harness.contract import Question, Reply, Sample
from eval.metrics.answer_metrics import evidence_recall, holds, word_count, word_recall
from eval.metrics.quantities import quantities
from eval.tasks import beam, locomo
from eval.tasks.items import in_turn
from eval.tasks.options import TaskOptions, read_options
from eval.tasks.plain_statements import load_plain
from eval.tasks.update_chains import Chain, World, generate
from nscma_torch.core.records import Message
from nscma_torch.reading.relations import load_relations

K = 10
_UPDATE, _CONTRADICTION = "knowledge_update", "contradiction_resolution"
_NAMES = {"beam": "Knowledge update, BEAM 100K", "chains": "generated updates in LoCoMo's conversations"}
_SCENARIOS = 6  # chains that are generated of each relation, one of them is taken


class UpdatesOptions(TaskOptions):
    """Options of knowledge update."""

    source: Literal["beam", "chains"] = Field("beam", description="Whose statements and questions.")
    contradictions: bool = Field(False, description="BEAM's contradictory statements too.")
    beam: str = Field(beam.FOLDER, description="Of BEAM's chats, in the folder of the data.")
    locomo: str = Field(locomo.FILE, description="Of LoCoMo's conversations, in the folder of the data.")
    chains: int = Field(10, gt=0, description="At most so many in one conversation.")
    rounds: int = Field(1, gt=0, description="Samples of each conversation, with other chains.")
    seed: int = Field(1, description="Of the chains and their places.")


class Updates:
    """Knowledge update, a chat or conversation a sample."""

    metrics: tuple[str, ...] = (
        *("correct", "updated", "outdated", "first", "both"),
        *("words", "recall@5", "recall@10"),
    )

    def __init__(self, section: Mapping[str, Any], data: Path) -> None:
        options = read_options(UpdatesOptions(), section)
        self._options = options
        self.name = options.name or _NAMES[options.source]
        self.malformed: tuple[str, ...] = ()
        if options.source == "beam":
            self._chats = {chat.name: chat for chat in beam.load(data, options.beam)}
            self._ids = tuple(self._chats)
            self.malformed = tuple(f"chat {item}" for chat in self._chats.values() for item in chat.malformed)
        else:
            self._talks = locomo.load(data, options.locomo)
            self._relations, self._plain = load_relations(), load_plain()
            self._ids, self.malformed = in_turn(
                (index, f"{number}.{talk.name}")
                for number in range(options.rounds)
                for index, talk in enumerate(self._talks)
            )

    def ids(self) -> Sequence[str]:
        """Numbers of the chats; or of round and conversation, as in `0.conv-26`, even and odd ones in turn."""
        return self._ids

    def sample(self, id: str) -> Sample:
        """One chat with its questions, or one conversation with chains strewn into it."""
        if self._options.source == "beam":
            chat = self._chats[id]
            wanted = (_UPDATE, _CONTRADICTION) if self._options.contradictions else (_UPDATE,)
            pairs = [pair for pair in chat.pairs if pair.category in wanted and pair.rubric]
            questions = [_of_pair(f"q{i}", pair) for i, pair in enumerate(pairs)]
            return Sample(id, chat.messages, questions, chat.asked_at)
        index = next(i for i, talk in enumerate(self._talks) if id.endswith(f".{talk.name}"))
        world = World(self._relations, self._plain, "test" if index % 2 else "dev")
        generator = random.Random(f"{self._options.seed} {id}")
        count = _SCENARIOS * len(self._plain.relations)
        chains = generate(count, generator.randrange(2**31), world)
        talk = self._talks[index]
        chosen = _apart(generator.sample(chains, len(chains)), talk, self._options.chains)
        return _strewn(id, talk, chosen, generator)

    def score(self, question: Question, reply: Reply) -> Mapping[str, float]:
        """What the reply holds, and the order of its evidence."""
        facts, top = question.facts, (reply.evidence or ())[:K]
        first, second = facts["original"], question.evidence
        if question.category == _CONTRADICTION:
            sides = [not set(side).isdisjoint(top) for side in (first, facts["second"])]
            found = evidence_recall(second, reply.evidence)
            both = {} if reply.evidence is None else {"both": float(all(sides))}
            return {**both, "words": word_count(reply.text), **found}
        updated = _held(facts["current"], reply.text, facts["kind"])
        outdated = any(_held(value, reply.text, facts["kind"]) for value in facts["outdated"])
        scores = {"correct": float(updated and not outdated), "updated": float(updated)}
        scores["words"] = word_count(reply.text)
        if facts["outdated"]:
            scores["outdated"] = float(outdated)
        if first and reply.evidence is not None and not set(first) & set(second):
            ranked = [place in second for place in top if place in second or place in first]
            scores["first"] = float(bool(ranked) and ranked[0])
        return {**scores, **evidence_recall(second, reply.evidence)}


def _held(value: Sequence[str], text: str, kind: str) -> bool:
    """Whether all parts of a value are in the text."""
    if kind == "quantities":
        return set(value) <= quantities(text)
    return all((holds if kind == "words" else _has_all)(text, part) for part in value)


def _has_all(text: str, part: str) -> bool:
    return word_recall(text, part) == 1.0


def _of_pair(id: str, pair: beam.Pair) -> Question:
    """What BEAM's annotations say of the values, in quantities where the new one has any, else in its words."""
    first, second = tuple(sorted(pair.first)), tuple(sorted(pair.second))
    facts: dict[str, Any] = {"original": first, "second": second, "rubric": pair.rubric}
    if pair.category == _CONTRADICTION:
        evidence = tuple(sorted(pair.first | pair.second))
        return Question(id, pair.question, ("; ".join(pair.rubric),), pair.category, evidence, facts=facts)
    new = frozenset().union(*map(quantities, pair.rubric))
    if new:
        before = quantities(pair.said[0]) if len(pair.said) > 1 else frozenset()
        old = quantities(pair.confusion) - new - quantities(pair.question)
        values = {
            "kind": "quantities",
            "current": sorted(new - before or new),
            "outdated": [sorted(old)] if old else [],
        }
    else:
        values = {"kind": "any order", "current": pair.rubric, "outdated": []}
    return Question(id, pair.question, ("; ".join(pair.rubric),), pair.category, second, facts=facts | values)


def _apart(chains: Sequence[Chain], talk: locomo.Conversation, count: int) -> list[Chain]:
    """The first chains with an outdated value that are of different relations and share no name or value."""
    taken: set[str] = set()
    chosen: list[Chain] = []
    words = {word for message in talk.messages for word in message.content.split()}
    for chain in chains:
        own = {chain.relation.name, *chain.values} | ({chain.subject} - {"user"})
        changed = chain.current and set(chain.values) - chain.current
        if len(chosen) < count and changed and not own & taken and chain.subject not in words:
            chosen.append(chain)
            taken |= own
    return chosen


def _strewn(id: str, talk: locomo.Conversation, chains: Sequence[Chain], generator: random.Random) -> Sample:
    """The conversation with the statements of each chain at random places, in their order but for the late ones."""
    at: dict[int, list[tuple[Message, str]]] = {}
    for chain in chains:
        by_date = sorted(
            (message for message in (*chain.messages, *chain.late) if message.content in chain.said),
            key=lambda message: chain.said.index(message.content),
        )
        places = sorted(generator.sample(range(1, len(talk.messages)), len(by_date)))
        for message, place in zip(by_date, places, strict=True):
            before = talk.messages[place - 1]
            assert before.timestamp is not None
            told = replace(message, timestamp=before.timestamp + timedelta(seconds=1), session=before.session)
            at.setdefault(len(talk.messages) if message in chain.late else place, []).append((told, chain.name))
    messages: list[Message] = []
    said: dict[str, dict[str, int]] = {}
    for place in range(len(talk.messages) + 1):
        for told, name in at.get(place, ()):
            said.setdefault(name, {})[told.content] = len(messages)
            messages.append(told)
        messages += talk.messages[place : place + 1]
    questions = [_of_chain(f"q{i}", chain, said[chain.name]) for i, chain in enumerate(chains)]
    return Sample(id, messages, questions, talk.asked_at)


def _of_chain(id: str, chain: Chain, place: Mapping[str, int]) -> Question:
    """Evidence are the last statement and those that name a value that holds now."""
    current = sorted(chain.current)
    telling = [text for text in chain.said if text == chain.said[-1] or any(value in text for value in current)]
    facts = {
        "kind": "words",
        "current": current,
        "outdated": [[value] for value in chain.values if value not in chain.current],
        "original": tuple(sorted({place[text] for text in chain.said if text not in telling})),
    }
    evidence = tuple(sorted({place[text] for text in telling}))
    return Question(id, chain.question, (", ".join(current),), _UPDATE, evidence, facts=facts)
