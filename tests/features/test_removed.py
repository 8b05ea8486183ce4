"""The package works without the folder of a removable capability; what needs it raises one clear error."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_PROGRAM = """
import sys
from datetime import UTC, datetime

class Removed:
    def find_spec(self, name, path=None, target=None):
        if name.startswith("nscma_torch.features.{folder}"):
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Removed())

from nscma_torch import Controller, Memory
from nscma_torch.core.errors import ConfigError

NOW = datetime(2026, 3, 1, tzinfo=UTC)
CONFIG = {{
    "device": "cpu", "embedder": {{"model": "hash"}}, "reading": {{"model": "none"}},
    "gate": {{"rule": "everything"}}, "daily": {{"summaries": True}},
}}
with Memory(sys.argv[1], config=CONFIG) as memory:
    said = memory.add("I live in Porto.", user_id="ada", now=NOW)[0]
    gone = memory.add("My sister Ana lives in Oslo.", user_id="ada", now=NOW)[0]
    assert memory.search("Porto", user_id="ada", now=NOW)[0].text == "I live in Porto."
    assert "Porto" in memory.ask("Where do I live?", user_id="ada", now=NOW).text
    controller = Controller(memory, user_id="ada", engine=None)
    controller.feedback(controller.turn("Where do I live?", now=NOW), helpful=True, now=NOW)
    assert memory.sleep(now=NOW).failures == ()
    memory.update(said.id, "I live in Braga.", user_id="ada", now=NOW)
    receipt = memory.erase(user_id="ada", memory_id=gone.id)
    assert receipt.found in (0, None) and not any("{folder}"[:-1] in table for table in receipt.rows)
    assert memory.verify() == [] and memory.digest() and list(memory.export())
    for operation in OPERATIONS:
        try:
            exec(operation)
        except ConfigError as error:
            missing = "{folder} are not installed: nscma_torch/features/{folder} was removed; restore that folder"
            assert str(error) == missing, error
        else:
            raise AssertionError(operation)
assert not any(name.startswith("nscma_torch.features.{folder}") for name in sys.modules)
"""


OPERATIONS = {
    "records": (
        'memory.search("Porto", user_id="ada", record={"type": "fact"})',
        'memory.records(user_id="ada")',
        'Memory(sys.argv[1] + "2", config={**CONFIG, "records": {"enabled": True}}).flush()',
    ),
    "skills": (
        'memory.add_skill("Bread", trigger="hunger", steps=["bake"], user_id="ada")',
        'memory.skills(user_id="ada")',
        'memory.erase(user_id="ada", skill_id="none")',
    ),
}


@pytest.mark.parametrize("folder", OPERATIONS)
def test_without_the_folder(folder: str, tmp_path: Path) -> None:
    program = f"OPERATIONS = {OPERATIONS[folder]!r}\n" + _PROGRAM.format(folder=folder)
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "store.db")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
