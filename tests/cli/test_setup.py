"""`nscma setup` tells four programs apart, tests a structured reply, and writes a section that loads."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from nscma_torch.cli import app
from nscma_torch.core.config import load_config
from nscma_torch.core.errors import ConfigError, EngineError
from nscma_torch.doctor.servers import find_servers
from tests.helpers.json_page import Shapes

GOOD = '{"name": "Ana", "city": "Porto"}'
TWO = {"data": [{"id": "small"}, {"id": "large"}]}
ONE = {"data": [{"id": "small"}]}
PROGRAMS: dict[str, dict[str, Any]] = {  # what each one's paths return, as their documentation shows
    "Ollama": {
        "/v1/models": ONE,
        "/api/version": {"version": "0.13.0"},
        "/api/ps": {"models": [{"name": "small", "context_length": 8192}]},
    },
    "LM Studio": {
        "/v1/models": TWO,
        "/api/v0/models": {
            "data": [
                {"id": "small", "type": "llm", "loaded_context_length": 8192, "max_context_length": 32768},
                {"id": "vectors", "type": "embeddings", "max_context_length": 512},
            ]
        },
    },
    "vLLM": {"/v1/models": {"data": [{"id": "small", "max_model_len": 8192}]}},
    "llama.cpp": {"/v1/models": ONE, "/props": {"default_generation_settings": {"n_ctx": 8192}}},
    "unknown": {"/v1/models": ONE},
}


@contextmanager
def serving(paths: Mapping[str, Any], reply: str = GOOD) -> Iterator[str]:
    """The URL of a server with these paths, whose model replies with this text."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            """Print nothing."""

        def do_GET(self) -> None:
            self.respond(paths.get(self.path))

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            usage = {"prompt_tokens": 30, "completion_tokens": 12}
            choice = {"message": {"role": "assistant", "content": reply}, "finish_reason": "stop"}
            self.respond({"choices": [choice], "usage": usage} if self.path == "/v1/chat/completions" else None)

        def respond(self, body: Any) -> None:
            sent = json.dumps(body or {"error": {"message": "not found"}}).encode()
            self.send_response(404 if body is None else 200)
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_server_is_recognised_and_its_section_loads(program: str, tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text("# my settings\n[retrieval]\ntop_k = 7\n", encoding="utf-8")
    with serving(PROGRAMS[program]) as url:
        done = CliRunner().invoke(app, ["setup", str(file), "--url", f"{url}/v1"])
    assert done.exit_code == 0, done.output
    assert f"{program} at {url}" in done.output and "Porto" in done.output
    config = load_config(file)
    assert config.retrieval.top_k == 7 and "# my settings" in file.read_text(encoding="utf-8")
    assert (config.llm.engine, config.llm.model, config.llm.base_url) == ("http", "small", url)
    reported = {"vLLM": ("vllm", 0), "llama.cpp": ("llama.cpp", 0), "unknown": ("other", 4096)}
    assert (config.llm.server, config.llm.context) == reported.get(program, ("other", 8192))
    assert ("not reported" in done.output) == (program == "unknown")


def test_several_models_need_a_choice(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    with serving({"/v1/models": TWO}) as url:
        refused = CliRunner().invoke(app, ["setup", str(file), "--url", url])
        unknown = CliRunner().invoke(app, ["setup", str(file), "--url", url, "--model", "huge"])
        assert not file.exists()
        done = CliRunner().invoke(app, ["setup", str(file), "--url", url, "--model", "large", "--json"])
    assert isinstance(refused.exception, ConfigError) and "choose one with --model: small, large" in str(
        refused.exception
    )
    assert "serves no model 'huge'" in str(unknown.exception)
    printed = json.loads(done.stdout)
    Shapes().compare(printed, "server setup", "setup")
    assert printed["llm"]["model"] == "large" == load_config(file).llm.model


def test_nothing_is_written_if_the_test_fails(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    with serving(PROGRAMS["vLLM"], reply="Ana lives in Porto.") as url:
        done = CliRunner().invoke(app, ["setup", str(file), "--url", url])
    assert isinstance(done.exception, ConfigError) and isinstance(done.exception.__cause__, EngineError)
    assert "small gave no usable structured reply" in str(done.exception) and not file.exists()


def test_no_server_is_one_error(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["setup", str(tmp_path / "own.toml"), "--url", "http://127.0.0.1:9"])
    assert "no OpenAI-compatible server responds at http://127.0.0.1:9; start one" in str(done.exception)
    with serving({"/": {"hello": "there"}}) as url:
        assert find_servers([url]) == []


@pytest.mark.parametrize(
    ("parameters", "own", "facts", "answers"),
    [
        (1_500_000_000, "", 0.0, 0.0),
        (8_000_000_000, "", 1.0, 0.6),
        (1_500_000_000, "[facts]\ninstead_of_model = 0.9\n", 0.9, 0.0),
    ],
)
def test_a_small_model_does_what_the_networks_cannot(
    tmp_path: Path, parameters: int, own: str, facts: float, answers: float
) -> None:
    rows = {"data": [{"id": "small", "meta": {"n_params": parameters}}]}
    file = tmp_path / "nscma.toml"
    if own:
        file.write_text(own)
    with serving({**PROGRAMS["llama.cpp"], "/v1/models": rows}) as url:
        result = CliRunner().invoke(app, ["setup", str(file), "--url", url])
    assert result.exit_code == 0, result.output
    config = load_config(file)
    assert (config.facts.instead_of_model, config.reading.instead_of_model) == (facts, answers)
    for section, value in (("facts", facts), ("reading", answers)):
        assert (f"{section}.instead_of_model = 0" in " ".join(result.output.split())) == (value == 0)


@pytest.mark.parametrize(("size", "parameters"), [("1.5B", 1_500_000_000), ("270M", 270_000_000), ("", None)])
def test_ollama_reports_the_size_of_its_models(size: str, parameters: int | None) -> None:
    tags = {"models": [{"name": "small", "details": {"parameter_size": size}}]}
    with serving({**PROGRAMS["Ollama"], "/api/tags": tags}) as url:
        (server,) = find_servers((url,))
    assert server.model(None).parameters == parameters
