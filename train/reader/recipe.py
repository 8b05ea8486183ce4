"""The configuration of a run of `train_reader.py`: the keys of `configs/train/reader.toml`."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, field_validator, model_validator

from train.reader.public_sets import SETS


class Stage(BaseModel):
    """What is read in one pass of the learning rate, up and down."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    learning_rate: float
    warmup: int
    stop_after: int
    frozen_layers: int = 0
    public_share: float
    public_shares: dict[str, float] = {}
    dialogue_epochs: float
    exchange_epochs: int
    chat_epochs: float = 0
    state_epochs: int = 0
    unlabelled_epochs: int

    @field_validator("public_shares")
    @classmethod
    def _known(cls, shares: dict[str, float]) -> dict[str, float]:
        if unknown := sorted(shares.keys() - SETS):
            raise ValueError(f"no public set is named {unknown[0]}: there are {', '.join(sorted(SETS))}")
        return shares


class Recipe(BaseModel):
    """The keys of `configs/train/reader.toml`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    base: str
    start: str
    teacher: str
    seed: int
    max_tokens: tuple[int, ...]
    most_rows: int
    batch_tokens: int
    bfloat16: bool
    heads_rate: float = 1.0
    weight_decay: float
    clip: float
    ema: float
    log_every: int
    save_every: int
    weights: dict[str, float]
    stages: tuple[Stage, ...]

    @model_validator(mode="after")
    def _taught(self) -> Recipe:
        if not self.teacher and any(stage.unlabelled_epochs for stage in self.stages):
            raise ValueError("questions without labels need a teacher: name one, or set unlabelled_epochs to 0")
        return self

    @model_validator(mode="after")
    def _frozen(self) -> Recipe:
        if self.base != "mpnet" and any(stage.frozen_layers for stage in self.stages):
            raise ValueError('frozen_layers is for base = "mpnet": set it to 0')
        return self

    def weight_of(self, part: str) -> float:
        """Of a part of the loss; what a teacher tells has the weight of the part times that of the teacher."""
        taught = part.startswith("taught ")
        return self.weights[part.removeprefix("taught ")] * (self.weights["teacher"] if taught else 1.0)
