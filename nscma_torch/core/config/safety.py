"""Configuration of what is not stored, or not for good."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import Field, field_validator

from nscma_torch.core.config.section import Section
from nscma_torch.core.records import ROLES

DELETED = "deleted"  # as a key of `retention.days`
RedactedKind = Literal["secret", "card", "iban", "email", "phone"]


class RedactionConfig(Section):
    """Masking of messages before they are stored. Needs the extra `redaction` for secrets and phones."""

    kinds: tuple[RedactedKind, ...] = Field(
        (),
        description="Some of 'secret' (keys, tokens, passwords), 'card', 'iban', 'email', 'phone'; each is stored as "
        "its kind in brackets.",
    )
    phone_region: str = Field(
        "",
        pattern="^([A-Z]{2})?$",
        description="Country of telephone numbers without a country code, such as 'GB'; '' masks only those with '+'.",
    )
    patterns: dict[str, str] = Field(
        {}, description="Regular expressions of your own by the kind that replaces what they match."
    )

    @field_validator("patterns")
    @classmethod
    def _compile(cls, patterns: dict[str, str]) -> dict[str, str]:
        for name, pattern in patterns.items():
            if not re.fullmatch(r"[\w-]{1,40}", name):
                raise ValueError(f"{name!r} must be letters, digits, - and _")
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(f"{name}: {pattern!r} is not a regular expression: {error}") from error
        return patterns


class RetentionConfig(Section):
    """Time for which messages are stored. Sleep erases older ones."""

    days: dict[str, int] = Field(
        {},
        description="Days by role (user, assistant, system, tool, document), after which a message is erased; "
        "'deleted' counts from when a message was deleted. Roles without a number are kept.",
    )

    @field_validator("days")
    @classmethod
    def _known(cls, days: dict[str, int]) -> dict[str, int]:
        for kind, count in days.items():
            if kind not in (*ROLES, DELETED):
                raise ValueError(f"{kind!r} is neither a role ({', '.join(ROLES)}) nor {DELETED!r}")
            if not 1 <= count <= 36_525:
                raise ValueError(f"{kind} is {count} days; it must be from 1 to 36,525")
        return days
