"""Claims: the statements about one group in the order of world time, without corrected ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from nscma_torch.core.config import CuratorConfig
from nscma_torch.core.database.clock import to_micros
from nscma_torch.core.records import UNKNOWN_BEGIN

_DAY = 86_400_000_000  # microseconds
UNKNOWN = to_micros(UNKNOWN_BEGIN)  # before every other time
Place = tuple[int, int, int, int]  # in the order of world time: the time, then `Claim.said`


@dataclass(frozen=True, slots=True)
class Claim:
    """One statement about a group in which one value holds at a time. Times are in microseconds.

    `begins` and `ends` are the times that the statement names; the value began by `begun_by` at the latest (None: it
    holds when said). `order` sorts claims with the same time by when they were said. An empty `value` with `negated`
    denies all values; without it, the claim only states that `replaces` has ended. `correction`: the speaker's earlier
    claim was never true; `past`: the value held once. A `decisive` claim is not weighed against others. `vague`: the
    value is a description, which doesn't replace a name. `repeats`: the claim supports a current value and starts no
    new span. `confidence` and `trust` are in (0, 1]. `first_hand`: a user speaks of themselves.
    `moved_to` is its position in the order of world time if `prepare` moved it.
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
    begun_by: int | None = None
    ends: int | None = None
    confidence: float = 1.0
    trust: float = 1.0
    first_hand: bool = False
    decisive: bool = False
    vague: bool = False
    repeats: bool = False
    moved_to: Place | None = None

    @property
    def said(self) -> tuple[int, int, int]:
        """Sort key for the order in which claims were made."""
        return self.said_at, self.order, self.seq

    @property
    def place(self) -> Place:
        """Sort key for the order of world time."""
        return self.moved_to or (self.said_at if self.begins is None else self.begins, *self.said)

    @property
    def time(self) -> int:
        """Return the world time from which the claim applies."""
        return self.place[0]

    @property
    def over(self) -> bool:
        """Return True if the claimed value no longer held when the statement was made."""
        return not self.negated and (self.past or (self.ends is not None and self.ends <= self.said_at))

    @property
    def asserts(self) -> bool:
        """Return True if the statement asserts that its value holds, at the time it was said or from then on."""
        return bool(self.value) and not self.negated and not self.over


@dataclass(frozen=True, slots=True)
class Rules:
    """Parameters for weighing claims.

    Attributes:
        half_life: microseconds after which a claim's weight is halved.
        decision_ratio: ratio of scores, at least 1, below which neither side wins.
        correction_window: microseconds within which a correction that names no value refers to the previous statement.
        by_score: scores decide every conflict, regardless of the speakers and of what they say about it (NSCMA section
            3.5).
        one_object: every relation has one object at a time (the conflict set in NSCMA section 3.5).
        by_model: a model's choice for each statement decides every conflict (mem0).
        asks_model: a model's choices decide, at least for conflicts between relations.
    """

    half_life: int
    decision_ratio: float
    correction_window: int
    by_score: bool = False
    one_object: bool = False
    by_model: bool = False
    asks_model: bool = False

    @classmethod
    def of(cls, section: CuratorConfig) -> Rules:
        """Build rules from the [curator] section of a configuration, which gives times in days."""
        return cls(
            int(section.half_life * _DAY),
            section.decision_ratio,
            int(section.correction_window * _DAY),
            by_score=section.rule == "score",
            one_object=section.conflict_set == "relation",
            by_model=section.rule == "model",
            asks_model=section.asks_model,
        )


def scored(claim: Claim) -> Claim:
    """Return the claim as scores weigh it: it no longer mentions another value, or denies that value if it states
    nothing else.
    """
    if claim.value or not claim.replaces:
        return replace(claim, replaces="", correction=False, decisive=False)
    return replace(claim, value=claim.replaces, replaces="", negated=True, correction=False, decisive=False)


def prepare(claims: Sequence[Claim], rules: Rules) -> tuple[list[Claim], list[tuple[Claim, Claim]]]:
    """Return the claims that count, in the order of world time, and the claims that were never true, each with its
    correction.

    A correction takes the position of the first claim that it corrects, and replaces whatever that claim replaced.
    """
    counting: list[Claim] = []
    corrected: list[tuple[Claim, Claim]] = []
    for claim in sorted(claims, key=lambda claim: claim.said):
        targets = _targets(claim, counting, rules) if claim.correction else []
        if not targets:
            counting.append(replace(claim, replaces="") if claim.correction else claim)
            continue
        corrected += [(target, claim) for target in targets]
        wrong = {target.seq for target in targets}
        first = min(targets, key=lambda target: target.place)
        time = first.time if claim.begins is None else claim.begins
        right = replace(claim, replaces=first.replaces, moved_to=(time, *first.place[1:]))
        counting = [*(other for other in counting if other.seq not in wrong), right]
    placed = [_after_refutation(claim, counting) for claim in counting]
    return sorted(placed, key=lambda claim: claim.place), sorted(corrected, key=lambda pair: pair[0].said)


def _targets(correction: Claim, before: Sequence[Claim], rules: Rules) -> list[Claim]:
    """Return the earlier claims that a correction withdraws: consecutive claims for one value by one speaker.

    If the correction names no value, it withdraws its speaker's last claim, provided that claim is recent and has
    another value.
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


def _after_refutation(claim: Claim, claims: Sequence[Claim]) -> Claim:
    """Move a claim after its speaker's contrary statement, if the claim's time is earlier."""
    seen = _refuted(claim, claims)
    return claim if seen is None or claim.time > seen else replace(claim, moved_to=(seen + 1, *claim.said))


def _refuted(claim: Claim, claims: Sequence[Claim]) -> int | None:
    """Return when a speaker last stated the contrary, between the earliest and latest start of their claim.

    "I live in Rome", then "I moved to Oslo this year": the move came after the first statement, not on New Year's Day.
    "I moved to Oslo in 2015" names a time before the first statement, which therefore still holds. Returns None for a
    claim that repeats what its speaker said before stating the contrary.
    """
    if not claim.asserts or claim.begins is None or claim.begins > claim.said_at:
        return None
    seen = None
    for other in claims:  # in the order of saying
        if other.speaker != claim.speaker or other.said_at < claim.begins or other.said >= claim.said or other.over:
            continue
        if claim.begun_by is not None and other.said_at > claim.begun_by:
            continue
        if other.asserts and other.value == claim.value:
            return seen
        if other.begins is None and (other.asserts or (other.negated and other.value in ("", claim.value))):
            seen = other.said_at
    return seen
