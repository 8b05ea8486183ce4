"""Configuration of what is never stored."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import Field, field_validator

from nscma_torch.core.config.section import Section

RedactedKind = Literal["secret", "card", "iban", "email", "phone"]


class RedactionConfig(Section):
    """What is masked in messages before they are stored. Needs the extra `redaction` for secrets and phones."""

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
