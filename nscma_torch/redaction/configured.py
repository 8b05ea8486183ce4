"""Make the configured redactor."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from nscma_torch.core.config import RedactionConfig
from nscma_torch.redaction.contacts import emails, phones
from nscma_torch.redaction.payment_numbers import cards, ibans
from nscma_torch.redaction.redactor import Finder, Found, Redactor
from nscma_torch.redaction.secrets import secrets


def configured_redactor(section: RedactionConfig) -> Redactor:
    """Return the redactor for a configuration.

    Raises `MissingDependencyError` if a library for one of the kinds isn't installed.
    """
    finders: dict[str, Callable[[], Finder]] = {
        "secret": secrets,
        "card": lambda: cards,
        "iban": lambda: ibans,
        "email": lambda: emails,
        "phone": lambda: phones(section.phone_region),
    }
    made: list[Finder] = [finders[kind]() for kind in section.kinds]
    made += [_own(name, pattern) for name, pattern in section.patterns.items()]
    return Redactor(made)


def _own(name: str, pattern: str) -> Finder:
    compiled = re.compile(pattern)

    def found(text: str) -> Iterator[Found]:
        for match in compiled.finditer(text):
            if match[0]:
                yield Found(match.start(), match.end(), name)

    return found
