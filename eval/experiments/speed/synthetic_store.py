"""Fills stores in PostgreSQL with synthetic messages, by COPY: a million take minutes, where embedding would take days.

A message has `_WORDS` words of an invented vocabulary, whose frequencies fall as 1 / (rank + 50), and a vector made of
32 normal numbers, of which messages of one session of `_SESSION` share half the variance, projected to d dimensions,
with a little noise beside: neighbours in it mean something, as they do among embeddings, and not among random vectors.
A question has words and, but for noise, the vector of one message. Everything follows from the message's number.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
import numpy.typing as npt
import torch
from sqlalchemy import Connection, Engine, create_engine, text

from nscma_torch.records import Scope
from nscma_torch.storage.fingerprint import KEY
from nscma_torch.storage.postgres_address import PostgresAddress
from nscma_torch.storage.streams import derive_id, stream_id_of

DIMENSION = 384
NOW = datetime(2024, 6, 1, tzinfo=UTC)

_Numbers = npt.NDArray[np.int64]
_Vectors = npt.NDArray[np.float32]

_LATENT = 32
_NOISE = 0.1  # length of what is added beside the projection
_SESSION = 20  # messages
_WORDS, _VOCABULARY, _FLATTER = 12, 50_000, 50  # of a message, of all, and what is added to a word's rank
_ASKED = 4  # words of a question
_BLOCK = 10_000  # messages that are made at once; whole sessions
_START = int(datetime(2023, 1, 1, tzinfo=UTC).timestamp()) * 1_000_000
_STEP = 30_000_000  # microseconds between two messages
_WITHOUT_KEYS = ("ALTER TABLE postings DROP CONSTRAINT postings_pkey", "DROP INDEX postings_unit")
_WITH_KEYS = (
    "ALTER TABLE postings ADD CONSTRAINT postings_pkey PRIMARY KEY (user_id, term, unit_seq)",
    "CREATE INDEX postings_unit ON postings (unit_seq)",
)
_PROJECTION = np.random.default_rng(0).standard_normal((_LATENT, DIMENSION)) / _LATENT**0.5


@dataclass(frozen=True)
class Block:
    """Messages of one user: their numbers, words [n, 12] and unit vectors [n, d]."""

    numbers: _Numbers
    words: npt.NDArray[np.str_]
    vectors: _Vectors
    latent: npt.NDArray[np.float64]


def block(user: int, first: int, count: int) -> Block:
    """`count` messages of a user from number `first` on, a multiple of 10,000; no more than 10,000."""
    rng = np.random.default_rng((user, first))
    frequency = 1.0 / (np.arange(_VOCABULARY) + _FLATTER)
    bounds = np.cumsum(frequency / frequency.sum())
    drawn = np.searchsorted(bounds, rng.random((_BLOCK, _WORDS))).clip(max=_VOCABULARY - 1)
    names = np.array([f"w{number:05d}" for number in range(_VOCABULARY)])
    topics = np.repeat(rng.standard_normal((_BLOCK // _SESSION, _LATENT)), _SESSION, axis=0)
    latent = (topics + rng.standard_normal((_BLOCK, _LATENT))) / 2**0.5
    vectors = _projected(latent, rng)
    return Block(np.arange(first, first + count), names[drawn[:count]], vectors[:count], latent[:count])


def _projected(latent: npt.NDArray[np.float64], rng: np.random.Generator) -> _Vectors:
    mixed = latent @ _PROJECTION
    mixed /= np.linalg.norm(mixed, axis=1, keepdims=True)
    mixed += _NOISE * rng.standard_normal(mixed.shape) / DIMENSION**0.5
    unit: _Vectors = (mixed / np.linalg.norm(mixed, axis=1, keepdims=True)).astype(np.float32)
    return unit


def questions(user: int, messages: int, count: int, seed: int) -> Mapping[str, torch.Tensor]:
    """`count` questions about messages of a user, each with its unit vector [d]."""
    rng = np.random.default_rng((seed, user, messages))
    asked: dict[str, torch.Tensor] = {}
    for number in rng.integers(messages, size=count).tolist():
        own = block(user, number - number % _BLOCK, min(_BLOCK, messages))
        place = number % _BLOCK
        words = rng.choice(own.words[place], size=_ASKED, replace=False)
        near = own.latent[place] + 0.5 * rng.standard_normal(_LATENT)
        asked[" ".join(words)] = torch.from_numpy(_projected(near[None], rng)[0])
    return asked


class KnownQuestions:
    """`Embedder` that knows the vectors of these questions; of any other text the vector is one of its words."""

    fingerprint = f"synthetic-{DIMENSION}"
    dimension = DIMENSION
    max_tokens = 256

    def __init__(self) -> None:
        self.known: dict[str, torch.Tensor] = {}

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(own.split()) + 2 for own in texts]

    def embed(self, texts: Sequence[str]) -> torch.Tensor:
        return torch.stack([self.embed_query(own) for own in texts])

    def embed_query(self, text: str) -> torch.Tensor:
        if text not in self.known:
            seed = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=7).digest(), "big")
            latent = np.random.default_rng(seed)
            self.known[text] = torch.from_numpy(_projected(latent.standard_normal((1, _LATENT)), latent)[0])
        return self.known[text]


def name(user: int) -> str:
    """The id of a user."""
    return f"user-{user:04d}"


def owner_of(address: PostgresAddress) -> Engine:
    """An engine that speaks SQL past the library, as the role of the address, which must be a superuser."""
    return create_engine(address.url, connect_args={"options": f"-c search_path={address.schema},public"})


def fill(address: PostgresAddress, users: int, messages: int) -> None:
    """Store so many messages of each user in an empty store, as a superuser: neither keys nor rows are checked."""
    engine = owner_of(address)
    first = 1
    with engine.begin() as connection:
        connection.exec_driver_sql("SET session_replication_role = replica")
        connection.execute(
            text("INSERT INTO meta VALUES (:key, :value)"), {"key": KEY, "value": KnownQuestions.fingerprint}
        )
        for line in _WITHOUT_KEYS:
            connection.exec_driver_sql(line)
        raw = connection.connection.driver_connection
        assert raw is not None
        for user in range(users):
            _owner(connection, user)
            for start in range(0, messages, _BLOCK):
                own = block(user, start, min(_BLOCK, messages - start))
                for table, head, rows in _tables(user, own, first):
                    with raw.cursor() as cursor, cursor.copy(f"COPY {table} FROM STDIN {head}") as copy:
                        for part in rows:
                            copy.write(part)
                first += len(own.numbers)
        for line in _WITH_KEYS:
            connection.exec_driver_sql(line)
        for counter in ("episodes", "units"):
            connection.exec_driver_sql(f"SELECT setval('{counter}_seq', {first})")
    with engine.connect() as connection:
        free = connection.execution_options(isolation_level="AUTOCOMMIT")
        for table in ("episodes", "units", "unit_sources", "vectors", "postings"):
            free.exec_driver_sql(f"VACUUM (ANALYZE) {table}")
    engine.dispose()


def _owner(connection: Connection, user: int) -> None:
    scope = {"user": name(user), "stream": stream_id_of(Scope(name(user)))}
    connection.execute(text("INSERT INTO users VALUES (:user, 4294967296, 1)"), scope)
    stream = "INSERT INTO streams (id, user_id, next_position, version) VALUES (:stream, :user, 1000000000, 1)"
    connection.execute(text(stream), scope)


def _tables(user: int, own: Block, first: int) -> Iterator[tuple[str, str, Iterator[bytes]]]:
    """Each table with the head of its COPY and its rows; row numbers of the store begin with `first`."""
    seqs = np.arange(first, first + len(own.numbers))
    columns = "(seq, id, user_id, stream_id, position, role, session, text, text_hash, metadata, occurred_at, "
    columns += "recorded_at, status, encoded, importance, strength, accesses)"
    yield f"episodes {columns}", "", iter(["".join(_episodes(user, own, seqs)).encode()])
    columns = '(seq, id, user_id, kind, text, stream_id, position, session, role, start, "end", length, occurred_at, '
    yield f"units {columns} importance, status)", "", iter(["".join(_units(user, own, seqs)).encode()])
    sources = "".join(f"{seq}\t{seq}\t{name(user)}\n" for seq in seqs.tolist())
    yield "unit_sources (unit_seq, episode_seq, user_id)", "", iter([sources.encode()])
    yield "vectors (unit_seq, user_id, vector)", "(FORMAT binary)", _binary(_vectors(user, own, seqs))
    yield "postings (user_id, term, unit_seq, tf)", "(FORMAT binary)", _binary(_postings(user, own, seqs))


def _said(own: Block) -> Iterator[tuple[int, str, str, int]]:
    for number, words in zip(own.numbers.tolist(), own.words.tolist(), strict=True):
        yield number, " ".join(words), f"session {number // _SESSION}", _START + number * _STEP


def _episodes(user: int, own: Block, seqs: _Numbers) -> Iterator[str]:
    stream = stream_id_of(Scope(name(user)))
    for seq, (number, said, session, at) in zip(seqs.tolist(), _said(own), strict=True):
        key = derive_id("synthetic", user, number)
        line = (
            seq,
            key,
            name(user),
            stream,
            number,
            "user",
            session,
            said,
            key,
            "{}",
            at,
            at,
            "active",
            "t",
            0.5,
            1,
            0,
        )
        yield "\t".join(map(str, line)) + "\n"


def _units(user: int, own: Block, seqs: _Numbers) -> Iterator[str]:
    stream = stream_id_of(Scope(name(user)))
    for seq, (number, said, session, at) in zip(seqs.tolist(), _said(own), strict=True):
        key = derive_id("synthetic unit", user, number)
        place = (stream, number, session, "user", 0, len(said), _WORDS, at, 0.5, "active")
        yield "\t".join(map(str, (seq, key, name(user), "chunk", said, *place))) + "\n"


def _binary(rows: npt.NDArray[np.void]) -> Iterator[bytes]:
    """Rows in the binary format of COPY: header, rows, trailer."""
    yield b"PGCOPY\n\xff\r\n\0" + bytes(8)
    yield rows.tobytes()
    yield b"\xff\xff"


def _vectors(user: int, own: Block, seqs: _Numbers) -> npt.NDArray[np.void]:
    owner = name(user).encode()
    parts: list[tuple[str, str] | tuple[str, str, tuple[int]]] = [
        ("fields", ">i2"), ("seq_size", ">i4"), ("seq", ">i8"), ("user_size", ">i4"), ("user", f"S{len(owner)}"),
        ("vector_size", ">i4"), ("dimension", ">i2"), ("unused", ">i2"), ("vector", ">f4", (DIMENSION,)),
    ]  # fmt: skip
    rows = np.zeros(len(seqs), np.dtype(parts))
    rows["fields"], rows["seq_size"], rows["user_size"], rows["vector_size"] = 3, 8, len(owner), 4 + 4 * DIMENSION
    rows["seq"], rows["user"], rows["dimension"], rows["vector"] = seqs, owner, DIMENSION, own.vectors
    return rows


def _postings(user: int, own: Block, seqs: _Numbers) -> npt.NDArray[np.void]:
    owner = name(user).encode()
    held = [(word, seq) for words, seq in zip(own.words.tolist(), seqs.tolist(), strict=True) for word in words]
    pairs, counts = np.unique(np.array(held, dtype=[("term", "S6"), ("seq", ">i8")]), return_counts=True)
    parts = [
        ("fields", ">i2"), ("user_size", ">i4"), ("user", f"S{len(owner)}"), ("term_size", ">i4"), ("term", "S6"),
        ("seq_size", ">i4"), ("seq", ">i8"), ("tf_size", ">i4"), ("tf", ">i8"),
    ]  # fmt: skip
    rows = np.zeros(len(pairs), np.dtype(parts))
    rows["fields"], rows["user_size"], rows["term_size"], rows["seq_size"], rows["tf_size"] = 4, len(owner), 6, 8, 8
    rows["user"], rows["term"], rows["seq"], rows["tf"] = owner, pairs["term"], pairs["seq"], counts
    return rows
