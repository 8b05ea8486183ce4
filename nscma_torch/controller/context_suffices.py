"""Check whether one turn in view fully answers a question, so the facts need not be queried."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from nscma_torch.answering.fact_wording import FactWording, Language
from nscma_torch.core.records import FactQuery, Statement, Unit
from nscma_torch.reading.relations import Schema, family
from nscma_torch.search.later_renewals import naming, on_the_matter
from nscma_torch.semantic.graph.fact_graph import topic_key
from nscma_torch.text.names import name_key
from nscma_torch.text.scripts import script

ReadStatements = Callable[[Sequence[Unit]], Sequence[Sequence[Statement]]]  # of each unit, as language tasks read it


def value_in(
    query: FactQuery, turn: Unit, said: Sequence[Statement], asker: str, schema: Schema, now: datetime
) -> str | None:
    """Return the object that a turn's statements give in answer to the question, worded like the
    facts; None if none.
    """
    for statement in said:
        if _states(statement, query, schema, now):
            language: Language = "zh" if script(turn.text) == "cjk" else "en"
            return FactWording(language, asker).listed([statement.object])
    return None


def context_suffices(
    question: str,
    query: FactQuery | None,
    turns: Sequence[Unit],
    read: Sequence[Sequence[Statement]],
    best: int,
    schema: Schema,
    now: datetime,
) -> bool:
    """Return True if the turn at `best` holds the whole answer, as far as its statements can be read.

    A question about a fact is answered only by a statement of it: same relation, topic and person, holding now, and
    with one value at a time. A person with several values may have named the others elsewhere, and a past value says
    nothing about the present. If a later turn, or one with a later time, is on the same matter, the facts decide.

    Args:
        turns: all turns up to now, in order of arrival.
        read: the statements of each.
    """
    own = turns[best]
    if any(turn.occurred_at > own.occurred_at for turn in turns[:best]):  # it came late: others may be newer
        return False
    said = read[best]
    if query is not None and not any(_states(statement, query, schema, now) for statement in said):
        return False
    later = [statement for statements in read[best + 1 :] for statement in statements]
    return not (
        any(_same_matter(one, other, schema) for one in said for other in later)
        or _renewed_unread(question, own, said, list(zip(turns, read, strict=True))[best + 1 :], schema)
    )


def _renewed_unread(
    question: str,
    own: Unit,
    said: Sequence[Statement],
    after: Sequence[tuple[Unit, Sequence[Statement]]],
    schema: Schema,
) -> bool:
    """Return True if the same speaker may have updated it since without a statement being read."""
    spoken = [(turn, read) for turn, read in after if (turn.role, turn.name) == (own.role, own.name)]
    return any(
        on_the_matter(turn.text, naming(one, question), follows=i == 0)
        for one in said
        if schema[one.relation].cardinality == "one" and one.object
        for i, (turn, read) in enumerate(spoken)
        if one.relation not in {other.relation for other in read}
    )


def _states(statement: Statement, query: FactQuery, schema: Schema, now: datetime) -> bool:
    simple = query.asks == "object" and not (query.previous or query.before or query.count or query.as_of)
    if not simple or query.path != (statement.relation,) or schema[statement.relation].cardinality != "one":
        return False
    same = name_key(statement.subject) == name_key(query.subject)
    same = same and topic_key(statement.topic) == topic_key(query.topic)
    begins, ends = statement.valid_from, statement.valid_to
    holds = (begins is None or begins <= now) and (ends is None or ends > now)
    return same and holds and bool(statement.object) and not (statement.negated or statement.past)


def _same_matter(one: Statement, other: Statement, schema: Schema) -> bool:
    """Return True if both may state the same attribute of the same person: "my sister" may be anybody."""
    people = name_key(one.subject), name_key(other.subject)
    if people[0] != people[1] and not any("'s " in person for person in people):
        return False
    return not set(family(one.relation, schema)).isdisjoint(family(other.relation, schema))
