"""Estimate a memory of many users: disk, index, CPU time, searches, language-model calls.

Arithmetic over what was measured (`rates`); nothing is opened or loaded. Each figure says what it rests on.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from nscma_torch.core.config import Config
from nscma_torch.core.errors import InvalidInputError
from nscma_torch.doctor.plan import embedder_shape, index_bytes
from nscma_torch.doctor.rates import Rates, Search, Seconds, Store, Texts
from nscma_torch.text.embedders.embedder import MINILM_NAMES

Basis = Literal["given", "computed", "measured", "assumed"]
Unit = Literal["messages", "units", "facts", "bytes", "seconds", "milliseconds", "users", "calls"]
StoreKind = Literal["file", "postgresql"]

DISK = 200e6  # bytes a second that a disk rewrites a file at; an assumption
PATIENCE = 60.0  # seconds that an erasure, which rewrites the file, may take before PostgreSQL is advised; a choice
HELD = 16_384  # bytes that an index takes however few its units are, as `retrieval.indexes` counts it
DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class Figure:
    """One number of the plan.

    Attributes:
        basis: "computed" is computed from what was measured; "measured" is a measured value as it is.
        beyond: whether it lies outside of what was measured, so that it is an extrapolation.
        note: how it comes about.
    """

    part: str
    name: str
    value: float
    unit: Unit
    basis: Basis
    beyond: bool
    note: str


@dataclass(frozen=True, slots=True)
class Scale:
    """The plan of a memory.

    Attributes:
        messages: of each user.
        text: bytes of UTF-8 of a message.
        store: where the memory should be.
        reasons: why.
        advice: what to set or to add.
        warnings: where the figures do not reach.
    """

    users: int
    messages: int
    cores: int
    text: float
    figures: tuple[Figure, ...]
    store: StoreKind
    reasons: tuple[str, ...]
    advice: tuple[str, ...]
    warnings: tuple[str, ...]

    def value(self, name: str) -> float:
        """The value of a figure by its name; KeyError where there is none."""
        return {figure.name: figure.value for figure in self.figures}[name]


@dataclass(frozen=True, slots=True)
class _Sizes:
    """Sizes from which the figures and the advice are computed."""

    users: int
    messages: int
    cores: int
    units: float  # of a user
    apart: bool  # whether a user's vectors stay in the database
    of: Texts  # a message
    index: float  # bytes of a user's
    fit: int  # users whose indexes are held at once
    load: float  # seconds to load a user's
    disk: Mapping[StoreKind, float]
    ingest: Mapping[StoreKind, float]  # seconds with all cores

    @property
    def total(self) -> int:
        return self.users * self.messages

    @property
    def rewrite(self) -> float:
        """Seconds to rewrite the file."""
        return self.disk["file"] / DISK


def scale(
    config: Config,
    rates: Rates,
    *,
    users: int,
    messages: int,
    cores: int = 1,
    text: float | None = None,
) -> Scale:
    """The plan of `users` with so many `messages` each.

    Args:
        cores: that add and read at the same time.
        text: bytes of UTF-8 of a message; None for those of the shortest texts that were measured.

    Raises InvalidInputError for numbers that are not positive, ModelNotFoundError where the configuration names an
    embedder of which no config.json is at hand.
    """
    for name, value in (("users", users), ("messages", messages), ("cores", cores), ("text", text)):
        if value is not None and not value > 0:
            raise InvalidInputError(f"{name} must be above 0, got {value}")
    length = rates.texts[0].text if text is None else text
    dimension = embedder_shape(config).dimension
    of = _configured(texts_of(rates, length), config, dimension - rates.dimension)
    units = messages * of.units
    apart = config.score.scaling == "none" and 0 < config.index.database_from <= units
    columns = index_bytes(math.ceil(units), 0 if apart else dimension, config.index.dtype)
    index = columns + units * rates.index.kept + HELD
    total = users * messages
    together = min(cores, users)  # the messages of one user come one after the other
    stores: Mapping[StoreKind, Store] = {"file": of.file, "postgresql": of.postgresql}
    sizes = _Sizes(
        users,
        messages,
        cores,
        units,
        apart,
        of,
        index,
        int(config.index.max_bytes // index),
        units * rates.index.load,
        {kind: disk_bytes(store, users, total) for kind, store in stores.items()},
        {
            "file": ingest_seconds(of.seconds, total, together, most=rates.writers.file),
            "postgresql": ingest_seconds(_through(rates.server, of.seconds), total, together, most=None),
        },
    )
    kind, reasons = _store(sizes)
    return Scale(
        users,
        messages,
        cores,
        length,
        tuple(_figures(config, rates, sizes, length, dimension)),
        kind,
        reasons,
        tuple(_advice(config, sizes, kind)),
        tuple(_warnings(config, rates, sizes, length)),
    )


def texts_of(rates: Rates, length: float) -> Texts:
    """Return the cost of a message of `length` bytes: linear interpolation between measured lengths.

    A shorter one costs what the shortest does, a longer one what the longest does for each of its bytes.
    """
    measured = rates.texts
    if length >= measured[-1].text:
        low = high = measured[-1]
    else:
        pairs = itertools.pairwise(measured)
        low, high = next((one, other) for one, other in pairs if length <= other.text)
    share = 0.0 if low is high else max(0.0, (length - low.text) / (high.text - low.text))
    mixed = _mixed(low.model_dump(), high.model_dump(), share, max(1.0, length / measured[-1].text))
    return Texts.model_validate(
        {**mixed, "text": length, "written": low.written + share * (high.written - low.written)}
    )


def _through(server: float, seconds: Seconds) -> Seconds:
    """In PostgreSQL."""
    return seconds.model_copy(update={"add": seconds.add + server})


def _mixed(low: Mapping[str, Any], high: Mapping[str, Any], share: float, factor: float) -> dict[str, Any]:
    """Each decimal number on the line from `low` to `high`, times `factor`; all else as in `low`."""

    def mixed(one: Any, other: Any) -> Any:
        if isinstance(one, Mapping):
            return _mixed(one, other, share, factor)
        return factor * (one + share * (other - one)) if isinstance(one, float) else one

    return {key: mixed(value, high[key]) for key, value in low.items()}


def search_ms(rates: Rates, units: float) -> Search:
    """Return the search time among `units` units, never below that of a smaller memory.

    Interpolates logarithms between measured sizes; beyond the largest, time is proportional to size.
    """
    found = {}
    for name in ("p50", "p95"):
        points = [(float(point.units), float(getattr(point, name))) for point in rates.search]
        points = [(at, max(value for other, value in points if other <= at)) for at, _ in points]
        if units <= points[0][0]:
            found[name] = points[0][1]
        elif units >= points[-1][0]:
            found[name] = points[-1][1] * units / points[-1][0]
        else:
            (x0, y0), (x1, y1) = next(pair for pair in itertools.pairwise(points) if units <= pair[1][0])
            found[name] = y0 * (y1 / y0) ** (math.log(units / x0) / math.log(x1 / x0))
    return Search(units=max(1, math.ceil(units)), **found)


def ingest_seconds(of: Seconds, messages: int, cores: int, *, most: float | None) -> float:
    """Seconds until all messages are stored and read by so many cores, of whose work nothing is lost.

    `most` messages a second go into the store, None for no bound.
    """
    worked = (of.add + of.read + of.integrate) / cores
    return messages * (worked if most is None else max(worked, 1 / most))


def _configured(of: Texts, config: Config, wider: int) -> Texts:
    """The same under a configuration: a gate that writes all, no hierarchy, vectors by `wider` numbers longer."""
    more = 1 / of.written if config.gate.rule == "everything" and of.written else 1.0
    deeper = more if config.hierarchy.enabled else 0.0

    def of_store(store: Store) -> Store:
        parts = {**store.parts, "facts": more * store.parts["facts"], "hierarchy": deeper * store.parts["hierarchy"]}
        parts["vectors"] = max(0.0, parts["vectors"] + 4 * wider * of.units)
        return store.model_copy(update={"parts": parts})

    seconds = {"read": more * of.seconds.read, "integrate": deeper * of.seconds.integrate}
    return of.model_copy(
        update={
            "written": min(1.0, more * of.written),
            "facts": more * of.facts,
            "summaries": deeper * of.summaries,
            "seconds": of.seconds.model_copy(update=seconds),
            "file": of_store(of.file),
            "postgresql": of_store(of.postgresql),
        }
    )


def disk_bytes(store: Store, users: int, messages: int) -> float:
    """Bytes of a store with so many messages in all."""
    return store.empty + users * store.stream + messages * sum(store.parts.values())


def _figures(config: Config, rates: Rates, sizes: _Sizes, length: float, dimension: int) -> Iterator[Figure]:
    of, total, units = sizes.of, sizes.total, sizes.units
    strange = not rates.texts[0].text <= length <= rates.texts[-1].text
    larger = strange or sizes.messages > of.messages

    def computed(part: str, name: str, value: float, unit: Unit, note: str, *, beyond: bool = strange) -> Figure:
        return Figure(part, name, value, unit, "computed", beyond, note)

    yield Figure("size", "messages", total, "messages", "given", False, "users × messages of each")
    yield Figure("size", "text", total * length, "bytes", "assumed", False, f"{length:,.0f} bytes a message")
    yield computed("size", "searchable units", total * of.units, "units", f"{of.units:.2f} a message")
    yield computed("size", "facts", total * of.facts, "facts", f"{of.facts:.2f} a message, those believed")
    file, server = of.file, of.postgresql
    each = f"{sum(file.parts.values()):,.0f} bytes a message, {file.stream:,.0f} a user"
    yield computed("disk", "SQLite file", sizes.disk["file"], "bytes", each)
    each = f"{sum(server.parts.values()):,.0f} bytes a message, {server.stream:,.0f} a user; no write-ahead log"
    yield computed("disk", "PostgreSQL", sizes.disk["postgresql"], "bytes", each)
    held = {"vectors": f"{4 * dimension:,} bytes each and their rows", "postings": f"{of.postings:,.0f} a message"}
    for part, note in held.items():
        yield computed("disk", f"{part} in it", total * server.parts[part], "bytes", f"{note}, with indexes")
    each = f"{rates.hnsw.bytes:,.0f} bytes a vector of {rates.dimension} half-precision numbers; optional"
    scaled, vectors = dimension / rates.dimension, total * of.units
    many = strange or vectors > rates.hnsw.vectors
    yield computed("disk", "HNSW beside it", vectors * rates.hnsw.bytes * scaled, "bytes", each, beyond=many)
    rewrite = f"an erasure rewrites the file, at {DISK / 1e6:.0f} MB/s"
    yield Figure("disk", "erasure in a file", sizes.rewrite, "seconds", "assumed", strange, rewrite)
    twice = f"{units:,.0f} units of {dimension} {config.index.dtype} numbers, twice, and room to grow"
    if sizes.apart:
        twice = f"{units:,.0f} units without their vectors, and room to grow"
    big = strange or units > rates.index.units
    yield computed("index", "index of a user", sizes.index, "bytes", twice)
    yield computed("index", "indexes of all users", sizes.users * sizes.index, "bytes", "if all are held at once")
    limit = f"in index.max_bytes, {config.index.max_bytes:,}"
    yield computed("index", "users held at once", min(sizes.users, sizes.fit), "users", limit)
    again = "processor time, when a user comes who is not held"
    yield computed("index", "loading a user's", sizes.load, "seconds", again, beyond=big)
    stages = {"add": "surprise, gate, embedding, write", "read": "facts", "integrate": "the hierarchy"}
    for stage, note in stages.items():
        one = getattr(of.seconds, stage)
        what = f"{note}: {1000 * one:,.1f} ms a message, in a file"
        yield computed(
            "ingest",
            f"{stage}, of a processor",
            total * one,
            "seconds",
            what,
            beyond=strange if stage == "add" else larger,
        )
    on = f"{sizes.cores} cores" if sizes.cores > 1 else "1 core"
    bound = f"divided without loss, at most {rates.writers.file:,.0f} messages/s by all writers; a core a user at most"
    yield computed("ingest", f"file, {on}", sizes.ingest["file"], "seconds", bound, beyond=larger)
    bound = (
        "divided without loss, with a background worker for each core, the server's work in it; a core a user at most"
    )
    yield computed("ingest", f"PostgreSQL, {on}", sizes.ingest["postgresql"], "seconds", bound, beyond=larger)
    build = "one process; optional"
    yield computed("ingest", "building HNSW", vectors * rates.hnsw.seconds * scaled, "seconds", build, beyond=many)
    found = search_ms(rates, units)
    far = strange or sizes.apart or units > rates.search[-1].units
    between = "of a processor, without embedding the question; interpolated in the measured curve"
    if far:
        between = f"grown with the size from {rates.search[-1].units:,} units"
    yield computed("search", "search p50", found.p50, "milliseconds", between, beyond=far)
    yield computed("search", "search p95", found.p95, "milliseconds", between, beyond=far)
    if config.llm.engine != "embedded":
        share = f"at most one for each written message, {of.written:.0%} of all"
        yield computed("language model", "calls for facts", total * of.written, "calls", share)
        share = f"{of.summaries:.2f} a message; larger batches take fewer"
        yield computed("language model", "calls for summaries", total * of.summaries, "calls", share, beyond=larger)


def _store(sizes: _Sizes) -> tuple[StoreKind, tuple[str, ...]]:
    """Return the recommended store and the reasons."""
    reasons = []
    if sizes.apart:
        reasons.append(f"users of {sizes.units:,.0f} units are searched in the database, which a file cannot")
    if sizes.rewrite > PATIENCE:
        reasons.append(f"an erasure would rewrite the file, for about {sizes.rewrite:,.0f} s")
    slow, fast = sizes.ingest["file"], sizes.ingest["postgresql"]
    if slow > DAY and slow > 2 * fast:
        reasons.append(
            f"the one writer of a file would take {slow / fast:.1f} times as long as {sizes.cores} cores need"
        )
    if reasons:
        return "postgresql", tuple(reasons)
    return "file", (f"an erasure rewrites the file within {PATIENCE:.0f} s, and one writer keeps up",)


def _advice(config: Config, sizes: _Sizes, kind: StoreKind) -> Iterator[str]:
    where = "one SQLite file" if kind == "file" else "PostgreSQL, --store postgresql://…"
    yield f"store: {where}"
    if sizes.apart:
        yield "search: these users' vectors in the database; what filters and BM25 need is on the device"
    elif sizes.fit >= sizes.users:
        yield "index: on the device, exact; all users' fit, and each is loaded once"
    else:
        held = "no user's index fits into index.max_bytes, and each is held by itself"
        if sizes.fit:
            held = f"{sizes.fit:,} of {sizes.users:,} users' indexes fit into index.max_bytes"
        yield (
            f"index: on the device, exact; {held}. Another user's first search loads for {sizes.load:,.1f} s: send "
            "each user to the same server, and raise index.max_bytes to what its users of an hour take"
        )
        if config.index.dtype == "float32":
            yield 'index.dtype = "bfloat16" holds nearly twice as many users'
    days = sizes.ingest[kind] / DAY
    if days > 1:
        need = math.ceil(sizes.cores * days)
        yield f"ingest: {days:,.1f} days with {sizes.cores:,} cores; one day would take about {need:,}"


def _warnings(config: Config, rates: Rates, sizes: _Sizes, length: float) -> Iterator[str]:
    shortest, longest = rates.texts[0].text, rates.texts[-1].text
    if not shortest <= length <= longest:
        yield f"messages of {length:,.0f} bytes: measured were {shortest:,.0f} to {longest:,.0f}"
    if sizes.messages > sizes.of.messages:
        yield f"time of reading and integration was measured up to {sizes.of.messages:,} messages of a user"
    if sizes.units > rates.search[-1].units:
        yield f"search was measured up to {rates.search[-1].units:,} units of a user, and grows with them"
    if config.embedder.model not in MINILM_NAMES:
        yield f"processor time was measured with the bundled embedder, and not with {config.embedder.model}"
    if config.llm.engine != "embedded":
        yield "processor time leaves out the language model, and the reader that it stands in for is counted"
    if config.device != "cpu":
        yield f"processor time was measured on {rates.source.machine}, without a GPU"
