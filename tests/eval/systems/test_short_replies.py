"""What is scored is the answer, without the quotations that the product shows below it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from eval.caches.cached_time import KeptTime
from eval.caches.extraction_cache import ExtractionCache
from eval.harness.contract import Passage, Reply
from eval.readers.embedded_reader import EmbeddedReader
from eval.systems.nscma import NscmaOptions, nscma
from nscma_torch.core.records import Message
from nscma_torch.text.embedders.hash_embedder import HashEmbedder
from tests.eval.systems.rig import shared

NOW = datetime(2026, 5, 14, tzinfo=UTC)
SAID = Message("user", "The kiln in the old workshop reaches 1100 degrees on most days.", NOW, name="Rita")
ASKED = "What temperature does the kiln reach?"


def test_the_embedded_reader_replies_without_quotations() -> None:
    sections = {"device": "cpu", "embedder": {"model": "hash"}}
    reader = EmbeddedReader(sections, HashEmbedder(), KeptTime(), ExtractionCache())
    reply = reader.answer(ASKED, [Passage(0, SAID, SAID.content)], options=(), now=NOW)
    reader.forget()
    _short(reply)


@pytest.mark.parametrize("answering", ["ask", "controller"])
def test_so_does_the_memory_itself(answering: str, tmp_path: Path) -> None:
    system = nscma("ours", NscmaOptions.model_validate({"answering": answering}), shared())
    with system.open(tmp_path) as session:
        session.read([SAID])
        _short(session.ask(ASKED, options=(), now=NOW))


def _short(reply: Reply) -> None:
    assert "1100" in reply.text
    assert "\n" not in reply.text and "old workshop" not in reply.text
    assert reply.evidence == (0,)
