"""One tiny Llama for all tests of language models in this process: importing transformers takes seconds."""

from __future__ import annotations

from pathlib import Path

import pytest

from eval.harness.tiny_llama import build


@pytest.fixture(scope="session")
def tiny_llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the tiny Llama."""
    return build(tmp_path_factory.mktemp("models") / "tiny-llama")
