"""Structure beside the import contracts of pyproject.toml: bare-machine imports, a light package, no stray packages."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "nscma_torch"
BARE = {"torch", "safetensors", "nscma_kernels", "nscma_torch"}  # what a bare GPU machine has
BARE_CORE = {"erasable_cache", "errors", "records", "tensor_files"}
NOT_BARE = {"language_models", "gradient_surprise.py"}


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


def test_surprise_runs_on_a_bare_machine() -> None:
    import sys

    surprise = PACKAGE / "surprise"
    programs = [ROOT / "train" / "proxy" / "proxy_lm.py", ROOT / "train" / "proxy" / "proxy_texts.py"]
    bundled = [path for path in surprise.rglob("*.py") if not NOT_BARE & set(path.relative_to(surprise).parts)]
    assert len(bundled) > 10
    for path in [*bundled, *programs]:
        names = imported(path)
        tops = {name.split(".")[0] for name in names}
        assert tops <= BARE | {"train"} | set(sys.stdlib_module_names), (path, tops)
        ours = {tuple(name.split(".")[1:3]) for name in names if name.startswith("nscma_torch.")}
        core = {parts[1] for parts in ours if parts[0] == "core" and len(parts) > 1}
        assert {parts[0] for parts in ours} <= {"surprise", "core"} and core <= BARE_CORE, path


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


def test_class_names_are_unique() -> None:
    """Only names that other projects dictate exist twice."""
    places: dict[str, list[Path]] = {}
    for root in (PACKAGE, ROOT / "kernels" / "nscma_kernels"):
        for path in root.rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    places.setdefault(node.name, []).append(path)
    assert len(places) > 300
    dictated = {"AsyncMemory", "Memory", "NscmaRetriever"}  # by mem0, LangChain and LlamaIndex
    assert {name: where for name, where in places.items() if len(where) > 1 and name not in dictated} == {}
