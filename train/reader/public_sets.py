"""Public question answering sets as examples: only those whose licence allows it, and only the training units.

Each file's last units are for testing (`SPLITS.tsv`); what is test in one file is test in all that share its text.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from nscma_torch.reading.reader_input import InputPassage
from nscma_torch.reading.reader_model import KINDS
from nscma_torch.text.sentences import split_sentences
from train.reader.examples import Example, Labelled, Span

SQUAD_FORM = (  # file, whether only its unanswerable questions are taken
    ("squad1_du_test/test-v1.1.json.gz", False),
    ("squad2_dev_part/dev-v2.0.json.gz", False),
    ("squad2_train_part/train-v2.0.json.gz", True),
    ("squadshifts_newwiki/new_wiki_v1.0.json.gz", False),
)
QAMR = "qamr/dev.tsv.gz"
GAP = ("gap/gap-development.tsv.gz", "gap/gap-validation.tsv")
ENTAILMENT = (
    "counterfactual_nli/original/train.tsv",
    "counterfactual_nli/revised_hypothesis/train.tsv",
    "counterfactual_nli/revised_premise/train.tsv",
)
SETS = frozenset(name.split("/")[0] for name in (*(name for name, _ in SQUAD_FORM), QAMR, *GAP, *ENTAILMENT))
WITHOUT_ANSWER = 0.3
_TRUTH = {"entailment": KINDS.index("yes"), "contradiction": KINDS.index("no")}
_SPAN = KINDS.index("span")


def public_examples(folder: Path, rng: random.Random, *, test: bool = False) -> Iterator[Example]:
    """All examples of the training units, or of those for testing."""
    first_test = _first_test_units(folder)
    for name, unanswerable_only in SQUAD_FORM:
        for paragraph in paragraphs(folder, name, test=test):
            for asked in paragraph.questions:
                if asked.get("is_impossible") or not unanswerable_only:
                    yield _question(name, paragraph, asked, rng)
    yield from _qamr(folder, first_test[QAMR], rng, test=test)
    for name in ENTAILMENT:
        yield from _entailment(folder, name, first_test[name], rng, test=test)
    yield from pronouns(folder, test=test)


def drawn_examples(folder: Path, rng: random.Random, share: float, shares: Mapping[str, float]) -> Iterator[Example]:
    """Of each set's training examples the share that `shares` has for its folder's name, or `share`."""
    for example in public_examples(folder, rng):
        if rng.random() < shares.get(example.source.split("/")[0], share):
            yield example


def _first_test_units(folder: Path) -> dict[str, int]:
    with (folder / "SPLITS.tsv").open(encoding="utf-8") as file:
        return {row["file"]: int(row["first_test_unit"]) for row in csv.DictReader(file, delimiter="\t")}


def _text(path: Path) -> str:
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8")


class Paragraph(NamedTuple):
    """A text with its questions as a file in SQuAD's form has them, and the other texts of its article."""

    context: str
    questions: list[dict[str, Any]]
    others: list[str]


def paragraphs(folder: Path, name: str, *, test: bool) -> Iterator[Paragraph]:
    """The training units of a file in SQuAD's form, or those for testing."""
    first_test = _first_test_units(folder)[name]
    number = 0
    for article in json.loads(_text(folder / name))["data"]:
        contexts = [paragraph["context"] for paragraph in article["paragraphs"]]
        for place, paragraph in enumerate(article["paragraphs"]):
            if (number >= first_test) == test:
                yield Paragraph(contexts[place], paragraph["qas"], contexts[:place] + contexts[place + 1 :])
            number += 1


def _question(source: str, paragraph: Paragraph, asked: dict[str, Any], rng: random.Random) -> Example:
    """Over the paragraph and one more of its article, or over the sentences of the paragraph, as turns are.

    Of `WITHOUT_ANSWER` of the questions only what does not answer is kept, where there is such.
    """
    context, _, others = paragraph
    spans = {(a["answer_start"], a["answer_start"] + len(a["text"])) for a in asked["answers"]}
    if asked.get("is_impossible"):
        spans = set()
    passages: list[Labelled] = []
    cuts = [(cut.start, cut.end) for cut in split_sentences(context)]
    held = [any(start <= a and b <= end for start, end in cuts) for a, b in spans]
    if rng.random() < 0.5 and len(cuts) > 1 and all(held):
        for start, end in cuts:
            own = tuple(Span(a - start, b - start) for a, b in sorted(spans) if start <= a and b <= end)
            passages.append(Labelled(InputPassage(context[start:end]), own, bool(own)))
    else:
        passages.append(Labelled(InputPassage(context), tuple(Span(*s) for s in sorted(spans)), bool(spans)))
        if others and rng.random() < 0.5:
            passages.insert(rng.randrange(2), Labelled(InputPassage(rng.choice(others)), (), False))
    silent = [passage for passage in passages if not passage.holds]
    if spans and silent and rng.random() < WITHOUT_ANSWER:
        passages, spans = silent, set()
    return Example(source, "read", asked["question"].strip(), tuple(passages), kind=_SPAN if spans else None)


def _qamr(folder: Path, first_test: int, rng: random.Random, *, test: bool) -> Iterator[Example]:
    sentences = dict(
        line.split("\t", 1) for line in _text(folder / "qamr/wiki-sentences.tsv").splitlines() if "\t" in line
    )
    order: dict[str, int] = {}
    names = list(sentences)
    for line in _text(folder / QAMR).splitlines():
        fields = line.split("\t")
        name, question, answer = fields[0], fields[5], [int(i) for i in fields[6].split()]
        number = order.setdefault(name, len(order))
        if (number >= first_test) != test or answer != list(range(answer[0], answer[-1] + 1)):
            continue
        words = sentences[name].split(" ")
        start = len(" ".join(words[: answer[0]])) + (answer[0] > 0)
        span = Span(start, start + len(" ".join(words[answer[0] : answer[-1] + 1])))
        right = Labelled(InputPassage(sentences[name]), (span,), True)
        yield Example(
            QAMR, "read", question, _among(right, [sentences[n] for n in rng.choices(names, k=4)], rng), _SPAN
        )


def _among(right: Labelled, others: list[str], rng: random.Random) -> tuple[Labelled, ...]:
    """A passage among as many of the others as a draw says."""
    passages = [Labelled(InputPassage(text), (), False) for text in others[: rng.randint(0, len(others))]]
    passages.insert(rng.randint(0, len(passages)), right)
    return tuple(passages)


def _entailment(folder: Path, name: str, first_test: int, rng: random.Random, *, test: bool) -> Iterator[Example]:
    """Whether something is true: yes, no, or not told by the premise."""
    rows = list(csv.DictReader(io.StringIO(_text(folder / name)), delimiter="\t", quoting=3))
    for number, row in enumerate(rows):
        if (number >= first_test) != test:
            continue
        hypothesis = row["sentence2"].strip().rstrip(".")
        told = _TRUTH.get(row["gold_label"])
        others = [one["sentence1"] for one in rng.choices(rows, k=2)]
        right = Labelled(InputPassage(row["sentence1"]), (), told is not None)
        asked = f"Is it true that {hypothesis[:1].lower()}{hypothesis[1:]}?"
        yield Example(name, "read", asked, _among(right, [o for o in others if o != row["sentence1"]], rng), told)


def pronouns(folder: Path, *, test: bool) -> Iterator[Example]:
    """GAP: whom a pronoun stands for, over the whole text."""
    first_test = _first_test_units(folder)
    for name in GAP:
        rows = csv.DictReader(io.StringIO(_text(folder / name)), delimiter="\t", quoting=3)
        for number, row in enumerate(rows):
            if (number >= first_test[name]) == test:
                yield _pronoun(name, row)


def _pronoun(name: str, row: dict[str, str]) -> Example:
    spans = tuple(
        Span(int(row[f"{who}-offset"]), int(row[f"{who}-offset"]) + len(row[who]))
        for who in ("A", "B")
        if row[f"{who}-coref"].upper() == "TRUE"
    )
    at = int(row["Pronoun-offset"])
    near = row["Text"][max(0, at - 60) : at + 60]
    asked = f'who or what is "{row["Pronoun"]}" in "{near}"?'
    only = Labelled(InputPassage(row["Text"]), spans, bool(spans))
    return Example(name, "read", asked, (only,), kind=_SPAN if spans else None)
