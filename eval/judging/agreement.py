"""How far verdicts agree with labels that were given by hand: accuracy and Cohen's kappa on `judge_sample.jsonl`.

The items are of our own making, in the manner of long-term memory benchmarks; each has a `kind` that says what makes
it hard. Exact match and word F1 of at least .5 are judged beside the model: what a benchmark without a judge would say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict
from rich.table import Table

from eval.judging.verdicts import Case, Judgement, Verdict, judge, prompt_sha256
from eval.metrics.answer_metrics import exact_match, token_f1
from eval.reporting.measures import share
from nscma_torch.core.errors import EngineError
from nscma_torch.llm.engines.contract import LanguageEngine

SAMPLE = Path(__file__).parents[1] / "data" / "judge_sample.jsonl"
_F1_NEEDED = 0.5


class Item(BaseModel):
    """A labelled case."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    kind: str
    question: str
    expected: tuple[str, ...]
    reply: str
    label: Verdict

    @property
    def case(self) -> Case:
        """Without the label."""
        return Case(self.question, self.expected, self.reply)


class Agreement(BaseModel):
    """How a judge's verdicts on the labelled sample stand beside its labels.

    Attributes:
        verdicts: `NO_VERDICT` where the judge gave none, which agrees with nothing.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    engine: str
    prompt: str
    labels: tuple[str, ...]
    verdicts: tuple[str, ...]

    def __str__(self) -> str:
        own = share("accuracy", [label == verdict for label, verdict in zip(self.labels, self.verdicts, strict=True)])
        told = f"accuracy {own.value:.3f} [{own.low:.3f}, {own.high:.3f}]"
        return f"{told}, Cohen's kappa {kappa(self.labels, self.verdicts):.3f} on {own.n} items labelled by hand"


NO_VERDICT = "no verdict"


def measured(engine: LanguageEngine) -> tuple[Agreement, list[EngineError]]:
    """The agreement of a judge, and why some items have no verdict."""
    sample = items()
    outcomes = judge(engine, [item.case for item in sample])
    said = [one.verdict if isinstance(one, Judgement) else NO_VERDICT for one in outcomes]
    labels = tuple(item.label for item in sample)
    found = Agreement(engine=engine.name, prompt=prompt_sha256(), labels=labels, verdicts=tuple(said))
    return found, [one for one in outcomes if isinstance(one, EngineError)]


def items() -> list[Item]:
    """The labelled sample."""
    return [Item.model_validate_json(line) for line in SAMPLE.read_text(encoding="utf-8").splitlines()]


def by_metric(item: Item, metric: Callable[[str, Sequence[str]], float], needed: float) -> Verdict:
    """What a metric says with a threshold; an empty reply declines."""
    if not item.expected:
        return "wrong" if item.reply.strip() else "abstained_correctly"
    return "right" if metric(item.reply, item.expected) >= needed else "wrong"


def metrics(sample: Sequence[Item]) -> dict[str, list[Verdict]]:
    """Verdicts of exact match and of word F1."""
    return {
        "exact match": [by_metric(item, exact_match, 1.0) for item in sample],
        f"F1 of words >= {_F1_NEEDED}": [by_metric(item, token_f1, _F1_NEEDED) for item in sample],
    }


def accuracy(labels: Sequence[str], verdicts: Sequence[str]) -> float:
    """Share of verdicts that are the label."""
    return sum(map(str.__eq__, labels, verdicts)) / len(labels)


def kappa(labels: Sequence[str], verdicts: Sequence[str]) -> float:
    """Cohen's kappa (1960): agreement beyond that of two who judge by chance with these shares; NaN where both only
    ever say the same one thing."""
    seen, said = Counter(labels), Counter(verdicts)
    chance = sum(count * said[label] for label, count in seen.items()) / len(labels) ** 2
    return (accuracy(labels, verdicts) - chance) / (1 - chance) if chance < 1 else float("nan")


def table(sample: Sequence[Item], verdicts: Mapping[str, Sequence[str]]) -> Table:
    """Accuracy and kappa of each judge, and its accuracy on each kind of item."""
    labels = [item.label for item in sample]
    shown = Table(f"{len(sample)} items", *verdicts)
    shown.add_row("accuracy", *(f"{accuracy(labels, own):.3f}" for own in verdicts.values()))
    shown.add_row("Cohen's kappa", *(f"{kappa(labels, own):.3f}" for own in verdicts.values()), end_section=True)
    for kind in dict.fromkeys(item.kind for item in sample):
        places = [i for i, item in enumerate(sample) if item.kind == kind]
        shares = [accuracy([labels[i] for i in places], [own[i] for i in places]) for own in verdicts.values()]
        shown.add_row(f"{kind} ({len(places)})", *(f"{share:.2f}" for share in shares))
    return shown
