"""Handlers for the background jobs queued when messages are read: extraction, curation and the hierarchy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from nscma_torch.core.config import Config
from nscma_torch.core.database.database import Database
from nscma_torch.core.jobs.worker import Handler
from nscma_torch.episodic.log.backlog import EXTRACT, RESTATE
from nscma_torch.extraction.extraction import Extractor
from nscma_torch.extraction.recheck_repeats import RepeatRecheck
from nscma_torch.hierarchy.integrator import Integrator
from nscma_torch.hierarchy.store.hierarchies import INTEGRATE
from nscma_torch.semantic.store.statements import CURATE
from nscma_torch.semantic.timeline.curation import Curator


def job_handlers(
    config: Config, database: Database, extractor: Extractor, curator: Curator, integrator: Integrator
) -> Mapping[str, Handler]:
    """Return the handler for each kind of job."""
    size = config.worker.batch_size
    return {
        EXTRACT: Handler(extractor.run, size, language=True, gather=extractor.gather if extractor.gathers else None),
        RESTATE: Handler(RepeatRecheck(database).run, 1, stage=1),
        CURATE: Handler(curator.run, size, separable=False, language=config.curator.asks_model),
        INTEGRATE: Handler(
            integrator.run,
            config.hierarchy.batch_size,
            separable=False,
            stage=2,
            language=True,
            cut=True,
            gather=integrator.gather,
        ),
    }


def kept_notes(config: Config) -> Literal["none", "beside", "alone"]:
    """Return how atomic facts are stored: as notes if a model decides on them, and only as notes if nothing reads other
    facts.
    """
    made = config.facts.units
    if config.curator.rule != "model" or "atomic_fact" not in made:
        return "none"
    return "beside" if "triple" in made or config.facts.answer else "alone"
