"""Every error that the library raises on purpose; each says what was wrong and what to do.

NscmaError
├── InvalidInputError (ValueError)   what the caller handed in
│   ├── EmptyTextError               no text, or only white space
│   ├── TextTooLargeError            a message above `limits.max_message_bytes`, or a question above
│   │                                `limits.max_question_characters`
│   ├── TextTooLongError             more tokens than the embedder reads
│   ├── EncodingError                bytes that are not UTF-8
│   ├── MalformedInputError          a file that does not parse; names the line
│   ├── TimestampError               unparseable, or in the future
│   ├── ScopeError                   user_id missing or malformed
│   └── VectorError                  NaN, infinity or a wrong dimension
├── ConfigError (ValueError)         unknown key, wrong type, value out of range
├── NotFoundError (LookupError)      an id that this user does not have
├── MissingDependencyError (ImportError)   an optional package; names the extra
├── ModelError                       weights that cannot be used
│   ├── ModelNotFoundError           not on this machine
│   └── ChecksumError                not the bytes that were expected
├── EngineError                      a language engine gave nothing that can be used
│   ├── EngineUnavailableError       not reached, overloaded, too slow, or closed; later it may work
│   ├── EngineRefusedError           the request or the key was refused; as it is it never works
│   └── ReplyError                   a reply came that cannot be used
├── StoreError                       the database file
│   ├── StoreFormatError             corrupt, or not an nscma store
│   ├── StoreVersionError            written by a newer version, or too old to upgrade
│   ├── StoreAccessError             the file or its folder cannot be read or written
│   ├── StoreClosedError             the memory was closed before it was used
│   ├── StoreFullError               no space left; nothing was written
│   ├── StoreBusyError               another process, or somebody else's work, held the store for too long
│   ├── EmbedderMismatchError        vectors of another embedder; see `nscma reembed`
│   └── StateMismatchError           recurrent state of another surprise model
├── JobError                         a background job failed; its input is kept
└── AccessError                      a server does not do what it was asked
    ├── TokenError                   no token, or one that is not known
    ├── ForbiddenError               the token does not give the right, or is another user's
    └── OverloadedError              too many requests at once, or too many of one token; later it may work
"""

from __future__ import annotations


def described(value: object) -> str:
    """Describe a value given for a tensor: shape and dtype of a tensor, else the type."""
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return f"{[*value.shape]} {value.dtype}"
    return type(value).__name__


class NscmaError(Exception):
    """Base of all errors of this library."""


class InvalidInputError(NscmaError, ValueError):
    """Invalid input; the store is unchanged."""


class EmptyTextError(InvalidInputError):
    """There is no text, or only white space."""


class TextTooLargeError(InvalidInputError):
    """A message is larger than `limits.max_message_bytes`, or a question than `limits.max_question_characters`."""


class TextTooLongError(InvalidInputError):
    """A text has more tokens than the embedder reads; it is never cut silently."""


class EncodingError(InvalidInputError):
    """Bytes that are not UTF-8."""


class MalformedInputError(InvalidInputError):
    """A file that does not parse.

    `line` is the 1-based line number, or None where the format has no lines.
    """

    def __init__(self, message: str, *, line: int | None = None) -> None:
        super().__init__(message if line is None else f"line {line}: {message}")
        self.line = line


class TimestampError(InvalidInputError):
    """A time that does not parse, or that lies in the future."""


class ScopeError(InvalidInputError):
    """`user_id` is missing, or an id is empty or malformed."""


class VectorError(InvalidInputError):
    """A vector holds NaN or infinity, or has the wrong dimension."""


class ConfigError(NscmaError, ValueError):
    """An unknown configuration key, a wrong type, or a value out of range."""


class NotFoundError(NscmaError, LookupError):
    """No memory of this user has that id."""


class MissingDependencyError(NscmaError, ImportError):
    """An optional package is not installed; the message names the extra to install."""


class ModelError(NscmaError):
    """Model weights that cannot be used."""


class ModelNotFoundError(ModelError):
    """The model is not on this machine."""


class ChecksumError(ModelError):
    """The weights are not the bytes that were expected."""


class EngineError(NscmaError):
    """A language engine gave nothing that can be used."""


class EngineUnavailableError(EngineError):
    """The engine was not reached, is overloaded, took too long, or is closed; later the same request may work.

    `answered`: other requests that were sent together with it were answered, so the engine is there.
    """

    answered = False


class EngineRefusedError(EngineError):
    """The engine refused the request or the key; the same request will be refused again."""


class ReplyError(EngineError):
    """A reply came, and it is not what was asked for; another attempt may give a better one."""


class StoreError(NscmaError):
    """The database file cannot be used as asked."""


class StoreFormatError(StoreError):
    """The file is corrupt, or it is not an nscma store."""


class StoreVersionError(StoreError):
    """The store was written by a newer version of this library, or by one too old to upgrade from."""


class StoreAccessError(StoreError):
    """The file or its folder cannot be read or written."""


class StoreClosedError(StoreError):
    """The memory was closed before it was used."""


class StoreFullError(StoreError):
    """There is no space left; nothing was written."""


class StoreBusyError(StoreError):
    """Another process held the store for longer than `store.busy_timeout`."""


class EmbedderMismatchError(StoreError):
    """The stored vectors come from another embedder; `nscma reembed` replaces them."""


class StateMismatchError(StoreError):
    """The stored recurrent state comes from another surprise model."""


class JobError(NscmaError):
    """A background job failed; its input is kept and the job can be run again."""


class AccessError(NscmaError):
    """A server does not do what it was asked."""


class TokenError(AccessError):
    """The request has no token, or one that is not known or was revoked."""


class ForbiddenError(AccessError):
    """The token does not give the right that is needed, or it is another user's."""


class OverloadedError(AccessError):
    """Too many requests at once, or too many of one token; after `retry_after` seconds it may work."""

    def __init__(self, message: str, *, retry_after: int = 1) -> None:
        super().__init__(message)
        self.retry_after = retry_after
