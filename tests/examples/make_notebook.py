"""The notebook of an example: each paragraph of the program becomes a cell, and its comment the text above it.

python tests/examples/make_notebook.py    # writes nscma_torch/examples/chat_memory.ipynb, with the output of a run
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import textwrap
from pathlib import Path
from typing import Any

PROGRAM = Path(__file__).parents[2] / "nscma_torch" / "examples" / "chat_memory.py"
NOTEBOOK = PROGRAM.with_suffix(".ipynb")
OPEN = 'folder = tempfile.TemporaryDirectory()\nmemory = Memory(Path(folder.name) / "chat.db")'
CLOSE = "memory.close()\nfolder.cleanup()"


def cells_of(program: str) -> list[tuple[str, str]]:
    """(text, code) of each cell: imports, the opened store, the paragraphs of the `with` block, the closed store."""
    tree = ast.parse(program)
    (main,) = (node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "main")
    block = main.body[-1]
    assert isinstance(block, ast.With) and block.end_lineno
    title = (ast.get_docstring(tree) or "").splitlines()[0]
    body = textwrap.dedent("\n".join(program.splitlines()[block.lineno : block.end_lineno]))
    lines = [node.lineno for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    imports = "\n".join(program.splitlines()[lines[1] - 1 : lines[-1]])  # the first is of __future__
    cells = [(f"# Chat memory\n\n{title}", imports)]
    cells.append(("A store is one file; here it is in a temporary folder.", OPEN))
    for paragraph in body.split("\n\n"):
        comment, code = paragraph.split("\n", 1)
        cells.append((comment.removeprefix("# "), code))
    return [*cells, ("Closing a store writes what is still in memory.", CLOSE)]


def build(program: str) -> dict[str, Any]:
    """The notebook (nbformat 4.5) with the output that its cells print when they are run here, one after the other."""
    cells: list[dict[str, Any]] = []
    names: dict[str, Any] = {}
    for number, (text, code) in enumerate(cells_of(program), start=1):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, names)
        lines = printed.getvalue().splitlines(keepends=True)
        outputs = [{"name": "stdout", "output_type": "stream", "text": lines}] if lines else []
        cells.append({"cell_type": "markdown", "id": f"text-{number}", "metadata": {}, "source": _lines(text)})
        cells.append(
            {
                "cell_type": "code",
                "execution_count": number,
                "id": f"code-{number}",
                "metadata": {},
                "outputs": outputs,
                "source": _lines(code),
            }
        )
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


if __name__ == "__main__":
    made = build(PROGRAM.read_text(encoding="utf-8"))
    NOTEBOOK.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
