"""Tell namesakes apart by what their speaker calls them ("my boss Maria", "my cousin Maria").

The first keeps the name, and the other becomes "Maria (cousin)". A mention without a role means the person mentioned
last. Once a message states that both roles are one person, they are merged. Two roles that no message joins stay
separate even if they belong to one person, because a wrong merge is worse than a split.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from sqlalchemy import Connection

from nscma_torch.core.records import Statement, Unit
from nscma_torch.reading.relations import Schema
from nscma_torch.reading.roles import role_of, roles_of, same_role
from nscma_torch.semantic.store import namespaces
from nscma_torch.semantic.store.name_mentions import Mention, Mentions, mentions
from nscma_torch.text.names import name_key

_NAMED = "named"


def told_apart(
    connection: Connection,
    user_id: str,
    chunks: Sequence[tuple[int, Unit]],
    statements: Sequence[Sequence[Statement]],
    schema: Schema,
) -> list[list[Statement]]:
    """Return the chunks' statements, each with its message's row number, with distinct names for namesakes."""
    here = {seq for seq, _ in chunks}
    namesakes: dict[str, Namesakes] = {}
    found: list[list[Statement]] = [[] for _ in chunks]
    for i in sorted(range(len(chunks)), key=lambda i: (chunks[i][0], chunks[i][1].start)):
        seq, unit = chunks[i]
        namespace = namespaces.namespace_id(user_id, unit.scope.agent_id)
        mentioned = partial(mentions, connection, namespace, without=here)
        found[i] = namesakes.setdefault(namespace, Namesakes(mentioned, schema)).told_apart(seq, unit, statements[i])
    return found


class Namesakes:
    """Resolves the names in messages, in the order the messages were said.

    Args:
        mentions: finds mentions of a name before a message, excluding the messages being processed.
    """

    def __init__(self, mentions: Mentions, schema: Schema) -> None:
        self._mentions = mentions
        self._schema = schema
        self._here: list[Mention] = []

    def told_apart(self, seq: int, unit: Unit, statements: Sequence[Statement]) -> list[Statement]:
        """Return the statements in message number `seq`, with distinct names for namesakes."""
        speaker = unit.name or unit.role
        found = list(statements)
        for name in dict.fromkeys(filter(None, (_person(one, speaker) for one in statements))):
            meant = self._meant(name, seq, unit, speaker)
            self._here.append(Mention(seq, meant[0], unit.text, speaker))
            if meant[0] != name:
                found = [_renamed(one, name, meant[0]) for one in found]
            found += [_merge(meant[0], other, statements[0]) for other in meant[1:]]
        return found

    def _meant(self, name: str, seq: int, unit: Unit, speaker: str) -> list[str]:
        """Return the entity that a name means in a message, and other entities that the message equates with it."""
        role = role_of(name, unit.text)
        known = _Known([*self._mentions(name, seq), *(one for one in self._here if _is_of(one, name))], name, speaker)
        if not known.entities or not (role or len(known.entities) > 1):
            return [name]
        if not role:
            return [known.entities[-1]]
        fitting = known.in_roles(frozenset({role}), self._schema)
        if not fitting or len(known.entities) > 1:
            fitting = known.in_roles(roles_of(name, unit.text), self._schema)
        return fitting or [f"{name} ({role})"]


class _Known:
    """The entities that share a name, latest mention last, and the nouns that the speaker used for each."""

    def __init__(self, mentions: Sequence[Mention], name: str, speaker: str) -> None:
        last = {one.entity: place for place, one in enumerate(mentions)}
        self.entities = sorted(last, key=last.__getitem__)
        self._roles: dict[str, set[str]] = {entity: set() for entity in self.entities}
        for one in mentions:
            role = role_of(name, one.text) if one.speaker == speaker else ""
            if role:
                self._roles[one.entity].add(role)

    def in_roles(self, roles: frozenset[str], schema: Schema) -> list[str]:
        """Return the entities that can have one of these roles: those called so, or else those without a noun."""
        called = [e for e in self.entities if any(same_role(a, b, schema) for a in self._roles[e] for b in roles)]
        return sorted(called, key=len) or [e for e in self.entities if not self._roles[e]][-1:]


def _person(statement: Statement, speaker: str) -> str:
    """Return the single-word proper name at the start of a statement's subject or object; "" if there is none."""
    for phrase in (statement.subject, statement.object):
        first = phrase.removesuffix("'s").partition("'s ")[0]
        if first.isalpha() and first[:1].isupper() and name_key(first) != name_key(speaker):
            return first
    return ""


def _is_of(mention: Mention, name: str) -> bool:
    return mention.entity == name or mention.entity.startswith(f"{name} (")


def _renamed(statement: Statement, name: str, meant: str) -> Statement:
    def phrase(text: str) -> str:
        return meant + text.removeprefix(name) if text == name or text.startswith(f"{name}'s ") else text

    return replace(statement, subject=phrase(statement.subject), object=phrase(statement.object))


def _merge(entity: str, other: str, beside: Statement) -> Statement:
    """Build the statement that two entities are the same."""
    return Statement(entity, _NAMED, other, start=beside.start, end=beside.end)
