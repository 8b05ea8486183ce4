"""Messages for MemPalace: a folder of transcripts for each user, to be read by `mempalace mine FOLDER --mode convos`.

A conversation of a day is a file of JSON lines in the form of Claude Code's transcripts, the one form that MemPalace
reads with its time; it takes that of the newest line for all of a file, and needs two turns. What is a single turn, or
a document, is a text file that begins with its day (read in MemPalace 3.11.0, `normalize.py`, `convo_miner.py`).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from itertools import groupby

from nscma_torch.records import Episode

SKIPPED = frozenset({"system", "tool"})  # roles that its transcripts do not have
_SPEAKERS = {"user": "user", "assistant": "assistant"}


def transcripts(episodes: Iterable[Episode]) -> Iterator[tuple[str, str]]:
    """Name of a file, below a folder for its user, and its text."""
    ordered = sorted(episodes, key=_place)
    for _, group in groupby(ordered, key=lambda one: _place(one)[:2]):
        together = list(group)
        first = together[0]
        spoken = first.role in _SPEAKERS and _turns(together) >= 2
        text = _lines(together) if spoken else _plain(together)
        yield f"{_name(first.scope.user_id)}/{_file(first)}.{'jsonl' if spoken else 'txt'}", text


def _place(episode: Episode) -> tuple[str, str, int]:
    """User, conversation or document of a day, and position."""
    return episode.scope.user_id, _file(episode), episode.position


def _turns(episodes: Iterable[Episode]) -> int:
    """How many turns MemPalace makes of them: those of the assistant that follow each other are one."""
    roles = [one.role for one in episodes]
    return sum(role != "assistant" or before != "assistant" for before, role in zip(["", *roles], roles, strict=False))


def _lines(episodes: Iterable[Episode]) -> str:
    entries = (
        {
            "type": _SPEAKERS[one.role],
            "timestamp": one.occurred_at.isoformat(),
            "message": {"role": _SPEAKERS[one.role], "content": _said(one)},
        }
        for one in episodes
    )
    return "".join(f"{json.dumps(entry, ensure_ascii=False)}\n" for entry in entries)


def _plain(episodes: Iterable[Episode]) -> str:
    together = list(episodes)
    first = together[0]
    about = f" {first.source}" if first.source else ""
    texts = [_said(one) if one.role == "document" else f"{one.role}: {_said(one)}" for one in together]
    return "\n\n".join([f"[{first.occurred_at:%Y-%m-%d}]{about}", *texts]) + "\n"


def _said(episode: Episode) -> str:
    return f"{episode.name}: {episode.text}" if episode.name else episode.text


def _file(episode: Episode) -> str:
    """A name that no other conversation or document has: `+` is in none of `_name`."""
    if episode.role == "document":
        about = f"document+{_name(episode.source or '')}"
    else:
        about = "+messages" if episode.session is None else _name(episode.session)
    return f"{about}-{episode.occurred_at:%Y-%m-%d}"


def _name(text: str) -> str:
    """A name for a file: of letters and digits; another one for another text."""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", text).strip("-")[:40]
    if plain == text:
        return plain
    return f"{plain or 'name'}-{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"
