"""Derive a group's timeline from its claims: a pure function of the claims, independent of their order of arrival.

A group has one value at a time. Its claims are applied in the order of world time (NSCMA section 3.5 applies them in
the order of arrival). A claim for another value ends the current value if the same speaker makes it or if it states so
itself; otherwise, and always with `Rules.by_score`, the two are weighed against each other. No claim ends what a more
trusted role says without being weighed against it, and what users say of themselves is neither ended nor disputed by a
less trusted role (a document, a tool, an assistant).
"""

from __future__ import annotations

from collections.abc import Sequence

from nscma_torch.core.records import SEQUENCE_STEP, FactStatus
from nscma_torch.semantic.timeline.claims import UNKNOWN, Claim, Place, Rules, prepare, scored
from nscma_torch.semantic.timeline.timeline_records import Effect, Outcome, Timeline, ValidSpan

_ELSE = "another value took its place"
_OVER = "it was said to hold no longer"
_LESS = "it weighs less than what others say"
_HEARSAY = "the user's own words say otherwise"


def resolve(claims: Sequence[Claim], rules: Rules) -> Timeline:
    """Resolve a group's claims into its timeline."""
    counting, corrected = prepare([scored(claim) for claim in claims] if rules.by_score else claims, rules)
    fold = _Fold(rules)
    for wrong, correction in corrected:
        fold.strike(wrong, correction)
    events = [event for claim in counting for event in _events(claim)]
    for place, over, claim in sorted(events, key=lambda event: event[:2]):
        if over:
            fold.end(claim, place[0])
        elif claim.negated:
            fold.deny(claim)
        else:
            fold.say(claim)
    return fold.timeline(max((claim.said_at for claim in claims), default=0))


def _is_named(span: ValidSpan) -> bool:
    """Return True if the span's value is a name rather than a description."""
    return any(not claim.vague for claim in span.supporters)


def _events(claim: Claim) -> list[tuple[Place, bool, Claim]]:
    """Return the position at which a claim is applied, and the position (with True) at which its value ends."""
    undated = claim.over and claim.begins is None  # its end is all that is known
    found = [] if undated else [(claim.place, False, claim)]
    end = claim.said_at if claim.over and claim.ends is None else claim.ends
    if end is not None and claim.value and not claim.negated:
        found.append(((end if undated else max(end, claim.time), *claim.said), True, claim))
    return found


class _Fold:
    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._spans: list[ValidSpan] = []
        self._of_value: dict[str, list[ValidSpan]] = {}
        self._open: list[ValidSpan] = []  # one, or the sides of a dispute, in the order they began
        self._struck: dict[int, list[ValidSpan]] = {}  # by correction
        self._did: dict[int, tuple[Effect, list[ValidSpan], str]] = {}

    def strike(self, wrong: Claim, correction: Claim) -> None:
        """Record a claim that was never true."""
        struck = self._struck.setdefault(correction.seq, [])  # at most one: corrected claims have one value
        if wrong.negated or not wrong.value:
            self._did[wrong.seq] = ("corrected", [], "its speaker took it back")
            return
        if not struck:
            reason = "never true: its speaker corrected it"
            span = ValidSpan(wrong.value, wrong.time, wrong.time, enders=[correction], void=True, reason=reason)
            struck.append(self._begin(span))
        struck[0].supporters.append(wrong)
        self._did[wrong.seq] = ("corrected", [*struck], struck[0].reason)

    def say(self, claim: Claim) -> None:
        """Apply a claim that a value holds, or held, from a given time on."""
        if self._is_hearsay(claim, [side for side in self._open if side.value != claim.value]):
            self._did[claim.seq] = ("nothing", [], _HEARSAY)
            return
        span = next((span for span in self._open if span.value == claim.value), None)
        if claim.vague and span is None and any(_is_named(side) for side in self._open):
            self._did[claim.seq] = ("nothing", [], "it describes, and what holds has a name")
            return
        if claim.repeats and span is None:
            self._did[claim.seq] = ("nothing", [], "what it repeats is not held")
            return
        before = list(self._open)
        named = self._leave(claim, span) if claim.replaces not in ("", claim.value) else []
        if claim.value:
            others = [side for side in self._open if side is not span and self._decides(claim, side)]
            self._close(others, claim.time, claim, _ELSE)
            effect: Effect = "joins" if span else "opens"
            if span is None:
                span = self._lost(claim.value) or self._begin(ValidSpan(claim.value, claim.time))
                self._open.append(span)
            span.supporters.append(claim)
            self._open.sort(key=_place)
            span.deniers = [denial for denial in span.deniers if denial.speaker != claim.speaker]
            self._weigh()
        ended = [side for side in before if side.valid_to is not None] + named
        if span is None:
            self._did[claim.seq] = ("ends" if ended else "nothing", ended, "" if ended else "it had ended before")
        elif span.valid_to is not None:
            self._did[claim.seq] = ("loses", [span], span.reason)
        else:
            self._did[claim.seq] = (effect, [span, *ended, *self._struck.get(claim.seq, ())], "")

    def deny(self, claim: Claim) -> None:
        """Apply a denial at its time; it has no effect if the value doesn't hold then."""
        if claim.seq in self._struck:
            self._did[claim.seq] = ("corrects", self._struck[claim.seq], "it takes back what its speaker said")
            return
        denied = [span for span in self._open if claim.value in ("", span.value)]
        if not denied:
            self._did[claim.seq] = ("nothing", [], "what it denies was not held")
            return
        if self._is_hearsay(claim, denied):
            self._did[claim.seq] = ("nothing", [], _HEARSAY)
            return
        self._doubt(denied, claim.time, claim)

    def end(self, claim: Claim, time: int) -> None:
        """Apply the end of a claim's value at `time`."""
        span = next((span for span in self._open if span.value == claim.value), None)
        if span is not None and self._is_hearsay(claim, [span]):
            self._did[claim.seq] = ("nothing", [], _HEARSAY)
            return
        if claim.begins is not None or not claim.over:  # it was said before
            renewed = span and any(other.ends is not None and other.said > claim.said for other in span.supporters)
            if span and claim in span.supporters and not renewed:
                self._close([span], time, claim, "it ended when it was said to")
            return
        if span is not None:
            self._doubt([span], time, claim)
            if span.valid_to is not None:
                span.supporters.append(claim)
            return
        known = [span for span in self._of_value.get(claim.value, ()) if not span.void]
        if known:
            known[-1].supporters.append(claim)
            self._did[claim.seq] = ("joins", [known[-1]], "it was known to have ended")
            return
        start, end = self._gap(time) if claim.ends is not None else self._front(time)
        past = self._begin(ValidSpan(claim.value, start, end, [claim], reason="it held once"))
        self._did[claim.seq] = ("past", [past], past.reason)

    def _doubt(self, denied: Sequence[ValidSpan], time: int, claim: Claim) -> None:
        self._close([span for span in denied if self._decides(claim, span)], time, claim, _OVER)
        for span in denied:
            if span.valid_to is None:
                span.denied_at = span.denied_at if span.deniers else time
                span.deniers.append(claim)
        self._weigh()
        ended = [span for span in denied if span.valid_to is not None]
        reason = "" if ended else "it does not weigh clearly more than what it denies"
        self._did[claim.seq] = ("ends" if ended else "loses", ended or list(denied), reason)

    def _leave(self, claim: Claim, span: ValidSpan | None) -> list[ValidSpan]:
        """End the spans that a claim replaces, other than its own `span`; return a new span for a replaced value that
        was never stated.
        """
        left = next((side for side in self._open if side.value == claim.replaces), None)
        if left is not None:
            self._close([left] if span else self._open, claim.time, claim, _ELSE, best=left)
            return []
        until = claim.time if span is None or span.valid_from is None else span.valid_from
        start, end = self._gap(until, beside=span)
        last = max((side for side in self._closed() if _ends(side) <= until), key=_followed, default=None)
        if last is not None and last.value == claim.replaces and all(side is span for side in self._open):
            return []
        return [self._begin(ValidSpan(claim.replaces, start, end, [claim], named=True, reason=_ELSE))]

    def _gap(self, until: int, beside: ValidSpan | None = None) -> tuple[int | None, int]:
        """Return the period before `until` in which nothing is known to have held; it has zero length if
        something did.
        """
        if any(side is not beside for side in self._open):
            return until, until
        return max((_ends(span) for span in self._closed() if _ends(span) <= until), default=None), until

    def _front(self, until: int) -> tuple[int | None, int]:
        """Return the period before all known spans; it has zero length if the first span has no start."""
        known = [*self._closed(), *self._open]
        undated = [span for span in known if span.valid_from in (None, UNKNOWN)]
        if undated:
            first = min((_ends(span) for span in undated if span.valid_to not in (None, UNKNOWN)), default=until)
            return first, first
        return None, min((span.valid_from for span in known if span.valid_from is not None), default=until)

    def _closed(self) -> list[ValidSpan]:
        return [span for span in self._spans if span.valid_to is not None and not span.void]

    def _begin(self, span: ValidSpan) -> ValidSpan:
        self._spans.append(span)
        self._of_value.setdefault(span.value, []).append(span)
        return span

    def _close(
        self, closing: Sequence[ValidSpan], time: int, claim: Claim, reason: str, best: ValidSpan | None = None
    ) -> None:
        """End the sides that a claim decides against. If all of them end, the best one held until `time`."""
        closing = list(closing)
        if len(closing) < len(self._open):
            best = None
        elif closing and best is None:
            scores = self._scores([side.supporters for side in closing])
            best = closing[scores.index(max(scores))]
        ends = [time if side is best else self._undisputed(side) for side in closing]
        for side, end in zip(closing, ends, strict=True):
            self._finish(side, end, [claim], reason, void=side is not best and end == side.valid_from)

    def _lost(self, value: str) -> ValidSpan | None:
        """Reopen the span of a value that lost against a side which is still open; return None if there is none."""
        for span in reversed(self._of_value.get(value, ())):
            lost = span.void and span.reason == _LESS
            if lost and any(_place(side) < _place(span) for side in self._open):
                span.valid_to, span.void, span.enders = None, False, []
                return span
        return None

    def _undisputed(self, side: ValidSpan) -> int:
        """Return the time until which a side of a dispute was alone: the start of the second side, or its own start."""
        first, second = self._open[:2]
        end = second.valid_from if side is first else side.valid_from
        assert end is not None  # open spans have a beginning
        return end

    def _finish(self, side: ValidSpan, end: int, by: Sequence[Claim], reason: str, *, void: bool) -> None:
        side.valid_to = end if side.valid_from is None else max(end, side.valid_from)
        side.void = void
        side.enders += by
        side.reason = reason
        self._open.remove(side)

    def _decides(self, claim: Claim, side: ValidSpan) -> bool:
        """Return True if a claim that contradicts a side ends that side without being weighed against it.

        It does if it states so, if it names what it replaces, if one of the side's own speakers makes it, or if both
        give a start time, because one value then followed the other; but not if a more trusted role supports the side.
        What users say of themselves ends what less trusted roles say.
        """
        if self._rules.by_score:
            return False
        others = [other.trust for other in side.supporters if other.speaker != claim.speaker]
        if claim.first_hand and max(others, default=0.0) < claim.trust:
            return True
        if max(others, default=0.0) > claim.trust:
            return False
        dated = claim.begins is not None and side.supporters[0].begins is not None
        follows = dated and side.valid_from is not None and claim.begins is not None and claim.begins > side.valid_from
        moves = claim.replaces not in ("", claim.value) and not claim.correction
        return claim.decisive or moves or follows or any(other.speaker == claim.speaker for other in side.supporters)

    def _is_hearsay(self, claim: Claim, sides: Sequence[ValidSpan]) -> bool:
        """Return True if a claim by a less trusted role contradicts what a user says of themselves."""
        if self._rules.by_score or self._rules.by_model:
            return False
        return any(own.first_hand and own.trust > claim.trust for side in sides for own in side.supporters)

    def _weigh(self) -> None:
        """Drop values with clearly less weight than those contradicting them."""
        ratio = self._rules.decision_ratio
        for side in [side for side in self._open if side.deniers]:
            held, denied = self._scores([side.supporters, side.deniers])
            if denied >= ratio * held:
                by = list(side.deniers)
                end = side.denied_at if len(self._open) == 1 else self._undisputed(side)
                self._finish(side, end, by, "it weighs less than what denies it", void=False)
        if len(self._open) < 2:
            return
        scores = self._scores([side.supporters for side in self._open])
        best = self._open[scores.index(max(scores))]
        losers = [side for side, score in zip(self._open, scores, strict=True) if max(scores) >= ratio * score]
        losers = [side for side in losers if side is not best]
        ends = [self._undisputed(side) for side in losers]
        for side, end in zip(losers, ends, strict=True):
            self._finish(side, end, best.supporters, _LESS, void=end == side.valid_from)

    def _scores(self, sides: Sequence[Sequence[Claim]]) -> list[float]:
        """Sum confidence, decay with age, and trust (NSCMA section 3.5) over each speaker's best claim for each side.

        If scores alone decide, a side is one edge, as in the paper: its best claim counts, no matter who makes it. Age
        is measured from the newest claim of all sides, since only the ratio matters.
        """
        newest = max((claim.said_at for claims in sides for claim in claims), default=0)
        scores = []
        for claims in sides:
            best: dict[str, float] = {}
            for claim in claims:
                decay = 2.0 ** ((claim.said_at - newest) / self._rules.half_life)
                best[claim.speaker] = max(claim.confidence * claim.trust * decay, best.get(claim.speaker, 0.0))
            scores.append(max(best.values(), default=0.0) if self._rules.by_score else sum(best.values()))
        return scores

    def timeline(self, latest: int) -> Timeline:
        """Return the timeline; `latest` is when the newest claim was said, and a span that ends later is still
        active.
        """
        spans = sorted(self._spans, key=_place)
        for i, span in enumerate(spans):
            span.status, span.reason = self._status(span, latest)
            span.sequence = SEQUENCE_STEP * span.supporters[0].order + (not span.named)
            if i and spans[i - 1].valid_from == span.valid_from:
                span.sequence = max(span.sequence, spans[i - 1].sequence + 1)
        number = {id(span): i for i, span in enumerate(spans)}
        outcomes = {
            seq: Outcome(effect, tuple(dict.fromkeys(number[id(span)] for span in own)), reason)
            for seq, (effect, own, reason) in self._did.items()
        }
        return Timeline(tuple(spans), outcomes)

    def _status(self, span: ValidSpan, latest: int) -> tuple[FactStatus, str]:
        if span.valid_to is not None:
            return "active" if span.valid_to > latest and span.valid_to != span.valid_from else "archived", span.reason
        held, denied = self._scores([span.supporters, span.deniers])
        if len(self._open) > 1 or self._rules.decision_ratio * denied > held:
            return "disputed", "others say otherwise, and neither side weighs clearly more"
        return "active", "nothing that weighs as much contradicts it"


def _ends(span: ValidSpan) -> int:
    assert span.valid_to is not None
    return span.valid_to


def _followed(span: ValidSpan) -> tuple[int, bool, int, tuple[int, int, int], bool]:
    return _ends(span), *_place(span)


def _place(span: ValidSpan) -> tuple[bool, int, tuple[int, int, int], bool]:
    return span.valid_from is not None, span.valid_from or 0, span.supporters[0].said, not span.named
