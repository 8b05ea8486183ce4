"""How well the trained reader reads when it is given what to read, on what it was never trained on.

    python -m eval.experiments.reading.reader_scores --data DIR --dialogues DIR [--weights FILE] [--threshold P]
        [--limit N]

- SQuAD 2.0: the paragraphs of `DIR/reading/` that are for testing, each whole. EM and F1 by the official rules, where
  no answer is given below `--threshold` of answerability.
- Dialogues in the format of `train/reader/dialogue_text.py`, given to the reader as in training: the stance to a
  statement; what a message changes about an earlier one ("none": another earlier message, drawn by a seed); the object
  of a statement, asked of the message that says it and of one that does not; what a mention stands for.
- GAP: whom a pronoun stands for, on the last rows of its files.

A span is *exact* where its words are a right one's, and *near* where it is exact or overlaps a right one. Intervals are
of 95 %: Wilson's of shares, of F1 a bootstrap over paragraphs, of areas under a ROC curve Hanley and McNeil's; but for
F1 they treat items as independent.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, TypeVar

import torch
from rich.console import Console
from rich.table import Table

from eval.metrics.answer_metrics import exact_match, squad2_scores
from eval.reporting.measures import Measure, area, average, measure_table, share
from nscma_torch.core.errors import InvalidInputError
from nscma_torch.reading.reader import Reader, ReadResult
from nscma_torch.reading.reader_input import InputPassage
from nscma_torch.reading.reader_model import CHANGES, KINDS, STANCES
from train.reader.dialogue_examples import dialogue_examples
from train.reader.dialogue_text import Dialogue, read_dialogues
from train.reader.examples import Example, Labelled
from train.reader.public_sets import paragraphs, pronouns

SQUAD = "squad2_dev_part/dev-v2.0.json.gz"
SEED = 0  # of what is drawn: messages that a statement or change is held against, and what --limit keeps
_HOLDS, _NONE = STANCES.index("holds"), CHANGES.index("none")

Item = TypeVar("Item")


class Asked(NamedTuple):
    """A question about a whole paragraph; no answers where it tells none."""

    question: str
    context: str
    answers: tuple[str, ...]


class Classed(NamedTuple):
    """The class that is right and the one that was read, as numbers."""

    right: int
    read: int


def squad_questions(folder: Path) -> Iterator[Asked]:
    """The questions of SQuAD 2.0's paragraphs for testing."""
    for paragraph in paragraphs(folder, SQUAD, test=True):
        for asked in paragraph.questions:
            answers = () if asked["is_impossible"] else tuple(one["text"] for one in asked["answers"])
            yield Asked(asked["question"].strip(), paragraph.context, answers)


def read_squad(reader: Reader, asked: Sequence[Asked]) -> list[ReadResult]:
    """What is read in each question's paragraph."""
    return reader.read([one.question for one in asked], [[InputPassage(one.context)] for one in asked])


def squad_measures(asked: Sequence[Asked], read: Sequence[ReadResult], threshold: float) -> list[Measure]:
    """Exact match and F1, of all and of those with and without an answer."""
    scores = [
        squad2_scores(result.spans[0].text if result.spans and result.answerable >= threshold else "", one.answers)
        for one, result in zip(asked, read, strict=True)
    ]
    f1: dict[str, dict[str, list[float]]] = {"all": {}, "HasAns": {}, "NoAns": {}}
    for one, (_, score) in zip(asked, scores, strict=True):
        for name in ("all", "HasAns" if one.answers else "NoAns"):
            f1[name].setdefault(one.context, []).append(score)
    return [
        share("EM", [exact == 1.0 for exact, _ in scores]),
        average("F1", f1["all"]),
        average("F1, HasAns", f1["HasAns"]),
        average("F1, NoAns", f1["NoAns"]),
        _area_of_answerable([(bool(one.answers), result) for one, result in zip(asked, read, strict=True)]),
    ]


def load_dialogues(folder: Path) -> list[Dialogue]:
    """All dialogues of a folder and those below it.

    Raises:
        InvalidInputError: it holds none.
        DialogueError: a file that does not follow the format.
    """
    found = [dialogue for path in sorted(folder.rglob("*.txt")) for dialogue in read_dialogues(path)]
    if not found:
        raise InvalidInputError(f"{folder} holds no dialogue: name a folder with *.txt, such as one for each author")
    return found


def statements(dialogues: Sequence[Dialogue]) -> list[Example]:
    """A statement and the message that makes it, with its stance."""
    return [example for example in _examples(dialogues) if example.task == "stance"]


def changes(dialogues: Sequence[Dialogue]) -> list[Example]:
    """An earlier message and a later one, with what this changes about it."""
    return [example for example in _examples(dialogues) if example.task == "change"]


def objects(dialogues: Sequence[Dialogue]) -> list[Example]:
    """Subject and predicate of a statement, asked of the message that makes it and of one that does not."""
    bare = [replace(dialogue, questions=[], coreferences=[]) for dialogue in dialogues]
    yes_no = (KINDS.index("yes"), KINDS.index("no"))  # of questions about changed values
    return [example for example in _examples(bare) if example.task == "read" and example.kind not in yes_no]


def mentions(dialogues: Sequence[Dialogue]) -> list[Example]:
    """What a pronoun or description stands for, asked of the messages before it."""
    bare = [replace(dialogue, questions=[], statements=[], changes=[]) for dialogue in dialogues]
    return [example for example in _examples(bare) if example.task == "read"]


def _examples(dialogues: Sequence[Dialogue]) -> Iterator[Example]:
    rng = random.Random(SEED)
    for dialogue in dialogues:
        yield from dialogue_examples(dialogue, rng)


def read_stances(reader: Reader, examples: Sequence[Example]) -> list[Classed]:
    """The likeliest stance to each statement."""
    return _classed(examples, reader.stances(*_inputs(examples)) if examples else None)


def read_changes(reader: Reader, examples: Sequence[Example]) -> list[Classed]:
    """The likeliest change of each pair of messages."""
    return _classed(examples, reader.changes(*_inputs(examples)) if examples else None)


def read_spans(reader: Reader, examples: Sequence[Example]) -> list[ReadResult]:
    """What is read for each example."""
    return reader.read(*_inputs(examples))


def _inputs(examples: Sequence[Example]) -> tuple[list[str], list[list[InputPassage]]]:
    passages = [[labelled.passage for labelled in example.passages] for example in examples]
    return [example.question for example in examples], passages


def _classed(examples: Sequence[Example], probabilities: torch.Tensor | None) -> list[Classed]:
    read = [] if probabilities is None else probabilities.argmax(-1).tolist()
    return [Classed(e.label, own) for e, own in zip(examples, read, strict=True) if e.label is not None]


def stance_measures(found: Sequence[Classed]) -> list[Measure]:
    """Accuracy, and both errors about what holds."""
    return [
        share("accuracy", [one.read == one.right for one in found]),
        share("what does not hold taken for what holds", [o.read == _HOLDS for o in found if o.right != _HOLDS]),
        share("what holds taken for what does not", [o.read != _HOLDS for o in found if o.right == _HOLDS]),
    ]


def change_measures(found: Sequence[Classed]) -> list[Measure]:
    """Accuracy, of labelled changes alone too, and both errors about whether there is one."""
    return [
        share("accuracy", [one.read == one.right for one in found]),
        share("accuracy, of labelled changes", [o.read == o.right for o in found if o.right != _NONE]),
        share("a labelled change missed", [o.read == _NONE for o in found if o.right != _NONE]),
        share("a change read where none is labelled", [o.read != _NONE for o in found if o.right == _NONE]),
    ]


def span_measures(examples: Sequence[Example], read: Sequence[ReadResult], threshold: float) -> list[Measure]:
    """Exact and near spans where there is one, whatever the answerability; silence where there is none."""
    told = [(e, result) for e, result in zip(examples, read, strict=True) if any(p.answers for p in e.passages)]
    untold = [result for e, result in zip(examples, read, strict=True) if e.kind is None]
    measures = [
        share("exact span", [_exact(*one) for one in told]),
        share("near span", [_exact(*one) or _overlaps(*one) for one in told]),
        share("silent, told", [result.answerable < threshold for _, result in told]),
        share("silent, not told", [result.answerable < threshold for result in untold]),
        _area_of_answerable([*((True, result) for _, result in told), *((False, result) for result in untold)]),
    ]
    return [one for one in measures if one.n]


def _area_of_answerable(read: Sequence[tuple[bool, ReadResult]]) -> Measure:
    sides = ([result.answerable for told, result in read if told is side] for side in (True, False))
    return area("AUC of answerable", *sides)


def _exact(example: Example, read: ReadResult) -> bool:
    right = [_words(labelled, span) for labelled in example.passages for span in labelled.answers]
    return bool(read.spans) and exact_match(read.spans[0].text, right) == 1.0


def _words(labelled: Labelled, span: tuple[int, int, bool]) -> str:
    start, end, of_text = span
    return (labelled.passage.text if of_text else labelled.passage.speaker)[start:end]


def _overlaps(example: Example, read: ReadResult) -> bool:
    if not read.spans:
        return False
    best = read.spans[0]
    return any(
        of_text == best.of_text and start < best.end and best.start < end
        for start, end, of_text in example.passages[best.passage].answers
    )


def confusion(title: str, names: Sequence[str], found: Sequence[Classed]) -> Table:
    """A row for each class that is right, a column for each that was read; counts, and the share that is right."""
    counts = Counter(found)
    printed = Table(title=title, title_justify="left")
    printed.add_column("right \\ read")
    for column in (*names, "n", "right"):
        printed.add_column(column, justify="right")
    for right, name in enumerate(names):
        row = [counts[Classed(right, read)] for read in range(len(names))]
        if total := sum(row):
            printed.add_row(name, *(str(n) if n else "" for n in row), str(total), f"{row[right] / total:.3f}")
    return printed


def some(items: Iterator[Item] | Sequence[Item], limit: int | None) -> list[Item]:
    """All items, or as many as `limit` tells, drawn by a seed and in their order."""
    own = list(items)
    if limit is None or limit >= len(own):
        return own
    return [own[i] for i in sorted(random.Random(SEED).sample(range(len(own)), limit))]


def main() -> None:
    """Print a table for each part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder that holds reading/")
    parser.add_argument("--dialogues", type=Path, required=True, help="folder with labelled dialogues for testing")
    parser.add_argument("--weights", type=Path, help="the reader's weights; the bundled ones without it")
    parser.add_argument("--threshold", type=float, default=0.5, help="answerability from which there is an answer")
    parser.add_argument("--limit", type=int, metavar="N", help="read at most so many items of each part")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=1, help="threads of torch")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    threshold, limit, folder = arguments.threshold, arguments.limit, arguments.data / "reading"
    dialogues = load_dialogues(arguments.dialogues)
    reader = Reader.from_pretrained(arguments.weights, device=arguments.device)
    console = Console(width=140)

    asked = some(squad_questions(folder), limit)
    console.print(measure_table("SQuAD 2.0, paragraphs", squad_measures(asked, read_squad(reader, asked), threshold)))
    stances = read_stances(reader, some(statements(dialogues), limit))
    console.print(measure_table("dialogues, stances of statements", stance_measures(stances)))
    console.print(confusion("stances", STANCES, stances))
    changed = read_changes(reader, some(changes(dialogues), limit))
    console.print(measure_table("dialogues, changes", change_measures(changed)))
    console.print(confusion("changes", CHANGES, changed))
    for title, examples in (
        ("dialogues, objects of statements", some(objects(dialogues), limit)),
        ("dialogues, mentions", some(mentions(dialogues), limit)),
        ("GAP, pronouns", some(pronouns(folder, test=True), limit)),
    ):
        console.print(measure_table(title, span_measures(examples, read_spans(reader, examples), threshold)))


if __name__ == "__main__":
    main()
