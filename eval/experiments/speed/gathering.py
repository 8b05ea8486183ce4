"""What it saves to cluster the hierarchies of many users together: processor time of one call against one by one.

    python -m eval.experiments.speed.gathering [--networks 1 100 10000] [--chunks 20] [--device cpu]

Each network gets its first chunks (random vectors of three topics, 64 dimensions), then a few more, with the default
settings of the hierarchy: neighbours, personas, clusters and all levels above, no summaries. Together and one by one
take turns, three times; medians are printed (of the processor's time; on CUDA of the clock). Of more than 100 networks,
100 are done one by one, scaled. The results are compared first.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence

import torch

from nscma_torch.config import Hierarchy
from nscma_torch.hierarchy.cam import Cam, Change, assimilate
from nscma_torch.hierarchy.level_rows import to_rows

FEW = 100
TURNS = 3


def changes_of(cams: Sequence[Cam], chunks: int, come: int, device: torch.device) -> list[Change]:
    """`come` new chunks for each hierarchy, whose vectors are the first of so many drawn for it."""
    changes = []
    for number, cam in enumerate(cams):
        generator = torch.Generator().manual_seed(number)
        topics = torch.randn(3, 64, generator=generator)
        vectors = topics[torch.randint(0, 3, (chunks,), generator=generator)]
        vectors = (vectors + 0.7 * torch.randn(chunks, 64, generator=generator)).to(device)
        count = (len(cam.levels[0].nodes) if cam.levels else 0) + come
        places = torch.arange(count, device=device)
        changes.append(Change(cam, places[:0], vectors[:count], places, torch.zeros_like(places)))
    return changes


def timed(run: Callable[[], object], device: torch.device) -> float:
    """Milliseconds."""
    clock = time.perf_counter if device.type == "cuda" else time.process_time
    if device.type == "cuda":
        torch.cuda.synchronize()
    begin = clock()
    run()
    if device.type == "cuda":
        torch.cuda.synchronize()
    return 1000 * (clock() - begin)


def compare(changes: Sequence[Change], settings: Hierarchy, device: torch.device) -> tuple[float, float, list[Cam]]:
    """Milliseconds together and one by one, and the hierarchies; raises where the two differ."""
    some = changes[:FEW]

    def alone() -> list[Cam]:
        return [assimilate([change], settings)[0] for change in some]

    after = assimilate(changes, settings)
    for one, other in zip(alone(), after, strict=False):
        if [to_rows(level) for level in one.levels] != [to_rows(level) for level in other.levels]:
            raise AssertionError("a hierarchy clustered with others differs from the same one alone")
    together, single = [], []
    for _ in range(TURNS):
        together.append(timed(lambda: assimilate(changes, settings), device))
        single.append(timed(alone, device) * len(changes) / len(some))
    return statistics.median(together), statistics.median(single), after


def main() -> None:
    """Print one line for each number of networks and each batch."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", nargs="+", type=int, default=[1, 100, 10_000])
    parser.add_argument("--chunks", type=int, default=20, help="of each network in its first batch")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    device, settings, more = torch.device(arguments.device), Hierarchy(), max(1, arguments.chunks // 5)
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU, 1 thread"
    print(f"torch {torch.__version__}, {name}, milliseconds")
    for count in arguments.networks:
        cams = [Cam()] * count
        for what, come in (("first", arguments.chunks), ("further", more)):
            changes = changes_of(cams, arguments.chunks + more, come, device)
            together, single, cams = compare(changes, settings, device)
            ratio = single / together
            print(
                f"{count:6} networks, {come:3} {what:7} chunks: together {together:10.1f}, one by one {single:12.1f}"
                f" ({min(count, FEW)} done), one by one / together = {ratio:.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
