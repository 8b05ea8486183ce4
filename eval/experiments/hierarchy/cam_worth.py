"""What CAM's hierarchy is worth to whoever reads: paired differences on QMSum, ODSum and the multi-hop sets.

    python -m eval.experiments.hierarchy.cam_worth --data DIR [--sets NAME …] [--variants NAME …] [--memories N] \
        [--limit N] [--documents N] [--answered N] [--budgets N …] [--cache DIR] [--out FILE]
    python -m eval.experiments.hierarchy.cam_worth --kept FILE    # the tables of what was kept

`eval/experiments/hierarchy/cam_variants.py` says what is compared, `cam_reading.py` what is measured. A meeting of
QMSum is one memory, each other set one of all its documents. Summaries are those of the embedded tasks, sentences of
their members, and the reader is the bundled one: what a language model would make of its own is not measured.

Nothing was tuned here; all the same the odd half is printed by itself. Intervals are of 95 %, of a bootstrap over
meetings, and over questions where there is one memory: those hold for its documents alone (†).
"""

from __future__ import annotations

import argparse
import gzip
import json
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import NamedTuple

import torch
from rich.console import Console
from rich.table import Table

from eval.caches.embedding_cache import CachedEmbedder
from eval.experiments.hierarchy.cam_reading import SHORT_ANSWERS, SUMMARIES, Measured, Outcome, Store
from eval.experiments.hierarchy.cam_variants import DIFFERENCES, VARIANTS, Variant
from eval.reporting import bootstrap
from eval.reporting.bootstrap import Interval
from eval.tasks.retrieval_sets import SETS, DataSet, World, qmsum_meetings, sampled
from nscma_torch import load_config
from nscma_torch.device import torch_device
from nscma_torch.text.embedder import load_embedder

_SEED = 1  # of bootstrap draws
_HALVES = ("odd", "all")


class CamSet(NamedTuple):
    """How a data set is loaded and scored."""

    load: Callable[[Path], DataSet]
    measured: Measured


CAM_SETS: Mapping[str, CamSet] = {
    "qmsum": CamSet(qmsum_meetings, SUMMARIES),
    "odsum-story": CamSet(SETS["odsum-story"], SUMMARIES),
    "odsum-meeting": CamSet(SETS["odsum-meeting"], SUMMARIES),
    "musique": CamSet(SETS["musique"], SHORT_ANSWERS),
    "hotpot": CamSet(SETS["hotpot"], SHORT_ANSWERS),
    "2wiki": CamSet(SETS["2wiki"], SHORT_ANSWERS),
}


def fewer_memories(data_set: DataSet, count: int) -> DataSet:
    """At most so many memories of a set, spread evenly over it."""
    worlds = data_set.worlds
    if count >= len(worlds):
        return data_set
    return replace(data_set, worlds=[worlds[(2 * i + 1) * len(worlds) // (2 * count)] for i in range(count)])


def fewer_documents(data_set: DataSet, count: int) -> DataSet:
    """At most so many documents of each memory: those that its questions need, and of the others an even spread.

    Where the questions need more, they alone are kept.
    """
    return replace(data_set, worlds=[_fewer(world, count) for world in data_set.worlds])


def _fewer(world: World, count: int) -> World:
    needed = {span.document for asked in world.questions for span in asked.evidence}
    others = [i for i in range(len(world.messages)) if i not in needed]
    left = min(len(others), max(0, count - len(needed)))
    kept = sorted(needed | {others[(2 * i + 1) * len(others) // (2 * left)] for i in range(left)})
    place = {document: i for i, document in enumerate(kept)}
    questions = [
        replace(asked, evidence=tuple(replace(span, document=place[span.document]) for span in asked.evidence))
        for asked in world.questions
    ]
    return replace(world, messages=[world.messages[i] for i in kept], questions=questions)


def with_answers(data_set: DataSet) -> DataSet:
    """The set without questions that have no answer to compare with."""
    worlds = [replace(world, questions=[q for q in world.questions if q.answers]) for world in data_set.worlds]
    return replace(data_set, worlds=worlds)


def by_store(variants: Sequence[Variant]) -> list[list[Variant]]:
    """The variants in groups that share a store."""
    groups: list[list[Variant]] = []
    for variant in variants:
        group = next((group for group in groups if group[0].stores_as(variant)), None)
        if group is None:
            groups.append([variant])
        else:
            group.append(variant)
    return groups


def score(outcomes: Sequence[Outcome], variant: str, measure: str, half: str) -> Interval:
    """The mean of a measure over the questions that have it."""
    return bootstrap.mean([_stratum(outcomes, variant, measure, half)], _SEED)


def difference(outcomes: Sequence[Outcome], pair: tuple[str, str], measure: str, half: str) -> Interval:
    """The first variant's mean less the second's, over the same questions; NOTHING where one lacks the measure."""
    first, second = (_stratum(outcomes, variant, measure, half) for variant in pair)
    if not len(first.totals) or not len(second.totals):
        return bootstrap.NOTHING
    return bootstrap.difference([first], [second], _SEED)


def _stratum(outcomes: Sequence[Outcome], variant: str, measure: str, half: str) -> bootstrap.Stratum:
    found: dict[str, list[float]] = {}
    for one in outcomes:
        if one.variant == variant and half in ("all", one.half) and measure in one.scores:
            found.setdefault(one.user, []).append(one.scores[measure])
    return bootstrap.stratum(found)


def tables(name: str, outcomes: Sequence[Outcome]) -> Iterator[Table]:
    """The tables of all questions, then those of each category, where there are several."""
    yield from _tables(name, outcomes)
    categories = sorted({one.category for one in outcomes})
    for category in categories if len(categories) > 1 else ():
        yield from _tables(f"{name}, {category}", [one for one in outcomes if one.category == category])


def _tables(name: str, outcomes: Sequence[Outcome]) -> Iterator[Table]:
    """For each measure the score of every variant, then what each part of CAM adds to it."""
    variants = list(dict.fromkeys(one.variant for one in outcomes))
    pairs = {part: pair for part, pair in DIFFERENCES.items() if set(pair) <= set(variants)}
    for measure in dict.fromkeys(measure for one in outcomes for measure in one.scores):
        asked = {half: score(outcomes, variants[0], measure, half).questions for half in _HALVES}
        shown = Table(title=f"{name}: {measure}", title_justify="left")
        for column in ("", *(f"{half}, n = {n}" for half, n in asked.items())):
            shown.add_column(column, justify="right" if column else "left")
        for variant in variants:
            cells = [str(score(outcomes, variant, measure, half)) for half in _HALVES]
            shown.add_row(variant, *cells, end_section=variant == variants[-1])
        for part, pair in pairs.items():
            shown.add_row(f"+ {part}", *(_signed(difference(outcomes, pair, measure, half)) for half in _HALVES))
        yield shown


def _signed(apart: Interval) -> str:
    """A difference; in bold where its interval leaves out 0."""
    if not apart.drawn:
        return str(apart)
    text = f"{apart.value:+.3f} \\[{apart.low:+.3f}, {apart.high:+.3f}]{'†' if apart.of_questions else ''}"
    return f"[bold]{text}[/]" if apart.low > 0 or apart.high < 0 else text


def _described(data_set: DataSet) -> str:
    documents = sum(len(world.messages) for world in data_set.worlds)
    questions = sum(len(world.questions) for world in data_set.worlds)
    return f"{data_set.name}: {len(data_set.worlds)} memories, {documents:,} documents, {questions:,} questions"


def kept(path: Path) -> dict[str, list[Outcome]]:
    """The outcomes of a file that `--out` wrote, by data set."""
    found: dict[str, list[Outcome]] = {}
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            found.setdefault(row.pop("set"), []).append(Outcome(**row))
    return found


def keep(path: Path, name: str, outcomes: Sequence[Outcome]) -> None:
    """Append outcomes of a data set to a file."""
    with gzip.open(path, "at", encoding="utf-8") as lines:
        lines.writelines(json.dumps({"set": name, **asdict(one)}) + "\n" for one in outcomes)


def run(name: str, arguments: argparse.Namespace, embedder: CachedEmbedder, console: Console) -> list[Outcome]:
    """The outcomes of a data set, as the arguments tell."""
    data_set = with_answers(CAM_SETS[name].load(arguments.data))
    if arguments.memories is not None:
        data_set = fewer_memories(data_set, arguments.memories)
    if arguments.limit is not None:
        data_set = sampled(data_set, arguments.limit)
    if arguments.documents is not None:
        data_set = fewer_documents(data_set, arguments.documents)
    console.print(_described(data_set))
    answered = sampled(data_set, arguments.answered)
    outcomes: list[Outcome] = []
    for group in by_store([VARIANTS[variant] for variant in arguments.variants]):
        began = time.process_time()
        with tempfile.TemporaryDirectory() as folder:
            store = Store(data_set, group, Path(folder), embedder)
            built = time.process_time()
            outcomes += store.outcomes(arguments.budgets, CAM_SETS[name].measured, answered)
        embedder.save()
        chunks, summaries = store.sizes
        console.print(
            f"{data_set.name}: {', '.join(variant.name for variant in group)}: {chunks:,} chunks, {summaries:,} "
            f"summaries; {built - began:.0f} s to store, {time.process_time() - built:.0f} s to ask",
            style="dim",
        )
    return outcomes


def main() -> None:
    """Print the tables of each set, and keep every question's scores where asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--data", type=Path, help="folder that holds qmsum/, odsum/, multihop/")
    source.add_argument("--kept", type=Path, metavar="FILE", help="print the tables of what --out wrote, run nothing")
    parser.add_argument("--sets", nargs="+", choices=CAM_SETS, default=list(CAM_SETS), help="data sets")
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(VARIANTS), help="what is compared")
    parser.add_argument("--memories", type=int, help="read at most so many meetings, evenly spaced")
    parser.add_argument("--limit", type=int, help="ask only so many questions of each set, evenly spaced")
    parser.add_argument("--documents", type=int, help="of each memory keep so many, those that are needed among them")
    parser.add_argument("--answered", type=int, default=100, help="of them, so many are answered by the reader, too")
    parser.add_argument("--budgets", type=int, nargs="+", default=[1024, 4096], help="tokens; the reader's first")
    parser.add_argument("--cache", type=Path, help="folder that keeps vectors for the next run")
    parser.add_argument("--out", type=Path, metavar="FILE", help="append every question's scores, JSON lines in gzip")
    parser.add_argument("--threads", type=int, default=1, help="threads of torch")
    arguments = parser.parse_args()
    console = Console(width=140)
    if arguments.kept is not None:
        for name, outcomes in kept(arguments.kept).items():
            console.print(*tables(name, outcomes), sep="\n")
        return
    torch.set_num_threads(arguments.threads)
    config = load_config(None)
    embedder = CachedEmbedder(load_embedder(config.embedder, torch_device(config.device)), arguments.cache)
    for name in arguments.sets:
        outcomes = run(name, arguments, embedder, console)
        if arguments.out is not None:
            keep(arguments.out, name, outcomes)
        console.print(*tables(name, outcomes), sep="\n")


if __name__ == "__main__":
    main()
