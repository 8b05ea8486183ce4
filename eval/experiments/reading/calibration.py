"""Fits the confidence of short answers (`nscma_torch/reading/confidence.py`), and measures it on other authors.

    python -m eval.experiments.reading.calibration --fit DIR... --measure DIR... [--data DIR] [--json FILE] [--out FILE]

Each question of the chats in `--fit` is searched for and read; logistic regressions on the features give the weights of
`CORRECT` (the short answer is right) and `ANSWERABLE` (the chat tells it). With `--data`, LoCoMo's even half is another
set for `ANSWERABLE`, of the same weight; its category 5 is what was never told. `StateLayer`, linear in the reader's
hidden states, is fitted to what the second leaves over, and written to `--out`. For the chats in `--measure`, by
author: the calibration error of the first, the share of all questions that can be answered at 80 and 90 % accuracy, and
for thresholds of the second how many questions stay silent, and how many unanswerable ones are answered.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from eval.experiments.reading.conversation_files import Conversation
from eval.experiments.reading.conversation_files import load as load_conversations
from eval.experiments.reading.conversations import Models, fresh, loaded, stored
from eval.metrics.retrieval_metrics import auc
from eval.metrics.selective import calibration_error, coverage_at
from eval.tasks.locomo import load as load_locomo
from nscma_torch import Memory, Scope, load_config
from nscma_torch.core.records import Answer, Usage
from nscma_torch.core.tensor_files import save_module
from nscma_torch.demo.short_answers import judge
from nscma_torch.reading.confidence import ANSWERABLE, CORRECT, StateLayer, confidence
from nscma_torch.search.search_bounds import Bounds

THRESHOLDS = (0.5, 0.6, 0.7, 0.75, 0.8, 0.82, 0.85, 0.9)
_PENALTY = 1e-3  # of the squared weights of features in units of their deviation, for each example
_STEPS = 50
_STATES_PENALTY = 0.3  # of the squared weights of hidden states in units of their deviation; of .03 to 3 on two authors
STATES = "states"


@dataclass(frozen=True, slots=True)
class Point:
    """One question: the features of its reading, whether the answer is right, and whether the texts tell it.

    `right` is None if there is no answer. `summary` is the reader's hidden states in short, [4d], or None.
    """

    author: str
    features: Mapping[str, float]
    right: bool | None
    told: bool
    summary: Tensor | None = None


def of_conversation(conversation: Conversation, models: Models) -> Iterator[Point]:
    """Yield a point for each question of a conversation."""
    user, now = conversation.user, conversation.asked_at
    with stored(conversation, range(len(conversation.messages)), models) as (memory, _):
        for question in conversation.questions:
            features, summary, text = _read(memory, question.text, Bounds(Scope(user), now))
            told = Answer(text or "", text is None, 0.5, (), (), Usage())
            right = None if text is None else judge(question.gold, told).short
            yield Point(conversation.author, features, right, bool(question.gold.answers), summary)


def of_locomo(data: Path, models: Models) -> Iterator[Point]:
    """Yield a point for each question of LoCoMo's even half, without a verdict on its short answer."""
    for chat in load_locomo(data)[::2]:
        with fresh(models) as memory:
            list(memory.add_many(chat.messages, user_id="reader", now=chat.asked_at))
            bounds = Bounds(Scope("reader"), chat.asked_at)
            for told, questions in ((True, chat.questions), (False, chat.unanswerable)):
                for question in questions:
                    features, summary, _ = _read(memory, question.text, bounds)
                    yield Point("locomo", features, None, told, summary)


def _read(memory: Memory, question: str, bounds: Bounds) -> tuple[Mapping[str, float], Tensor | None, str | None]:
    """Return the features of a reading, its hidden states in short, and its short answer, however unsure."""
    parts = memory.components
    if parts.reader_qa is None:
        raise SystemExit("there is no reader to calibrate: reading.model is 'none'")
    found = parts.retriever.retrieve(question, bounds, top_k=parts.config.reading.passages)
    attempt = parts.reader_qa.attempt(question, found.hits, user_id=bounds.scope.user_id, now=bounds.now)
    text = None if attempt.found is None else attempt.found.text
    return attempt.features, attempt.read.result.summary, text


def fitted(
    sets: Sequence[tuple[Sequence[Mapping[str, float]], Sequence[bool]]], names: Collection[str] = CORRECT
) -> dict[str, float]:
    """Return the weights of the named features, by Newton's method; every set weighs the same."""
    rows = np.array([[one[name] for name in names] for own, _ in sets for one in own])
    truth = np.array([t for _, own in sets for t in own], dtype=np.float64)
    weight = np.concatenate([np.full(len(own), 1 / (len(sets) * len(own))) for own, _ in sets])
    scale = rows.std(0)
    scale[scale < 1e-9] = 1.0
    rows = rows / scale
    penalty = np.diag([0.0 if name == "intercept" else _PENALTY for name in names])
    found = np.zeros(len(names))
    for _ in range(_STEPS):
        share = 1 / (1 + np.exp(-rows @ found))
        slope = rows.T @ (weight * (share - truth)) + penalty @ found
        curve = (rows * (weight * share * (1 - share))[:, None]).T @ rows + penalty + 1e-9 * np.eye(len(names))
        found -= np.linalg.solve(curve, slope)
    return dict(zip(names, map(float, found / scale), strict=True))


def fit_states(
    layer: StateLayer, sets: Sequence[tuple[Sequence[Point], Sequence[bool]]], weights: Mapping[str, float]
) -> None:
    """Fit the layer to what the weights of the features leave over; every set weighs the same."""
    points = [point for own, _ in sets for point in own]
    size = next(len(point.summary) for point in points if point.summary is not None)
    nothing = torch.zeros(size)  # of a question for which nothing was found
    states = torch.stack([nothing if point.summary is None else point.summary for point in points])
    mean, deviation = states.mean(0), states.std(0) + 1e-2
    normal = (states - mean) / deviation
    truth = torch.tensor([float(t) for _, own in sets for t in own])
    share = torch.tensor([1 / (len(sets) * len(own)) for _, own in sets for _ in own])
    before = torch.tensor([sum(weights[name] * point.features[name] for name in weights) for point in points])
    weight = torch.zeros(states.shape[1], requires_grad=True)
    bias = torch.zeros(1, requires_grad=True)
    optim = torch.optim.LBFGS([weight, bias], max_iter=300, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optim.zero_grad()
        each = binary_cross_entropy_with_logits(before + normal @ weight + bias, truth, reduction="none")
        found = (share * each).sum() + _STATES_PENALTY * weight.square().sum()
        torch.autograd.backward(found)
        return found

    optim.step(loss)  # type: ignore[no-untyped-call]
    with torch.no_grad():
        layer.weight.copy_((weight / deviation)[None])
        layer.bias.copy_(bias - (mean / deviation) @ weight)


def with_states(points: Sequence[Point], layer: StateLayer) -> list[Point]:
    """Return the points with what the layer makes of their hidden states."""
    logits = [0.0 if point.summary is None else layer(point.summary).item() for point in points]
    return [replace(p, features={**p.features, STATES: own}) for p, own in zip(points, logits, strict=True)]


def by_author(points: Sequence[Point], correct: dict[str, float], answerable: dict[str, float]) -> Table:
    """Return how well both probabilities do for each author, and for all."""
    printed = Table("author", "n", "right", "mean", "ECE", "coverage at .8", "at .9", "AUC right", "AUC answerable")
    for name in [*sorted({p.author for p in points}), "all"]:
        own = [p for p in points if name in (p.author, "all")]
        answered = [p for p in own if p.right is not None]
        sure = [confidence(p.features, correct) for p in answered]
        is_right = [bool(p.right) for p in answered]
        printed.add_row(
            name,
            str(len(own)),
            f"{np.mean(is_right):.3f}",
            f"{np.mean(sure):.3f}",
            f"{calibration_error(sure, is_right):.3f}",
            *(f"{coverage_at(accuracy, sure, is_right, len(own)):.3f}" for accuracy in (0.8, 0.9)),
            _auc(sure, is_right),
            _auc([confidence(p.features, answerable) for p in own], [p.told for p in own]),
        )
    return printed


def _auc(sure: Sequence[float], truth: Sequence[bool]) -> str:
    return f"{auc(sure, truth):.3f}" if any(truth) and not all(truth) else ""


def by_threshold(points: Sequence[Point], answerable: dict[str, float]) -> Table:
    """Return what each threshold of the probability of an answer would do."""
    printed = Table("answerable at least", "right", "silent", "invented")
    rows = [(confidence(p.features, answerable), p) for p in points if p.right is not None]
    held = [p for p in points if p.told]
    lacking = len(points) - len(held)
    for threshold in THRESHOLDS:
        given = [p for sure, p in rows if sure >= threshold]
        right = sum(bool(p.right) for p in given if p.told) / len(held)
        silent = 1 - sum(p.told for p in given) / len(held)
        invented = sum(not p.told for p in given) / max(1, lacking)
        printed.add_row(f"{threshold:.2f}", f"{right:.3f}", f"{silent:.3f}", f"{invented:.3f}")
    return printed


def main() -> None:
    """Print the weights, and what they do on other authors."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fit", type=Path, nargs="+", required=True, help="chats, or folders of them")
    parser.add_argument("--measure", type=Path, nargs="+", required=True, help="chats, or folders of them")
    parser.add_argument("--data", type=Path, help="folder that holds locomo/")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the features of each question")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the layer on hidden states")
    parser.add_argument("--threads", type=int, default=1, help="threads of torch")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    models = loaded(load_config(None))
    fit, measured = (
        [point for one in load_conversations(paths) for point in of_conversation(one, models)]
        for paths in (arguments.fit, arguments.measure)
    )
    locomo = [] if arguments.data is None else list(of_locomo(arguments.data, models))
    console = Console(width=120)
    answered = [p for p in fit if p.right is not None]
    is_right = [bool(p.right) for p in answered]
    correct = fitted([([p.features for p in answered], is_right)])
    sets = [own for own in (fit, locomo) if own]
    alone = [name for name in ANSWERABLE if name != STATES]
    answerable = fitted([([p.features for p in own], [p.told for p in own]) for own in sets], alone)
    for name, weights in (("CORRECT", correct), ("ANSWERABLE", answerable)):
        console.print(f"{name} = { ({key: round(value, 3) for key, value in weights.items()}) }")
    console.print(by_author(measured, correct, answerable), "(without hidden states)")
    console.print(by_threshold(measured, answerable))
    size = next((len(p.summary) for p in fit if p.summary is not None), 0)
    if size:
        layer = StateLayer(size)
        fit_states(layer, [(own, [p.told for p in own]) for own in sets], answerable)
        measured, locomo = with_states(measured, layer), with_states(locomo, layer)
        answerable = {**answerable, STATES: 1.0}
        if arguments.out is not None:
            save_module(layer, arguments.out)
    console.print(by_author(measured, correct, answerable))
    console.print(by_threshold(measured, answerable))
    if locomo:
        console.print(by_threshold([replace(p, right=False) for p in locomo], answerable), "(LoCoMo's even half)")
    if arguments.json is not None:
        rows = [[p.author, p.features, p.right, p.told] for p in (*fit, *measured, *locomo)]
        arguments.json.write_text(json.dumps(rows) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
