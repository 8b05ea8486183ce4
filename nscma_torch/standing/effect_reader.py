"""Read how new messages bear on similar ones: which they end, and what rests on what.

A message is compared with the messages whose vectors are most similar to its own, unless both vectors tell that no
effect is likely (`likely_pairs`). If it ends or voids one of them, it is compared with the neighbours of that one as
well: "I handed in my laptop" is similar to "I work at Lumora", and that to "tram 7 takes me to the office". A message
that arrives late is compared with what ended its neighbours, for the same reason.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from nscma_torch.core.records import Episode
from nscma_torch.reading.reader import Reader
from nscma_torch.reading.reader_input import InputPassage
from nscma_torch.reading.reader_model import CHANGES
from nscma_torch.reading.turn_forms import only_asks
from nscma_torch.standing.effects import NewEffect
from nscma_torch.standing.standings import ENDS, RENEWS, RESTS, VOIDS, Effect
from nscma_torch.text.scripts import script

Pair = tuple[int, int]  # row numbers, the earlier message first
Likely = Callable[[Collection[Pair]], Collection[Pair]]  # those of the pairs that are worth reading
Neighbours = Callable[[int], Collection[int]]  # the row numbers of the messages most similar to one
Ended = Callable[[Collection[int]], Collection[Pair]]  # those of some messages known to be ended, each with by which

RESTING = 0.5  # least probability that a message rests on another; of .5 to .65 on two development authors
LONGEST = 600  # characters of a message that are compared


class EffectReader:
    """Classifies pairs of messages with the trained reader.

    Args:
        reader: returns the reader; called on first use.
        least: minimum probability of an effect. That one message rests on another, which only matters if the other
            ends, needs `RESTING`.
    """

    def __init__(self, reader: Callable[[], Reader], least: float) -> None:
        self._reader = reader
        self._least = least

    def read(
        self,
        new: Sequence[int],
        said: Callable[[Collection[int]], Mapping[int, Episode]],
        near: Neighbours,
        likely: Likely = lambda pairs: pairs,
        ended: Ended = lambda _: (),
    ) -> list[NewEffect]:
        """Return the effects between new messages and their neighbours.

        Args:
            new: row numbers of the messages.
            said: loads messages by row number.
            near: returns the neighbours of a message, which it may be compared with.
            likely: chooses the pairs of neighbours to compare.
            ended: returns which messages are known to be ended or voided, each with the message that did so.
        """
        found: dict[Pair, NewEffect] = {}
        seen: set[Pair] = set()
        wanted = {(seq, other) for seq in new for other in near(seq)}
        for hop in range(2):
            pairs = self._pairs(wanted, said) - seen
            seen |= pairs
            if not hop:  # what rests on an ended message is often not similar to the one that ends it
                pairs = set(likely(pairs))
            for own in self._classified(sorted(pairs), said):
                found[own.effect.earlier, own.effect.later] = own
            gone = {(e.effect.earlier, e.effect.later) for e in found.values() if e.effect.kind in {*ENDS, VOIDS}}
            wanted = {(by, other) for own, by in gone for other in near(own)}
            wanted |= {(by, seq) for seq in new for _, by in ended(near(seq))}
        return list(found.values())

    def _pairs(self, wanted: Iterable[Pair], said: Callable[[Collection[int]], Mapping[int, Episode]]) -> set[Pair]:
        """Return the pairs of messages that can bear on each other, in the order they were said."""
        episodes = said({seq for pair in wanted for seq in pair})
        telling = {seq: one for seq, one in episodes.items() if tells(one.role, one.text)}
        pairs = set()
        for one, other in wanted:
            if one != other and one in telling and other in telling:
                first, second = sorted((one, other), key=lambda seq: (telling[seq].occurred_at, seq))
                pairs.add((first, second))
        return pairs

    def _classified(
        self, pairs: Sequence[Pair], said: Callable[[Collection[int]], Mapping[int, Episode]]
    ) -> Iterable[NewEffect]:
        if not pairs:
            return
        episodes = said({seq for pair in pairs for seq in pair})
        earlier = [f"{_speaker(episodes[a])}: {episodes[a].text[:LONGEST]}" for a, _ in pairs]
        later = [
            [InputPassage(episodes[b].text[:LONGEST], _speaker(episodes[b]), episodes[b].occurred_at)] for _, b in pairs
        ]
        for (a, b), likely in zip(pairs, self._reader().changes(earlier, later).tolist(), strict=True):
            kind, probability = likeliest(dict(zip(CHANGES, likely, strict=True)))
            if probability >= (RESTING if kind == RESTS else self._least):
                yield NewEffect(Effect(a, b, kind), probability)


def likeliest(likely: Mapping[str, float]) -> tuple[str, float]:
    """Return the likeliest kind of effect, and the probability of any of those that come to the same for the earlier
    message: that it doesn't hold any more, that it does, or that the later one rests on it.
    """
    groups = (frozenset({*ENDS, VOIDS}), RENEWS, frozenset({RESTS}))
    told = [{kind: likely[kind] for kind in CHANGES if kind in group} for group in groups]
    group = max(told, key=lambda own: sum(own.values()))
    return max(group, key=group.__getitem__), sum(group.values())


def tells(role: str, text: str) -> bool:
    """Return True if a message may state something that the reader can read: it only knows English."""
    return role == "user" and script(text) == "latin" and not only_asks(text)


def _speaker(episode: Episode) -> str:
    return episode.name or episode.role
