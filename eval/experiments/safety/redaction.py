"""Count the planted secrets that are masked, by kind, and the messages that are masked though they hold none.

    python -m eval.experiments.safety.redaction --planted eval/data/redaction/test [--conversations DIR...]

A folder of planted secrets holds `secrets.jsonl.gz` (kind, text, secret) and `lookalikes.jsonl.gz` (text), compressed
so that scanners for secrets don't report them. A secret counts as masked if the masked text doesn't contain it. With
`--conversations`, ordinary messages are masked, too, and those that change are printed.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from eval.experiments.reading.conversation_files import load
from nscma_torch.core.config import load_config
from nscma_torch.redaction.configured import configured_redactor

ALL = {"kinds": ["secret", "card", "iban", "email", "phone"]}


def rows(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a compressed file of JSON lines."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def main() -> None:
    """Print the table and what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--planted", type=Path, required=True, help="folder of planted secrets")
    parser.add_argument("--conversations", type=Path, nargs="+", default=[], help="chats, dialogues, or folders")
    arguments = parser.parse_args()
    redactor = configured_redactor(load_config({"redaction": ALL}).redaction)
    console = Console(width=160)
    masked, planted = Counter[str](), Counter[str]()
    for row in rows(arguments.planted / "secrets.jsonl.gz"):
        planted[row["kind"]] += 1
        text = redactor.text(row["text"])[0]
        masked[row["kind"]] += row["secret"] not in text
        if row["secret"] in text:
            console.print(f"not masked, {row['kind']}: {escape(row['text'][:200])}")
    table = Table("kind", "masked", "of")
    for kind, count in planted.items():
        table.add_row(kind, str(masked[kind]), str(count))
    table.add_row("all", str(masked.total()), str(planted.total()))
    console.print(table)
    alike = [row["text"] for row in rows(arguments.planted / "lookalikes.jsonl.gz")]
    said = [message.content for one in load(arguments.conversations) for message in one.messages]
    for name, texts in (("lookalikes", alike), ("ordinary messages", said)):
        changed = [text for text in map(redactor.text, texts) if text[1]]
        for text, kinds in changed:
            console.print(f"masked in {name}, {', '.join(kinds)}: {escape(text[:200])}")
        console.print(f"{name}: {len(changed)} of {len(texts)} masked")


if __name__ == "__main__":
    main()
