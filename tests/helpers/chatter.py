"""Messages of somebody who tells facts, changes them, repeats himself and says ok."""

from __future__ import annotations

import random


def chatter(rng: random.Random) -> str:
    """A message of somebody who moves, changes his mind, repeats himself and says ok."""
    who, place = rng.choice(("I", "My sister", "My boss")), rng.choice(("Oslo", "Rome", "Bern", "Porto"))
    thing, colour = rng.choice(("tea", "jazz", "chess", "opera")), rng.choice(("red", "blue", "green"))
    return rng.choice(
        (
            f"{who} moved to {place}.",
            f"{who} {'live' if who == 'I' else 'lives'} in {place}.",
            f"I like {thing}.",
            f"I don't like {thing} any more.",
            f"My favourite colour is {colour}.",
            f"Parcel {rng.randrange(10**6)} went to flat {rng.randrange(50)} in {place}.",
            "ok",
            "thanks!",
            f"Remember that the meeting in {place} is on the {rng.randrange(1, 28)}th.",
        )
    )
