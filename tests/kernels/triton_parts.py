"""Runs the parts of the kernels' test files as one program: Triton decides at import whether it interprets kernels."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).parents[2]
KERNELS = ("ego_split", "knn_graph", "label_propagation", "memory_scan", "scored_topk", "token_nll")
GENERATIONS = (80, 89, 90)


def run(part: str) -> dict[str, str]:
    """What `interpret` or `compile_all` of each kernel's test file prints, by kernel."""
    path = os.pathsep.join([str(_ROOT), str(_ROOT / "kernels"), *filter(None, [os.environ.get("PYTHONPATH")])])
    interpret = "1" if part == "interpret" else "0"
    environment = {**os.environ, "PYTHONPATH": path, "TRITON_INTERPRET": interpret, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, __file__, part], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return dict(line.split(": ", 1) for line in done.stdout.splitlines())


def check_compiled(
    kernel: Any, types: Sequence[str], constants: Mapping[str, Any], generation: int, **options: Any
) -> Any:
    """Compile a kernel without a GPU, check that there is machine code, and return the result.

    `types` are those of the arguments that are not constants, in order.
    """
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    of_type = iter(types)
    signature = {name: "constexpr" if name in constants else next(of_type) for name in kernel.arg_names}
    source = ASTSource(fn=kernel, signature=signature, constexprs=dict(constants))
    built = triton.compile(source, target=GPUTarget("cuda", generation, 32), options=options)
    assert f"sm_{generation}" in built.asm["ptx"]
    assert len(built.asm["cubin"]) > 1000
    return built


if __name__ == "__main__":
    modules = {name: importlib.import_module(f"tests.kernels.test_{name}_triton") for name in KERNELS}
    for name, module in modules.items():
        if not (child := os.fork()):  # parts change constants of kernels and settings of torch
            print(f"{name}: {getattr(module, sys.argv[1])()}", flush=True)
            os._exit(0)
        if os.waitpid(child, 0)[1]:
            sys.exit(f"{name} failed")
