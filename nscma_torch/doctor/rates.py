"""Measured costs per message, from which a plan for many users is computed.

They are in `rates.json` beside this file; `python -m eval.experiments.speed.rates` measures them on another machine
and prints a file of the same form.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Self

from pydantic import Field, ValidationError, model_validator

from nscma_torch.core.config import Section
from nscma_torch.core.errors import ConfigError

PARTS = ("log", "units", "vectors", "postings", "facts", "hierarchy", "other")  # of a store, each some of its tables


class Source(Section):
    """Origin of the figures."""

    command: str
    machine: str
    date: str  # ISO 8601
    commit: str


class Seconds(Section):
    """Processor seconds of a message, in a file."""

    add: float = Field(ge=0)  # surprise, gate, embedding, lexical analysis and the write, in batches
    read: float = Field(ge=0)  # background reading: facts
    integrate: float = Field(ge=0)  # into the hierarchy


class Store(Section):
    """Disk use of one kind of store.

    Attributes:
        parts: bytes of a message by part of the store, with indexes and free pages, once nothing is queued.
        stream: bytes of one conversation's row of state.
        empty: bytes of a store without messages.
    """

    parts: Mapping[str, float]
    stream: float = Field(ge=0)
    empty: int = Field(ge=0)

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if set(self.parts) != set(PARTS) or min(self.parts.values()) < 0:
            raise ValueError(f"parts must give the bytes of {', '.join(PARTS)}")
        return self


class Texts(Section):
    """Means over the messages of one set.

    Attributes:
        messages: of the largest user that was measured.
        text: bytes of UTF-8 of a message.
        units: searchable units of a message, summaries among them.
        written: share of the messages that the gate writes.
        summaries: that the hierarchy asked for, of a message: calls where a language model writes them.
    """

    name: str
    messages: int = Field(gt=0)
    text: float = Field(gt=0)
    units: float = Field(gt=0)
    postings: float = Field(ge=0)
    facts: float = Field(ge=0)
    written: float = Field(ge=0, le=1)
    summaries: float = Field(ge=0)
    seconds: Seconds
    file: Store
    postgresql: Store


class Search(Section):
    """Milliseconds of a processor that a search takes in one user's index, without the embedding of the question."""

    units: int = Field(gt=0)
    p50: float = Field(gt=0)
    p95: float = Field(gt=0)


class Index(Section):
    """Of the index on the device."""

    units: int = Field(gt=0)  # of the largest that was loaded
    load: float = Field(gt=0)  # processor seconds to load a unit from the store
    kept: float = Field(ge=0)  # bytes of a unit that searches leave behind, beside its columns


class Hnsw(Section):
    """An HNSW index of pgvector over half-precision vectors."""

    vectors: int = Field(gt=0)
    bytes: float = Field(gt=0)  # of a vector
    seconds: float = Field(gt=0)  # processor seconds to build, of a vector


class Writers(Section):
    """Messages a second that several writers were seen to store together in a file, embedding left out."""

    source: Source
    file: float = Field(gt=0)


class Rates(Section):
    """All figures.

    Attributes:
        dimension: of the vectors that were stored.
        texts: two sets at least, by the length of their messages; what lies between is interpolated.
        search: points of the curve, by units.
        server: processor seconds that storing a message takes more in PostgreSQL than in a file, the server's in it.
    """

    source: Source
    dimension: int = Field(gt=0)
    texts: tuple[Texts, ...] = Field(min_length=2)
    search: tuple[Search, ...] = Field(min_length=2)
    server: float = Field(ge=0)
    index: Index
    hnsw: Hnsw
    writers: Writers

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        lengths, sizes = [one.text for one in self.texts], [one.units for one in self.search]
        if any(later <= one for points in (lengths, sizes) for one, later in itertools.pairwise(points)):
            raise ValueError("texts must be in the order of their lengths, search in that of its units, none twice")
        return self


def load_rates(path: Path | None = None) -> Rates:
    """The figures of a file, or those that come with the package.

    Raises ConfigError for a file that is missing, no JSON, or lacks figures.
    """
    file = resources.files("nscma_torch.doctor") / "rates.json" if path is None else path
    name = file.name if path is None else path
    try:
        return Rates.model_validate(json.loads(file.read_text(encoding="utf-8")))
    except OSError as error:
        raise ConfigError(f"cannot read {name}: {error.strerror}") from error
    except ValidationError as error:
        problem = error.errors()[0]
        place = ".".join(str(part) for part in problem["loc"])
        raise ConfigError(f"{name} holds no rates: {place or 'all'}: {problem['msg']}; {_MADE}") from error
    except ValueError as error:
        raise ConfigError(f"{name} is not JSON: {error}; {_MADE}") from error


_MADE = "`python -m eval.experiments.speed.rates --out FILE` makes one"
