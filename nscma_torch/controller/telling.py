"""Whether one turn in view tells all that a question asks for, so that the facts need not be asked."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from nscma_torch.llm.questions import question_reader
from nscma_torch.llm.statements import statement_reader
from nscma_torch.records import FactQuery, Statement, Unit
from nscma_torch.relations import Schema, family
from nscma_torch.text.names import name_key


def tells_all(question: str, turns: Sequence[Unit], best: int, schema: Schema, now: datetime) -> bool:
    """Whether the turn at `best` holds the whole answer, as far as its statements can be read.

    A question for a fact is answered by a statement of it alone: of the same relation and person, that holds now, and
    of which there is one at a time. Who has several of something may have told the others elsewhere, and what is no
    longer so says nothing of what is. And whatever is asked, what a later turn tells of the same, or one whose time is
    later, is for the facts to weigh.

    Args:
        turns: what is in view, in the order it came.
    """
    own = turns[best]
    if any(turn.occurred_at > own.occurred_at for turn in turns[:best]):  # it came late: others may be newer
        return False
    reader = statement_reader(schema)
    told = reader.read(own)
    query = question_reader(schema, _asker(turns)).read(question, now=now)
    if query is not None and not any(_states(statement, query, schema, now) for statement in told):
        return False
    matters = _matters(told, schema)
    return all(matters.isdisjoint(_matters(reader.read(turn), schema)) for turn in turns[best + 1 :])


def _states(statement: Statement, query: FactQuery, schema: Schema, now: datetime) -> bool:
    """Whether a statement gives the one object that is asked for."""
    simple = query.asks == "object" and not (query.previous or query.before or query.count or query.as_of)
    if not simple or query.path != (statement.relation,) or schema[statement.relation].cardinality != "one":
        return False
    begins, ends = statement.valid_from, statement.valid_to
    holds = (begins is None or begins <= now) and (ends is None or ends > now)
    same = name_key(statement.subject) == name_key(query.subject)
    return same and holds and bool(statement.object) and not (statement.negated or statement.past)


def _matters(statements: Sequence[Statement], schema: Schema) -> set[tuple[str, str]]:
    """What is spoken of: of whom, and in which relations: where they live, what they like."""
    return {
        (name_key(statement.subject), name) for statement in statements for name in family(statement.relation, schema)
    }


def _asker(turns: Sequence[Unit]) -> str:
    """The name that all turns of the user carry, or "user"."""
    names = {turn.name for turn in turns if turn.role == "user"}
    return next(iter(names)) or "user" if len(names) == 1 else "user"
