"""Add the reverse of statements that use a symmetric relation: "I married Ana" is also a statement about Ana."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from nscma_torch.core.records import Statement
from nscma_torch.reading.relations import Schema


def with_symmetric(statements: Iterable[Statement], schema: Schema) -> list[Statement]:
    """Return the statements; if the relation is symmetric and has one value, the reverse follows each statement.

    This reveals conflicts on either side: a marriage ends an earlier one, whichever spouse was the subject. If a
    relation has many objects, the fact graph follows the edge backwards instead.
    """
    found: list[Statement] = []
    for statement in statements:
        found.append(statement)
        if not schema[statement.relation].exclusive:
            continue
        if statement.object:
            found.append(replace(statement, subject=statement.object, object=statement.subject, replaces=""))
        if statement.replaces:
            left = replace(statement, subject=statement.replaces, object=statement.subject, replaces="", negated=True)
            found.append(replace(left, correction=False))
    return found
