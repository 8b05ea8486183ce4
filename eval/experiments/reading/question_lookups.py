"""How many labelled questions are read as the lookup that they ask for.

    python -m eval.experiments.reading.question_lookups [--questions DIR] [--relations FILE] [--sure .3 .5 .7] [--wrong]

*Precision*: of the questions that were read as a lookup, those that ask for just that one; *recall*: of those that ask
for one, the same; *refused*: of those that ask for none, the ones from which none was read. A lookup is right where all
of it is: relation, way of asking, subject, object, topic.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from eval.reporting.shares import wilson
from nscma_torch.core.records import FactQuery
from nscma_torch.reading.question_network import AskedRelation, QuestionNetwork, Slots
from nscma_torch.reading.questions import SURE, QuestionReader
from nscma_torch.reading.relations import Schema, load_relations
from train.reader.labelled_questions import SLOT_LETTERS, LabelledQuestion, read_folder

LEVEL = 0.95


def labelled(question: LabelledQuestion) -> AskedRelation:
    """What a label says, as the network tells it."""
    ends = question.slots
    slots = Slots(*(question.text[slice(*ends[letter])] if letter in ends else "" for letter in SLOT_LETTERS))
    return AskedRelation(question.asks, question.relation, question.flags, slots, 1.0)


def queries(
    questions: Sequence[LabelledQuestion], network: QuestionNetwork, schema: Schema
) -> list[tuple[FactQuery | None, FactQuery | None, float]]:
    """Of each question the lookup that it asks for, the one that is read, and its confidence; None for none."""
    reader = QuestionReader(schema, lambda: network)

    def row(question: LabelledQuestion) -> tuple[FactQuery | None, FactQuery | None, float]:
        gold, _ = reader.lookup(labelled(question), "user")
        return gold, *reader.lookup(network.read(question.text), "user")

    return [row(question) for question in questions]


def _shown(name: str, hits: int, of: int) -> str:
    low, high = wilson(np.array([1.0] * hits + [0.0] * (of - hits)), LEVEL)
    return f"{name} {hits / max(of, 1):.3f} [{low:.3f}, {high:.3f}] ({hits} of {of})"


def main() -> None:
    """Print a line for each threshold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=Path, default=Path("train/reader/questions/test"))
    parser.add_argument("--weights", type=Path, help="of another network than the bundled one")
    parser.add_argument("--relations", type=Path, help="file of relations beside the bundled ones")
    parser.add_argument("--sure", type=float, nargs="+", default=[SURE])
    parser.add_argument("--wrong", action="store_true", help="show what is read wrongly at the first threshold")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    schema = load_relations()
    if arguments.relations is not None:
        new = load_relations(arguments.relations)
        schema = schema.model_copy(update={"relations": {**schema.relations, **new.relations}})
    questions = list(read_folder(arguments.questions, schema.relations.keys()))
    found = queries(questions, QuestionNetwork.from_pretrained(schema, arguments.weights), schema)
    for sure in arguments.sure:
        told = [(gold, read if confidence >= sure else None) for gold, read, confidence in found]
        asked = [(gold, read) for gold, read in told if gold is not None]
        right = sum(gold == read for gold, read in asked)
        made = sum(read is not None for _, read in told)
        refused = [read is None for gold, read in told if gold is None]
        shares = (("precision", right, made), ("recall", right, len(asked)), ("refused", sum(refused), len(refused)))
        print(f"sure {sure:.2f}: " + ", ".join(_shown(*share) for share in shares))
    if arguments.wrong:
        for question, (gold, read, confidence) in zip(questions, found, strict=True):
            if gold != (read if confidence >= arguments.sure[0] else None):
                print(f"{question.text}\n  asked {gold}\n  read  {read} at {confidence:.2f}")


if __name__ == "__main__":
    main()
