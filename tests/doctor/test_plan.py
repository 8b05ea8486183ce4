"""What a configuration puts on a card, against arithmetic by hand and against what really lies in memory."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path

import pytest
import torch

from nscma_torch import Memory, load_config
from nscma_torch.core.config import Config
from nscma_torch.core.database.database import ALL_USERS
from nscma_torch.core.errors import ModelNotFoundError
from nscma_torch.doctor.plan import FAISS_SCRATCH, GIB, GRAPHS, MemoryPlan, card_bytes, index_bytes, plan
from nscma_torch.doctor.scale import COSTS
from nscma_torch.episodic.index import user_index
from nscma_torch.episodic.index.index_rows import IndexRows
from nscma_torch.episodic.index.user_index import UserIndex


def sizes(made: MemoryPlan) -> dict[str, int]:
    return {part.name: part.size for part in made.parts}


def consumer() -> Config:
    with resources.as_file(resources.files("nscma_torch.configs") / "consumer-gpu.toml") as path:
        return load_config(path)


def test_the_consumer_gpu_against_arithmetic() -> None:
    """Llama-3-8B: 32 layers of width 4096 with 8 of 32 heads for keys and values, and 14336 inside; 128256 words."""
    made = plan(consumer(), units=100_000)
    layer = 2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14336
    packed = 32 * layer * (0.5 + 2.5 / 128)  # AWQ: a half-precision scale and a 4-bit zero point for 128 weights
    plain = 2 * (2 * 128_256 * 4096 + (2 * 32 + 1) * 4096)
    assert sizes(made)["language model"] == pytest.approx(packed + plain, rel=0.05)
    assert made.cache_per_token == 2 * 32 * 8 * 128 * 2
    assert sizes(made)["index"] == pytest.approx(131_072 * 2 * 1024 * 4, rel=0.05)  # with room to grow
    fits = {size: made.fit(card_bytes(size)) for size in (8, 24)}
    assert fits[24].problems == () and fits[8].problems
    room = int(0.6 * card_bytes(24)) - made.of("engine")
    assert fits[24].cached == room // made.cache_per_token >= made.context == 8192


def test_bitsandbytes_under_vllm_is_counted_without_double_quantization() -> None:
    """vLLM holds a float32 scale for 64 weights; transformers packs the scales too (nf4)."""
    held = {}
    for engine, quantization in (("vllm", "bitsandbytes"), ("transformers", "nf4"), ("vllm", "awq"), ("vllm", "gptq")):
        llm = {"engine": engine, "model": "meta-llama/Meta-Llama-3-8B-Instruct", "quantization": quantization}
        made = plan(load_config({"llm": llm}), units=0)
        assert sizes(made).get("its CUDA graphs") == (GRAPHS if engine == "vllm" else None)
        held[quantization] = round(sizes(made)["language model"] / GIB, 2)
    assert held == {"bitsandbytes": 5.61, "nf4": 5.31, "awq": 5.33, "gptq": 5.33}


def test_faiss_and_the_reading_networks_are_counted() -> None:
    flat, links = (
        plan(load_config({"index": {"backend": "faiss", "faiss_factory": factory}}), units=1000)
        for factory in ("Flat", "HNSW32")
    )
    assert sizes(flat)["faiss's copy"] == 1000 * (384 + 2) * 4
    assert sizes(flat)["faiss's temporary memory"] == FAISS_SCRATCH
    assert "faiss's copy" not in sizes(links), "HNSW is on the CPU"
    assert 290e6 < sizes(flat)["reading networks"] < 330e6
    assert "reading networks" not in sizes(plan(load_config({"reading": {"model": "none"}}), units=0))


def test_a_card_shows_less_than_it_is_sold_with() -> None:
    assert card_bytes(24) / GIB == pytest.approx(23.6, abs=0.05)


def test_the_default_has_no_model_on_the_card() -> None:
    made = plan(Config(), units=0)
    assert made.of("engine") == made.cache_per_token == made.fit(12 * GIB).cached == 0
    assert made.fit(12 * GIB).problems == ()
    assert made.fit(GIB // 4).problems


def test_a_proxy_that_is_the_language_model_is_counted_once() -> None:
    """Its weights are the engine's; what it takes are the log-probabilities of a window of 1024 and one token more."""
    config = consumer()
    shared = {"model": config.llm.model, "engine": "llm"}
    own = plan(load_config({**config.model_dump(), "surprise": {"model": config.llm.model}}), units=0)
    made = plan(load_config({**config.model_dump(), "surprise": shared}), units=0)
    assert sizes(made)["surprise"] == 1025 * 128_256 * 6 < 0.1 * sizes(own)["surprise"]
    assert made.of("engine") == own.of("engine") == plan(config, units=0).of("engine")
    (part,) = (part for part in made.parts if part.name == "surprise")
    assert "the language model itself" in part.note
    assert made.fit(24 * GIB).problems == () and own.fit(24 * GIB).problems
    remote = plan(load_config({"llm": {"engine": "http"}, "surprise": shared}), units=0)
    assert sizes(remote)["surprise"] == 0


def test_a_model_that_fills_the_card_leaves_no_room() -> None:
    config = consumer()
    whole = config.model_copy(update={"llm": config.llm.model_copy(update={"quantization": "none"})})
    (problem,) = plan(whole, units=0).fit(24 * GIB).problems
    assert "quantize" in problem


def test_an_unknown_model_names_what_to_give() -> None:
    config = Config.model_validate({"llm": {"engine": "transformers", "model": "nobody/nothing"}})
    with pytest.raises(ModelNotFoundError, match="give its folder"):
        plan(config, units=0)


def test_the_index_takes_what_is_planned(tmp_path: Path) -> None:
    config = Config.model_validate({"embedder": {"model": "hash"}})
    with Memory(tmp_path / "memory.db", config=config) as memory:
        said = [{"role": "user", "content": f"Shelf {i} holds {i * 3} red boxes."} for i in range(64)]
        assert len(list(memory.add_many(said, user_id="ana", infer=False))) == 64
        index = UserIndex("ana", memory.components.embedder.dimension, torch.device("cpu"))
        with memory.components.database.read(ALL_USERS) as connection:
            index.catch_up(connection)
    held = index.nbytes
    planned = {part.name: part.size for part in plan(config, units=len(index)).parts}["index"]
    assert len(index) == 64
    assert planned == pytest.approx(held, rel=0.02)


def test_a_plan_is_json(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from nscma_torch.cli import app

    path = tmp_path / "own.toml"
    path.write_text('[embedder]\nmodel = "hash"\n', encoding="utf-8")
    shown = CliRunner().invoke(
        app, ["doctor", "--plan", "--card", "12", "--messages", "1000", "--json", "--config", str(path)]
    )
    assert shown.exit_code == 0, shown.output
    report = json.loads(shown.output)
    assert [fit["problems"] for fit in report["fits"]] == [[]]
    assert {part["name"] for part in report["plan"]["parts"]} >= {"surprise", "index"}
    (index,) = (part for part in report["plan"]["parts"] if part["name"] == "index")
    assert index["note"].startswith("1,190 units")
    found = {one["name"]: one["value"] for one in report["estimates"]}
    assert found["SQLite file"] == 1000 * COSTS[0].value and len(found) == len(COSTS)


def test_plan_options_need_plan() -> None:
    from typer.testing import CliRunner

    from nscma_torch.cli import app

    for option in ("--messages", "--card"):
        refused = CliRunner().invoke(app, ["doctor", option, "12"])
        assert refused.exit_code == 2 and "requires --plan" in " ".join(refused.output.split())


def test_room_of_an_index_is_as_its_columns_grow() -> None:
    for units in (1, 4096, 4097, 9000, 16_385):
        rows = IndexRows({"x": torch.empty(0, dtype=torch.uint8)})
        for start in range(0, units, user_index._BLOCK):
            rows.append({"x": torch.zeros(min(user_index._BLOCK, units - start), dtype=torch.uint8)})
        per_row = index_bytes(1, 256, "float32")
        assert index_bytes(units, 256, "float32") == rows.nbytes * per_row


def test_the_index_limit_of_the_default_holds_about_a_million_units() -> None:
    assert index_bytes(2**20, 384, "float32") == pytest.approx(3 * GIB, rel=0.05)


def test_the_scale_page_has_the_costs() -> None:
    page = (Path(__file__).parents[2] / "docs/scale.md").read_text(encoding="utf-8")
    for cost in COSTS:
        shown = f"{cost.value / 1000:.1f} KB" if cost.unit == "bytes" else f"{1000 * cost.value:.0f} ms"
        assert f"| {cost.name} | {shown} |" in page


def test_the_doctor_says_what_an_engine_lacks(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from nscma_torch.cli import app

    path = tmp_path / "own.toml"
    text = '[embedder]\nmodel = "hash"\n[llm]\nengine = "transformers"\nmodel = "/no/such/folder"\n'
    path.write_text(text, encoding="utf-8")
    shown = CliRunner().invoke(app, ["doctor", "--store", str(tmp_path / "none.db"), "--config", str(path)])
    assert shown.exit_code == 1
    assert "/no/such/folder" in shown.output and "no problems found" not in shown.output
    assert "damaged" not in shown.output
