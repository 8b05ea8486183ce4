"""All errors that the library raises deliberately; each says what was wrong and what to do.

NscmaError
├── InvalidInputError (ValueError)   bad input from the caller
│   ├── EmptyTextError               no text, or only whitespace
│   ├── TextTooLargeError            a message above `limits.max_message_bytes`, or a question above
│   │                                `limits.max_question_characters`
│   ├── TextTooLongError             more tokens than the embedder accepts
│   ├── EncodingError                bytes that are not UTF-8
│   ├── MalformedInputError          an unparseable file; names the line
│   ├── TimestampError               unparseable, or in the future
│   ├── ScopeError                   user_id missing or malformed
│   └── VectorError                  NaN, infinity or a wrong dimension
├── ConfigError (ValueError)         unknown key, wrong type, value out of range
├── NotFoundError (LookupError)      no such id for this user
├── MissingDependencyError (ImportError)   a missing optional package; names the extra
├── ModelError                       unusable weights
│   ├── ModelNotFoundError           not on this machine
│   └── ChecksumError                unexpected bytes
├── EngineError                      no usable reply from a language engine
│   ├── EngineUnavailableError       unreachable, overloaded, too slow, or closed; may work later
│   ├── EngineRefusedError           request or key refused; retrying doesn't help
│   │   └── NoLogprobsError          the server returns no log-probabilities
│   └── ReplyError                   an unusable reply
├── StoreError                       the database file
│   ├── StoreFormatError             corrupt, or not an nscma store
│   ├── StoreVersionError            written by a newer version, or too old to upgrade
│   ├── StoreAccessError             the file or its folder cannot be read or written
│   ├── StoreClosedError             the memory was closed before it was used
│   ├── StoreFullError               no space left; nothing was written
│   ├── StoreBusyError               another process or task held the store for too long
│   ├── EmbedderMismatchError        vectors from another embedder; see `nscma reembed`
│   └── StateMismatchError           recurrent state from another surprise model
├── JobError                         a background job failed; its input is kept
└── AccessError                      a server declined the request
    ├── TokenError                   no token, or an unknown one
    ├── ForbiddenError               the token lacks the right, or is another user's
    └── OverloadedError              too many requests at once, or from one token; may work later
"""

from __future__ import annotations


def described(value: object) -> str:
    """Describe an invalid value: the shape and dtype of a tensor, or the type of anything else."""
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return f"{[*value.shape]} {value.dtype}"
    return type(value).__name__


class NscmaError(Exception):
    """Base class for all errors in this library."""


class InvalidInputError(NscmaError, ValueError):
    """Invalid input; the store is unchanged."""


class EmptyTextError(InvalidInputError):
    """A text is empty or only whitespace."""


class TextTooLargeError(InvalidInputError):
    """A message exceeds `limits.max_message_bytes`, or a question `limits.max_question_characters`."""


class TextTooLongError(InvalidInputError):
    """A text has more tokens than the embedder accepts; texts are never truncated silently."""


class EncodingError(InvalidInputError):
    """Bytes are not UTF-8."""


class MalformedInputError(InvalidInputError):
    """A file doesn't parse.

    `line` is the 1-based line number, or None if the format has no lines.
    """

    def __init__(self, message: str, *, line: int | None = None) -> None:
        super().__init__(message if line is None else f"line {line}: {message}")
        self.line = line


class TimestampError(InvalidInputError):
    """A time can't be parsed, or is in the future."""


class ScopeError(InvalidInputError):
    """`user_id` is missing, or an id is empty or malformed."""


class VectorError(InvalidInputError):
    """A vector contains NaN or infinity, or has the wrong dimension."""


class ConfigError(NscmaError, ValueError):
    """An unknown configuration key, a wrong type, or a value out of range."""


class NotFoundError(NscmaError, LookupError):
    """This user has no memory with that id."""


class MissingDependencyError(NscmaError, ImportError):
    """An optional package is not installed; the message names the extra to install."""


class ModelError(NscmaError):
    """Model weights are unusable."""


class ModelNotFoundError(ModelError):
    """The model is not on this machine."""


class ChecksumError(ModelError):
    """The weights don't match their checksum."""


class EngineError(NscmaError):
    """A language engine gave no usable reply."""


class EngineUnavailableError(EngineError):
    """The engine is unreachable, overloaded, too slow or closed; the same request may work later.

    `answered` is True if other requests sent at the same time were answered, so the engine is up.
    """

    answered = False


class EngineRefusedError(EngineError):
    """The engine refused the request or the key; retrying doesn't help."""


class NoLogprobsError(EngineRefusedError):
    """The server returns no log-probabilities."""


class ReplyError(EngineError):
    """A reply isn't in the requested form; another attempt may succeed."""


class StoreError(NscmaError):
    """The database file can't be used as requested."""


class StoreFormatError(StoreError):
    """The file is corrupt, or not an nscma store."""


class StoreVersionError(StoreError):
    """The store was written by a newer version of this library, or by one too old to upgrade from."""


class StoreAccessError(StoreError):
    """The file or its folder cannot be read or written."""


class StoreClosedError(StoreError):
    """The memory was closed before it was used."""


class StoreFullError(StoreError):
    """There is no space left; nothing was written."""


class QuotaError(StoreError):
    """A user has reached a limit on what is stored; nothing was written."""


class StoreBusyError(StoreError):
    """Another process held the store for longer than `store.busy_timeout`."""


class EmbedderMismatchError(StoreError):
    """The stored vectors come from another embedder; `nscma reembed` replaces them."""


class StateMismatchError(StoreError):
    """The stored recurrent state comes from another surprise model."""


class JobError(NscmaError):
    """A background job failed; its input is kept and the job can be run again."""


class AccessError(NscmaError):
    """A server declined the request."""


class TokenError(AccessError):
    """The request has no token, or an unknown or revoked one."""


class ForbiddenError(AccessError):
    """The token lacks the required right, or belongs to another user."""


class OverloadedError(AccessError):
    """There are too many concurrent requests, or too many from one token; retry after `retry_after` seconds."""

    def __init__(self, message: str, *, retry_after: int = 1) -> None:
        super().__init__(message)
        self.retry_after = retry_after
