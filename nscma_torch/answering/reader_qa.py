"""Answer a question from search results with the trained reader: a short answer, followed by the passages."""

from __future__ import annotations

import time
import unicodedata
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import NamedTuple

from sqlalchemy import Connection
from torch import Tensor

from nscma_torch.answering.current_value import CHANGED, current_value
from nscma_torch.answering.deleted_messages import deleted_like
from nscma_torch.answering.outdated import UNSURE, Outdated, outdated, sentence_of, unknown_now
from nscma_torch.answering.subject_veto import SubjectVeto
from nscma_torch.core.config import ReadingConfig
from nscma_torch.core.database.clock import to_micros
from nscma_torch.core.database.database import Database
from nscma_torch.core.records import NOT_SURE, ROLES, Answer, Evidence, Hit, Unit, Usage
from nscma_torch.core.trust import TRUST
from nscma_torch.episodic.index.units import unit_of
from nscma_torch.episodic.log import episodes, speakers, turns
from nscma_torch.reading.asked_subject import only_of_asker
from nscma_torch.reading.chinese_subjects import is_of_another
from nscma_torch.reading.confidence import ANSWERABLE, CORRECT, confidence, features_of
from nscma_torch.reading.embedded_tasks import quoted_line
from nscma_torch.reading.first_person import is_from_elsewhere
from nscma_torch.reading.own_words import in_own_words
from nscma_torch.reading.reader import Reader, ReadResult
from nscma_torch.reading.reader_input import InputPassage, asked_by
from nscma_torch.reading.reader_model import CHANGES, UNCHANGED, probability_of_effect
from nscma_torch.reading.readers import Readers
from nscma_torch.reading.relations import Schema
from nscma_torch.reading.resolved_dates import resolved
from nscma_torch.reading.short_answer import (
    ShortAnswer,
    said_by_others,
    short_answer,
    tells_of,
    tells_of_years_ago,
)
from nscma_torch.reading.turns_before import TURNS_BEFORE
from nscma_torch.reading.unknown_answer import UNKNOWN, UNKNOWN_IN_CHINESE
from nscma_torch.search.query import Query, parse
from nscma_torch.search.search_bounds import Bounds
from nscma_torch.standing import effects
from nscma_torch.text.calendar.tense import has_past_of, leading
from nscma_torch.text.scripts import script
from nscma_torch.text.terms import terms

RERANKED = 20  # hits that are read to rerank them; 50 gained no more on LoCoMo's even half
WEIGHT, LEAST = 0.1, 1e-3  # of the evidence among the search's score; of .1 to 5 on LoCoMo's even half
_VETOES = 3  # passages that are left out as being about somebody else, before a question stays without an answer
CHANGING = 4  # messages that are read beside the hits because they change them
SURER = (
    0.05  # by which a later reading's confidence exceeds that before, to be kept; of 0 to .07 on development dialogues
)

DELETED_EVIDENCE = 0.3  # least evidence of a deleted message for which it is read beside the hits
GOOD_EVIDENCE = 0.5  # of a passage from which its answer stands, whatever was deleted and others say
UNANSWERABLE = 0.1  # highest probability of an answer to a question about what was deleted

_OF_A_STATE = ("span", "list", "when", "yes")  # kinds of answers that a later message may make outdated
_TOLD = 3  # messages that are shown to a question of what happens at a time
_ANYTHING = frozenset(terms("happen go plan anything something everything schedule calendar agenda talk say discuss"))

SearchAgain = Callable[[str], Sequence[Hit]]  # the hits of another query within the same bounds


class ReadHits(NamedTuple):
    """Passages given to the reader, in the order they were said, and the reader's output.

    `query` is the parsed question, matched against the passages' speakers. `asker` is the name of the asker.
    """

    query: Query
    hits: list[Hit]
    passages: list[InputPassage]
    result: ReadResult
    asker: str

    def features(self, found: ShortAnswer | None) -> dict[str, float]:
        """Return the features of this reading for `confidence`."""
        others = said_by_others(self.result, self.passages, self.query.speakers)
        return features_of(self.result, found, self.passages, others)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One reading of a question: its short answer, or None if there is none, and the features of the reading.

    `right` is the probability that the answer is right, `answerable` that the passages contain one. `outdated` is why
    the answer doesn't hold any more, if that is known; `deleted` is True if there is no answer because it would come
    from a deleted message. `trace` describes the rejected passages with the reasons, and earlier readings.
    """

    read: ReadHits
    found: ShortAnswer | None
    features: Mapping[str, float]
    right: float
    answerable: float
    trace: tuple[str, ...] = ()
    seconds: float = 0.0
    outdated: Outdated | None = None
    deleted: bool = False

    @property
    def unknown_for_a_reason(self) -> bool:
        """Return True if the answer is known not to hold any more, or to be deleted."""
        return self.deleted or self.outdated is not None

    def known(self, least: float) -> bool:
        """Return True if there is an answer that the passages contain with at least this probability."""
        return self.found is not None and self.answerable >= least


class ReaderQA:
    """Reads the first hits for a question.

    Args:
        veto: rejects passages about somebody other than the question's subject as evidence.
        embed: returns a question's vector, [d], to find deleted messages that it may be about; without it, they are not
            considered.
    """

    def __init__(
        self,
        database: Database,
        reader: Reader,
        settings: ReadingConfig,
        veto: SubjectVeto | None = None,
        embed: Callable[[str], Tensor] | None = None,
    ) -> None:
        self._database = database
        self._reader = reader
        self._settings = settings
        self._veto = veto
        self._embed = embed

    def relevance(self, question: str, hits: Sequence[Hit], bounds: Bounds) -> list[float]:
        """Weight each hit's search score by the reader's probability that the hit is evidence; results are in [0, 1].

        The first `RERANKED` hits are read; the others stay below them.
        """
        best = max((hit.score for hit in hits), default=0.0) or 1.0
        some = hits[:RERANKED]
        read = self.read(question, some, user_id=bounds.scope.user_id, now=bounds.now, most=RERANKED)
        evidence = dict(zip(map(id, read.hits), read.result.evidence, strict=True))
        told = [evidence.get(id(hit), 0.0) for hit in some] + [0.0] * (len(hits) - len(some))
        return [hit.score / best * (LEAST + (1 - LEAST) * p) ** WEIGHT for hit, p in zip(hits, told, strict=True)]

    def read(
        self,
        question: str,
        hits: Sequence[Hit],
        *,
        user_id: str,
        now: datetime,
        most: int | None = None,
        asked: str = "",
        without: Collection[str] = (),
    ) -> ReadHits:
        """Read the first `reading.passages` hits, with the turns before them and messages that change them.

        `asked` is the asker, by default the user. `without` contains the ids of units to skip.
        """
        some = hits[: most or self._settings.passages]
        with self._database.read(user_id) as connection:
            some = [*some, *_changing(connection, user_id, some, to_micros(now))]
            asker = speakers.asker_of(connection, user_id)
            name = asker.named or asker.by_id or asker.name
            placed = zip(*in_order(connection, user_id, some, to_micros(now), name), strict=True)
            kept = [(hit, passage) for hit, passage in placed if hit.id not in without]
        ordered, passages = [hit for hit, _ in kept], [passage for _, passage in kept]
        asked = asked or name
        (result,) = self._reader.read([asked_by(asked, question)], [passages])
        names = {passage.speaker for passage in passages}.difference(ROLES)
        return ReadHits(parse(question, names=sorted(names), now=now), ordered, passages, result, asked)

    def answer(
        self,
        question: str,
        hits: Sequence[Hit],
        quoted: Answer,
        *,
        user_id: str,
        now: datetime,
        search_again: SearchAgain | None = None,
    ) -> Answer:
        """Put a short answer before the passages in `quoted`, if the reader finds one.

        The answer is marked as unsure if it is right with a probability below `reading.sure`, and dropped if the
        passages contain an answer with a probability below `reading.answerable`. As the reader only knows English, a
        question in Chinese keeps its quotations, without passages about somebody else.

        With `search_again`, an unsure answer is added to the question for another search, and its results are read, up
        to `reading.hops` readings in total.
        """
        if script(question) == "cjk":
            return _of_asker(question, quoted)
        attempt = self.attempt(question, hits, user_id=user_id, now=now, search_again=search_again)
        return self.worded(attempt, quoted)

    def attempt(
        self,
        question: str,
        hits: Sequence[Hit],
        *,
        user_id: str,
        now: datetime,
        search_again: SearchAgain | None = None,
    ) -> Attempt:
        """Read, and read again after another search while the answer is unsure; see `answer`."""
        begin = time.perf_counter()
        last = self._attempt(question, hits, user_id, now)
        hops: list[str] = []
        while (
            search_again is not None
            and last.found is not None
            and last.right < self._settings.sure
            and len(hops) + 1 < self._settings.hops
        ):
            again = search_again(f"{question} {last.found.text}")
            following = self._attempt(question, again, user_id, now)
            kept = following.right >= last.right + SURER
            hops.append(_hop(len(hops) + 2, last, following, kept=kept))
            if not kept:
                break
            last = following
        return replace(last, trace=(*hops, *last.trace), seconds=time.perf_counter() - begin)

    def _attempt(self, question: str, hits: Sequence[Hit], user_id: str, now: datetime) -> Attempt:
        """Read once; a question about what was deleted has no answer.

        If the answer to a question about the present doesn't hold any more, prefer a later passage.

        If there is none, an answer from an earlier year is unsure ("I taught at Oakfield in 1999" doesn't tell where
        somebody teaches now), and one that is past or in doubt is marked as `outdated`.
        """
        first = self._current(question, self._admitted(question, hits, user_id, now, {}))
        first = self._user_first(question, hits, first, user_id, now)
        if self._is_of_deleted(question, hits, first, user_id, now):
            trace = (*first.trace, "what was told of this is deleted")
            least = min(first.answerable, UNANSWERABLE)
            return replace(first, found=None, right=0.0, answerable=least, deleted=True, trace=trace)
        years_ago, why = _is_of_years_ago(question, first), self._outdated(question, first, user_id, now)
        if not years_ago and why is None:
            return first
        found = first.found
        assert found is not None
        passage = first.read.hits[found.passage]
        reason = "it is about earlier years" if why is None else f"it {why.why}"
        by = [] if why is None or why.by is None else [Hit(why.by, passage.score)]
        other = self._admitted(question, [*by, *hits], user_id, now, {passage.id: f"{found.text!r} rejected: {reason}"})
        if why is not None and why.replaced and _is_from(other, why.by):
            return replace(other, answerable=max(other.answerable, self._settings.answerable))
        if (
            (why is None or self._renews(other, passage.unit, found.text))
            and other.known(self._settings.answerable)
            and not _is_of_years_ago(question, other)
            and self._outdated(question, other, user_id, now) is None
        ):
            return other
        if why is not None:
            return replace(first, outdated=why)
        over = has_past_of(question, first.read.passages[found.passage].text)
        return replace(first, right=min(first.right, UNSURE)) if over else first

    def _user_first(self, question: str, hits: Sequence[Hit], first: Attempt, user_id: str, now: datetime) -> Attempt:
        """Prefer what users say of themselves to what a document or a tool says, if there is good evidence of it."""
        found = first.found
        if found is None or not only_of_asker(question) or not is_from_elsewhere(first.read.hits[found.passage].unit):
            return first
        others = {hit.id: "" for hit in first.read.hits if is_from_elsewhere(hit.unit)}
        if len(others) == len(first.read.hits):
            return first
        told = first.read.hits[found.passage]
        others[told.id] = f"{found.text!r} rejected: a {told.unit.role} says it, and the user says otherwise"
        own = self._current(question, self._admitted(question, hits, user_id, now, others))
        if own.found is None or not own.known(self._settings.answerable):
            return first
        return own if own.read.result.evidence[own.found.passage] >= GOOD_EVIDENCE else first

    def _is_of_deleted(self, question: str, hits: Sequence[Hit], attempt: Attempt, user_id: str, now: datetime) -> bool:
        """Return True if the reader would take its answer from a deleted message.

        That is no reason if the answer's own passage is good evidence, as the new value is when an old one was deleted,
        or if another message says the same.
        """
        if self._embed is None or attempt.found is None or attempt.found.kind in ("yes", "no"):
            return False
        deleted = [Hit(unit, 0.0) for unit in deleted_like(self._database, user_id, partial(self._embed, question))]
        if not deleted:
            return False
        alone = self.read(question, deleted, user_id=user_id, now=now)
        if max(alone.result.evidence, default=0.0) < DELETED_EVIDENCE:  # cheaper than reading them with the hits
            return False
        read = self.read(question, [*deleted, *hits], user_id=user_id, now=now)
        found = short_answer(question, read.result, read.passages, self._settings, read.query.periods)
        ids = {hit.id for hit in deleted}
        if found is None or read.hits[found.passage].id not in ids:
            return False
        value, known = found.text.casefold(), attempt.found.text.casefold()
        own = attempt.read.hits[attempt.found.passage].id
        evidence = next((p for hit, p in zip(read.hits, read.result.evidence, strict=True) if hit.id == own), 0.0)
        if value in known or known in value or evidence >= GOOD_EVIDENCE:
            return False
        return not any(value in hit.text.casefold() for hit in read.hits if hit.id not in ids)

    def _outdated(self, question: str, attempt: Attempt, user_id: str, now: datetime) -> Outdated | None:
        """Return why the answer to a question about the present doesn't hold any more, or None if it does."""
        read, found = attempt.read, attempt.found
        if found is None or found.kind not in _OF_A_STATE or read.query.periods or leading(question) < 0:
            return None
        value = next((span.text for span in read.result.spans if span.passage == found.passage), found.text)
        return self.outdated(read.hits[found.passage].unit, value, user_id=user_id, now=now)

    def _renews(self, attempt: Attempt, unit: Unit, value: str) -> bool:
        """Return True if an answer is from a later message that changes what an earlier one says about a value."""
        found = attempt.found
        if found is None:
            return False
        passage, earlier = attempt.read.passages[found.passage], _passage(unit, attempt.read.asker, 0, context=False)
        if attempt.read.hits[found.passage].unit.occurred_at <= unit.occurred_at:
            return False
        changes = self._reader.changes([f"{earlier.speaker}: {sentence_of(unit.text, value)}"], [[passage]])
        return probability_of_effect(changes).item() >= CHANGED

    def outdated(self, unit: Unit, value: str, *, user_id: str, now: datetime) -> Outdated | None:
        """Return why a value from a unit's text doesn't hold at `now`, or None if it does."""
        with self._database.read(user_id) as connection:
            return outdated(connection, self._reader, user_id, unit, value, now)

    def _current(self, question: str, attempt: Attempt) -> Attempt:
        """Replace an outdated answer by the current one among those read; see `current_value`.

        Questions about the past or about a given time keep their answer.
        """
        read, found = attempt.read, attempt.found
        if found is None or found.kind not in ("span", "when") or read.query.periods or leading(question) < 0:
            return attempt
        if found.passage != read.result.spans[0].passage:  # a newer one was chosen
            return attempt
        trust = [TRUST[hit.unit.role] for hit in read.hits]
        current = current_value(self._reader, read.result, read.passages, trust)
        if current is None:
            return attempt
        outdated, *others = read.result.spans
        renewed = replace(current, share=min(1.0, current.share + outdated.share))  # what spoke for both
        spans = (renewed, *(span for span in others if span is not current))
        newer = read._replace(result=replace(read.result, spans=spans))
        answer = short_answer(question, newer.result, newer.passages, self._settings)
        if answer is None or self._vetoed(question, newer, answer):
            return attempt
        features = newer.features(answer)
        trace = (*attempt.trace, f"{found.text!r} rejected: passage {current.passage + 1} changes it")
        return replace(
            attempt, read=newer, found=answer, features=features, right=confidence(features, CORRECT), trace=trace
        )

    def _admitted(
        self,
        question: str,
        hits: Sequence[Hit],
        user_id: str,
        now: datetime,
        left_out: Mapping[str, str],
    ) -> Attempt:
        """Read only passages admitted as evidence; `left_out` maps the ids of excluded units to the reasons."""
        without = dict(left_out)
        while True:
            read = self.read(question, hits, user_id=user_id, now=now, without=without)
            found = short_answer(question, read.result, read.passages, self._settings, read.query.periods)
            reason = "" if found is None else self._vetoed(question, read, found)
            if not reason or found is None or len(without) - len(left_out) >= _VETOES:
                break
            without[read.hits[found.passage].id] = f"{found.text!r} rejected: {reason}"
        left = f"{found.text!r} rejected: {reason}" if found is not None and reason else ""
        vetoes = tuple(reason for reason in (*without.values(), left) if reason)
        answer = None if left else found
        features = read.features(answer)
        right = 0.0 if answer is None else confidence(features, CORRECT)
        answerable = confidence(features, ANSWERABLE)
        if answer is None and vetoes:
            answerable = min(answerable, UNSURE)
        return Attempt(read, answer, features, right, answerable, vetoes)

    def _vetoed(self, question: str, read: ReadHits, found: ShortAnswer) -> str:
        """Return the reason for rejecting an answer's passage as evidence, or "" if it is accepted."""
        if self._veto is None:
            return ""
        place = found.passage
        answer = next((span.text for span in read.result.spans if span.passage == place), found.text)
        return self._veto.reason(question, answer, found.kind, read.passages, place, read.hits[place].unit, read.asker)

    def worded(self, attempt: Attempt, quoted: Answer) -> Answer:
        """Put the short answer of a reading before the passages in `quoted`, or say that there is none."""
        read, found = attempt.read, attempt.found
        spent = replace(quoted.usage, seconds=quoted.usage.seconds + attempt.seconds)
        if found is not None and attempt.outdated is not None and attempt.known(self._settings.answerable):
            unknown = unknown_now(found.text, attempt.outdated, read.hits[found.passage])
            return replace(unknown, trace=(*quoted.trace, *attempt.trace, *unknown.trace), usage=spent)
        if found is None or not attempt.known(self._settings.answerable):
            if times := _told_of_times(read):
                return self._of_times(read, times, quoted, spent)
            least = f"{attempt.answerable:.2f} of {self._settings.answerable:.2f} needed"
            trace = (*quoted.trace, *attempt.trace, f"read: no answer ({least})")
            return Answer(UNKNOWN, True, attempt.answerable, (), trace, spent)
        evidence = _evidence(read.hits[found.passage], attempt.right, quoted)
        short = found.text if attempt.right >= self._settings.sure else found.text + NOT_SURE
        return replace(
            quoted,
            text="\n".join([short, *(quoted_line(item, chinese=False) for item in evidence)]),
            abstained=False,
            confidence=attempt.right,
            evidence=evidence,
            trace=(*quoted.trace, *attempt.trace, f"read: {found.kind}, {found.why} ({attempt.right:.2f})"),
            usage=spent,
            quotes=len(evidence),
        )

    def _of_times(self, read: ReadHits, told: Sequence[int], quoted: Answer, spent: Usage) -> Answer:
        """Quote the messages about the periods named in a question, if it names nothing else."""
        evidence = tuple(
            Evidence(read.hits[i], read.hits[i].text, 0, len(read.hits[i].text), UNSURE) for i in told[-_TOLD:]
        )
        texts = (resolved(item.text, item.hit.unit.occurred_at) for item in evidence)
        short = " ".join(" ".join(text.split()) for text in texts)
        return replace(
            quoted,
            text="\n".join([short + NOT_SURE, *(quoted_line(item, chinese=False) for item in evidence)]),
            abstained=False,
            confidence=UNSURE,
            evidence=evidence,
            trace=(*quoted.trace, f"{len(evidence)} messages are about the time in question"),
            usage=spent,
            quotes=len(evidence),
        )

    def changes(self, earlier: Unit, later: Sequence[Unit], *, user_id: str, now: datetime) -> list[tuple[str, float]]:
        """Classify how each later message changes an earlier one.

        Returns the most likely kind of change, and the probability of any change, in [0, 1].

        Each message is read with the turns before it.
        """
        with self._database.read(user_id) as connection:
            asker = speakers.asker_of(connection, user_id)
            name = asker.named or asker.by_id or asker.name
            read = [
                in_order(connection, user_id, [Hit(in_own_words(unit), 0.0)], to_micros(now), name)[1] for unit in later
            ]
        said = _passage(earlier, name, 0, context=False)
        found = self._reader.changes([f"{said.speaker}: {said.text}"] * len(read), read)
        kinds = [i for i, kind in enumerate(CHANGES) if kind not in UNCHANGED]
        likely = zip(found.tolist(), probability_of_effect(found).tolist(), strict=True)
        return [(CHANGES[max(kinds, key=own.__getitem__)], p) for own, p in likely]


def _of_asker(question: str, quoted: Answer) -> Answer:
    """Remove passages about somebody other than the asker from a Chinese answer."""
    kept = tuple(item for item in quoted.evidence if not is_of_another(question, item.text))
    if len(kept) == len(quoted.evidence):
        return quoted
    trace = (*quoted.trace, f"{len(quoted.evidence) - len(kept)} passages about somebody else omitted")
    if not kept:
        return replace(
            quoted, text=UNKNOWN_IN_CHINESE, abstained=True, confidence=0.0, evidence=(), trace=trace, quotes=0
        )
    text = "\n".join(quoted_line(item, chinese=True) for item in kept)
    return replace(quoted, text=text, evidence=kept, trace=trace, quotes=len(kept) - 1)


def _is_of_years_ago(question: str, attempt: Attempt) -> bool:
    """Return True if a sentence about an earlier year answers a question in the present tense that names no time."""
    found = attempt.found
    if found is None or found.kind not in ("span", "list") or attempt.read.query.periods or leading(question) < 0:
        return False
    passage = attempt.read.passages[found.passage]
    return passage.said_at is not None and tells_of_years_ago(passage.text, found.text, passage.said_at)


def _is_from(attempt: Attempt, unit: Unit | None) -> bool:
    """Return True if an answer is from the message of a unit."""
    if attempt.found is None or unit is None:
        return False
    return not set(unit.episode_ids).isdisjoint(attempt.read.hits[attempt.found.passage].unit.episode_ids)


def _changing(connection: Connection, user_id: str, hits: Sequence[Hit], now: int) -> list[Hit]:
    """Return the messages that change those of the hits and aren't among them, as hits."""
    own = [episode_id for hit in hits for episode_id in hit.unit.episode_ids]
    found = effects.changing(connection, episodes.seqs_of(connection, user_id, own), now, CHANGING)
    later = episodes.by_seqs(connection, user_id, found)
    return [Hit(unit_of(later[seq]), 0.0) for seq in found if later[seq].id not in own]


def _told_of_times(read: ReadHits) -> list[int]:
    """Return the positions of the hits about the times and people asked about, if the question names nothing else."""
    query = read.query
    if not query.periods or not _ANYTHING.issuperset(query.terms):
        return []
    speakers = query.speakers or ((read.asker,) if query.roles else {passage.speaker for passage in read.passages})
    return [
        i
        for i, (hit, passage) in enumerate(zip(read.hits, read.passages, strict=True))
        if hit.unit.role == "user" and hit.unit.kind == "chunk" and passage.speaker in speakers
        if tells_of(passage, query.periods)
    ]


def _hop(number: int, before: Attempt, after: Attempt, *, kept: bool) -> str:
    """Format a trace line: the added search terms, the reading, and whether the reading is kept."""
    assert before.found is not None
    text = "nothing" if after.found is None else repr(after.found.text)
    what = "kept" if kept else f"not surer by {SURER}, rejected"
    searched = f"hop {number}: searched with {before.found.text!r} ({before.right:.2f})"
    return f"{searched}; read {text} ({after.right:.2f}), {what}"


def _evidence(hit: Hit, confidence: float, quoted: Answer) -> tuple[Evidence, ...]:
    """Return the passage that contains the answer, followed by the other quoted passages."""
    own = next((item for item in quoted.evidence if item.hit is hit), None)
    if own is None:
        own = Evidence(hit, hit.text, 0, len(hit.text), confidence)
    return (own, *(item for item in quoted.evidence if item.hit is not hit))


def in_order(
    connection: Connection, user_id: str, hits: Sequence[Hit], now: int, user_name: str
) -> tuple[list[Hit], list[InputPassage]]:
    """Return the hits with the turns before them on the same day, in the order they were said.

    The result contains each of them both as a hit and as a passage.

    Messages by the user without a name get `user_name`.
    """
    numbered = turns.with_before(connection, user_id, [hit.id for hit in hits], TURNS_BEFORE, now)
    own = {numbers[-1] for numbers in numbered.values()}
    earlier = {number for numbers in numbered.values() for number in numbers} - own
    episodes = turns.load(connection, user_id, sorted(earlier))
    placed: dict[tuple[datetime, int, int, str], tuple[Hit, InputPassage]] = {}
    for rank, hit in enumerate(hits):
        unit = hit.unit
        numbers = numbered.get(hit.id, [0])
        derived = "" if unit.kind == "chunk" else unit.id  # several of one message have one place
        placed[unit.occurred_at, numbers[-1], unit.start, derived] = hit, _passage(unit, user_name, rank, context=False)
        for number in numbers[:-1]:
            episode = episodes.get(number)
            if episode is not None and episode.occurred_at.date() == unit.occurred_at.date():
                turn = unit_of(episode)
                placed.setdefault(
                    (turn.occurred_at, number, 0, ""), (Hit(turn, 0.0), _passage(turn, user_name, rank, context=True))
                )
    ordered = [placed[place] for place in sorted(placed)]
    return [hit for hit, _ in ordered], [passage for _, passage in ordered]


def _passage(unit: Unit, user_name: str, rank: int, *, context: bool) -> InputPassage:
    speaker = unit.name or (user_name if unit.role == "user" else unit.role)
    return InputPassage(unicodedata.normalize("NFC", unit.text), speaker, unit.occurred_at, rank, context)


def configured_reader_qa(
    database: Database, section: ReadingConfig, readers: Readers, relations: Schema, embed: Callable[[str], Tensor]
) -> ReaderQA | None:
    """Create the question answering with the trained reader, or return None if no reader is configured."""
    if section.model == "none":
        return None
    return ReaderQA(database, readers.reader(), section, SubjectVeto(readers.facts_reader, relations), embed)
