"""Check whether one turn in the active context fully answers a question, so the facts need not be queried."""

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
    """Return the object in a turn's statements that answers the question, worded as the facts would be. Returns None if
    no statement answers it.
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
    """Return True if the turn at `best` contains the whole answer, judging by the statements extracted from it.

    A question about a fact is answered only by a statement with the same relation, topic and person that holds now, and
    only if the relation has one value at a time. For a relation with several values, the person may have named others
    elsewhere, and a past value says nothing about the present. If a later turn, or one with a later time, is about the
    same topic, the facts are queried.

    Args:
        turns: all turns so far, in order of arrival.
        read: the statements extracted from each turn.
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
    """Return True if the same speaker may have updated the value later without a statement being extracted."""
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
    """Return True if both may state the same attribute of the same person. An indirect name such as "my sister" may
    refer to anyone.
    """
    people = name_key(one.subject), name_key(other.subject)
    if people[0] != people[1] and not any("'s " in person for person in people):
        return False
    return not set(family(one.relation, schema)).isdisjoint(family(other.relation, schema))
