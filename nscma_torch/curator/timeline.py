"""What holds when, as far as a group's claims tell: a pure function of them, whatever order they arrived in.

A group holds one value at a time. Its claims are gone through in the order of the world (NSCMA section 3.5, with world
time in place of arrival): one that says otherwise than what is held ends it, if it comes from the same speaker or says
so itself, and is weighed against it if not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from nscma_torch.curator.claims import Claim, Placed, Rules, prepare
from nscma_torch.curator.timeline_records import Effect, Outcome, Span, Timeline
from nscma_torch.records import SEQUENCE_STEP, FactStatus

_ELSE = "another value took its place"
_OVER = "it was said to hold no longer"
_LESS = "it weighs less than what others say"


@dataclass(eq=False, slots=True)
class _Run:
    """A span in the making. `against` are claims that deny it; `void`: it never held."""

    value: str
    start: int | None
    end: int | None
    place: tuple[int, int, int]  # of its first claim, in the order of saying
    named: bool  # told of as what another one replaced, and not stated itself
    claims: list[Claim]
    against: list[Claim] = field(default_factory=list)
    denied_at: int = 0
    ended_by: list[Claim] = field(default_factory=list)
    void: bool = False
    reason: str = ""


def resolve(claims: Sequence[Claim], rules: Rules) -> Timeline:
    """The timeline of a group."""
    prepared = prepare(claims, rules)
    fold = _Fold(rules)
    for wrong, correction, time in prepared.corrected:
        fold.strike(wrong, correction, time)
    events = [event for placed in prepared.placed for event in _events(placed)]
    for time, _, ends, placed in sorted(events, key=lambda event: event[:3]):
        if ends:
            fold.end(placed.claim, time)
        elif placed.claim.negated:
            fold.deny(placed.claim, time)
        else:
            fold.say(placed.claim, time, placed.replaces)
    return fold.timeline(max((claim.said_at for claim in claims), default=0))


def _is_named(run: _Run) -> bool:
    """Whether its value is a name, and no description."""
    return any(not claim.vague for claim in run.claims)


def _events(placed: Placed) -> list[tuple[int, tuple[int, int, int], bool, Placed]]:
    """When a claim begins to bear on the group, and when it ends what it said."""
    claim = placed.claim
    undated = claim.over and claim.begins is None  # its end is all that is known
    found = [] if undated else [(placed.time, placed.said, False, placed)]
    end = claim.said_at if claim.over and claim.ends is None else claim.ends
    if end is not None and claim.value and not claim.negated:
        found.append((end if undated else max(end, placed.time), claim.said, True, placed))
    return found


class _Fold:
    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._runs: list[_Run] = []
        self._of_value: dict[str, list[_Run]] = {}
        self._open: list[_Run] = []  # one, or the sides of a dispute, in the order they began
        self._struck: dict[int, list[_Run]] = {}  # by correction
        self._did: dict[int, tuple[Effect, list[_Run], str]] = {}

    def strike(self, wrong: Claim, correction: Claim, time: int) -> None:
        """A claim that was never true."""
        struck = self._struck.setdefault(correction.seq, [])
        if wrong.negated or not wrong.value:
            self._did[wrong.seq] = ("corrected", [], "its speaker took it back")
            return
        run = next((run for run in struck if run.value == wrong.value), None)
        if run is None:
            run = self._begin(_Run(wrong.value, time, time, wrong.said, False, [], void=True))
            run.ended_by, run.reason = [correction], "never true: its speaker corrected it"
            struck.append(run)
        run.claims.append(wrong)
        self._did[wrong.seq] = ("corrected", [run], run.reason)

    def say(self, claim: Claim, time: int, replaces: str) -> None:
        """A claim that something holds, or held, from `time` on."""
        run = next((run for run in self._open if run.value == claim.value), None)
        if claim.vague and run is None and any(_is_named(side) for side in self._open):
            self._did[claim.seq] = ("nothing", [], "it describes, and what holds has a name")
            return
        before = list(self._open)
        named = self._leave(claim, time, replaces, run) if replaces not in ("", claim.value) else []
        if claim.value:
            self._close([side for side in self._open if side is not run and _decides(claim, side)], time, claim, _ELSE)
            effect: Effect = "joins" if run else "opens"
            if run is None:
                run = self._lost(claim.value) or self._begin(_Run(claim.value, time, None, claim.said, False, []))
                self._open = sorted([*self._open, run], key=_place)
            run.claims.append(claim)
            run.against = [denial for denial in run.against if denial.speaker != claim.speaker]
            self._weigh()
        ended = [side for side in before if side.end is not None] + named
        if run is None:
            self._did[claim.seq] = ("ends" if ended else "nothing", ended, "" if ended else "it had ended before")
        elif run.end is not None:
            self._did[claim.seq] = ("loses", [run], run.reason)
        else:
            self._did[claim.seq] = (effect, [run, *ended, *self._struck.get(claim.seq, ())], "")

    def deny(self, claim: Claim, time: int) -> None:
        """A claim that something does not hold at `time`; what is not held stays as it is."""
        if claim.seq in self._struck:
            self._did[claim.seq] = ("corrects", self._struck[claim.seq], "it takes back what its speaker said")
            return
        denied = [run for run in self._open if claim.value in ("", run.value)]
        if not denied:
            self._did[claim.seq] = ("nothing", [], "what it denies was not held")
            return
        self._doubt(denied, time, claim)

    def end(self, claim: Claim, time: int) -> None:
        """The time at which what a claim told of is over."""
        run = next((run for run in self._open if run.value == claim.value), None)
        if claim.begins is not None or not claim.over:  # it was said before
            renewed = run and any(other.ends is not None and other.said > claim.said for other in run.claims)
            if run and claim in run.claims and not renewed:
                self._close([run], time, claim, "it ended when it was said to")
            return
        if run is not None:
            self._doubt([run], time, claim)
            if run.end is not None:
                run.claims.append(claim)
            return
        known = [run for run in self._of_value.get(claim.value, ()) if not run.void]
        if known:
            known[-1].claims.append(claim)
            self._did[claim.seq] = ("joins", [known[-1]], "it was known to have ended")
            return
        start, end = self._gap(time) if claim.ends is not None else self._front(time)
        past = self._begin(_Run(claim.value, start, end, claim.said, False, [claim], reason="it held once"))
        self._did[claim.seq] = ("past", [past], past.reason)

    def _doubt(self, denied: Sequence[_Run], time: int, claim: Claim) -> None:
        self._close([run for run in denied if _decides(claim, run)], time, claim, _OVER)
        for run in denied:
            if run.end is None:
                run.denied_at = run.denied_at if run.against else time
                run.against.append(claim)
        self._weigh()
        ended = [run for run in denied if run.end is not None]
        reason = "" if ended else "it does not weigh clearly more than what it denies"
        self._did[claim.seq] = ("ends" if ended else "loses", ended or list(denied), reason)

    def _leave(self, claim: Claim, time: int, value: str, run: _Run | None) -> list[_Run]:
        """End the value that a claim names as the one before; returns a run for it where it was never stated."""
        left = next((side for side in self._open if side.value == value), None)
        if left is not None:
            self._close([left] if run else self._open, time, claim, _ELSE, best=left)
            return []
        until = time if run is None or run.start is None else run.start
        start, end = self._gap(until, beside=run)
        last = max((side for side in self._closed() if _ends(side) <= until), key=_followed, default=None)
        if last is not None and last.value == value and all(side is run for side in self._open):
            return []
        return [self._begin(_Run(value, start, end, claim.said, True, [claim], reason=_ELSE))]

    def _gap(self, until: int, beside: _Run | None = None) -> tuple[int | None, int]:
        """The time before `until` in which nothing is known to have held; of no length where something did."""
        if any(side is not beside for side in self._open):
            return until, until
        return max((_ends(run) for run in self._closed() if _ends(run) <= until), default=None), until

    def _front(self, until: int) -> tuple[int | None, int]:
        """The time before all that is known; of no length where that has no begin."""
        known = [*self._closed(), *self._open]
        if not known:
            return None, until
        if all(run.start is not None for run in known):
            return None, min(run.start for run in known if run.start is not None)
        first = min(_ends(run) for run in known if run.start is None)
        return first, first

    def _closed(self) -> list[_Run]:
        return [run for run in self._runs if run.end is not None and not run.void]

    def _begin(self, run: _Run) -> _Run:
        self._runs.append(run)
        self._of_value.setdefault(run.value, []).append(run)
        return run

    def _close(self, closing: Sequence[_Run], time: int, claim: Claim, reason: str, best: _Run | None = None) -> None:
        """End sides that a claim decides against. If all go, the best of them held until now."""
        closing = list(closing)
        if len(closing) < len(self._open):
            best = None
        elif closing and best is None:
            scores = self._scores([side.claims for side in closing])
            best = closing[scores.index(max(scores))]
        ends = [time if side is best else self._undisputed(side) for side in closing]
        for side, end in zip(closing, ends, strict=True):
            self._finish(side, end, [claim], reason, void=side is not best and end == side.start)

    def _lost(self, value: str) -> _Run | None:
        """A side that weighed less than what is held still: what is said for it now is added to it."""
        for run in reversed(self._of_value.get(value, ())):
            lost = run.void and run.reason == _LESS
            if lost and any(_place(side) < _place(run) for side in self._open):
                run.end, run.void, run.ended_by = None, False, []
                return run
        return None

    def _undisputed(self, side: _Run) -> int:
        """Until when a side of a dispute was the only one: it began before the next one, or never held."""
        first, second = self._open[:2]
        end = second.start if side is first else side.start
        assert end is not None  # what is open has a begin
        return end

    def _finish(self, side: _Run, end: int, by: Sequence[Claim], reason: str, *, void: bool) -> None:
        side.end = end if side.start is None else max(end, side.start)
        side.void = void
        side.ended_by += by
        side.reason = reason
        self._open.remove(side)

    def _weigh(self) -> None:
        """Drop what weighs clearly less than what contradicts it."""
        ratio = self._rules.decision_ratio
        for side in [side for side in self._open if side.against]:
            held, denied = self._scores([side.claims, side.against])
            if denied >= ratio * held:
                by = list(side.against)
                end = side.denied_at if len(self._open) == 1 else self._undisputed(side)
                self._finish(side, end, by, "it weighs less than what denies it", void=False)
        if len(self._open) < 2:
            return
        scores = self._scores([side.claims for side in self._open])
        best = self._open[scores.index(max(scores))]
        losers = [side for side, score in zip(self._open, scores, strict=True) if max(scores) >= ratio * score]
        losers = [side for side in losers if side is not best]
        ends = [self._undisputed(side) for side in losers]
        for side, end in zip(losers, ends, strict=True):
            self._finish(side, end, best.claims, _LESS, void=end == side.start)

    def _scores(self, sides: Sequence[Sequence[Claim]]) -> list[float]:
        """Confidence, decay with age, and trust (NSCMA section 3.5); a speaker counts once a side, with his best claim.

        Age counts from the newest claim of all sides: only the ratio matters.
        """
        newest = max((claim.said_at for claims in sides for claim in claims), default=0)
        scores = []
        for claims in sides:
            best: dict[str, float] = {}
            for claim in claims:
                decay = 2.0 ** ((claim.said_at - newest) / self._rules.half_life)
                best[claim.speaker] = max(claim.confidence * claim.trust * decay, best.get(claim.speaker, 0.0))
            scores.append(sum(best.values()))
        return scores

    def timeline(self, latest: int) -> Timeline:
        """What came out; `latest` is when the newest claim was said: what ends later has not ended yet."""
        runs = sorted(self._runs, key=_place)
        spans: list[Span] = []
        for run in runs:
            status, reason = self._status(run, latest)
            sequence = SEQUENCE_STEP * run.place[1] + (not run.named)
            if spans and spans[-1].valid_from == run.start:
                sequence = max(sequence, spans[-1].sequence + 1)
            ended = (
                None
                if run.end is None
                else max(sequence, SEQUENCE_STEP * max((by.order for by in run.ended_by), default=0))
            )
            supporters = {claim.seq for claim in run.claims}
            enders = {claim.seq for claim in (*run.ended_by, *run.against)} - supporters
            doubt = math.prod(1 - claim.confidence * claim.trust for claim in run.claims)
            spans.append(
                Span(
                    run.value,
                    run.start,
                    run.end,
                    status,
                    0.0 if run.void else 1 - doubt,
                    tuple(sorted(supporters)),
                    tuple(sorted(enders)),
                    sequence,
                    ended,
                    reason,
                )
            )
        number = {id(run): i for i, run in enumerate(runs)}
        outcomes = {
            seq: Outcome(effect, tuple(number[id(run)] for run in dict.fromkeys(own)), reason)
            for seq, (effect, own, reason) in self._did.items()
        }
        return Timeline(tuple(spans), outcomes)

    def _status(self, run: _Run, latest: int) -> tuple[FactStatus, str]:
        if run.end is not None:
            return "active" if run.end > latest and run.end != run.start else "archived", run.reason
        held, denied = self._scores([run.claims, run.against])
        if len(self._open) > 1 or self._rules.decision_ratio * denied > held:
            return "disputed", "others say otherwise, and neither side weighs clearly more"
        return "active", "nothing that weighs as much contradicts it"


def _decides(claim: Claim, side: _Run) -> bool:
    """Whether a claim that contradicts a side ends it without being weighed against it.

    It does if it says so, if it names what it replaces, if one of the side's own speakers makes it, or if both name
    when they begin: then one followed the other.
    """
    dated = claim.begins is not None and side.claims[0].begins is not None
    follows = dated and side.start is not None and claim.begins is not None and claim.begins > side.start
    moves = claim.replaces not in ("", claim.value) and not claim.correction
    return claim.decisive or moves or follows or any(other.speaker == claim.speaker for other in side.claims)


def _ends(run: _Run) -> int:
    assert run.end is not None
    return run.end


def _followed(run: _Run) -> tuple[int, bool, int, tuple[int, int, int], bool]:
    return _ends(run), *_place(run)


def _place(run: _Run) -> tuple[bool, int, tuple[int, int, int], bool]:
    return run.start is not None, run.start or 0, run.place, not run.named
