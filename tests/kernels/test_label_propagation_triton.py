"""The Triton kernels of label propagation: equal to torch's in the interpreter, and compiled for three architectures.

Whether kernels are interpreted is settled when they are decorated, so each half runs in a process of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytest.importorskip("triton")

INTERPRETED = """
import torch
from nscma_kernels import label_propagation

generator = torch.Generator().manual_seed(1)

def same(edges, n, weight=None, **given):
    for rounds in (2, None):
        torch_labels, triton_labels = (
            label_propagation(edges, weight, n, max_rounds=rounds, impl=impl, **given) for impl in ("torch", "triton")
        )
        assert torch.equal(torch_labels, triton_labels), (n, rounds)

for n, m, heaviest in ((1, 0, 0), (5, 2, 0), (37, 60, 3), (61, 301, 1e6), (120, 360, 0)):
    edges = torch.randint(n, (2, m), generator=generator)
    same(edges, n, torch.rand(m, generator=generator) * heaviest if heaviest else None)
labels = torch.randint(-4, 4, (120,), generator=generator)
same(edges, 120, labels=labels, frontier=torch.arange(0, 120, 7), ids=torch.randperm(120, generator=generator) - 99)
same(edges % 30 + 30 * (torch.arange(360) % 4), 120, batch=torch.arange(120) // 30)
complete = torch.cartesian_prod(torch.arange(17), torch.arange(17, 34)).T
same(complete, 34)
leaves = torch.arange(1, 150)  # two hubs, of degree 149 and 40
wheel = torch.cat([torch.stack([leaves * 0, leaves]), torch.stack([leaves * 0 + 1, leaves])[:, 1:41]], dim=1)
same(torch.cat([wheel, edges[:, :100]], dim=1), 150, torch.rand(len(leaves) + 40 + 100, generator=generator))
"""

COMPILED = """
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from nscma_kernels.triton import label_propagation as kernels

first_size = {"first": "i32", "size": "i32"}
arrays = {"neighbours_ptr": "*i32", "state_ptr": "*i32", "want_ptr": "*i32", "rank_ptr": "*i64"}
near = {"neighbours_ptr": "*i32", "state_ptr": "*i32", **first_size, "wide": "i32"}
gate = {**near, "want_ptr": "*i32", "rank_ptr": "*i64", "after_ptr": "*i32", "again_ptr": "*i8"}
mark = {**near, "after_ptr": "*i32", "again_ptr": "*i8"}
desire = {**arrays, **first_size, "n": "i32", "salt": "i64", "hashes_ptr": "*i64", "look_ptr": "*i8"}
sources = [(kernels.gate_kernel, gate, {"places": 16, "nodes": 64})]
sources.append((kernels.mark_kernel, mark, {"places": 128, "nodes": 8}))
for wide, places, weight in ((4, 4, "*i32"), (20, 32, "*i64"), (128, 128, "*i32")):
    shape = {"wide": wide, "places": places, "nodes": max(1, 4096 // places**2), "weighted": places > 4}
    sources.append((kernels.desire_kernel, {**desire, "weight_ptr": weight}, shape))
for architecture in (80, 89, 90):
    for kernel, signature, shape in sources:
        signature = {name: "constexpr" if name in shape else signature[name] for name in kernel.arg_names}
        source = ASTSource(fn=kernel, signature=signature, constexprs=shape)
        binary = triton.compile(source, target=GPUTarget("cuda", architecture, 32))
        assert f".target sm_{architecture}" in binary.asm["ptx"] and len(binary.asm["cubin"]) > 1000
"""


def _run(program: str, **environment: str) -> None:
    inherited = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    path = os.pathsep.join(place for place in sys.path if place)
    finished = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        env=inherited | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"} | environment,
        capture_output=True,
        text=True,
    )
    assert finished.returncode == 0, finished.stderr


def test_interpreted_equals_torch() -> None:
    _run(INTERPRETED, TRITON_INTERPRET="1")


def test_compiles_for_each_architecture() -> None:
    _run(COMPILED, TRITON_DEFAULT_FP_FUSION="1")
