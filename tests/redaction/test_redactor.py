"""Secrets and personal numbers are masked, look-alikes are not, and nothing masked reaches the disk."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("detect_secrets")
pytest.importorskip("phonenumbers")

from nscma_torch.api.memory import Memory
from nscma_torch.core.config import load_config
from nscma_torch.core.errors import ConfigError
from nscma_torch.core.records import Message
from nscma_torch.features.bulk.adding import bulk_add
from nscma_torch.redaction.configured import configured_redactor
from nscma_torch.redaction.redactor import Found, Redactor
from tests.conftest import LIGHT

ALL = {"kinds": ["secret", "card", "iban", "email", "phone"], "phone_region": "GB"}
CARD = "4111 1111 1111 1111"


def redactor(**section: Any) -> Redactor:
    return configured_redactor(load_config({"redaction": section or ALL}).redaction)


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        (f"It's {CARD}, exp 04/29.", "It's [card], exp 04/29."),
        ("Amex 371449635398431!", "Amex [card]!"),
        ("DE89 3704 0044 0532 0130 00 AND MORE", "[iban] AND MORE"),
        ("pay GB82WEST12345698765432.", "pay [iban]."),
        ("ann.b+x@mail.example.co.uk, thanks", "[email], thanks"),
        ("0121 496 0177 or +41 61 555 01 88", "[phone] or [phone]"),
        ("my wifi password is hunter2.", "my wifi password is [secret]."),
        ('{"client_secret": "k2jh34k2jh3"}', '{"client_secret": "[secret]"}'),
        ("postgres://me:pa55word@db:5432/x", "postgres://me:[secret]@db:5432/x"),
        ("Authorization: Bearer abcDEF1234567890abcdef", "Authorization: Bearer [secret]"),
        ("key AKIA" + "Q7" * 8 + " it is", "key [secret] it is"),
        ("a\n-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----\nb", "a\n[secret]\nb"),
        ("-----BEGIN PGP PRIVATE KEY BLOCK-----\nlost its end", "[secret]"),
        (f"password is {CARD.replace(' ', '')} ok", "password is [card] ok"),
    ],
)
def test_what_is_masked(text: str, masked: str) -> None:
    found = redactor().text(text)[0]
    assert found == masked
    assert redactor().text(found) == (found, ()), "a masked text has nothing to mask"


@pytest.mark.parametrize(
    "text",
    [
        "4111 1111 1111 1112 has a wrong check digit",
        "order 9111111111111111, tracking 1Z999AA10123456784",
        "DE89 3704 0044 0532 0130 01",
        "git@codeberg.org:oblique/gridsmith.git",
        "my password is expired, the secret: be nice, token = getToken()",
        "The gate code is 4471. ISBN 978-3-16-148410-0, on 2026-11-30 12:30.",
        "d41d8cd98f00b204e9800998ecf8427e 7c9e6679-7425-40de-944b-e07fc1f90ae7",
    ],
)
def test_what_is_not_masked(text: str) -> None:
    assert redactor().text(text) == (text, ())


def test_overlapping_parts_are_masked_as_one() -> None:
    parts = [Found(2, 6, "long"), Found(2, 4, "short"), Found(5, 8, "late")]
    assert Redactor([lambda _: parts]).text("a bcdefghij") == ("a [long]hij", ("long",))


def test_own_patterns_and_metadata() -> None:
    masks = redactor(patterns={"ticket": r"TK-\d+"})
    message = Message("user", "See TK-12.", metadata={"refs": ["TK-7", 3], "deep": {"TK-1": "TK-2"}})
    masked = masks.message(message)
    assert masked.message.content == "See [ticket]." and masked.kinds == ("ticket",) * 3
    assert masked.message.metadata == {"refs": ["[ticket]", 3], "deep": {"TK-1": "[ticket]"}}


@pytest.mark.parametrize(
    ("section", "told"),
    [
        ({"patterns": {"bad": "("}}, "not a regular expression"),
        ({"patterns": {"a b": "x"}}, "must be letters"),
        ({"kinds": ["cards"]}, "redaction.kinds"),
        ({"phone_region": "gb"}, "phone_region"),
    ],
)
def test_a_wrong_section_is_refused(section: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        load_config({"redaction": section})


def on_disk(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def test_nothing_masked_reaches_the_disk(
    open_memory: Callable[..., Memory], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    memory = open_memory("store.db", config={"redaction": ALL})
    secrets = ["hunter2secret", "4111111111111111", "GB82WEST12345698765432", "ann@mail.example.org"]
    (added,) = memory.add(f"password: {secrets[0]}", user_id="ada", metadata={"card": secrets[1]})
    assert (added.text, added.masked) == ("password: [secret]", ("secret", "card"))
    assert [one.masked for one in memory.add_many([Message("user", secrets[2])], user_id="ada")] == [("iban",)]
    assert memory.add("Plain.", user_id="ada")[0].masked == ()
    changed = memory.update(added.id, f"write to {secrets[3]}", user_id="ada", metadata={"card": secrets[1] + " "})
    assert changed.text == "write to [email]" and changed.metadata["card"] == "[card] "
    memory.flush()
    rows = tmp_path / "in" / "rows.jsonl"
    rows.parent.mkdir()
    rows.write_text(json.dumps({"user_id": "ben", "role": "user", "content": f"Card {secrets[1]}, ok"}))
    config = {**LIGHT, "redaction": ALL, "embedder": {"model": "hash"}}
    bulk_add(tmp_path / "bulk.db", [str(rows)], config=config)
    rows.unlink()
    assert not [secret for secret in secrets if secret.encode() in on_disk(tmp_path) or secret in caplog.text]
