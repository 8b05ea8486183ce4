"""Controller policy without a language model: it quotes messages, and its uncertainty is a score margin."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from nscma_torch.answering.answered import nothing_asked
from nscma_torch.controller.context_suffices import ReadStatements, context_suffices, value_in
from nscma_torch.controller.passages import clipped
from nscma_torch.controller.policy import Answered, Situation, SkillDraft, Solved, Step, own_search
from nscma_torch.controller.sourced_reply import of_answer
from nscma_torch.controller.working_memory import Exchange, Summarized
from nscma_torch.core.config import ControllerConfig
from nscma_torch.core.protocols import LanguageTasks
from nscma_torch.core.records import Answer, AskedQuestion, Episode, Hit, Scope, Unit, Usage
from nscma_torch.episodic.index.units import unit_of
from nscma_torch.episodic.log.turns import ECHO
from nscma_torch.reading.cues import only_small_talk
from nscma_torch.reading.extractive_summary import extract_summary
from nscma_torch.reading.passage import covered, term_weights
from nscma_torch.reading.question_intent import intent
from nscma_torch.reading.questions import QuestionReader
from nscma_torch.reading.relations import Schema
from nscma_torch.reading.turn_forms import asks, questions, statements
from nscma_torch.text.scripts import script

_CERTAIN = 2.0  # support of text that is in context verbatim


ReadHits = Callable[[str, Sequence[Hit], float, datetime], Answer]  # a question, hits, their answerability, when it is


class EmbeddedPolicy:
    """Policy by rules that uses facts first, then messages. It acknowledges a turn that asks nothing."""

    name = "embedded"
    most_tokens = 0

    def __init__(
        self,
        tasks: LanguageTasks,
        relations: Schema,
        settings: ControllerConfig,
        read: ReadHits,
        statements_of: ReadStatements,
        question_reader: QuestionReader,
    ) -> None:
        self._tasks = tasks
        self._read = read
        self._statements_of = statements_of
        self._question_reader = question_reader
        self._relations = relations
        self._settings = settings
        self.threshold = settings.embedded_threshold

    def draft(self, situation: Situation) -> tuple[Answered, Usage]:
        """Return the answer from the active context. Its certainty is the best turn's lead over the second best.

        Each turn covers a share of the weight of the question's words; the uncertainty is 1 - (largest share - second
        largest). The uncertainty is 1 unless the question is about a current state, the turn contains the whole answer
        (`telling`), and no message outside the context may have updated it. Statements in the question's own turn take
        precedence.
        """
        if not asks(situation.said):
            return Answered("好的，我记下了。" if script(situation.said) == "cjk" else "Noted.", 0.0), Usage()
        if only_small_talk(situation.said):
            return Answered(nothing_asked(situation.said), 0.0, abstained=True), Usage()
        question, memory = questions(situation.said), situation.memory
        spoken = [unit_of(turn) for turn in _statements(memory.spoken)]
        query = self._question_reader.read(question, asker=memory.asker, now=situation.now)
        saying = _saying(situation)
        if saying is not None and query is not None:
            (said,) = self._statements_of([saying])
            own = value_in(query, saying, said, memory.asker, self._relations, situation.now)
            if own is not None:
                return Answered(own, 0.0, query=query), Usage()
        hits = [Hit(unit_of(turn), 1.0) for turn in _statements(exchange.turn for exchange in memory.context)]
        if not hits or intent(question) != "current":
            return of_answer(self._tasks.answer(AskedQuestion(question), []), 1.0), Usage()
        weights = term_weights(question, (hit.text for hit in hits))
        mass = sum(weights.values()) or 1.0
        shares = [covered(hit.text, weights) / mass for hit in hits]
        best = max(range(len(hits)), key=lambda i: (shares[i], i))
        second = max((share for i, share in enumerate(shares) if i != best), default=0.0)
        answer = self._tasks.answer(AskedQuestion(question, _CERTAIN), [hits[best]])
        uncertainty = 1.0 - (shares[best] - second)
        if uncertainty <= self.threshold:
            units = [*spoken, *([] if saying is None else [saying])]
            place = next(i for i, unit in enumerate(units) if unit.id == hits[best].id)
            read = self._statements_of(units)
            settled = context_suffices(question, query, units, read, place, self._relations, situation.now)
            if hits[best].id in memory.overtaken or not settled:
                uncertainty = 1.0
            elif query is not None:
                value = value_in(query, units[place], read[place], memory.asker, self._relations, situation.now)
                answer = replace(answer, text=value, quotes=0) if value else answer
        return replace(of_answer(answer, uncertainty), query=query), answer.usage

    def act(self, situation: Situation) -> Step:
        """Query the facts, then the messages, then answer."""
        search = own_search(situation, questions(situation.said), lambda told: told is not None)
        return Step(*self.conclude(situation)) if search is None else Step(search)

    def conclude(self, situation: Situation) -> tuple[Answered, Usage]:
        """Answer from facts or, failing that, from the best passages. If neither exists, say that the answer isn't
        known.
        """
        told = next((finding.told for finding in situation.findings if finding.told is not None), None)
        if told is None:
            best = max(situation.findings, key=lambda finding: finding.answerability, default=None)
            hits, answerability = ((), 0.0) if best is None else (best.hits, best.answerability)
            told = self._read(questions(situation.said), hits, answerability, situation.now)
        return of_answer(told, 1.0 - told.confidence), told.usage

    def summarize(self, summary: str, leaving: Sequence[Exchange]) -> Summarized:
        """Return the sentences that best cover the old summary and the leaving exchanges, within the word budget."""
        turns = _statements(exchange.turn for exchange in leaving)
        own = [clipped(turn.text, self._settings.turn_words) for turn in turns]
        members = [*summary.split("\n"), *own] if summary else own
        return Summarized(extract_summary(members, self._settings.summary_tokens), len(leaving))

    def write_skill(self, solved: Solved) -> tuple[SkillDraft | None, Usage]:  # noqa: ARG002 - it goes one way
        """Return None, because rules act the same in every turn and have no skill to learn."""
        return None, Usage()


def _statements(turns: Iterable[Episode]) -> list[Episode]:
    """Return the turns that contain statements. Replies only quote, and questions would outrank the turns that answer
    them.
    """
    return [turn for turn in turns if not turn.metadata.get(ECHO)]


def _saying(situation: Situation) -> Unit | None:
    """Return the current turn's statements, without its questions, as a unit that belongs to no message."""
    said = statements(situation.said)
    if not said:
        return None
    name = None if situation.memory.asker == "user" else situation.memory.asker
    return Unit("", Scope("nobody"), "chunk", said, (), situation.now, "user", name, end=len(said))
