"""What is claimed of one group, put in the order in which it bears on the world: before facts are made of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from nscma_torch.config import Curator as CuratorSection

_DAY = 86_400_000_000  # microseconds


@dataclass(frozen=True, slots=True)
class Claim:
    """One statement about a group that holds one value at a time. Times are microseconds.

    `begins` and `ends` are the times that it names itself; `order` puts claims of one time in the order they were
    said. An empty `value` denies all (with `negated`), or only says that `replaces` has ended. `correction`: what its
    speaker said before was never true; `past`: it held once. A `decisive` claim is not weighed against others.
    `vague`: its value is a description, which takes no name's place. `confidence` and `trust` are in (0, 1].
    """

    seq: int
    value: str
    said_at: int
    order: int
    speaker: str
    negated: bool = False
    replaces: str = ""
    correction: bool = False
    past: bool = False
    begins: int | None = None
    ends: int | None = None
    confidence: float = 1.0
    trust: float = 1.0
    decisive: bool = False
    vague: bool = False

    @property
    def said(self) -> tuple[int, int, int]:
        """Place in the order of saying."""
        return self.said_at, self.order, self.seq

    @property
    def over(self) -> bool:
        """Whether what it says had ended when it was said."""
        return not self.negated and (self.past or (self.ends is not None and self.ends <= self.said_at))

    @property
    def asserts(self) -> bool:
        """Whether it says that its value holds, at the time that it was said or from then on."""
        return bool(self.value) and not self.negated and not self.over


@dataclass(frozen=True, slots=True)
class Rules:
    """How claims are weighed.

    Attributes:
        half_life: microseconds after which a claim weighs half.
        decision_ratio: ratio of scores, at least 1, below which neither side is the better.
        correction_window: microseconds within which a correction that names nothing is about what was said just before.
    """

    half_life: int
    decision_ratio: float
    correction_window: int

    @classmethod
    def of(cls, section: CuratorSection) -> Rules:
        """Those of a configuration's [curator] section, whose times are days."""
        return cls(int(section.half_life * _DAY), section.decision_ratio, int(section.correction_window * _DAY))


class Placed(NamedTuple):
    """A claim with its place on the time line: `time`, and among those of one time the place of `said`.

    `replaces` is what it took the place of, where the claim that it corrects said so.
    """

    time: int
    said: tuple[int, int, int]
    claim: Claim
    replaces: str


class Prepared(NamedTuple):
    """Claims in the order of the world, and those that were never true: (claim, its correction, time)."""

    placed: list[Placed]
    corrected: list[tuple[Claim, Claim, int]]


def prepare(claims: Sequence[Claim], rules: Rules) -> Prepared:
    """Take out what was corrected, and put the rest in the order of world time, then of saying."""
    spoken = sorted(claims, key=lambda claim: claim.said)
    wrong: dict[int, Claim] = {}  # by seq of what was never true, its correction
    place: dict[int, Placed] = {}
    alive: list[Claim] = []
    for claim in spoken:
        targets = _targets(claim, alive, rules) if claim.correction else []
        if targets:
            wrong.update((target.seq, claim) for target in targets)
            alive = [other for other in alive if other.seq not in wrong]
            first = min((place[target.seq] for target in targets), key=lambda placed: placed[:2])
            time = first.time if claim.begins is None else claim.begins
            place[claim.seq] = Placed(time, first.said, claim, first.replaces)
        else:
            time = claim.said_at if claim.begins is None else claim.begins
            place[claim.seq] = Placed(time, claim.said, claim, "" if claim.correction else claim.replaces)
        alive.append(claim)
    for claim in alive:
        if (seen := _refuted(claim, alive)) is not None and place[claim.seq].time <= seen:
            place[claim.seq] = place[claim.seq]._replace(time=seen + 1, said=claim.said)
    corrected = [(claim, wrong[claim.seq], place[claim.seq].time) for claim in spoken if claim.seq in wrong]
    return Prepared(sorted((place[claim.seq] for claim in alive), key=lambda placed: placed[:2]), corrected)


def _targets(correction: Claim, before: Sequence[Claim], rules: Rules) -> list[Claim]:
    """What a correction takes back, of the claims said before it: one speaker's claims of one value, without a break.

    Without a value named, it is what its speaker said last, if that is not long ago and says something else.
    """
    if correction.replaces:
        fitting = [
            claim
            for claim in before
            if claim.value == correction.replaces and not claim.negated and claim.trust <= correction.trust
        ]
        own = [claim for claim in fitting if claim.speaker == correction.speaker]
        return _last_run(own or fitting, before)
    own = [claim for claim in before if claim.speaker == correction.speaker]
    if not own or correction.said_at - own[-1].said_at > rules.correction_window:
        return []
    last = own[-1]
    same = last.negated == correction.negated and last.value == correction.value
    other_denied = correction.negated and correction.value not in ("", last.value)
    return [] if same or other_denied else _last_run([last], before)


def _last_run(found: Sequence[Claim], before: Sequence[Claim]) -> list[Claim]:
    if not found:
        return []
    last = found[-1]
    run = []
    for claim in reversed([claim for claim in before if claim.speaker == last.speaker and claim.said <= last.said]):
        if (claim.value, claim.negated, claim.past) != (last.value, last.negated, last.past):
            break
        run.append(claim)
    return run


def _refuted(claim: Claim, claims: Sequence[Claim]) -> int | None:
    """The last time before it was said at which its own speaker held otherwise, though it names an earlier begin.

    "I live in Rome", then "I moved to Oslo this year": the move came after the first was said, not on New Year's Day.
    What is told again refutes nothing: the speaker had said the same before he said otherwise.
    """
    if not claim.asserts or claim.begins is None or claim.begins > claim.said_at:
        return None
    seen = None
    for other in claims:  # in the order of saying
        if other.speaker != claim.speaker or other.said_at < claim.begins or other.said >= claim.said or other.over:
            continue
        if other.asserts and other.value == claim.value:
            return seen
        if other.begins is None and (other.asserts or (other.negated and other.value in ("", claim.value))):
            seen = other.said_at
    return seen
