"""Find e-mail addresses, and telephone numbers with the library phonenumbers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from nscma_torch.core.extras import require
from nscma_torch.redaction.redactor import Finder, Found

# git@host:path is none.
_EMAIL = re.compile(r"(?<![\w.+%@/-])[\w.+%-]{1,64}@(?:[^\W_][\w-]{0,62}\.){1,8}[^\W\d_]{2,24}(?![\w-])(?![.:][\w/])")


def emails(text: str) -> Iterator[Found]:
    """Yield e-mail addresses."""
    for match in _EMAIL.finditer(text):
        yield Found(match.start(), match.end(), "email")


def phones(region: str) -> Finder:
    """Return a finder of valid telephone numbers.

    Args:
        region: the country of numbers without a country code, such as "GB"; "" finds only those with "+".
    """
    library = require("phonenumbers", extra="redaction", purpose="masking telephone numbers")

    def found(text: str) -> Iterator[Found]:
        for match in library.PhoneNumberMatcher(text, region or None):
            yield Found(match.start, match.end, "phone")

    return found
