"""Triples with free predicates: <head; relation; tail>, as in Structural Memory section 3.1."""

from __future__ import annotations

import re
from dataclasses import replace

from nscma_torch.core.records import Statement
from nscma_torch.reading.relations import Schema, open_relation
from nscma_torch.semantic.triples import in_chinese

_PLACES = re.compile(r"\{(subject|object)\}")


def opened(statement: Statement, schema: Schema) -> Statement:
    """Convert a statement to the open relation, using the wording of its own relation as predicate.

    "Ann's manager is Bob" becomes <Ann; manager; Bob>, "Bob is a parent of Ann" <Bob; is a parent of; Ann>. If the
    wording continues after the second name, the relation's name is the predicate: <Ann; sibling; Bob>. Raises
    `ConfigError` if the schema has no open relation.
    """
    open_ = open_relation(schema)
    relation = schema[statement.relation]
    if relation.open:
        return statement
    template = (relation.zh if in_chinese(statement) else relation.en).template
    before, first, between, second, after = _PLACES.split(template)
    named = relation.name.replace("_", " ")
    if before or after or {first, second} != {"subject", "object"}:
        return replace(statement, relation=open_.name, topic=" ".join(filter(None, (named, statement.topic))))
    wording = between.format(relation=named, topic=statement.topic).strip()
    predicate = wording.removeprefix("'s ").removesuffix(" is") if wording.startswith("'s ") else wording
    heads = statement.subject, statement.object
    if first == "object" and statement.object and not statement.replaces:
        heads = heads[::-1]
    elif first == "object":
        predicate = named
    return replace(statement, subject=heads[0], relation=open_.name, topic=predicate, object=heads[1])
