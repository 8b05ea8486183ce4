"""The doctor asks the configured server, and no other, which model it serves."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from nscma_torch.cli import app
from nscma_torch.core.config import LlmConfig
from nscma_torch.core.errors import ConfigError, EngineRefusedError, EngineUnavailableError
from nscma_torch.doctor.endpoint import endpoint
from tests.helpers.misbehaving_server import MisbehavingServer


def silent(_body: Mapping[str, Any]) -> str:
    return "{}"


def examined(folder: Path, **llm: Any) -> tuple[int, dict[str, Any]]:
    """Exit status and report of `nscma doctor` with engine http."""
    keys = "".join(f"{key} = {json.dumps(value)}\n" for key, value in llm.items())
    path = folder / "own.toml"
    path.write_text(f'device = "cpu"\n[embedder]\nmodel = "hash"\n[llm]\nengine = "http"\n{keys}', encoding="utf-8")
    shown = CliRunner().invoke(app, ["doctor", "--json", "--store", str(folder / "none.db"), "--config", str(path)])
    return shown.exit_code, json.loads(shown.output)


def test_a_server_that_is_there(tmp_path: Path) -> None:
    with MisbehavingServer(silent) as server:
        status, report = examined(tmp_path, base_url=f"{server.url}/v1")
        assert (status, report["problems"]) == (0, [])
        assert report["endpoint"] == f"{server.url}/v1 is reachable and serves double, 4,096 tokens of context"
        assert server.bodies == [], "nothing was generated"


def test_a_server_that_is_away(tmp_path: Path) -> None:
    status, report = examined(tmp_path, base_url="http://127.0.0.1:9")
    assert status == 1
    assert report["endpoint"] == "http://127.0.0.1:9 cannot be used"
    (problem,) = report["problems"]
    assert "start the server, or set llm.base_url" in problem


def test_a_model_that_the_server_does_not_have() -> None:
    with MisbehavingServer(silent, models=("small", "large")) as server:
        with pytest.raises(ConfigError, match=r"serves 2 models; name one of these as llm\.model: small, large"):
            endpoint(LlmConfig(engine="http", base_url=server.url))
        assert "serves large, 99 tokens" in endpoint(
            LlmConfig(engine="http", base_url=server.url, model="large", context=99)
        )
        with pytest.raises(EngineRefusedError, match="OpenAI-compatible"):
            endpoint(LlmConfig(engine="http", base_url=f"{server.url}/elsewhere"))
    with pytest.raises(EngineUnavailableError):
        endpoint(LlmConfig(engine="http", base_url=server.url))


def test_a_key_that_is_not_set_is_one_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NSCMA_TEST_KEY", raising=False)
    status, report = examined(tmp_path, base_url="http://127.0.0.1:9", api_key_env="NSCMA_TEST_KEY")
    assert status == 1 and "endpoint" not in report
    (problem,) = report["problems"]
    assert "NSCMA_TEST_KEY, which is not set" in problem
