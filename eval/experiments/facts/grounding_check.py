"""What the check of a model's reading lets through: the labels of a message, and those of others.

    python -m eval.experiments.facts.grounding_check [--half test|dev|dev2]

Every label of the hand-labelled messages is written as a model that reads without a mistake would write it, in the
label's own wording or in one that it accepts, and put to the check twice: with its own message, where it should stand,
and with every twentieth of the other messages of its language, as if a text had commanded it, where it should fall.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping
from typing import Any

from eval.experiments.facts.statements_quality import load, unit_of
from nscma_torch.llm.prompts.tasks import extraction_form
from nscma_torch.llm.verified_extraction import Reading
from nscma_torch.relations import Schema, load_relations


def stands(label: Mapping[str, Any], message: Mapping[str, Any], schema: Schema) -> bool:
    """Whether a label in any of its wordings is borne out by a message."""
    state = "not" if label.get("negated") else "past" if label.get("past") else "holds"
    for wording in (label["object"], *label.get("accept", ())):
        read = {
            "sentence": 1,
            "subject": label["subject"],
            "relation": schema[label["relation"]].name,
            "topic": label.get("topic") or "",
            "object": wording or "",
            "state": state,
            "replaces": "",
        }
        form = extraction_form(schema).model_validate_json(_json(read))
        reading = Reading(unit_of(message), message["listener"] or "")
        if reading.extraction(form, schema).statements:
            return True
    return False


def _json(read: Mapping[str, Any]) -> str:
    return json.dumps({"statements": [read], "notes": []})


def share(outcomes: Iterable[bool]) -> str:
    """A share with its counts."""
    all_ = list(outcomes)
    return f"{sum(all_) / max(1, len(all_)):.4f} ({sum(all_):,} of {len(all_):,})"


def main() -> None:
    """Print the share of labels that stand with their own message, and with another one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=("test", "dev", "dev2"), default="test")
    half = parser.parse_args().half
    schema = load_relations()
    for language in ("en", "zh"):
        messages = [message for message in load(half) if message["lang"] == language]
        labels = [(message, label) for message in messages for label in message["facts"]]
        own = share(stands(label, message, schema) for message, label in labels)
        strangers = (
            stands(label, other, schema)
            for number, (message, label) in enumerate(labels)
            for other in messages[number % 20 :: 20]
            if other is not message
        )
        print(f"{half} {language}: stand with their own message {own}, with another one {share(strangers)}")


if __name__ == "__main__":
    main()
