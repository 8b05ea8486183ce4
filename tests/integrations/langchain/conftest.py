"""langchain-tests marks tests that are not run here with marks of plugins that are not loaded here."""

from __future__ import annotations

import pytest


def pytest_configure(config: pytest.Config) -> None:
    for mark in ("benchmark", "vcr"):
        config.addinivalue_line("markers", f"{mark}: of langchain-tests")
