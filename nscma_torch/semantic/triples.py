"""Triple units: word each statement as a searchable sentence."""

from __future__ import annotations

from nscma_torch.core.records import Statement
from nscma_torch.reading.relations import Schema
from nscma_torch.text.scripts import script


def sentence(statement: Statement, schema: Schema) -> str:
    """Return a statement as a plain sentence in the language of its object ("Anna lives in Oslo"). A note is returned
    unchanged.
    """
    relation = schema[statement.relation]
    if relation.open and not statement.topic:
        return statement.object
    chinese = in_chinese(statement)
    template = relation.zh.template if chinese else relation.en.template
    text = template.format(
        subject=statement.subject,
        relation=relation.name.replace("_", " "),
        object=statement.object,
        topic=statement.topic,
    )
    if statement.negated or statement.past:
        return f"{text}（已不成立）" if chinese else f"{text}: no longer"
    return text


def in_chinese(statement: Statement) -> bool:
    """Return True if a statement is worded in Chinese."""
    return script(statement.object + statement.subject) == "cjk"
