"""Messages for mem0: a line of JSON for each, the arguments of its `Memory.add`.

    for line in open("memories.jsonl"): memory.add(**json.loads(line))

mem0 takes texts in through `add` alone, as a vector is its own embedder's. With `infer` false it stores a text word for
word, and with `created_at` in the metadata it keeps that time (read in mem0 2.2.1, `memory/main.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from nscma_torch.compat.mem0.expiry import last_day
from nscma_torch.compat.mem0.scopes import IDS, NO_USER
from nscma_torch.errors import InvalidInputError
from nscma_torch.records import Episode

SKIPPED = frozenset({"system"})  # roles that mem0 passes over
_OWN = frozenset(
    {"data", "hash", "created_at", "updated_at", "text_lemmatized", "role", "actor_id", "expiration_date"}
    | {"attributed_to", *IDS}
)


def calls(episodes: Iterable[Episode]) -> Iterator[dict[str, Any]]:
    """The arguments of one call for each message. Raises `InvalidInputError` for an id that mem0 refuses."""
    for episode in episodes:
        said = {"role": episode.role, "content": episode.text}
        call: dict[str, Any] = {"messages": [said | ({"name": episode.name} if episode.name else {})]}
        call |= _ids(episode)
        call |= {"metadata": _metadata(episode), "infer": False}
        day = last_day(episode.expires_at)
        yield call if day is None else {**call, "expiration_date": day}


def _ids(episode: Episode) -> dict[str, str]:
    scope = episode.scope
    ids = {"user_id": scope.user_id, "agent_id": scope.agent_id, "run_id": scope.run_id}
    if scope.user_id == NO_USER:
        del ids["user_id"]
    given = {name: one for name, one in ids.items() if one is not None}
    for name, one in given.items():
        if any(letter.isspace() for letter in one):
            raise InvalidInputError(
                f"mem0 refuses ids with white space, such as the {name} {one!r}; nothing was written"
            )
    return given


def _metadata(episode: Episode) -> dict[str, Any]:
    """The message's own metadata, of which keys that mem0 fills itself get a prefix, and what mem0 has no field for."""
    own = {f"nscma_{key}" if key in _OWN else key: value for key, value in episode.metadata.items()}
    more = {"nscma_id": episode.id, "session": episode.session, "source": episode.source}
    kept = {key: value for key, value in more.items() if value is not None}
    return kept | own | {"created_at": episode.occurred_at.isoformat()}
