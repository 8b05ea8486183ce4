"""Result of a controller turn: the reply, its sources, its steps and its cost."""

from __future__ import annotations

from dataclasses import dataclass

from nscma_torch.controller.policy import Answered, Finding, Tool
from nscma_torch.core.records import Answer, Evidence, Usage, unquoted


@dataclass(frozen=True, slots=True)
class Taken:
    """A step that was taken. `outcome` describes its result. A refused step had no effect."""

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
        draft_uncertainty: uncertainty of the draft written before any retrieval, in [0, 1]; None if the threshold is 0,
            which skips the draft.
        threshold: the draft's uncertainty above which the memory is queried.
        uncertainty: uncertainty of the reply itself.
        steps: the actions in order, excluding the draft and the answer.
        memorized: True if the controller stored the turn although the gate had deferred it.
        decision_ids: the messages that store the controller's own decisions.
        skills: ids of the skills shown for the reply.
        turn_id, reply_id: the messages storing the turn; "" if it was only considered.
        quotes: the number of lines at the end of `text` that quote evidence; `short` is the text above them.
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
        """Return the text without its quotations."""
        return unquoted(self.text, self.quotes)

    @property
    def confidence(self) -> float:
        """Return 1 - uncertainty."""
        return 1.0 - self.uncertainty

    @property
    def retrievals(self) -> int:
        """Return the number of retrievals."""
        return sum(step.action.startswith("retrieve") and not step.refused for step in self.steps)


def argument_of(tool: Tool) -> str:
    """Return the only argument of an action."""
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
    """Describe how the facts answered the question, and which newer message replaced or contradicts them."""
    return told.trace[0] if told.facts else f"{told.trace[0]}; {told.trace[-1]}"


def drafted(answered: Answered, threshold: float) -> str:
    """Format the trace line that reports whether the draft was good enough."""
    verdict = "above" if answered.uncertainty > threshold else "not above"
    return f"draft: uncertainty {answered.uncertainty:.2f}, {verdict} the threshold {threshold:.2f}"
