"""Scores the replies of a finished run again, by its tasks as they are now: for when a metric or a reply was mended.

    python -m eval.rescore OUT --data DIR --to NEW [--first-lines]

NEW gets `results.jsonl` with the new scores and a `run.json` that names the command under `rescored`; OUT stays as it
is, and so do replies, costs and the commit of every line. --first-lines makes short answers of replies that quote their
evidence below the first line, as those of the embedded tasks did up to 7a65de02; summaries are not to be cut so.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from eval.harness.contract import Reply, Sample, Task
from eval.harness.raw_lines import RESULTS, write_results
from eval.harness.run_record import RECORD, provenance
from eval.harness.sample_run import digest, scores_of
from eval.reporting.results import read_lines, read_run
from nscma_torch.core.errors import InvalidInputError, NscmaError

MakeTask = Callable[[Mapping[str, Any], Path], Task]


def rescore(folder: Path, data: Path, to: Path, make_task: MakeTask, *, first_lines: bool, command: str) -> int:
    """Score the results of a folder into another one; how many replies have another score or text now.

    Raises InvalidInputError where `folder` holds no finished run, where `to` holds anything, or where a sample is no
    longer what the run was asked about.
    """
    if to.exists() and any(to.iterdir()):
        raise InvalidInputError(f"{to} is not empty: name a new folder")
    lines = [json.loads(text) for _, text in read_lines(folder / RESULTS)]
    if not lines:
        raise InvalidInputError(f"{folder} holds no {RESULTS}: let the run end first")
    record = read_run(folder)
    sections = {section.get("name", section["kind"]): section for section in record["config"]["tasks"]}
    tasks = {name: make_task(sections[name], data) for name in {line["task"] for line in lines}}
    samples: dict[tuple[str, str], tuple[Sample, str]] = {}
    changed = 0
    for line in lines:
        if line["error"] is not None:
            continue
        place = line["task"], line["sample"]
        if place not in samples:
            sample = tasks[line["task"]].sample(line["sample"])
            samples[place] = sample, digest(sample)
        sample, data_of_sample = samples[place]
        if line["data"] != data_of_sample if line.get("data") else not _asks_the_same(line, sample):
            raise InvalidInputError(
                f"{' / '.join(place)} is not what the run was asked about: give the data that it had"
            )
        changed += _rescored(line, tasks[line["task"]], sample, first_lines)
    to.mkdir(parents=True, exist_ok=True)
    write_results(to, lines)
    told = json.dumps({**record, "rescored": provenance(command, 1)}, indent=1, ensure_ascii=False)
    (to / RECORD).write_text(told, encoding="utf-8")
    return changed


def _asks_the_same(line: Mapping[str, Any], sample: Sample) -> bool:
    """Whether a line of a run that kept no digest of its data has the sample's questions and answers."""
    asked = {question.id: (question.text, list(question.answers)) for question in sample.questions}
    return all(asked.get(told["id"]) == (told["question"], told["answers"]) for told in line["questions"])


def _rescored(line: dict[str, Any], task: Task, sample: Sample, first_lines: bool) -> int:
    changed = 0
    asked = {question.id: question for question in sample.questions}
    for told in line["questions"]:
        text = told["reply"].strip().partition("\n")[0].rstrip() if first_lines else told["reply"]
        evidence = None if told["evidence"] is None else tuple(told["evidence"])
        reply = Reply(text, told["abstained"], evidence, told["confidence"])
        scores = scores_of(task, asked[told["id"]], reply)
        changed += (text, scores) != (told["reply"], told["scores"])
        told |= {"reply": text, "scores": scores}
    line["metrics"] = list(task.metrics)
    return changed


def main() -> None:
    """Rescore what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="folder of a finished run")
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--to", type=Path, required=True, help="a new folder")
    parser.add_argument("--first-lines", action="store_true", help="keep the first line of each reply alone")
    given = parser.parse_args()
    from eval.tasks.catalogue import make_task

    command = f"python -m eval.rescore OUT --data DATA --to NEW{' --first-lines' if given.first_lines else ''}"
    try:
        changed = rescore(given.out, given.data, given.to, make_task, first_lines=given.first_lines, command=command)
    except (NscmaError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(1) from error
    print(f"{changed} replies have another text or score; written to {given.to}")


if __name__ == "__main__":
    main()
