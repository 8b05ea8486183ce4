"""`Controller`: the loop of layer 2 (NSCMA section 3.3), which queries the memory only if unsure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal

from sqlalchemy import Connection

from nscma_torch.answering.from_messages import answer_from, read_first
from nscma_torch.api.memory import Memory
from nscma_torch.api.validation import (
    checked_flag,
    checked_instance,
    checked_question,
    checked_text,
    clock,
)
from nscma_torch.controller.embedded import EmbeddedPolicy
from nscma_torch.controller.experience import Experience, recalled
from nscma_torch.controller.learning import Learnt, learn
from nscma_torch.controller.policy import Answered, Finding, Policy, Situation, Tool
from nscma_torch.controller.prompted import PromptedPolicy
from nscma_torch.controller.streaming import ShowingEngine
from nscma_torch.controller.tools import MemoryTools
from nscma_torch.controller.trace import ControllerAnswer, Taken, argument_of, drafted, outcome_of
from nscma_torch.controller.working_memory import WorkingMemory, WorkingMemoryReader, added
from nscma_torch.core.config import LlmConfig
from nscma_torch.core.database import user_versions
from nscma_torch.core.errors import ConfigError, StoreBusyError
from nscma_torch.core.records import Added, Answer, FactQuery, Hit, Message, Scope, Usage
from nscma_torch.episodic.log import speakers, turns
from nscma_torch.episodic.log.backlog import EXTRACT
from nscma_torch.episodic.log.turns import CITED, DECISION, ECHO, EVIDENCE, NOTES, STANDING, SUMMARISED
from nscma_torch.llm.engines.contract import LanguageEngine, StreamingEngine
from nscma_torch.llm.grounding import names_held
from nscma_torch.llm.prompts.acting import Memorize, RetrieveEpisodic
from nscma_torch.reading.turn_forms import asks, asks_to_keep, only_asks, standing_instructions
from nscma_torch.text.terms import terms

_CHANGED = "messages that the reply rests on were changed while it was written"


@dataclass(slots=True)
class _Course:
    """The progress of a turn so far."""

    situation: Situation
    usage: Usage = field(default_factory=Usage)
    steps: list[Taken] = field(default_factory=list)
    trace: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    draft_uncertainty: float | None = None
    memorize: bool = False
    decisions: list[str] = field(default_factory=list)
    repeated: bool = False


class Controller:
    """Conducts a conversation over a `Memory`.

    Args:
        engine: makes decisions and writes replies; None for the rules of the embedded policy. By default, the engine in
            the memory's configuration, or the rules if no engine is configured.
        run_id: the conversation, whose turns form one stream. Retrieval reads the whole memory of the user (and agent).
        llm: the engine's temperature and maximum reply length; None for the values in the memory's configuration.
        show: called with the reply written so far, including drafts, while a streaming engine writes it.
        flush: run a turn's background work before `turn` returns, so the next one knows its facts. Otherwise call
            `memory.flush()`.

    Raises `ConfigError` if the budgets of the section [controller] are too small for three calls.
    """

    def __init__(
        self,
        memory: Memory,
        engine: LanguageEngine | Literal["configured"] | None = "configured",
        *,
        user_id: str,
        agent_id: str | None = None,
        run_id: str = "chat",
        llm: LlmConfig | None = None,
        show: Callable[[str], None] | None = None,
        flush: bool = True,
    ) -> None:
        own = checked_instance(memory, Memory, "memory").config.controller
        if engine == "configured":
            engine = memory.components.engine
        elif engine is not None:
            checked_instance(engine, LanguageEngine, "engine")
        if show is not None and isinstance(engine, StreamingEngine):
            engine = ShowingEngine(engine, show)
        self.memory = memory
        self.scope = Scope(user_id, agent_id, run_id)
        self.policy: Policy
        if engine is None:
            parts = memory.components
            self.policy = EmbeddedPolicy(
                parts.embedded_tasks, parts.relations, own, self._read, parts.embedded_tasks.statements, parts.questions
            )
        else:
            tally = memory.components.tally
            self.policy = PromptedPolicy(engine, own, llm or memory.config.llm, tally, self._read_first)
        if 3 * self.policy.most_tokens > own.turn_tokens:
            raise ConfigError(
                f"controller.turn_tokens = {own.turn_tokens} is too small for a draft, an action and a reply, "
                f"each requested twice in the worst case: {3 * self.policy.most_tokens}; raise it, or lower "
                "prompt_tokens or reply_tokens"
            )
        self._settings = own
        self._flush = flush
        self._tools = MemoryTools(memory, self.scope, top_k=own.top_k)
        self._working = WorkingMemoryReader(
            memory.components.database,
            self.scope,
            active=own.active_turns,
            recent=own.recent_turns,
            batch=own.summary_batch,
        )
        self._before: FactQuery | None = None  # the last question, which "and before that?" continues

    def _read(self, question: str, hits: Sequence[Hit], answerability: float, now: datetime) -> Answer:
        """Answer from hits, with the memory's language tasks and reader."""
        parts, user_id = self.memory.components, self.scope.user_id
        return answer_from(parts, parts.tasks, question, hits, answerability, top_k=len(hits), user_id=user_id, now=now)

    def _read_first(
        self, question: str, hits: Sequence[Hit], answerability: float, now: datetime
    ) -> tuple[Answer | None, float]:
        """Return the trained reader's answer if it is sure, and its probability that the hits contain an answer."""
        parts, user_id = self.memory.components, self.scope.user_id
        return read_first(parts, question, hits, answerability, top_k=len(hits), user_id=user_id, now=now)

    def turn(self, said: str, *, now: datetime | None = None) -> ControllerAnswer:
        """Reply to the user, and store both messages.

        Raises:
            EngineError: the engine failed; nothing of this turn was stored.
            InvalidInputError: an empty turn, one above `limits.max_question_characters`, or one too long for a prompt.
            StoreBusyError: a source of the reply was hidden or erased before the reply was stored. The reply is then
                not stored; nor is the turn, unless it was stored already.
        """
        at = clock(now)
        course, answered = self._considered(said, at, self.policy.threshold)
        return self._remember(said, at, course, answered)

    def consider(self, said: str, *, threshold: float | None = None, now: datetime | None = None) -> ControllerAnswer:
        """Return the reply that `turn` would give, without storing it; `threshold` 0 always retrieves, 1 never.

        Earlier messages may be processed for facts on the way, as by `Memory.ask`.
        """
        wanted = self.policy.threshold if threshold is None else threshold
        course, answered = self._considered(said, clock(now), wanted)
        return self._answer(course, answered, wanted)

    def feedback(self, answer: ControllerAnswer, *, helpful: bool, now: datetime | None = None) -> Learnt:
        """Record whether the reply returned by `turn` helped; see `learning.learn` for the effects and errors.

        The feedback also applies to the cited messages. It counts once per reply; newer feedback replaces earlier
        feedback. After positive feedback, the steps taken may be written as a skill (`controller.write_skills`).
        """
        checked_instance(answer, ControllerAnswer, "answer")
        useful = checked_flag(helpful, "helpful")
        return learn(self.memory, self.scope, self.policy, answer, self._settings, helpful=useful, now=clock(now))

    def instruct(self, text: str, *, now: datetime | None = None) -> str:
        """Store a standing instruction that applies to every later reply; return the id of its message.

        `memory.delete(id)` withdraws it. Instructions in a turn ("from now on …") are recognised automatically.
        """
        message = Message("system", checked_text(text, "the instruction"), metadata={STANDING: True, ECHO: True})
        return self._add(message, clock(now), infer=False).id

    def working_memory(self, *, now: datetime | None = None) -> WorkingMemory:
        """Return the current standing instructions, summary and active context."""
        return self._working.read(self.policy, clock(now))[0]

    def _considered(self, said: str, now: datetime, threshold: float) -> tuple[_Course, Answered]:
        checked_question(said, "what the user says", self.memory.config.limits)
        memory, usage = self._working.read(self.policy, now)
        experience = Experience()
        if self.policy.most_tokens:  # rules follow no skill
            experience = recalled(self.memory, self.scope, said, self._settings)
        notes = _kept_notes(memory) if self._settings.keep_notes else ()
        course = _Course(Situation(said, now, memory, notes=notes, experience=experience), usage)
        course.trace += [f"matching skill: {skill.name}" for skill in experience.skills]
        if usage.llm_calls:
            course.trace.append(f"summary: {usage.llm_calls} calls, {usage.tokens} tokens")
        if threshold > 0:
            answered, cost = self.policy.draft(course.situation)
            course.usage = added(course.usage, cost)
            course.draft_uncertainty = answered.uncertainty
            course.trace.append(drafted(answered, threshold))
            if answered.uncertainty <= threshold:
                return course, answered
        before = course.usage.tokens - usage.tokens
        return course, self._loop(course, self._settings.turn_tokens - before)

    def _loop(self, course: _Course, left: int) -> Answered:
        """Act until there is an answer, or until the remaining budget only covers the answer. `left` is in tokens."""
        reserve = self.policy.most_tokens
        for _ in range(self._settings.max_steps):
            if left < 2 * reserve:
                course.trace.append(f"{left} tokens left: answering now")
                break
            step = self.policy.act(course.situation)
            course.usage = added(course.usage, step.usage)
            left -= step.usage.tokens
            if step.note:
                course.trace.append(f"note: {step.note}")
                course.notes.append(step.note)
                course.situation = replace(course.situation, notes=(*course.situation.notes, step.note))
            if isinstance(step.move, Answered):
                return step.move
            self._take(course, step.move)
            if course.repeated:
                course.trace.append("the same action was requested again: answering now")
                break
        else:
            course.trace.append(f"{self._settings.max_steps} steps taken: answering now")
        answered, cost = self.policy.conclude(course.situation)
        course.usage = added(course.usage, cost)
        return answered

    def _take(self, course: _Course, tool: Tool) -> None:
        """Execute an action, unless it was already done or isn't allowed, and note it on the scratchpad."""
        argument = argument_of(tool)
        key = (tool.action, " ".join(argument.casefold().split()))
        finding: Finding | None = None
        refused = any((step.action, " ".join(step.argument.casefold().split())) == key for step in course.steps)
        if refused:
            course.repeated = True
            outcome = "refused, it was done already"
        elif isinstance(tool, Memorize):
            refused, outcome = self._memorize(course, tool.content)
        elif isinstance(tool, RetrieveEpisodic):
            finding = self._tools.episodic(tool, course.situation.now)
            outcome = outcome_of(finding)
        else:
            finding = self._tools.semantic(tool, course.situation.now, self._before)
            outcome = outcome_of(finding)
        taken = Taken(tool.action, argument, outcome, refused)
        course.steps.append(taken)
        course.trace.append(str(taken))
        course.situation = replace(
            course.situation,
            findings=(*([finding] if finding is not None else []), *course.situation.findings),
            done=(*course.situation.done, str(taken)),
        )

    def _memorize(self, course: _Course, content: str) -> tuple[bool, str]:
        """Store the user's current message or a decision by the controller. Return True if it was refused, with the
        outcome.

        Content that is already in the memory is refused, so a stored text can't cause itself to be stored again as a
        decision. A decision is refused as invented if it has a name or number that is neither in the turn nor shown, or
        no word that is.
        """
        situation = course.situation
        if grounded(content, situation.said):
            course.memorize = True
            return False, "will be kept"
        if not terms(content):
            return True, "refused, it says nothing"
        if any(grounded(content, text) for text in situation.texts):
            return True, "refused, the memory holds it already"
        told = (situation.said, *situation.texts)
        known = {term for text in told for term in terms(text)}
        if known.isdisjoint(terms(content)) or not names_held(content, *told):
            return True, "refused, it is about what nobody told"
        course.decisions.append(content)
        return False, "will be kept, as a decision of yours"

    def _remember(self, said: str, now: datetime, course: _Course, answered: Answered) -> ControllerAnswer:
        """Store the turn through the gate, the controller's decisions, and the reply.

        Decisions and replies are never processed for facts: they may repeat anything.
        """
        scope, memory, situation = self.scope, self.memory, course.situation
        memory.components.recalls.queue(scope.user_id)
        course.memorize |= asks_to_keep(said)
        about: dict[str, object] = {}
        if standing_instructions(said):
            about[STANDING] = True
        if only_asks(said):
            about[ECHO] = True
        with memory.components.database.read(scope.user_id) as connection:
            name = speakers.asker_of(connection, scope.user_id).name
        message = Message("user", said, name=None if name == "user" else name, metadata=about)

        def unchanged(connection: Connection) -> None:
            if self._changed(connection, situation, situation.sources):
                raise StoreBusyError(f"{_CHANGED}; nothing of this turn was stored, say it again")

        turn = self._add(message, now, infer=True, check=unchanged)
        deferred = turn.decision is not None and not turn.decision.write

        def still_unchanged(connection: Connection) -> None:
            if self._changed(connection, situation, (*situation.sources, turn.id)):
                raise StoreBusyError(f"{_CHANGED}; what you said was stored, the reply was not, ask again")
            if course.memorize and deferred:
                turns.encode_now(connection, scope.user_id, turn.id, EXTRACT)

        shown = [*answered.shown, *([turn.id] if self.policy.most_tokens else [])]  # rules quote, models may repeat
        quotes: dict[str, object] = {EVIDENCE: shown} if shown else {}
        cited = [source for item in answered.evidence for source in item.hit.unit.episode_ids]
        if cited:
            quotes[CITED] = list(dict.fromkeys(cited))
        if course.notes and self._settings.keep_notes:
            quotes[NOTES] = course.notes
        behind: dict[str, object] = {}
        if self.policy.most_tokens and situation.memory.summary:
            behind[SUMMARISED] = situation.memory.covered
        found = any(finding.hits or finding.facts for finding in situation.findings)
        echo = {ECHO: True} if found or answered.abstained or not self.policy.most_tokens else {}
        source: dict[str, object] = {DECISION: True, EVIDENCE: [*situation.sources, turn.id], **behind}
        decided = [Message("assistant", content, metadata=source) for content in course.decisions]
        written = Message("assistant", answered.text, metadata={**echo, **quotes, **behind})
        *kept, reply = self._add_all([*decided, written], now, infer=False, check=still_unchanged)
        if asks(said):
            told = next((finding.told for finding in situation.findings if finding.told is not None), None)
            self._before = answered.query if told is None else told.query
        if self._flush:
            memory.flush()
        result = self._answer(course, answered, self.policy.threshold)
        return replace(
            result,
            memorized=course.memorize and deferred,
            turn_id=turn.id,
            reply_id=reply.id,
            decision_ids=tuple(one.id for one in kept),
        )

    def _changed(self, connection: Connection, situation: Situation, sources: Collection[str]) -> bool:
        """Return True if a message that the reply may repeat was hidden or erased since the situation was read."""
        if user_versions.version(connection, self.scope.user_id)[1] == situation.memory.epoch:
            return False
        summary = turns.summary_of(connection, self._working.stream_id)  # whatever hides a message in it drops it
        dropped = situation.memory.summary not in ("", summary)
        return dropped or bool(turns.missing(connection, self.scope.user_id, sources))

    def _add(
        self,
        message: Message,
        now: datetime,
        *,
        infer: bool,
        check: Callable[[Connection], None] = lambda _: None,
    ) -> Added:
        """Store a message, in one transaction with `check`."""
        (stored,) = self._add_all([message], now, infer=infer, check=check)
        return stored

    def _add_all(
        self, messages: Sequence[Message], now: datetime, *, infer: bool, check: Callable[[Connection], None]
    ) -> list[Added]:
        """Store messages in order, in one transaction with `check`."""
        whole = [self.memory.components.checked(message, now) for message in messages]
        return self.memory.components.writer.add(whole, self.scope, recorded_at=now, infer=infer, check=check)

    def _answer(self, course: _Course, answered: Answered, threshold: float) -> ControllerAnswer:
        return ControllerAnswer(
            text=answered.text,
            abstained=answered.abstained,
            evidence=answered.evidence,
            uncertainty=answered.uncertainty,
            draft_uncertainty=course.draft_uncertainty,
            threshold=threshold,
            steps=tuple(course.steps),
            trace=(f"policy {self.policy.name}", *course.trace, f"answer: uncertainty {answered.uncertainty:.2f}"),
            usage=course.usage,
            skills=tuple(skill.id for skill in course.situation.experience.skills),
            quotes=answered.quotes,
        )


def _kept_notes(memory: WorkingMemory) -> tuple[str, ...]:
    """Return the notes made before the last reply in context."""
    replies = memory.context[-1].replies if memory.context else ()
    notes = replies[-1].metadata.get(NOTES) if replies else None
    return tuple(note for note in notes if isinstance(note, str)) if isinstance(notes, list) else ()


def grounded(content: str, said: str) -> bool:
    """Return True if every word of a text occurs in another; "evil.example" occurs in "ldap://evil.example/a"."""
    words, held = set(terms(content)), set(terms(said))
    return bool(words) and all(word in held or set() < set(terms(word)) - {word} <= held for word in words)
