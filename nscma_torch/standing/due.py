"""List what falls due: the days that a user's messages name for something to do, to attend, or that ends.

The days come from the texts when they are asked for; nothing is stored. A message that doesn't hold any more, or whose
matter a later one fulfils ("sent the form today"), is left out.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import Connection

from nscma_torch.core.database.clock import to_micros
from nscma_torch.core.records import Due, Scope
from nscma_torch.episodic.log import episodes
from nscma_torch.reading.turn_forms import only_asks
from nscma_torch.standing import effects
from nscma_torch.text.calendar.due_days import due_days
from nscma_torch.text.scripts import script
from nscma_torch.text.sentences import split_sentences


def due(connection: Connection, scope: Scope, *, now: datetime, days: int) -> list[Due]:
    """Return what falls due from the day of `now` to `days` days later, in order; costs O(n) in the user's messages."""
    at = to_micros(now)
    found: set[Due] = set()
    for episode in episodes.select_all(connection, scope, episodes.live(at)):
        if episode.role != "user" or episode.occurred_at > now or script(episode.text) != "latin":
            continue
        today = now.astimezone(episode.occurred_at.tzinfo).date()
        for span in split_sentences(episode.text):
            sentence = episode.text[span.start : span.end]
            if any(map(str.isalpha, sentence)) and not only_asks(sentence):
                named = due_days(sentence, episode.occurred_at, today, today + timedelta(days=days))
                found.update(Due(day, sentence, episode.id) for day in named)
    seqs = episodes.seqs_of(connection, scope.user_id, {one.memory_id for one in found})
    past = {seq for seq, own in effects.of_messages(connection, seqs, at).items() if own.state == "past"}
    over = past | effects.fulfilled(connection, seqs, at)
    held = {memory_id for seq, memory_id in seqs.items() if seq not in over}
    return sorted((one for one in found if one.memory_id in held), key=lambda one: (one.day, one.memory_id))
