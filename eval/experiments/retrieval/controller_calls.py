"""Does a controller look into its memory when it has to, and only then?

    python -m eval.experiments.retrieval.controller_calls --config DIR/controller.toml [--model DIR/model] \
        [--adapter DIR/adapter] [--engine vllm]

Without --model the [llm] section of the configuration names the engine; without that, the embedded policy answers.

Held-out dialogues of `train/controller/controller_dialogues.py`, their names and values new to a model that was trained
on such; with `--new-wording` its sentences too. Each turn is answered three times: by the uncertainty rule, always
retrieving (threshold 0) and never (threshold 1); the conversation goes on with the first. A first action is right where
it is to answer at once, to memorize or to retrieve, as the dialogue knows; answers are judged on questions. A question
is first searched for as it is, whatever the model.

    python -m eval.experiments.retrieval.controller_calls --calibrate [--most-wrong 0.01] …

does so on dialogues of the training split instead, and prints the threshold of uncertainty that saves most retrievals
while at most that share of the questions is answered wrong because of it.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import torch
from pydantic import ValidationError
from rich.console import Console
from rich.table import Table

from nscma_torch.controller.calibration import LabelledTrace, at_threshold, choose_threshold
from nscma_torch.controller.controller import Controller
from nscma_torch.controller.trace import ControllerAnswer
from nscma_torch.core.config import Config, load_config
from nscma_torch.core.errors import EngineError
from nscma_torch.llm.engines.choose import choose_engine
from nscma_torch.llm.engines.contract import LanguageEngine, Reply, Request
from nscma_torch.llm.engines.engine_wrapper import WrappedEngine
from nscma_torch.llm.engines.local import TransformersEngine
from nscma_torch.llm.engines.structured import ReplyForm
from nscma_torch.llm.engines.vllm_engine import VllmEngine
from nscma_torch.llm.prompts.acting import Act, Conclusion, DraftForm, RolledSummary, SearchAct
from nscma_torch.llm.prompts.answering import ContainedForm, ShortAnswerForm, TextForm
from train.controller.controller_dialogues import Dialogue, Said, Split, Wording
from train.controller.controller_traces import begun, open_world

QUESTIONS = ("in context", "in memory", "unknown")
RULES = ("uncertainty", "always", "never")
_ABSTAINS = re.compile(
    r"\b(?:do not|don't|cannot|can't|could not|couldn't) (?:know|find|tell)\b|\bno memor", re.IGNORECASE
)
_ASKED = (DraftForm, Act, SearchAct, ContainedForm, ShortAnswerForm, TextForm, Conclusion, RolledSummary)
_FORMS: dict[str, type[ReplyForm]] = {form.__name__: form for form in _ASKED}


class CheckingEngine(WrappedEngine):
    """A `LanguageEngine` that counts the replies of another one, and those that are no valid action.

    Attributes:
        replies: asked for.
        invalid: that did not come, were cut off, or do not fill their form.
    """

    def __init__(self, engine: LanguageEngine) -> None:
        super().__init__(engine)
        self.replies = 0
        self.invalid = 0

    def generate(self, requests: Sequence[Request]) -> list[Reply | EngineError]:
        """As the engine, counted."""
        results = super().generate(requests)
        for request, result in zip(requests, results, strict=True):
            self.replies += 1
            self.invalid += not _valid(request, result)
        return results


@dataclass(slots=True)
class Outcome:
    """What one rule made of a turn; None for `answer` where the engine gave no usable reply."""

    said: Said
    answer: ControllerAnswer | None

    @property
    def first_right(self) -> bool:
        """Whether the first action is the right one."""
        if self.answer is None:
            return False
        first = self.answer.steps[0].action if self.answer.steps else "answer"
        return first.partition("_")[0] == self.said.first_action

    @property
    def right(self) -> bool:
        """Whether the reply without its quotations holds the answer, or says so if nobody told it."""
        if self.answer is None:
            return False
        if self.said.situation == "unknown":
            return self.answer.abstained or bool(_ABSTAINS.search(self.answer.short))
        return re.search(rf"\b{re.escape(self.said.reply)}\b", self.answer.short, re.IGNORECASE) is not None


@dataclass(slots=True)
class Tally:
    """What came of all turns under one rule."""

    outcomes: list[Outcome] = field(default_factory=list)
    replies: int = 0
    invalid: int = 0

    def row(self) -> dict[str, float]:
        """Shares in [0, 1], and costs per turn."""
        answers = [one.answer for one in self.outcomes if one.answer is not None]
        questions = [one for one in self.outcomes if one.said.situation in QUESTIONS]
        turns = len(self.outcomes)
        row = {
            "valid": 1 - self.invalid / self.replies if self.replies else 1.0,
            "first": _share(one.first_right for one in self.outcomes),
            "right": _share(one.right for one in questions),
        }
        for situation in QUESTIONS:
            row[situation] = _share(one.right for one in questions if one.said.situation == situation)
        return row | {
            "retrievals": sum(answer.retrievals for answer in answers) / turns,
            "calls": sum(answer.usage.llm_calls for answer in answers) / turns,
            "tokens": sum(answer.usage.tokens for answer in answers) / turns,
            "seconds": sum(answer.usage.seconds for answer in answers) / turns,
        }


def measure(
    dialogues: Iterable[Dialogue], config: Config, engine: LanguageEngine | None, store: Path
) -> dict[str, Tally]:
    """Every turn under each rule."""
    checking = None if engine is None else CheckingEngine(engine)
    tallies = {rule: Tally() for rule in RULES}
    with open_world(store, config.controller) as memory:
        for number, dialogue in enumerate(dialogues):
            user = f"user {number}"
            now = begun(memory, dialogue, user, number)
            controller = Controller(memory, checking, user_id=user, run_id="present", llm=config.llm)
            for minute, said in enumerate(dialogue.turns):
                at = now + timedelta(minutes=minute)
                for rule, threshold in (("always", 0.0), ("never", 1.0), ("uncertainty", None)):
                    before = (0, 0) if checking is None else (checking.replies, checking.invalid)
                    answer: ControllerAnswer | None
                    try:
                        if threshold is None:
                            answer = controller.turn(said.text, now=at)
                        else:
                            answer = controller.consider(said.text, threshold=threshold, now=at)
                    except EngineError:
                        answer = None
                    tally = tallies[rule]
                    tally.outcomes.append(Outcome(said, answer))
                    if checking is not None:
                        tally.replies += checking.replies - before[0]
                        tally.invalid += checking.invalid - before[1]
    return tallies


def labelled_traces(tallies: Mapping[str, Tally]) -> list[LabelledTrace]:
    """Each question: how unsure the draft was, and whether it and the answer after retrieval were right."""
    pairs = zip(tallies["never"].outcomes, tallies["always"].outcomes, strict=True)
    return [
        LabelledTrace(_unsure(draft.answer), draft.right, found.right)
        for draft, found in pairs
        if draft.said.situation in QUESTIONS
    ]


def _unsure(answer: ControllerAnswer | None) -> float:
    """1 where no usable draft came: the turn fails whatever the threshold is."""
    return 1.0 if answer is None or answer.draft_uncertainty is None else answer.draft_uncertainty


def calibration(tallies: Mapping[str, Tally], config: Config, *, embedded: bool, most_wrong: float) -> Table:
    """The chosen threshold beside the configured one and the two that look always or never."""
    traces = labelled_traces(tallies)
    key = "embedded_threshold" if embedded else "threshold"
    rows = {
        f"chosen for at most {most_wrong:.1%} wrong by it": choose_threshold(traces, most_wrong=most_wrong),
        "configured": at_threshold(traces, getattr(config.controller, key)),
        "always retrieving": at_threshold(traces, 0.0),
        "never": at_threshold(traces, 1.0),
    }
    table = Table("", f"controller.{key}", "retrievals saved", "wrong by it", "right", title=f"{len(traces)} questions")
    for name, row in rows.items():
        table.add_row(name, f"{row.threshold:.4f}", f"{row.saved:.1%}", f"{row.wrong:.1%}", f"{row.right:.1%}")
    return table


def _share(those: Iterable[bool]) -> float:
    values = list(those)
    return sum(values) / len(values) if values else float("nan")


def _valid(request: Request, result: Reply | EngineError) -> bool:
    """Whether the first attempt brought a whole reply that fills the form it was asked for."""
    if not isinstance(result, Reply) or not result.finished or request.schema is None:
        return False
    form = _FORMS[request.schema["title"]]
    try:
        form.model_validate_json(result.text)
    except ValidationError:
        return False
    return True


def engine_of(arguments: argparse.Namespace, config: Config) -> LanguageEngine | None:
    """The engine that the command line names, or that of the configuration."""
    if arguments.model is None:
        return choose_engine(config.llm, lambda: torch.device(arguments.device))
    if arguments.engine == "vllm":
        return VllmEngine(arguments.model, adapter=arguments.adapter, dtype="float32", eager=True)
    quantization = arguments.quantization
    return TransformersEngine(
        arguments.model, adapter=arguments.adapter, device=arguments.device, quantization=quantization
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", type=Path, help="TOML with [controller], and [llm] where there is no --model")
    parser.add_argument("--model", help="folder or name of a model to run in this process")
    parser.add_argument("--adapter", type=Path, help="folder of its LoRA adapter")
    parser.add_argument("--engine", choices=("transformers", "vllm"), default="transformers")
    parser.add_argument("--quantization", choices=("none", "nf4"), default="none")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--wording", type=Path, default=Path("configs/train/controller_dialogues.toml"))
    parser.add_argument("--new-wording", action="store_true", help="only sentences that training never uses")
    parser.add_argument(
        "--calibrate", action="store_true", help="choose a threshold on dialogues of the training split"
    )
    parser.add_argument("--most-wrong", type=float, default=0.01, help="share of the questions it may spoil")
    parser.add_argument("--dialogues", type=int, default=60)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--json", type=Path, help="file to write the figures to")
    parser.add_argument("--threads", type=int, default=1, help="threads of torch")
    arguments = parser.parse_args()
    if arguments.calibrate and arguments.new_wording:
        parser.error("--calibrate is for the training split, which --new-wording is no part of; leave one of them out")
    split: Split = "train" if arguments.calibrate else "held out"
    torch.set_num_threads(arguments.threads)
    config = load_config(arguments.config)
    wording = Wording.load(arguments.wording, only_held_out=arguments.new_wording)
    rng = random.Random(f"{arguments.seed} {split}")
    dialogues = [wording.dialogue(rng, split) for _ in range(arguments.dialogues)]
    engine = engine_of(arguments, config)
    with tempfile.TemporaryDirectory() as folder:
        tallies = measure(dialogues, config, engine, Path(folder) / "store.db")
    name = "embedded" if engine is None else engine.name
    if engine is not None:
        engine.close()
    if arguments.calibrate:
        found = calibration(tallies, config, embedded=engine is None, most_wrong=arguments.most_wrong)
        Console(width=140).print(f"{name}, {len(dialogues)} dialogues of the training split", found)
        return
    rows = {rule: tallies[rule].row() for rule in RULES}
    turns = sum(len(dialogue.turns) for dialogue in dialogues)
    table = Table("rule", *rows[RULES[0]], title=f"{name}: {len(dialogues)} held-out dialogues, {turns} turns")
    for rule, row in rows.items():
        shares = ("valid", "first", "right", *QUESTIONS)
        table.add_row(rule, *(f"{value:.1%}" if key in shares else f"{value:.2f}" for key, value in row.items()))
    Console(width=140).print(table)
    saved = 1 - rows["uncertainty"]["retrievals"] / max(rows["always"]["retrievals"], 1e-9)
    print(f"retrieval calls saved by the uncertainty rule: {saved:.1%}")
    if arguments.json is not None:
        figures = {"engine": name, "config": config.model_dump(mode="json"), "rules": rows, "saved": saved}
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
