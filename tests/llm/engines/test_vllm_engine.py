"""Arguments that the vllm engine hands to vLLM, and what it refuses before vLLM starts; vLLM itself is a double."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, get_args

import pytest
import torch

from nscma_torch.core.config import LlmConfig, load_config
from nscma_torch.core.config.language import QUANTIZATIONS
from nscma_torch.core.errors import ConfigError, MissingDependencyError, ModelError
from nscma_torch.llm.engines.choose import choose_engine
from nscma_torch.llm.engines.main_guard import is_guarded

STORED = {"none": None, "bitsandbytes": None, "awq": "awq", "gptq": "gptq", "compressed-tensors": "compressed-tensors"}
GUARDED = 'import x\n\ndef main():\n    start()\n\nif __name__ == "__main__":\n    main()\n'


@pytest.fixture
def starts(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Arguments of each start of a vLLM that then fails."""
    given: list[dict[str, Any]] = []

    def start(**arguments: Any) -> None:
        given.append(arguments)
        raise ValueError("no device")

    double = ModuleType("vllm")
    double.LLM = start  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "vllm", double)
    monkeypatch.setitem(sys.modules, "vllm_bnb_plugin", ModuleType("vllm_bnb_plugin"))
    for variable in ("VLLM_NO_USAGE_STATS", "HF_HUB_OFFLINE"):
        monkeypatch.setenv(variable, "1")
    return given


def start(folder: Path, quantization: str, stored: str | None) -> None:
    """Start the engine of a configuration with a model whose weights are stored in a scheme."""
    section = {} if stored is None else {"quantization_config": {"quant_method": stored}}
    (folder / "config.json").write_text(json.dumps({"model_type": "llama", **section}), encoding="utf-8")
    config = load_config({"llm": {"engine": "vllm", "model": str(folder), "quantization": quantization}})
    engine = choose_engine(config.llm, lambda: torch.device("cpu"))
    assert engine is not None
    engine.started()


@pytest.mark.parametrize("quantization", QUANTIZATIONS["vllm"])
def test_every_accepted_quantization_reaches_vllm(
    starts: list[dict[str, Any]], tmp_path: Path, quantization: str
) -> None:
    with pytest.raises(ModelError, match="no device"):
        start(tmp_path, quantization, STORED[quantization])
    assert [given["quantization"] for given in starts] == [None if quantization == "none" else quantization]


def test_each_engine_accepts_its_own_quantizations_alone() -> None:
    names = get_args(LlmConfig.model_fields["quantization"].annotation)
    assert set(names) == {name for own in QUANTIZATIONS.values() for name in own}
    for engine, own in QUANTIZATIONS.items():
        for name in set(names) - set(own):
            with pytest.raises(
                ConfigError, match=f"engine '{engine}' supports the quantizations 'none', .*not '{name}'"
            ):
                load_config({"llm": {"engine": engine, "model": "m", "quantization": name}})


@pytest.mark.parametrize(
    ("quantization", "stored", "remedy"),
    [
        ("awq", "gptq", "stored in gptq, but llm.quantization is 'awq': set llm.quantization = 'none'"),
        ("bitsandbytes", "awq", "stored in awq"),
        ("compressed-tensors", None, "not quantized, .* set llm.model to a checkpoint stored in compressed-tensors"),
    ],
)
def test_weights_that_are_stored_otherwise_are_refused_before_vllm_starts(
    starts: list[dict[str, Any]], tmp_path: Path, quantization: str, stored: str | None, remedy: str
) -> None:
    with pytest.raises(ConfigError, match=remedy):
        start(tmp_path, quantization, stored)
    assert starts == []


def test_bitsandbytes_without_the_plugin_names_what_to_install(
    starts: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "vllm_bnb_plugin")
    with pytest.raises(MissingDependencyError, match=r"'vllm_bnb_plugin'; install it with: pip install"):
        start(tmp_path, "bitsandbytes", None)
    assert starts == []


@pytest.mark.parametrize(
    ("source", "line", "guarded"),
    [
        (GUARDED, 7, True),
        (GUARDED.replace('__name__ == "__main__"', '"__main__" == __name__ and True'), 7, True),
        ("memory = open_memory()\nmemory.flush()\n", 2, False),
        (GUARDED + "main()\n", 8, False),
        ('if __name__ != "other":\n    main()\n', 2, False),
    ],
)
def test_a_guard_is_found_in_the_source(source: str, line: int, guarded: bool) -> None:
    assert is_guarded(source, line) is guarded


@pytest.mark.parametrize(
    ("spawned", "guard", "spec"),
    [(True, False, None), (True, True, None), (False, False, None), (True, False, "package.__main__")],
)
def test_a_script_without_a_guard_is_refused_if_vllm_spawns(
    starts: list[dict[str, Any]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    spawned: bool,
    guard: bool,
    spec: str | None,
) -> None:
    """One error instead of a wait of ten minutes; a spawned process does not run package/__main__.py again."""
    if spawned:
        monkeypatch.setenv("VLLM_WORKER_MULTIPROC_METHOD", "spawn")
    script = tmp_path / "script.py"
    script.write_text("if __name__ == '__main__':\n    start()\n" if guard else "start()\n", encoding="utf-8")
    main = SimpleNamespace(__file__=str(script), __spec__=spec and SimpleNamespace(name=spec), __name__="__main__")
    main.start = lambda: start(tmp_path, "none", None)
    monkeypatch.setitem(sys.modules, "__main__", main)  # type: ignore[arg-type]
    refused = spawned and not guard and spec is None
    expected = r"script\.py, line 1, starts vLLM .* under `if __name__ == '__main__':`" if refused else "no device"
    with pytest.raises(ConfigError if refused else ModelError, match=expected):
        exec(compile(script.read_text(encoding="utf-8"), script, "exec"), main.__dict__)
    assert len(starts) == (0 if refused else 1)
