"""A wheel holds what is needed at run time and nothing else; the names that others own stay free."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MAIN = "nscma_torch.cli:main"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    names = ["pyproject.toml", "README.md", "LICENSE", "nscma_torch", "kernels", "configs"]
    source.mkdir()
    subprocess.run(["cp", "-r", *(str(ROOT / name) for name in names), str(source)], check=True)
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", str(folder)]
    subprocess.run([*build, str(source)], check=True)
    return next(folder.glob("*.whl"))


def test_every_folder_is_a_listed_package() -> None:
    """Else setuptools warns of it, thirty lines each, whenever the package is installed."""
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]["packages"]
    files = (path for path in (ROOT / "nscma_torch").rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    assert {".".join(path.parent.relative_to(ROOT).parts) for path in files} <= set(listed)


@pytest.mark.skipif(shutil.which("make") is None, reason="no make")
def test_the_set_up_says_how_far_it_is() -> None:
    command = ["make", "--dry-run", "--always-make", "demo"]
    lines = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    steps = [number for number, line in enumerate(lines) if line.startswith('echo "') and " of 4: " in line]
    assert [lines[number][6] for number in steps] == ["1", "2", "3", "4"]
    assert all(" -m venv " in lines[number + 1] or " pip install " in lines[number + 1] for number in steps)


def test_wheel_contents(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"nscma_torch", "nscma_kernels"}
    for needed in (
        "nscma_torch/py.typed",
        "nscma_torch/configs/default.toml",
        "nscma_torch/configs/papers/cam.toml",
        "nscma_torch/demo/conversation.jsonl",
        "nscma_torch/demo/questions.jsonl",
        "nscma_torch/examples/chat_memory.ipynb",
        "nscma_torch/surprise/weights/proxy.safetensors",
        "nscma_torch/reading/weights/reader.safetensors",
        "nscma_torch/reading/weights/README.md",
        "nscma_torch/text/embedders/weights/questions.safetensors",
        "nscma_torch/server/view/page/index.html",
        "nscma_torch/server/view/page/style.css",
        "nscma_torch/server/view/page/main.js",
        "nscma_kernels/scored_topk.py",
    ):
        assert needed in names
    every_module = {str(path.relative_to(ROOT)) for path in (ROOT / "nscma_torch").rglob("*.py")}
    assert every_module <= set(names), every_module - set(names)
    assert wheel.stat().st_size <= 100_000_000, "what PyPI accepts"
    assert zipfile.ZipFile(wheel).getinfo("nscma_torch/surprise/weights/proxy.safetensors").file_size <= 8_000_000
    assert zipfile.ZipFile(wheel).getinfo("nscma_torch/reading/weights/reader.safetensors").file_size <= 70_000_000


def test_wheel_metadata(wheel: Path) -> None:
    """A script of the package's own name is what `uvx` and `pipx run` start; the MCP registry looks for its name."""
    with zipfile.ZipFile(wheel) as files:
        folder = next(name for name in files.namelist() if name.endswith(".dist-info/METADATA")).rpartition("/")[0]
        head, _, description = files.read(f"{folder}/METADATA").decode().partition("\n\n")
        scripts = files.read(f"{folder}/entry_points.txt").decode()
    assert "\nDescription-Content-Type: text/markdown" in head and "\nRequires-Python: >=3.11" in head
    assert description.startswith((ROOT / "README.md").read_text(encoding="utf-8"))
    name = json.loads((ROOT / "configs/deploy/server.json").read_text(encoding="utf-8"))["name"]
    assert f"mcp-name: {name} " in description.splitlines()[-1]
    assert scripts.split() == ["[console_scripts]", *f"nscma = {MAIN} nscma-torch = {MAIN}".split()]


def test_wheel_works(wheel: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path)
    code = (
        "import nscma_torch, nscma_kernels; from importlib import resources; "
        "text = (resources.files('nscma_torch.configs') / 'default.toml').read_text(); "
        "memory = nscma_torch.Memory('wheel.db', config={'embedder': {'model': 'hash'}}); "
        "memory.add('I live in Porto', user_id='u'); "
        "print(nscma_torch.__file__, '[retrieval]' in text, memory.search('Porto', user_id='u')[0].text)"
    )
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r}); {code}"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    path, *rest = done.stdout.split(maxsplit=1)
    assert path.startswith(str(tmp_path))
    assert rest == ["True I live in Porto\n"]


def test_editable_install_reads_the_same_configs(tmp_path: Path) -> None:
    code = (
        "from importlib import resources; print((resources.files('nscma_torch.configs') / 'default.toml').read_text())"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == (ROOT / "configs" / "default.toml").read_text(encoding="utf-8") + "\n"


def test_checkout_shadows_no_package(tmp_path: Path) -> None:
    """With the repository root on sys.path, `kernels` must not pass for Hugging Face's package of that name."""
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); import importlib.util as u; "
        "s = u.find_spec('kernels'); print(s and s.origin)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "None"
