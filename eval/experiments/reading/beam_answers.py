"""How often `Memory.ask` gives the current value after an update, on BEAM 100K.

    python -m eval.experiments.reading.beam_answers --data DIR [--half odd|even|all] [--config FILE] [--samples N]
        [--limit N] [--json FILE]

Questions, values and scores are those of `eval/tasks/updates.py`: an answer is *right* that holds the current value and
not the outdated one. Only the short answer is scored as an answer; *evidence shown* says how often each value stands in
the text with the evidence quoted below it, which may hold both. Intervals are Wilson's of 95 %. Even-indexed chats are
for tuning; claims quote the odd ones.

`configs/eval/knowledge_update.toml` has the same questions and scores for the whole reply of the controller.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from eval.experiments.reading.asked_tasks import Asked, ask_task, parsed, told
from eval.harness.contract import Reply, Task
from eval.reporting.measures import Measure, measure_table, share
from eval.tasks.updates import Updates


def measures(task: Task, found: Sequence[Asked]) -> list[Measure]:
    """Right, current and outdated value by the short answer; both values in the evidence shown; abstained."""
    values = (("current value", "updated"), ("outdated value", "outdated"))
    rows = []
    for name, texts, keys in (
        ("short", [one.short for one in found], (("right", "correct"), *values)),
        ("evidence shown", [one.with_evidence for one in found], values),
    ):
        scores = [task.score(one.question, Reply(text)) for one, text in zip(found, texts, strict=True)]
        rows += [
            share(f"{name}: {said}", [score[key] == 1.0 for score in scores if key in score]) for said, key in keys
        ]
    return [*rows, share("abstained", [one.answer.abstained for one in found])]


def main() -> None:
    """Print a table."""
    arguments = parsed(__doc__)
    task = Updates({"source": "beam"}, arguments.data)
    found = ask_task(task, arguments)
    console = Console(width=120)
    console.print(measure_table(f"BEAM 100K, updates, chats of {arguments.half} index", measures(task, found)))
    console.print(told(found))


if __name__ == "__main__":
    main()
