"""Find facts related to a text and to messages, for example to a question and the passages found for it."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection

from nscma_torch.core.records import Fact, Scope
from nscma_torch.semantic.store import facts, facts_told
from nscma_torch.semantic.store.statement_groups import Key
from nscma_torch.text.names import name_key

_NAMED_WORDS = 100  # of a text, in which names are looked for
_LONGEST_NAME = 3  # words


def related(
    connection: Connection, scope: Scope, named_in: str, told_in: Sequence[str], known_at: int | None
) -> list[Fact]:
    """Return facts about the names in a text, and current facts about what messages state, starting with the first
    message.

    If a message states something outdated, the current fact with the same subject, relation and topic is returned.
    """
    told = facts_told.groups_told(connection, scope.user_id, told_in)
    named = _names(named_in)
    wanted = {key.subject for key in told} | named
    if not wanted:
        return []
    ranked = []
    for fact in facts.select_facts(connection, scope, subjects=wanted, known_at=known_at):
        subject = name_key(fact.subject)
        place = told.get(Key(subject, fact.relation, fact.topic))
        if place is not None or subject in named:
            ranked.append((len(told_in) if place is None else place, -fact.confidence, fact.id, fact))
    return [fact for *_, fact in sorted(ranked)]


def _names(text: str) -> set[str]:
    """Return the keys of all sequences of a few words, each of which may be a name."""
    words = text.split()[:_NAMED_WORDS]
    runs = (words[i : i + n] for n in range(1, _LONGEST_NAME + 1) for i in range(len(words) - n + 1))
    keys = {name_key(" ".join(run)) for run in runs}
    return {key.removesuffix("'s") for key in keys} | keys - {""}
