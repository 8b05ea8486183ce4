"""RAPTOR: clusters that overlap, a tree of summaries, and the whole tree searched at once."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from eval.systems import raptor
from eval.systems.raptor import Raptor
from eval.systems.soft_clusters import mixture_rows, soft_clusters
from nscma_torch.core.records import Message
from tests.eval.systems.rig import ASKED, BEGUN, Scripted, ShowingReader, places, reading, shared


@pytest.mark.prove
def test_clusters_of_separate_groups_are_the_groups() -> None:
    pytest.importorskip("umap", reason="RAPTOR clusters with umap-learn (extra eval)")
    torch.manual_seed(3)
    centres = torch.nn.functional.normalize(torch.randn(3, 32), dim=1)
    rows = torch.cat([centre + 0.05 * torch.randn(20, 32) for centre in centres])
    torch.set_num_threads(1)
    found = soft_clusters(torch.nn.functional.normalize(rows, dim=1), threshold=0.1, seed=1)
    assert torch.get_num_threads() == 1  # numba sets it to one for each processor
    groups = {number // 20 for own in found for number in own}
    assert groups == {0, 1, 2} and all(len({number // 20 for number in own}) == 1 for own in found)


def test_a_row_between_two_clusters_is_in_both() -> None:
    torch.manual_seed(1)
    left = torch.randn(60, 2) * torch.tensor([1.0, 0.6]) - torch.tensor([2.5, 0.0])
    points = torch.cat([left, -left, torch.zeros(1, 2)]).numpy()
    members = [set(own) for own in mixture_rows(points, 0.1, 1, most=4)]
    assert len(members) == 2 and all(120 in own for own in members)
    assert members[0] | members[1] == set(range(121)) and len(members[0] & members[1]) < 10


def topics(count: int) -> list[Message]:
    """Messages about pottery, then as many about sailing."""
    said = [f"The kiln glaze number {n} was fired." for n in range(count)]
    said += [f"The boat sailed race number {n}." for n in range(count)]
    return [Message("user", text, BEGUN) for text in said]


@pytest.fixture
def halves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clusters as they would be: the first half and the second half of a level, with one passage in both."""

    def split(vectors: torch.Tensor, *, threshold: float, seed: int) -> list[list[int]]:
        half = len(vectors) // 2
        return [list(range(half + 1)), list(range(half, len(vectors)))]

    monkeypatch.setattr(raptor, "soft_clusters", split)


@pytest.mark.usefixtures("halves")
def test_the_whole_tree_is_searched(tmp_path: Path) -> None:
    run = shared()
    section = {"kind": "raptor", "tokens": 40, "words": 12}
    with reading(section, run, tmp_path, topics(8)) as session:
        reply = session.ask("Which race did the boat sail?", options=(), now=ASKED)
        tree = session._finder  # type: ignore[attr-defined]
    assert isinstance(tree, Raptor) and isinstance(run.reader, ShowingReader)
    written = [node for node in tree.nodes if node.written]
    assert len(tree.nodes) == 18 and [node.leaves for node in written] == [tuple(range(9)), tuple(range(8, 16))]
    (read,) = run.reader.handed
    assert all("boat" in passage.text for passage in read) and 1 < len(read) < 8
    assert any(passage.message.role == "document" for passage in read), "a summary is read beside passages"
    assert places(reply)[:4] and all(place >= 8 for place in places(reply)[:4])


@pytest.mark.usefixtures("halves")
def test_an_engine_writes_the_summaries(tmp_path: Path) -> None:
    engine = Scripted(lambda request: "All about boats." if "boat" in request.turns[-1].content else "Kilns.")
    run = shared(engine=engine)
    with reading({"kind": "raptor", "tokens": 1}, run, tmp_path, topics(8)) as session:
        session.ask("All about boats", options=(), now=ASKED)
    assert isinstance(run.reader, ShowingReader) and len(engine.asked) == 2
    assert [passage.text for passage in run.reader.handed[0]] == ["All about boats."]
