"""Ask a model how a new statement changes the most similar facts (mem0, update phase), and validate its reply.

With `curator.compared = "graph"` the facts are edges of the fact graph: a new edge can only conflict with edges at its
two nodes (mem0^g, conflict detection), and the model resolves the conflicts found (conflict resolution).

Notes (mem0's memories) are compared only with notes, and other facts only with facts, whatever the value of
`curator.compared`.

An unusable reply is refused: the refusal is logged as a decision, no fact changes, and undoing it asks again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import get_args

from sqlalchemy import Connection

from nscma_torch.core.config import CuratorConfig
from nscma_torch.core.errors import EngineError, EngineUnavailableError, JobError
from nscma_torch.core.protocols import Embedder, FactTasks, required
from nscma_torch.core.records import FactOperation, Operation, Statement, ToldFact
from nscma_torch.episodic.log import episodes
from nscma_torch.reading.relations import Schema, family
from nscma_torch.semantic.notes import is_note
from nscma_torch.semantic.store import (
    decisions,
    entities,
    fact_units,
    facts,
    namespaces,
    statement_groups,
    statements,
)
from nscma_torch.semantic.store.decisions import REFUSED
from nscma_torch.semantic.store.facts import FactRow
from nscma_torch.semantic.store.statements import StatementRow
from nscma_torch.semantic.timeline.claims import Rules
from nscma_torch.semantic.timeline.dispute_verdicts import sentence_unit
from nscma_torch.semantic.timeline.grouping import closed, object_of, single
from nscma_torch.semantic.timeline.operations import Chosen
from nscma_torch.semantic.timeline.similar_facts import SimilarFacts
from nscma_torch.semantic.triples import sentence

_SHOWN = 64  # maximum characters of a result quoted in an error


@dataclass(frozen=True, slots=True)
class Question:
    """A statement, and the most similar known facts, best first.

    `behind` maps each known fact's id to the ids of the statements behind it.
    """

    row: StatementRow
    new: ToldFact
    known: tuple[ToldFact, ...]
    behind: Mapping[str, tuple[str, ...]]


class Adviser:
    """Asks the language tasks about new statements.

    Args:
        tasks: returns the language tasks; called on the first question.
        judge: the name of the language tasks, for the log.
        embedder: finds the most similar facts; their number is `curator.similar`.
    """

    def __init__(
        self,
        tasks: Callable[[], FactTasks],
        judge: Callable[[], str],
        embedder: Callable[[], Embedder],
        schema: Schema,
        settings: CuratorConfig,
    ) -> None:
        self._tasks = tasks
        self._judge = judge
        self._schema = schema
        self._rules = Rules.of(settings)
        self._by_edges = settings.compared == "graph"
        self._embedder = embedder
        self._similar = SimilarFacts(embedder, settings.similar)

    def next_question(self, connection: Connection, namespace: str) -> Question | None:
        """Return a question for the first statement, in reading order, that has no chosen operation; None if there is
        none.
        """
        keys = closed(statement_groups.unresolved(connection, namespace), self._schema)
        rows = statements.of_keys(connection, namespace, keys)
        known = decisions.operations(connection, [row.seq for row in rows])
        waiting = [row for row in rows if row.seq not in known]
        if not waiting:
            return None
        row = min(waiting, key=lambda row: (row.episode_seq, row.start, row.seq))
        names = entities.names(connection, namespace)
        believed = [fact for fact in facts.current(connection, namespace) if self._is_compared(fact, row)]
        seqs = {seq for fact in believed for seq in fact.statement_seqs}
        merged = fact_units.merged_texts(connection, namespace, seqs)
        texts = [self._known(fact, names, merged) for fact in believed]
        text = self._said(row, names)
        near = [(believed[i], texts[i]) for i in self._similar.nearest(text, texts)]
        seqs = {seq for fact, _ in near for seq in fact.statement_seqs}
        behind = {one.seq: one for one in statements.by_seqs(connection, namespace, seqs)}
        own = {
            fact.id: [behind[seq] for seq in fact.statement_seqs if seq in behind and seq != row.seq]
            for fact, _ in near
        }
        latest = {fact_id: max(of_fact, key=statements.said) for fact_id, of_fact in own.items() if of_fact}
        user_id = namespaces.owner(connection, namespace).user_id
        told = episodes.by_seqs(connection, user_id, sorted({one.episode_seq for one in (row, *latest.values())}))
        return Question(
            row,
            ToldFact(row.id, text, sentence_unit(told[row.episode_seq], row), self._is_note(row)),
            tuple(
                ToldFact(
                    fact.id,
                    said,
                    sentence_unit(told[latest[fact.id].episode_seq], latest[fact.id]),
                    self._is_note(fact),
                )
                for fact, said in near
                if fact.id in latest
            ),
            {fact_id: tuple(sorted(one.id for one in of_fact)) for fact_id, of_fact in own.items()},
        )

    def ask(self, question: Question) -> Chosen:
        """Ask the language tasks for an operation; if there are no known facts, return ADD without asking.

        Raises `EngineUnavailableError` if they are unreachable; the statement then waits.
        """
        judge = self._judge()
        governs = self._rules.by_model
        if not question.known:
            reason = "ADD: nothing is known yet that it could change"
            return Chosen("ADD", judge=judge, reason=reason, stores=governs or None)
        try:
            found = self._tasks().operate([(question.new, question.known)])
            operation = self._merging(_checked(found, question), question)
        except EngineUnavailableError:
            raise
        except JobError as error:
            return Chosen(REFUSED, judge=judge, reason=f"refused: {error}; undo this decision to ask {judge} again")
        except EngineError as error:  # its quotation of the reply stays out of the log, which must be erasable
            why = f"{type(error).__name__}, the reply of {judge} could not be used"
            return Chosen(REFUSED, judge=judge, reason=f"refused: {why}; undo this decision to ask again")
        texts = {fact.id: fact.text for fact in question.known}
        named = [one for one in dict.fromkeys(operation.fact_ids) if governs or operation.action != "NOOP"]
        about = ": " + "; ".join(texts[one] for one in named) if named else ""
        merged = f" -> {operation.text}" if operation.text else ""
        behind = tuple(question.behind[one] for one in named)
        drops = operation.action == "NOOP" or (operation.action == "DELETE" and question.new.is_note)
        reason = f"{operation.action} by {judge}{about}{merged}"
        return Chosen(operation.action, behind, judge, reason, not drops if governs else None, operation.text)

    def _merging(self, operation: FactOperation, question: Question) -> FactOperation:
        """Return the operation with the merged text of an updated note, or "" if that equals the new note's text.

        An UPDATE that leaves its named note unchanged becomes NOOP. Raises `JobError` if the merged text is too long
        for the embedder.
        """
        text = " ".join(operation.text.split()) if operation.action == "UPDATE" and question.new.is_note else ""
        if not text or text == question.new.text:
            return replace(operation, text="")
        texts = {fact.id: fact.text for fact in question.known}
        if {texts[one] for one in operation.fact_ids} == {text}:
            return FactOperation("NOOP", operation.fact_ids)
        embedder = self._embedder()
        if (tokens := embedder.count_tokens([text])[0]) > embedder.max_tokens:
            raise JobError(f"the merged text in UPDATE has {tokens} tokens; the embedder accepts {embedder.max_tokens}")
        return replace(operation, text=text)

    def _is_note(self, told: FactRow | StatementRow) -> bool:
        return is_note(told.relation, told.topic, self._schema)

    def _is_compared(self, fact: FactRow, row: StatementRow) -> bool:
        """Return True if the model may decide on a fact: on any fact if the model alone rules, otherwise on facts in
        the subject's other groups.

        Mutually exclusive facts of one group are decided by the rules for groups. If a fact that a statement named is
        erased, the model is asked about that statement again; the statement is not compared with its own fact.
        """
        if fact.relation not in self._schema or set(fact.statement_seqs) == {row.seq}:
            return False
        if self._is_note(fact) != self._is_note(row):
            return False
        if (
            self._by_edges
            and not self._is_note(row)
            and {fact.subject, fact.object_key}.isdisjoint({row.subject, object_of(row)} - {""})
        ):
            return False
        if self._rules.by_model:
            return True
        if fact.subject != row.subject:
            return False
        if fact.topic != row.topic or fact.relation not in family(row.relation, self._schema):
            return True
        one = self._rules.one_object or single(row.relation, self._schema)
        return not one and fact.object_key != object_of(row)

    def _known(self, fact: FactRow, names: Mapping[str, str], merged: Mapping[int, str]) -> str:
        """Return the sentence for a fact; for a note its merged text, if any."""
        if self._is_note(fact):
            return next((merged[seq] for seq in fact.statement_seqs if seq in merged), fact.object)
        subject, value = names.get(fact.subject, fact.subject), names.get(fact.object_key, fact.object)
        return sentence(Statement(subject, fact.relation, value, fact.topic), self._schema)

    def _said(self, row: StatementRow, names: Mapping[str, str]) -> str:
        """Return the sentence for a statement."""
        if self._is_note(row):
            return row.object
        subject, over = names.get(row.subject, row.subject), row.negated or not row.object
        said = Statement(subject, row.relation, row.object or row.replaces, row.topic, negated=over, past=row.past)
        return sentence(said, self._schema)


def _checked(found: object, question: Question) -> FactOperation:
    """Return the single requested operation. Raises `JobError` if it can't be applied."""
    if not isinstance(found, list) or len(found) != 1 or not isinstance(found[0], FactOperation):
        raise JobError("operate was given one statement and must return a list of one FactOperation")
    operation: FactOperation = found[0]
    if operation.action not in get_args(Operation):
        known = ", ".join(get_args(Operation))
        raise JobError(f"operate returned the operation {str(operation.action)[:_SHOWN]!r}, not one of {known}")
    shown = {fact.id for fact in question.known}
    if unknown := [one for one in operation.fact_ids if not isinstance(one, str) or one not in shown]:
        raise JobError(f"{operation.action} names {str(unknown[0])[:_SHOWN]!r}, which is not one of the facts shown")
    if operation.action in ("UPDATE", "DELETE") and not operation.fact_ids:
        raise JobError(f"{operation.action} must name the facts it changes")
    if operation.action == "ADD" and operation.fact_ids:
        raise JobError("ADD must not name facts, as it changes none")
    return operation


def configured_adviser(
    settings: CuratorConfig,
    tasks: object,
    judge: Callable[[], str],
    embedder: Callable[[], Embedder],
    schema: Schema,
) -> Adviser | None:
    """Return the adviser that asks the language tasks about new statements; None if no rule needs one.

    Raises `ConfigError` if the language tasks can't decide operations.
    """
    if not settings.asks_model:
        return None
    own: FactTasks = required(tasks, FactTasks, 'curator.rule or curator.opposites = "model"')
    return Adviser(lambda: own, judge, embedder, schema, settings)
