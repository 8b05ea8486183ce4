"""Result of a controller turn: the reply, its sources, its steps and its cost."""

from __future__ import annotations

from dataclasses import dataclass

from nscma_torch.controller.policy import Answered, Finding, Tool
from nscma_torch.core.records import Answer, Evidence, Usage, unquoted


@dataclass(frozen=True, slots=True)
class Taken:
    """A step that was taken. `outcome` says what came of it; a refused one had no effect."""

    action: str
    argument: str
    outcome: str
    refused: bool = False

    def __str__(self) -> str:
        return f"{self.action}({self.argument!r}): {self.outcome}"


@dataclass(frozen=True, slots=True)
class ControllerAnswer:
    """The reply to one turn.

    Attributes:
        draft_uncertainty: of the draft that was written before anything was looked up, in [0, 1]; None where none was
            asked for, because the threshold is 0.
        threshold: above it the memory was asked.
        uncertainty: of the reply itself.
        steps: the actions in order, the draft and the answer left out.
        memorized: whether the turn was encoded at the controller's wish though the gate had deferred it.
        decision_ids: the messages in which the controller stored decisions of its own.
        skills: ids of the skills that were shown for it.
        turn_id, reply_id: the messages that the turn was stored as; "" where it was only considered.
        quotes: how many of the last lines of `text` quote evidence; `short` is what stands above them.
    """

    text: str
    abstained: bool
    evidence: tuple[Evidence, ...]
    uncertainty: float
    draft_uncertainty: float | None
    threshold: float
    steps: tuple[Taken, ...]
    trace: tuple[str, ...]
    usage: Usage
    memorized: bool = False
    skills: tuple[str, ...] = ()
    turn_id: str = ""
    reply_id: str = ""
    quotes: int = 0
    decision_ids: tuple[str, ...] = ()

    @property
    def short(self) -> str:
        """The text without its quotations."""
        return unquoted(self.text, self.quotes)

    @property
    def confidence(self) -> float:
        """1 - uncertainty."""
        return 1.0 - self.uncertainty

    @property
    def retrievals(self) -> int:
        """Number of retrievals."""
        return sum(step.action.startswith("retrieve") and not step.refused for step in self.steps)


def argument_of(tool: Tool) -> str:
    """The one argument of an action."""
    match tool.action:
        case "retrieve_episodic":
            return tool.query
        case "retrieve_semantic":
            return tool.entity
        case "memorize":
            return tool.content


def outcome_of(finding: Finding) -> str:
    """Summarise a retrieval in a few words."""
    facts = f"{len(finding.facts)} facts, " if finding.tool.action == "retrieve_semantic" else ""
    told = "" if finding.told is None else f", read as a question: {_course(finding.told)}"
    answerability = f", answerability {finding.answerability:.2f}" if finding.tool.action == "retrieve_episodic" else ""
    notes = "".join(f", {note}" for note in finding.notes)
    return f"{facts}{len(finding.hits)} messages{answerability}{told}{notes}"


def _course(told: Answer) -> str:
    """Describe how the facts were asked, and which newer message replaced or questions them."""
    return told.trace[0] if told.facts else f"{told.trace[0]}; {told.trace[-1]}"


def drafted(answered: Answered, threshold: float) -> str:
    """The line of the trace that says whether the draft was good enough."""
    verdict = "above" if answered.uncertainty > threshold else "not above"
    return f"draft: uncertainty {answered.uncertainty:.2f}, {verdict} the threshold {threshold:.2f}"
