"""Measure a message's surprise, its information, and how much of it is new to the memory.

NSCMA section 3.2: `S = -(1/L) sum_i log P_proxy(w_i | w_<i, h_{t-1})`, nats per token; the bundled surprise model's
tokens are bytes. The mean hides how much is said, so the gate also uses the sum, and the compressed size from a general
compressor that knows the stream.
"""

from __future__ import annotations

import math
import re
import zlib
from dataclasses import dataclass

import torch
from torch import Tensor

from nscma_torch.core.erasable_cache import erasable_cache
from nscma_torch.core.errors import InvalidInputError
from nscma_torch.surprise.quoting import unquoted

NAT = math.log(2)  # nats of a bit
WINDOW = 1 << 15  # bytes of history that zlib can refer to

_WORD = re.compile(r"\w+")
_ENDS = "\n.!?;:。！？；"
_ASIDE = 8  # maximum quotation marks and spaces between a statement and its neighbour's end
_RUN = re.compile(rb"[!-~]+")  # ASCII without spaces
_PUNCTUATION = b".,;:!?()\"'$"
_CODE_RUN = 8  # shortest run with digits and letters mixed that counts as code
_LONG_RUN = 24  # shortest run of any ASCII that counts as code


@dataclass(frozen=True, slots=True)
class Surprise:
    """The surprise of one message."""

    tokens: int  # L, of the surprise model, with the end of the message
    mean: float  # S, nats per token, as in the paper
    nats: float  # information: sum over the tokens after clamping
    code_share: float  # share of bytes in runs like ids, hashes, base64, paths; 0 for a single short one


def is_code(run: bytes) -> bool:
    """Return True if an unbroken run of ASCII characters looks like an id, hash, base64, path or markup rather than a
    word.
    """
    if len(run) >= _LONG_RUN:
        return True
    run = run.strip(_PUNCTUATION)  # an amount at the end of a sentence is none
    symbols = sum(not chr(byte).isalnum() for byte in run)
    if len(run) >= 4 and symbols * 5 >= len(run) * 2:
        return len(set(run)) > 2
    return len(run) >= _CODE_RUN and any(48 <= b <= 57 for b in run) and any(b > 64 for b in run)


def measure(
    text: str,
    nll: Tensor,
    ends: Tensor | None = None,
    *,
    byte_clamp: float = 6.0,
    run_clamp: float = 30.0,
    code_clamp: float = 8.0,
) -> Surprise:
    """Compute a message's surprise from its per-token nats.

    A random id is maximally surprising but nearly meaningless, so the information is clamped three times: for each
    byte, for each unbroken ASCII run, and more strongly for each run that looks like code. The mean is never clamped,
    because it is the paper's S. A token's nats are first spread evenly over its bytes.

    Args:
        text: the message.
        nll: nats of each token in the message and its line feed, fp32 [tokens], from `SurpriseModel.score`.
        ends: byte offset of each token's end in the UTF-8 form with the line feed, int64 [tokens], ascending; None if
            every byte is a token.
        byte_clamp: maximum nats for one byte.
        run_clamp: maximum nats for one ASCII run without spaces.
        code_clamp: maximum nats for a run that looks like code.

    Raises:
        InvalidInputError: `nll` doesn't have one value per token, `ends` don't cover the message, or a value is not
            finite.
    """
    raw = text.encode()
    if ends is None and nll.shape != (len(raw) + 1,):
        raise InvalidInputError(
            f"nll has shape {tuple(nll.shape)} for {len(raw)} bytes: pass one value per byte and one for the end"
        )
    if not bool(torch.isfinite(nll).all()):
        raise InvalidInputError("nll contains NaN or infinity: the surprise model's weights or state are damaged")
    per_byte = nll.double() if ends is None else nats_per_byte(nll.double(), ends, len(raw) + 1)
    before = torch.cat([per_byte.new_zeros(1), per_byte.clamp(max=byte_clamp)]).cumsum(0).tolist()
    total, codes = before[-1], []
    for run in _RUN.finditer(raw):
        start, end = run.span()
        most = run_clamp
        if is_code(run.group()):
            codes.append(end - start)
            most = code_clamp
        total -= max(before[end] - before[start] - most, 0.0)
    if len(codes) == 1 and codes[0] < min(_LONG_RUN, len(raw) // 2):  # a password, an order number: its subject
        codes = []
    return Surprise(len(nll), float(nll.double().mean()), total, sum(codes) / max(len(raw), 1))


def nats_per_byte(nll: Tensor, ends: Tensor, total: int) -> Tensor:
    """Return the nats of each byte, [total], from the nats of tokens. A token without bytes of its own counts with its
    neighbour.

    `nll` and `ends` are as in `measure`. Raises `InvalidInputError` if `ends` don't cover `total` bytes.
    """
    if ends.shape != nll.shape or not len(ends) or int(ends[-1]) != total or bool((ends.diff() < 0).any()):
        raise InvalidInputError(
            f"ends {ends.tolist()[:8]}… do not cover {total} bytes with {len(nll)} tokens: pass the model's values"
        )
    last = torch.cat([ends.diff() > 0, ends.new_ones(1, dtype=torch.bool)]) & (ends > 0)
    upto = nll.cumsum(0)[last]
    sizes = ends[last].diff(prepend=ends.new_zeros(1))
    return (upto.diff(prepend=upto.new_zeros(1)) / sizes).repeat_interleave(sizes)


def memory_nats(text: str, history: str) -> float:
    """Return the nats that DEFLATE needs for `text` after the last 32 KB of `history`, as surprise relative
    to memory.
    """
    return deflated_size(text, history[-WINDOW:]) * 8 * NAT


def repeats(text: str, history: str) -> bool:
    """Return True if the stream already contains the message: verbatim, as quotes, or nearly all of a longer message.

    "Verbatim" compares whole lines of `history`, ignoring case and spacing. A message with line breaks matches whole
    lines or consecutive sentences. "As quotes" means that the message marks its content as said before ("> ...", "You
    said: ...", a list of memories), and that each of its statements occurs completely in the history, as a line or from
    one sentence boundary to another. "Nearly all" means that the message has at least 40 bytes and no word or number
    that the history lacks, and that knowing the history saves three quarters of its DEFLATE size. A known sentence with
    another number says something new.
    """
    plain, history = _plain(text), history[-WINDOW:]
    start = plain[:1]
    lines = (line for line in history.casefold().split("\n") if line.lstrip()[:1] == start)
    if any(_plain(line) == plain for line in lines):
        return True
    statements = [_plain(statement) for statement in unquoted(text)]
    quoted = {} if statements == [plain] else dict.fromkeys(statements)
    if "\n" in text or quoted:
        known = "\n".join(filter(None, map(_plain, history.split("\n"))))
        if "\n" in text and _stands(plain, known.replace("\n", " "), known):
            return True
        if quoted and all(_stands(statement, known, known) for statement in quoted):
            return True
    if len(text.encode()) < 40 or 4 * deflated_size(text, history) > deflated_size(text, ""):
        return False
    return set(_WORD.findall(plain)) <= set(_WORD.findall(history.casefold()))


def _stands(statement: str, found_in: str, lines: str) -> bool:
    """Return True if a statement occurs in a text and extends from the start of a line or sentence to the end of one.

    `lines` is `found_in` with its line breaks.
    """
    whole = statement.endswith(tuple(_ENDS))
    start = found_in.find(statement)
    while start >= 0:
        end = start + len(statement)
        before = lines[max(start - _ASIDE, 0) : start].rstrip(" \"'“")
        after = lines[end : end + _ASIDE].lstrip(" \"'”")
        opened = before[-1] in _ENDS if before else start <= _ASIDE
        if opened and (whole or (after[0] in _ENDS if after else end + _ASIDE >= len(lines))):
            return True
        start = found_in.find(statement, start + 1)
    return False


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


@erasable_cache(2)  # `memory_nats` and `repeats` ask the same of one message
def deflated_size(text: str, history: str) -> int:
    """Return the size in bytes of the raw DEFLATE stream for `text`, with `history` as preset dictionary."""
    known = history.encode()[-WINDOW:]
    packer = (
        zlib.compressobj(9, zlib.DEFLATED, -15, 9, zlib.Z_DEFAULT_STRATEGY, known)
        if known
        else zlib.compressobj(9, zlib.DEFLATED, -15)
    )
    return len(packer.compress(text.encode())) + len(packer.flush())
