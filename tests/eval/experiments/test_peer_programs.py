"""Programs that run under a peer's own interpreter are where the experiments look for them, and say what they take."""

from __future__ import annotations

from pathlib import Path

import pytest

from eval.experiments.retrieval.retrieval_store import _WITH_SUMMARIES, CHROMA_PROGRAM
from eval.experiments.speed.ingest import PEER
from eval.experiments.systems.package_run import PACKAGES
from nscma_torch.retrieval.strategies import STRATEGIES


@pytest.mark.parametrize("program", [PEER, CHROMA_PROGRAM, *sorted(PACKAGES.glob("*.py"))], ids=lambda path: path.name)
def test_a_peer_program_is_there_and_compiles(program: Path) -> None:
    compile(program.read_text(encoding="utf-8"), str(program), "exec")


def test_the_strategies_over_summaries_are_strategies() -> None:
    assert set(_WITH_SUMMARIES) <= set(STRATEGIES)
