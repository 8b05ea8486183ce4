"""What new text costs systems that insert it and systems that are built anew, on a small memory."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from eval.experiments.hierarchy.arriving_batches import ONLINE, SYSTEMS
from eval.experiments.hierarchy.rebuild_time import Taken, measure, plot, table, write_csv
from eval.harness.contract import Passage
from eval.systems import raptor
from eval.systems.language import Language, Triple
from nscma_torch import Message
from tests.eval.systems.rig import shared

_TOPICS = ("harbour ships", "garden roses", "engine piston")
START, MORE, SIZE = 24, 9, 4


def read(_: Language, passages: Sequence[Passage]) -> list[list[Triple]]:
    """Each passage tells of its topic."""
    return [[Triple(passage.text.split()[1], "is near", passage.text.split()[-1])] for passage in passages]


def halves(vectors: torch.Tensor, *, threshold: float, seed: int) -> list[list[int]]:
    return [list(range(len(vectors) // 2)), list(range(len(vectors) // 2, len(vectors)))]


@pytest.fixture(scope="module")
def rows() -> dict[str, list[Taken]]:
    messages = [
        Message("document", f"The {_TOPICS[topic]} number {i} of topic{topic}.", source="book")
        for i in range(START + MORE)
        for topic in (i // 8 if i < START else 2,)
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Language, "triples", read)
        patch.setattr(raptor, "soft_clusters", halves)
        return {
            name: list(measure(name, shared(), messages[:START], messages[START:], SIZE))
            for name in SYSTEMS
            if name != "NSCMA"  # reads texts by the trained reader, which takes seconds
        }


def test_each_batch_that_is_whole_is_a_row(rows: dict[str, list[Taken]]) -> None:
    for name, own in rows.items():
        assert [(row.system, row.batch, row.before) for row in own] == [(name, 4, 24), (name, 4, 28)]
        assert all(row.seconds > 0 for row in own)


def test_what_is_inserted_asks_of_what_is_new_alone(rows: dict[str, list[Taken]]) -> None:
    assert [row.calls for row in rows["HippoRAG 2"]] == [4, 4]
    assert all(row.new_calls == row.calls for name in ("MemTree", "HippoRAG 2") for row in rows[name])
    online, rebuilt = ([row.calls for row in rows[name]] for name in (ONLINE, "CAM rebuilt"))
    assert sum(online) < sum(rebuilt)


def test_what_is_built_anew_asks_of_everything_and_a_cache_would_know_the_rest(rows: dict[str, list[Taken]]) -> None:
    first, second = rows["GraphRAG"]
    assert (first.calls >= 28) and (second.calls >= 32)
    assert 4 <= second.new_calls < second.calls
    assert all(row.tokens_in > 0 and row.tokens_out > 0 for row in rows["RAPTOR"])


def test_the_table_has_ratios_and_the_files_every_batch(rows: dict[str, list[Taken]], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    own = [row for some in rows.values() for row in some]
    assert table(own).row_count == len(rows)
    write_csv(own, tmp_path / "rows.csv")
    with (tmp_path / "rows.csv").open(newline="") as file:
        assert len(list(csv.DictReader(file))) == len(own)
    plot(own, tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
