"""Which messages are compared, and what comes of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta

import torch

from nscma_torch.core.records import Episode, Scope
from nscma_torch.reading.reader_input import InputPassage
from nscma_torch.reading.reader_model import CHANGES
from nscma_torch.standing.effect_reader import EffectReader
from nscma_torch.standing.standings import Effect

DAY = datetime(2026, 3, 1, tzinfo=UTC)
TEXTS = {1: "I work at Lumora.", 2: "Tram 7 takes me there.", 3: "The cat is ill.", 4: "Handed in my laptop."}


class PairReader:
    """Finds the given kinds between texts, and keeps the pairs that it was asked about."""

    def __init__(self, kinds: Mapping[tuple[str, str], str], probability: float = 0.9) -> None:
        self.kinds = kinds
        self.probability = probability
        self.pairs: list[tuple[str, str]] = []

    def changes(self, earlier: Sequence[str], later: Sequence[Sequence[InputPassage]]) -> torch.Tensor:
        rows = torch.zeros(len(earlier), len(CHANGES))
        for row, (text, (passage,)) in enumerate(zip(earlier, later, strict=True)):
            pair = text.partition(": ")[2], passage.text
            self.pairs.append(pair)
            rows[row, CHANGES.index(self.kinds.get(pair, "none"))] += self.probability
            rows[row, CHANGES.index("none")] += 1 - self.probability
        return rows


def episode(number: int, text: str, *, role: str = "user", day: int | None = None) -> Episode:
    at = DAY + timedelta(days=number if day is None else day)
    return Episode(f"m{number}", Scope("ada"), "s", number, role, text, recorded_at=at, occurred_at=at)


def effects(
    reader: PairReader, new: Sequence[int], near: Mapping[int, Sequence[int]], said: Mapping[int, Episode] | None = None
) -> set[Effect]:
    known = {seq: episode(seq, text) for seq, text in TEXTS.items()} if said is None else said

    def load(seqs: Collection[int]) -> Mapping[int, Episode]:
        return {seq: known[seq] for seq in seqs}

    found = EffectReader(lambda: reader, 0.5).read(new, load, lambda seq: near.get(seq, ()))
    return {own.effect for own in found}


def test_what_a_message_ends_is_followed_to_its_neighbours() -> None:
    reader = PairReader({(TEXTS[1], TEXTS[4]): "ends", (TEXTS[2], TEXTS[4]): "voids"})
    found = effects(reader, [4], {4: [1], 1: [2, 3]})
    assert found == {Effect(1, 4, "ends"), Effect(2, 4, "voids")}
    assert sorted(reader.pairs) == sorted((TEXTS[n], TEXTS[4]) for n in (1, 2, 3))


def test_what_ends_nothing_is_not_followed() -> None:
    reader = PairReader({})
    assert effects(reader, [4], {4: [3], 3: [1, 2]}) == set()
    assert reader.pairs == [(TEXTS[3], TEXTS[4])]


def test_the_earlier_message_is_the_one_said_first_whichever_arrived_first() -> None:
    said = {1: episode(1, TEXTS[4], day=9), 2: episode(2, TEXTS[1], day=3)}
    reader = PairReader({(TEXTS[1], TEXTS[4]): "ends"})
    assert effects(reader, [2], {2: [1]}, said) == {Effect(2, 1, "ends")}


def test_replies_documents_questions_and_chinese_are_not_compared() -> None:
    said = {
        1: episode(1, TEXTS[1]),
        2: episode(2, "So you left Lumora.", role="assistant"),
        3: episode(3, "Should I leave Lumora?"),
        4: episode(4, "我离开了公司。"),
        5: episode(5, "Lumora closed.", role="document"),
    }
    reader = PairReader({})
    assert effects(reader, [2, 3, 4, 5], {seq: [1, 2, 3, 4, 5] for seq in said}, said) == set() and not reader.pairs


def test_an_unlikely_effect_is_left_out() -> None:
    assert effects(PairReader({(TEXTS[1], TEXTS[4]): "ends"}, 0.4), [4], {4: [1]}) == set()


def test_unlikely_pairs_are_not_read_but_what_rests_on_an_ended_message_is() -> None:
    reader = PairReader({(TEXTS[1], TEXTS[4]): "ends", (TEXTS[2], TEXTS[4]): "voids"})
    said = {number: episode(number, text) for number, text in TEXTS.items()}
    near = {4: (1, 3), 1: (2,)}
    found = EffectReader(lambda: reader, 0.5).read(
        [4], lambda seqs: {seq: said[seq] for seq in seqs}, lambda seq: near.get(seq, ()), lambda _: [(1, 4)]
    )
    assert (TEXTS[3], TEXTS[4]) not in reader.pairs
    assert {own.effect for own in found} == {Effect(1, 4, "ends"), Effect(2, 4, "voids")}
