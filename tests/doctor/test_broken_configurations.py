"""What `nscma doctor` says of configurations that cannot work: one problem each, with what to do."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from nscma_torch.cli import app, doctor_checks
from nscma_torch.doctor.installed import Device, Installed, installed
from nscma_torch.doctor.plan import GIB, card_bytes

TINY = {
    "model_type": "llama",
    "vocab_size": 420,
    "hidden_size": 128,
    "intermediate_size": 192,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "max_position_embeddings": 256,
}
MODELS = json.dumps({"object": "list", "data": [{"id": "small", "object": "model"}]})
Doctor = Callable[..., str]


@pytest.fixture
def doctor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Doctor:
    """The one problem that the doctor tells of an [llm] section, or how the command fails."""

    def examine(packages: Mapping[str, str | None] = {}, card: tuple[float, float] | None = None, **llm: Any) -> str:
        found = installed()
        devices = found.devices[:1]
        if card is not None:
            free, total = (int(size * GIB) for size in card)
            devices = (*devices, Device("cuda:0", "RTX 4090", total, free, "bfloat16"))
        double = Installed(found.python, {**found.packages, **packages}, devices)
        monkeypatch.setattr(doctor_checks, "installed", lambda: double)
        keys = "".join(f"{key} = {json.dumps(value)}\n" for key, value in llm.items())
        path = tmp_path / "own.toml"
        path.write_text(f'[embedder]\nmodel = "hash"\n[llm]\n{keys}', encoding="utf-8")
        shown = CliRunner().invoke(app, ["doctor", "--json", "--store", str(tmp_path / "a.db"), "--config", str(path)])
        assert shown.exit_code != 0
        if not shown.stdout.startswith("{"):
            return str(shown.exception)
        (problem,) = json.loads(shown.stdout)["problems"]
        return str(problem)

    return examine


@contextmanager
def serving(answers: Mapping[str, str]) -> Iterator[str]:
    """Address of a server that has these paths, and 404 for any other."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Print nothing."""

        def do_GET(self) -> None:
            body = answers.get(self.path, '{"detail": "Not Found"}').encode()
            self.send_response(200 if self.path in answers else 404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.do_GET()

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


@pytest.fixture
def model(tmp_path: Path) -> str:
    """Folder of a model that was not quantized."""
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(TINY), encoding="utf-8")
    return str(folder)


def test_the_package_of_the_engine_is_missing(doctor: Doctor, model: str) -> None:
    said = doctor({"vllm": None}, engine="vllm", model=model)
    assert said == "engine 'vllm' needs vllm: pip install 'nscma-torch[vllm]'"
    said = doctor({"vllm": "0.33.0", "vllm-bnb-plugin": None}, engine="vllm", model=model, quantization="bitsandbytes")
    assert said == "engine 'vllm' needs vllm-bnb-plugin: pip install 'nscma-torch[vllm]'"


def test_the_engine_has_no_such_quantization(doctor: Doctor, model: str) -> None:
    said = doctor(engine="vllm", model=model, quantization="nf4")
    names = "'none', 'awq', 'gptq', 'compressed-tensors', 'bitsandbytes'"
    assert f"engine 'vllm' supports the quantizations {names}, not 'nf4'" in said
    said = doctor({"vllm": "0.33.0"}, (23.0, 23.6), engine="vllm", model=model, quantization="awq")
    assert said == (
        f"the weights of {model} are not quantized, but llm.quantization is 'awq': set llm.model to a checkpoint "
        "stored in awq, or llm.quantization = 'bitsandbytes' to pack them while loading"
    )


def test_the_server_is_down(doctor: Doctor) -> None:
    assert doctor(engine="http", base_url="http://127.0.0.1:9") == (
        "http://127.0.0.1:9/v1/models failed (attempts: 1): no connection; start the server, or set llm.base_url to "
        "where it listens"
    )


def test_the_server_is_not_vllm(doctor: Doctor) -> None:
    with serving({"/v1/models": MODELS}) as url:
        for server, others in (("vllm", "'llama.cpp'"), ("llama.cpp", "'vllm'")):
            assert doctor(engine="http", base_url=url, server=server, context=2048) == (
                f"the server at {url} is not {server}, contrary to llm.server: it doesn't count tokens like one; set "
                f"llm.server to {others}, or to 'other' with llm.context in tokens"
            )


def test_the_server_does_not_speak_the_protocol(doctor: Doctor) -> None:
    with serving({"/v1/models": "<html>It works!</html>"}) as url:
        said = doctor(engine="http", base_url=url)
        assert said.startswith(f"{url} did not respond like an OpenAI-compatible server (")
        assert said.endswith("it began '<html>It works!</html>'); set llm.base_url to the address of such a server")
    with serving({}) as url:
        assert "set llm.base_url to an OpenAI-compatible server" in doctor(engine="http", base_url=url)


def test_the_server_has_no_such_model(doctor: Doctor) -> None:
    with serving({"/v1/models": MODELS}) as url:
        assert doctor(engine="http", base_url=url, model="large") == (
            "the server at llm.base_url serves no model 'large'; name one of these as llm.model: small"
        )


def test_there_is_no_gpu(doctor: Doctor, model: str) -> None:
    assert doctor({"vllm": "0.33.0"}, engine="vllm", model=model) == (
        "engine 'vllm' needs a CUDA GPU, and torch sees none: install the driver and a CUDA build of torch, or set "
        "llm.engine = 'http' and llm.base_url to a vLLM elsewhere"
    )


def test_the_card_is_too_small_or_in_use(doctor: Doctor, model: str) -> None:
    said = doctor({"vllm": "0.33.0"}, (10.0, 23.6), engine="vllm", model=model)
    assert said == (
        "RTX 4090 has 10.0 of 23.6 GiB free, but vLLM asks for 14.2 (llm.gpu_memory_share = 0.6): end other programs "
        "that use the card, or lower llm.gpu_memory_share"
    )
    large = {**TINY, "hidden_size": 8192, "intermediate_size": 28672, "num_hidden_layers": 8, "vocab_size": 128_256}
    (Path(model) / "config.json").write_text(json.dumps(large), encoding="utf-8")
    said = doctor({"vllm": "0.33.0"}, (23.0, card_bytes(24) / GIB), engine="vllm", model=model)
    assert said == (
        "RTX 4090 with 23.6 GiB is too small: the engine has room for 0 tokens beside its weights and needs 256: lower "
        "llm.context or quantize, or raise llm.gpu_memory_share"
    )
