"""Each paper's preset, by name, from the first message to an answer."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from nscma_torch.api.memory import Memory
from nscma_torch.core.errors import ConfigError
from nscma_torch.core.records import Message
from tests.papers.presets import NAMES, preset

BEGIN = datetime(2024, 3, 1, 9, tzinfo=UTC)
SAID = (
    "I live in Porto.",
    "Miso, our cat, is four years old.",
    "I like tea.",
    "The landlord painted the kitchen green.",
    "I work as a pilot.",
    "My sister Ana moved to Lisbon.",
    "Lanterns hang over the pier in winter.",
    "I have moved to Oslo.",
    "The kettle is in the blue cupboard.",
    "Thanks, see you on Friday.",
)


def test_all_papers_are_there() -> None:
    known = ["cam", "generative_agents", "mem0", "mem0_graph", "memorybank", "nscma", "structural_memory", "titans"]
    assert known == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_preset_runs(name: str, tmp_path: Path, embedder: Any, light_surprise: Any) -> None:
    now = BEGIN + timedelta(hours=12)
    with Memory(
        tmp_path / "store.db", config=f"papers/{name}", embedder=embedder, surprise_model=light_surprise
    ) as memory:
        for i, text in enumerate(SAID):
            memory.add([Message("user", text, BEGIN + timedelta(hours=i), "Kim")], user_id="kim", now=now)
        memory.flush()
        assert not memory.stats(user_id="kim").failures
        hits = memory.search("Where is the kettle?", user_id="kim", now=now, top_k=100)
        assert hits and all(hit.unit.kind in preset(name).retrieval.kinds for hit in hits)
        if "chunk" in preset(name).retrieval.kinds:
            assert any("kettle" in hit.text for hit in hits)
        answer = memory.ask("Where do I live?", user_id="kim", now=now)
        assert answer.text
        assert memory.config == preset(name)


def test_names_of_shipped_configurations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert preset("cam").retrieval.strategy == "prune-and-grow"
    with pytest.raises(ConfigError, match="did you mean 'papers/cam'"):
        preset("cm")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "cam").write_text('[gate]\nrule = "paper"\n', encoding="utf-8")
    assert preset("cam").gate.rule == "paper", "a file of that name comes first"


def test_the_command_line_takes_a_name(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from nscma_torch.cli import app

    arguments = ["doctor", "--plan", "--messages", "10", "--json", "--config"]
    shown = CliRunner().invoke(app, [*arguments, "papers/nscma"])
    assert shown.exit_code == 0, shown.output
    wrong = CliRunner().invoke(app, [*arguments, "papers/nsmca"])
    assert wrong.exit_code != 0 and "papers/nscma" in f"{wrong.output}{wrong.exception}"
