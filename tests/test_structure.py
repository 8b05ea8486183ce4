"""The house: imports point down, rooms on a floor do not know each other, files stay readable."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "nscma_torch"
FLOORS = (  # top to bottom
    ("__main__", "examples"),
    ("cli",),
    ("server", "integrations"),
    ("compat",),
    ("demo", "controller", "doctor", "bulk", "file_revisions"),
    ("aio",),
    ("memory",),
    ("answering",),
    ("components", "validation", "recalls"),
    ("unread_messages", "background"),
    ("worker", "models", "device", "derivers"),
    ("retrieval", "curator"),
    ("hierarchy", "encode"),
    ("storage", "buffer", "llm"),
    ("reading",),
    ("text", "neural"),
    ("config", "extras", "protocols", "relations", "user_shares"),
    ("records", "tensor_files"),
    ("errors", "erasable_cache", "locked_property", "rendezvous", "forking"),
)
FLOOR = {room: level for level, rooms in enumerate(FLOORS) for room in rooms}
BARE = {"torch", "safetensors", "nscma_kernels", "nscma_torch"}  # what a bare GPU machine has, for buffer/
FILES = sorted(PACKAGE.rglob("*.py"))


def room_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return parts[0]


def imported(path: Path) -> set[str]:
    """Dotted names that a file imports anywhere, also inside functions; those only for type checkers left out."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    skipped = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    names: set[str] = set()
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: relative import"
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


def rooms_imported(path: Path) -> set[str]:
    ours = (name.split(".") for name in imported(path) if name.startswith("nscma_torch."))
    return {parts[1] for parts in ours if parts[1] in FLOOR}


def test_every_room_has_a_floor() -> None:
    rooms = {room_of(path) for path in FILES} - {"__init__"}
    assert rooms <= set(FLOOR), rooms - set(FLOOR)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_down(path: Path) -> None:
    room = room_of(path)
    if room == "__init__":
        return
    for other in rooms_imported(path) - {room}:
        assert FLOOR[other] > FLOOR[room], f"{room} must not import {other}: it is above or beside it"


def test_kernels_never_import_the_library() -> None:
    for path in (ROOT / "kernels" / "nscma_kernels").rglob("*.py"):
        assert not any(name.split(".")[0] == "nscma_torch" for name in imported(path)), path


def test_buffer_runs_on_a_bare_machine() -> None:
    import sys

    programs = [ROOT / "train" / "proxy" / "proxy_lm.py", ROOT / "train" / "proxy" / "proxy_texts.py"]
    for path in [*(PACKAGE / "buffer").rglob("*.py"), *programs]:
        tops = {name.split(".")[0] for name in imported(path)}
        assert tops <= BARE | {"train"} | set(sys.stdlib_module_names), (path, tops)
        assert rooms_imported(path) <= {"buffer", "erasable_cache", "errors", "records", "tensor_files"}, path


def test_storage_holds_all_the_sql() -> None:
    for path in FILES:
        if room_of(path) in {"retrieval", "buffer", "text", "llm", "demo", "cli"}:
            names = {name for name in imported(path) if name.split(".")[0] in {"sqlalchemy", "sqlite3"}}
            assert names <= {"sqlalchemy", "sqlalchemy.Connection"}, (path, names)


def test_no_package_where_there_must_be_none() -> None:
    for folder in ("kernels", "tests", "train", "eval"):
        assert not (ROOT / folder / "__init__.py").exists()


def test_light_import() -> None:
    """`import nscma_torch` must not load torch or any model library."""
    import subprocess
    import sys

    code = "import sys, nscma_torch; print(sorted({'torch', 'transformers', 'sqlalchemy'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
