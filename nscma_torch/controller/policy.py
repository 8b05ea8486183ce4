"""State of the controller's loop, and the interface for its decisions by rules or by a language model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from nscma_torch.controller.experience import Experience
from nscma_torch.controller.working_memory import Exchange, Summarized, WorkingMemory
from nscma_torch.core.records import Answer, Evidence, Fact, FactQuery, Hit, Usage
from nscma_torch.curator.store.derived_texts import DerivedText
from nscma_torch.llm.prompts.acting import Memorize, RetrieveEpisodic, RetrieveSemantic

Tool = RetrieveEpisodic | RetrieveSemantic | Memorize
_MOST_CHARACTERS = 400  # of a query, as the forms of actions have it


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a retrieval.

    Attributes:
        told: the answer from facts to the query as a question, checked against newer messages as in `Memory.ask`; or
            None.
        answerability: how well the memory covers the query, in [-1, 2]; see `retrieval.confidence`.
        notes: what the facts are missing; see `Answer.notes`.
    """

    tool: RetrieveEpisodic | RetrieveSemantic
    hits: tuple[Hit, ...] = ()
    facts: tuple[Fact, ...] = ()
    told: Answer | None = None
    answerability: float = 0.0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Situation:
    """All inputs to a decision.

    Attributes:
        findings: retrieval results in this turn, newest first.
        done: the scratchpad, with one line for each action and its outcome.
        notes: another part of the scratchpad: the model's own notes between the actions, oldest first.
        experience: skills that match the turn.
    """

    said: str
    now: datetime
    memory: WorkingMemory
    findings: tuple[Finding, ...] = ()
    done: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    experience: Experience = field(default_factory=Experience)

    @property
    def sources(self) -> tuple[str, ...]:
        """Return the ids of the source messages for everything that is shown."""
        return tuple(dict.fromkeys((*self.told(()), *self.memory.insight_sources)))

    @property
    def texts(self) -> tuple[str, ...]:
        """Return each text from the memory that is shown."""
        memory = self.memory
        turns = (turn.text for exchange in memory.context for turn in (exchange.turn, *exchange.replies))
        hits = (hit.text for finding in self.findings for hit in finding.hits)
        facts = (
            f"{fact.subject} {fact.relation} {fact.topic} {fact.object}"
            for finding in self.findings
            for fact in finding.facts
        )
        derived = (text.text for text in (*memory.insights, *memory.days))
        return (memory.summary, *memory.rules, *turns, *hits, *facts, *derived)

    def told(self, derived: Sequence[DerivedText]) -> tuple[str, ...]:
        """Return the ids of the messages that a reply may repeat if it uses these conclusions and daily lines.

        These are the messages behind the instructions, context, findings and skills, and the messages that the derived
        texts cite.
        """
        memory = self.memory
        turns = [turn.id for exchange in memory.context for turn in (exchange.turn, *exchange.replies)]
        found = [
            source
            for finding in self.findings
            for ids in (*(hit.unit.episode_ids for hit in finding.hits), *(fact.episode_ids for fact in finding.facts))
            for source in ids
        ]
        cited = [source for text in derived for source in text.episode_ids]
        own = (*(episode.id for episode in memory.instructions), *turns, *found, *cited)
        return tuple(dict.fromkeys((*own, *self.experience.sources)))


@dataclass(frozen=True, slots=True)
class Answered:
    """A reply.

    `uncertainty` is in [0, 1]. `shown` are the ids of the messages that it may repeat. `query` describes the fact that
    was asked for, if any. The last `quotes` lines of `text` quote evidence.
    """

    text: str
    uncertainty: float
    evidence: tuple[Evidence, ...] = ()
    abstained: bool = False
    shown: tuple[str, ...] = ()
    query: FactQuery | None = None
    quotes: int = 0


@dataclass(frozen=True, slots=True)
class Step:
    """One decision and its cost, with the note that preceded it."""

    move: Tool | Answered
    usage: Usage = field(default_factory=Usage)
    note: str = ""


@dataclass(frozen=True, slots=True)
class Solved:
    """A successful turn: the user's message, one line per action taken, the names of the actions, and the reply."""

    said: str
    done: tuple[str, ...]
    actions: frozenset[str]
    reply: str


@dataclass(frozen=True, slots=True)
class SkillDraft:
    """The steps for a kind of task, as written by a policy; see `Skill`."""

    name: str
    trigger: str
    steps: tuple[str, ...]


class Policy(Protocol):
    """Makes the controller's decisions. An `EngineError` ends the turn, and nothing is stored."""

    @property
    def name(self) -> str:
        """Name of the policy, for the trace."""

    @property
    def threshold(self) -> float:
        """Return the uncertainty of a draft above which the memory is queried."""

    @property
    def most_tokens(self) -> int:
        """Return an upper bound on the tokens for a decision, including a retry; 0 without a language model."""

    def draft(self, situation: Situation) -> tuple[Answered, Usage]:
        """Return a reply from working memory alone."""

    def act(self, situation: Situation) -> Step:
        """Return the next action."""

    def conclude(self, situation: Situation) -> tuple[Answered, Usage]:
        """Return a reply based on the results so far."""

    def summarize(self, summary: str, leaving: Sequence[Exchange]) -> Summarized:
        """Merge the old summary and the oldest exchanges that leave the context into one new summary."""

    def write_skill(self, solved: Solved) -> tuple[SkillDraft | None, Usage]:
        """Write a skill from a solved task; None if there is nothing to learn, or the policy writes none."""


def own_search(situation: Situation, question: str, settled: Callable[[Answer | None], bool]) -> Tool | None:
    """Return the next search for a question as it is: the facts, then the messages unless the answer from facts is
    settled; None after these.
    """
    query = question[-_MOST_CHARACTERS:]
    tried = {finding.tool.action: finding for finding in situation.findings}
    facts = tried.get("retrieve_semantic")
    if facts is None:
        return RetrieveSemantic(action="retrieve_semantic", entity=query)
    if not settled(facts.told) and "retrieve_episodic" not in tried:
        return RetrieveEpisodic(action="retrieve_episodic", query=query)
    return None
