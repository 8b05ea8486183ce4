"""Controller policy with a language model: it fills a form for each decision, and uncertainty comes from the tokens of
the decision.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypeVar

from nscma_torch.controller.inquiry import Inquiry, ReadFirst, asked_in, is_about_someone
from nscma_torch.controller.passages import (
    clipped,
    passage,
    shown_fact,
    shown_hit,
    shown_skill,
    shown_text,
    shown_turn,
)
from nscma_torch.controller.policy import Answered, Finding, Situation, SkillDraft, Solved, Step, own_search
from nscma_torch.controller.prompt_budget import count_text, fit_desk, fitting
from nscma_torch.controller.sourced_reply import Shown, answered
from nscma_torch.controller.uncertainty import uncertainty
from nscma_torch.controller.working_memory import Exchange, Summarized, added
from nscma_torch.core.config import ControllerConfig, LlmConfig
from nscma_torch.core.errors import ConfigError
from nscma_torch.core.records import Usage
from nscma_torch.llm.choice_probability import probability_of_true
from nscma_torch.llm.completion import ModelCaller
from nscma_torch.llm.engines.contract import LanguageEngine, Turn
from nscma_torch.llm.engines.structured import Filled, ReplyForm
from nscma_torch.llm.prompts.acting import (
    MOST_FOUND,
    Act,
    Conclusion,
    Desk,
    DraftForm,
    FinalAnswer,
    NotedAct,
    NotedSearchAct,
    RolledSummary,
    SearchAct,
    SkillForm,
    SourcedDraft,
    act_turns,
    conclusion_turns,
    draft_turns,
    noted_act_turns,
    noted_search_turns,
    search_turns,
    skill_turns,
    sourced_draft_turns,
    summary_turns,
)
from nscma_torch.reading.turn_forms import asks
from nscma_torch.reading.unknown_answer import unknown_answer
from nscma_torch.text.calendar.timestamps import WEEKDAYS, format_day
from nscma_torch.text.sentences import split_sentences

FormT = TypeVar("FormT", bound=ReplyForm)
_LEAST_PROMPT = 512  # tokens below which not even the rules fit
_SEARCHES = 3  # of a question: two for the question itself, one by the model
_FORMS = 3  # most forms of a decision: is the answer contained, the answer or a search


class PromptedPolicy:
    """Makes decisions with forms filled by an engine. No prompt exceeds `settings.prompt_tokens` or the engine's
    context.

    For a turn that asks, the memory is searched for the question itself first, and the model searches again as long as
    what was found doesn't contain the answer; see `Inquiry`. For any other turn the model chooses each action.

    Args:
        llm: temperature, maximum reply length and least probability of an answer; `settings.reply_tokens` applies if it
            is lower.
        tally: counts requests, tokens and failed requests, as for the language tasks.
        read_first: has the trained reader answer before the model.

    Raises `ConfigError` if the engine's context is too short for these limits.
    """

    def __init__(
        self,
        engine: LanguageEngine,
        settings: ControllerConfig,
        llm: LlmConfig,
        tally: Counter[str],
        read_first: ReadFirst,
    ) -> None:
        self._engine = engine
        self._settings = settings
        self._reply = min(settings.reply_tokens, llm.max_tokens)
        self._asker = ModelCaller(engine, max_tokens=self._reply, temperature=llm.temperature, tally=tally)
        self._limit = min(settings.prompt_tokens, engine.context - self._reply)
        if self._limit < _LEAST_PROMPT:
            raise ConfigError(
                f"the engine's context is {engine.context} tokens; with replies of {self._reply} and prompts of "
                f"{settings.prompt_tokens} fewer than {_LEAST_PROMPT} are left for a prompt; raise llm.context or "
                "controller.prompt_tokens, or lower controller.reply_tokens"
            )
        self._inquiry = Inquiry(
            self._asker, settings, most_tokens=self._limit, least_known=llm.least_known, read_first=read_first
        )
        self.name = engine.name
        self.threshold = settings.threshold

    @property
    def most_tokens(self) -> int:
        """Return the tokens for the forms of a decision, each requested twice."""
        return 2 * _FORMS * (self._limit + self._reply)

    def draft(self, situation: Situation) -> tuple[Answered, Usage]:
        """Return a reply from working memory.

        The draft of an answer is the one that the context contains, and its uncertainty the probability that it doesn't
        contain it: a small model is sure of the wording of what it invents. It is 1 if that isn't sure enough for an
        answer (`llm.least_known`). The uncertainty of any other reply is the probability that it needs the memory.
        """
        if asks(situation.said):
            found, usage = self._inquiry.answer(situation)
            return found or Answered(unknown_answer(situation.said), 1.0, abstained=True), usage
        filled: Filled[DraftForm] | Filled[SourcedDraft]
        if situation.memory.insights or situation.memory.days:
            filled, shown, usage = self._ask(SourcedDraft, sourced_draft_turns, situation, logprobs=True)
            named = filled.form.evidence
        else:
            filled, shown, usage = self._ask(DraftForm, draft_turns, situation, logprobs=True)
            named = ()
        unsure = 1.0 - probability_of_true(filled.reply, "known", chosen=filled.form.known)
        return answered(filled.form.text, named, shown, unsure, situation), usage

    def act(self, situation: Situation) -> Step:
        """Return one action."""
        if asks(situation.said):
            return self._inquire(situation)
        filled: Filled[NotedAct] | Filled[Act]
        if self._settings.note_tokens:
            filled, shown, usage = self._ask(NotedAct, noted_act_turns, situation)
            note = " ".join(filled.form.note.split())
        else:
            filled, shown, usage = self._ask(Act, act_turns, situation)
            note = ""
        act = filled.form.act
        if isinstance(act, FinalAnswer):
            unsure = uncertainty(filled.reply, "text")
            return Step(answered(act.text, act.evidence, shown, unsure, situation), usage, note)
        return Step(act, usage, note)

    def _inquire(self, situation: Situation) -> Step:
        """Search for the question itself, then answer, or search for what is missing."""
        search = own_search(situation, asked_in(situation.said), self._inquiry.is_sure)
        if search is not None:
            return Step(search)
        found, usage = self._inquiry.answer(situation)
        if found is not None:
            return Step(found, usage)
        if len(situation.done) >= _SEARCHES or not is_about_someone(situation.said):
            reply, more = self._otherwise(situation)
            return Step(reply, added(usage, more))
        filled: Filled[NotedSearchAct] | Filled[SearchAct]
        if self._settings.note_tokens:
            filled, _, more = self._ask(NotedSearchAct, noted_search_turns, situation)
            note = " ".join(filled.form.note.split())
        else:
            filled, _, more = self._ask(SearchAct, search_turns, situation)
            note = ""
        return Step(filled.form.act, added(usage, more), note)

    def conclude(self, situation: Situation) -> tuple[Answered, Usage]:
        """Return the reply, without a further action."""
        if not asks(situation.said):
            return self._concluded(situation)
        found, usage = self._inquiry.answer(situation)
        if found is not None:
            return found, usage
        reply, more = self._otherwise(situation)
        return reply, added(usage, more)

    def _otherwise(self, situation: Situation) -> tuple[Answered, Usage]:
        """Reply to a question whose answer wasn't found: what is about somebody isn't known."""
        if is_about_someone(situation.said):
            shown = situation.told(())
            unknown = Answered(unknown_answer(situation.said), 0.0, abstained=True, shown=shown)
            return self._inquiry.worded(unknown, situation)
        return self._concluded(situation)

    def _concluded(self, situation: Situation) -> tuple[Answered, Usage]:
        filled, shown, usage = self._ask(Conclusion, conclusion_turns, situation)
        unsure = uncertainty(filled.reply, "text")
        return answered(filled.form.text, filled.form.evidence, shown, unsure, situation), usage

    def summarize(self, summary: str, leaving: Sequence[Exchange]) -> Summarized:
        """Summarise as many exchanges as fit in a prompt. If a single exchange doesn't fit, it is truncated."""
        own = self._settings
        words = max(16, own.summary_tokens // 2)
        shown = [
            [shown_turn(episode, own.turn_words) for episode in (exchange.turn, *exchange.replies)]
            for exchange in leaving
        ]

        taken = [shown[:count] for count in range(len(shown), 0, -1)]
        taken += [[shown[0][:count]] for count in range(len(shown[0]) - 1, 0, -1)]

        def prompt(left_out: int) -> tuple[Turn, ...]:
            return summary_turns(summary, [turn for exchange in taken[left_out] for turn in exchange], words)

        left_out = fitting(lambda i: self._asker.tokens(prompt(i)), len(taken) - 1, self._limit)
        if left_out is None:
            raise ConfigError(
                f"one turn and the summary exceed a prompt's {self._limit} tokens; raise "
                "controller.prompt_tokens, or lower turn_words or summary_tokens"
            )
        (form,), usage = self._asker.ask(RolledSummary, [prompt(left_out)])
        return Summarized(self._shortened(form.summary), len(taken[left_out]), usage)

    def write_skill(self, solved: Solved) -> tuple[SkillDraft | None, Usage]:
        """Write a skill with the model. Return None if the model finds none, or if it names an action that was not
        taken.
        """
        words = self._settings.turn_words
        said, reply = clipped(solved.said, words), clipped(solved.reply, words)
        (form,), usage = self._asker.ask(SkillForm, [skill_turns(said, solved.done, reply)])
        if not form.worth or not {step.action for step in form.steps} <= solved.actions | {"answer"}:
            return None, usage
        return SkillDraft(form.name, form.trigger, tuple(f"{step.action}: {step.how}" for step in form.steps)), usage

    def _shortened(self, summary: str) -> str:
        """Return as many whole sentences from the beginning as fit in the budget, or part of the first one if it
        doesn't fit.
        """
        ends = [span.end for span in split_sentences(summary)] or [len(summary)]
        cuts = sorted({len(summary), *ends, *(ends[0] * share // 16 for share in range(16))}, reverse=True)
        budget = self._settings.summary_tokens
        least = fitting(lambda i: count_text(self._engine, summary[: cuts[i]]), len(cuts) - 1, budget)
        return "" if least is None else summary[: cuts[least]].strip()

    def _ask(
        self,
        form: type[FormT],
        build: Callable[[Desk], tuple[Turn, ...]],
        situation: Situation,
        *,
        logprobs: bool | None = None,
    ) -> tuple[Filled[FormT], list[Shown], Usage]:
        """Return the filled form, and the items shown in the prompt in the order of their numbers.

        By default, log-probabilities are requested only if a threshold uses them.
        """
        desk, found = self._desk(situation)
        turns, desk = fit_desk(self._asker.tokens, build, desk, self._limit)
        wanted = self.threshold > 0 if logprobs is None else logprobs
        (filled,), usage = self._asker.fill(form, [turns], logprobs=wanted)
        days = situation.memory.days[len(situation.memory.days) - len(desk.days) :]
        return filled, [*found[: len(desk.found)], *situation.memory.insights[: len(desk.insights)], *days], usage

    def _desk(self, situation: Situation) -> tuple[Desk, list[Shown]]:
        own, memory = self._settings, situation.memory
        shown: list[dict[str, str]] = []
        found: list[Shown] = []
        for text, item in (pair for finding in situation.findings for pair in _items(finding, own.turn_words)):
            if text not in shown and len(shown) < MOST_FOUND:
                shown.append(text)
                found.append(item)
        day = situation.now.date()
        context = [episode for exchange in memory.context for episode in (exchange.turn, *exchange.replies)]
        desk = Desk(
            today=f"{WEEKDAYS[day.weekday()]}, {format_day(day)}",
            said=situation.said,
            instructions=memory.rules,
            summary=memory.summary,
            insights=tuple(shown_text(one, own.turn_words) for one in memory.insights),
            days=tuple(shown_text(one, own.turn_words) for one in memory.days),
            context=tuple(shown_turn(episode, own.turn_words) for episode in context),
            found=tuple(shown),
            done=situation.done,
            notes=self._recent(situation.notes),
            skills=tuple(shown_skill(skill) for skill in situation.experience.skills),
        )
        return desk, found

    def _recent(self, notes: Sequence[str]) -> tuple[str, ...]:
        """Return the last notes within the token budget."""
        budget = self._settings.note_tokens
        least = fitting(lambda i: sum(count_text(self._engine, note) for note in notes[i:]), len(notes), budget)
        return () if least is None else tuple(notes[least:])


def _items(finding: Finding, words: int) -> list[tuple[dict[str, str], Shown]]:
    """Format a finding: its facts, then its messages, each with the passage that serves as evidence."""
    tool = finding.tool
    query = tool.query if tool.action == "retrieve_episodic" else tool.entity
    facts: list[tuple[dict[str, str], Shown]] = []
    by_source = {source: hit for hit in finding.hits for source in hit.unit.episode_ids}
    for fact in finding.facts:
        behind = next((by_source[source] for source in reversed(fact.episode_ids) if source in by_source), None)
        facts.append((shown_fact(fact), None if behind is None else (behind, behind.text)))
    return facts + [
        (shown_hit(query, hit, words), (hit, passage(query, hit, words).removesuffix(" […]"))) for hit in finding.hits
    ]
