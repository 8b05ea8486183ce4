"""Facts stay true over 500 generated chains of plain sentences, and Figure 1 of the NSCMA paper holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from eval.experiments.facts.update_fidelity import FIGURES, Figure, holds, share
from eval.experiments.facts.update_verdicts import remember
from eval.tasks.plain_statements import load_plain
from eval.tasks.update_chains import World, generate
from nscma_torch.relations import load_relations

_CHAINS = 500
_SEED = 0


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.name)
def test_figure_1_holds(figure: Figure, tmp_path: Path) -> None:
    right, seen = holds(figure, tmp_path)
    assert right, seen


@pytest.mark.prove
def test_facts_of_plain_sentences_stay_true(tmp_path: Path) -> None:
    chains = generate(_CHAINS, _SEED, World(load_relations(), load_plain(), "test"))
    outcomes = remember(chains, tmp_path)
    now, past = share(outcomes, "now", "right"), share(outcomes, "past", "right")
    archived_wrongly = sum(len(outcome.archived_wrongly) for outcome in outcomes)
    print(
        f"\n{_CHAINS} chains, seed {_SEED}: current value right {now:.3f}, past value right {past:.3f}, "
        f"ask right {share(outcomes, 'ask', 'right'):.3f}, archived wrongly {archived_wrongly}"
    )
    assert now >= 0.98 and past >= 0.98
    assert archived_wrongly == 0
