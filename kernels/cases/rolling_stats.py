"""Benchmark cases for `rolling_stats`."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator

import torch
from cases.case import Case
from torch import Tensor

from nscma_kernels import rolling_stats


def rolling_stats_cases(device: torch.device, _large: bool) -> Iterator[Case]:
    """Yield mean and deviation at every position of a million values of low variance, beside pandas and bottleneck.

    Prints the largest relative error of each implementation's deviations.
    """
    for s, t, window in ((1, 2**20, 64), (1, 2**20, 4096), (64, 2**14, 64)):
        values = (8 + 0.014 * torch.randn(s, t)).to(device)
        runs: dict[str, Callable[[], tuple[Tensor, Tensor]]] = {
            "ours": lambda values=values, window=window: rolling_stats(values, window)[:2]
        }
        for name, run in (("pandas", _pandas), ("bottleneck", _bottleneck)):
            if device.type == "cpu" and importlib.util.find_spec(name) is not None:
                runs[name] = lambda run=run, values=values, window=window: run(values, window)
            else:
                print(f"{name} is not installed, or for CPUs only: left out")
        true = values[:, -2 * window :].double().unfold(1, window, 1).std(2, correction=0)
        for who, run in runs.items():
            error = (run()[1][:, -true.shape[1] :].double() / true - 1).abs().max().item()
            print(f"{'':21} streams={s} T={t} N={window} {who}: largest relative error {error:.1e}")
        yield f"streams={s} T={t} N={window}", dict(runs)


def _pandas(values: Tensor, window: int) -> tuple[Tensor, Tensor]:
    import pandas

    rolling = pandas.DataFrame(values.T.numpy()).rolling(window, min_periods=1)
    mean, std = (part.to_numpy(copy=True) for part in (rolling.mean(), rolling.std(ddof=0)))
    return torch.from_numpy(mean).T, torch.from_numpy(std).T


def _bottleneck(values: Tensor, window: int) -> tuple[Tensor, Tensor]:
    import bottleneck

    array = values.numpy()
    mean, std = (
        function(array, window, min_count=1, axis=1) for function in (bottleneck.move_mean, bottleneck.move_std)
    )
    return torch.from_numpy(mean), torch.from_numpy(std)
