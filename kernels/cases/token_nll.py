"""Benchmark cases for `token_nll`."""

from __future__ import annotations

import concurrent.futures
import importlib.util
import multiprocessing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from cases.case import Case
from torch import Tensor
from torch.nn import functional

from nscma_kernels import token_nll

SIZES = {"Qwen2.5-0.5B": (512, 896, 151_936), "SmolLM2-135M": (512, 576, 49_152)}  # T, d, V
Run = Callable[[Tensor, Tensor, Tensor], Tensor]  # hidden, weight, targets -> nll [T]


def token_nll_cases(device: torch.device, large: bool) -> Iterator[Case]:
    """Yield NLL of 512 tokens in bfloat16 with the vocabularies of two surprise models, then forward and backward of
    their mean.

    Prints the largest error against float64, and each one's memory beyond its operands: the rise of resident peak
    memory in a fresh process on a CPU; the allocator's peak on a GPU.
    """
    for name, (t, d, v) in SIZES.items() if large else [*SIZES.items()][1:]:
        inputs = operands(t, d, v, device)
        runs = implementations()
        true = torch.cat([_float64(*inputs, rows) for rows in torch.arange(t, device=device).split(64)])
        for who, run in runs.items():
            error = (run(*inputs).double() - true).abs().max().item()
            memory = peak(who, (t, d, v), device)
            print(f"{'':21} {name} {who}: largest error {error:.1e} nats, {memory}")
        shape = f"{name} T={t} d={d} V={v} bf16"
        for suffix, bind in (("", _inference), (" + backward", _training)):
            yield shape + suffix, {who: bind(run, inputs) for who, run in runs.items()}


def operands(t: int, d: int, v: int, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    """Return logits with a standard deviation of 1.5."""
    generator = torch.Generator().manual_seed(0)
    hidden = torch.randn(t, d, generator=generator).bfloat16()
    weight = (1.5 * d**-0.5 * torch.randn(v, d, generator=generator)).bfloat16()
    targets = torch.randint(0, v, (t,), generator=generator)
    return hidden.to(device), weight.to(device), targets.to(device)


def implementations() -> dict[str, Run]:
    """Return ours first, then the installed peers."""
    runs: dict[str, Run] = {"ours": token_nll, "log_softmax": _log_softmax}
    if hasattr(functional, "linear_cross_entropy"):
        runs["F.linear_cross_entropy"] = _linear_cross_entropy
    else:
        print(f"torch {torch.__version__} has no linear_cross_entropy: left out")
    if importlib.util.find_spec("cut_cross_entropy") is not None:
        runs["CCE torch_compile"] = _cut_cross_entropy
    else:
        print("cut-cross-entropy is not installed: left out")
    return runs


def _log_softmax(hidden: Tensor, weight: Tensor, targets: Tensor) -> Tensor:
    return -(hidden @ weight.T).float().log_softmax(1).gather(1, targets[:, None])[:, 0]


def _linear_cross_entropy(hidden: Tensor, weight: Tensor, targets: Tensor) -> Tensor:
    nll: Tensor = functional.linear_cross_entropy(hidden, weight, targets, reduction="none")
    return nll


def _cut_cross_entropy(hidden: Tensor, weight: Tensor, targets: Tensor) -> Tensor:
    from cut_cross_entropy import linear_cross_entropy

    nll: Tensor = linear_cross_entropy(hidden, weight, targets, impl="torch_compile", reduction="none")
    return nll


def _float64(hidden: Tensor, weight: Tensor, targets: Tensor, rows: Tensor) -> Tensor:
    logits = torch.cat([hidden[rows].double() @ part.double().T for part in weight.split(16_384)], dim=1)
    return logits.logsumexp(1) - logits.gather(1, targets[rows, None])[:, 0]


def _inference(run: Run, inputs: tuple[Tensor, Tensor, Tensor]) -> Callable[[], object]:
    return torch.no_grad()(lambda: run(*inputs))


def _training(run: Run, inputs: tuple[Tensor, Tensor, Tensor]) -> Callable[[], object]:
    hidden, weight = (part.clone().requires_grad_() for part in inputs[:2])
    return lambda: torch.autograd.grad(run(hidden, weight, inputs[2]).float().mean(), [hidden, weight])


def peak(who: str, size: tuple[int, int, int], device: torch.device) -> str:
    """Return the memory beyond the operands, in MB."""
    if device.type == "cpu" and not Path("/proc/self/clear_refs").exists():
        return "memory not measured: needs Linux"
    fresh = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=fresh) as pool:
        return f"{pool.submit(_peak, who, size, str(device), torch.get_num_threads()).result():,.0f} MB beside operands"


def _peak(who: str, size: tuple[int, int, int], device: str, threads: int) -> float:
    torch.set_num_threads(threads)
    run: Any = torch.no_grad()(implementations()[who])
    _, d, _ = size
    run(*operands(8, d, 1000, torch.device(device)))  # libraries are loaded, and kernels compiled
    inputs = operands(*size, torch.device(device))
    if device != "cpu":
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        run(*inputs)
        return (torch.cuda.max_memory_allocated() - before) / 1e6
    Path("/proc/self/clear_refs").write_text("5")  # the peak restarts
    before = _status("VmRSS")
    run(*inputs)
    return (_status("VmHWM") - before) / 1e3


def _status(field: str) -> float:
    """Return a memory field of this process, in kB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith(field))
