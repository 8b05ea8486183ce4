"""Programs that know another memory's names, run as they are: a LangGraph agent, and mem0's own first example.

The example is read out of mem0's wheel, whose description it stands in; of it the import of mem0 alone is changed.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

from nscma_torch.examples import langgraph_agent

MODEL = "gpt-5-mini"  # that mem0's example asks for
_IMPORT, _OURS = "from mem0 import Memory", "from nscma_torch.compat.mem0 import Memory"
_SESSIONS = ("I am allergic to nuts.\nMy sister Marta works in Porto.\nexit\n", "What must I not eat?\nexit\n")


def agent() -> None:
    """The LangGraph agent of the examples: two conversations of one user, and one of another."""
    print(f"\n# a LangGraph agent\n$ python -m {langgraph_agent.__name__}")
    print(_run(["-m", langgraph_agent.__name__]))


def mem0_example(wheel: Path, upstream: str, folder: Path) -> None:
    """mem0's example in two processes, with a model server that has a model of the name `MODEL`."""
    code = example(wheel)
    program = folder / "example.py"
    program.write_text(code.replace(_IMPORT, _OURS), encoding="utf-8")
    print(f"\n# the first example of {wheel.name}, with one line changed\n-{_IMPORT}\n+{_OURS}")
    settings = {"OPENAI_BASE_URL": f"{upstream}/v1", "OPENAI_API_KEY": "none", "MEM0_DIR": str(folder / "mem0")}
    for typed in _SESSIONS:
        print(f"$ python {program.name}  # typed: {typed.splitlines()}")
        print(_run([str(program)], typed, settings))
    (store,) = (folder / "mem0").glob("*.db")
    command = [
        "-m",
        "nscma_torch",
        "search",
        "allergic to nuts",
        "-k",
        "1",
        "--user",
        "default_user",
        "--store",
        str(store),
    ]
    print(f"$ nscma {' '.join(command[2:-1])} {store.name}\n{_run(command)}")


def example(wheel: Path) -> str:
    """The first program in the description of a wheel. Raises `ValueError` where none imports mem0's memory."""
    with zipfile.ZipFile(wheel) as packed:
        (name,) = (one for one in packed.namelist() if one.endswith(".dist-info/METADATA"))
        text = packed.read(name).decode()
    for code in re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL):
        if code.count(_IMPORT) == 1:
            return str(code)
    raise ValueError(f"no example in the description of {wheel.name} imports mem0's Memory")


def _run(arguments: list[str], typed: str = "", settings: dict[str, str] | None = None) -> str:
    """What a program prints. Raises `CalledProcessError` where it fails."""
    environment = {**os.environ, **(settings or {})}
    done = subprocess.run(
        [sys.executable, *arguments], input=typed, env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout
