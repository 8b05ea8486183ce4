"""Find keys, tokens and passwords: with the library detect-secrets, and by forms that it doesn't know."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from nscma_torch.core.extras import require
from nscma_torch.redaction.redactor import Finder, Found

# Modules of detect-secrets and the detector of each. Left out: quoted strings of high entropy (also hashes and ids),
# public IP addresses, passwords in URLs (found without their place), and the patterns for npm, OpenAI and JSON web
# tokens, which are quadratic in their text.
_DETECTORS = {
    "artifactory": "ArtifactoryDetector",
    "aws": "AWSKeyDetector",
    "azure_storage_key": "AzureStorageKeyDetector",
    "cloudant": "CloudantDetector",
    "discord": "DiscordBotTokenDetector",
    "github_token": "GitHubTokenDetector",
    "gitlab_token": "GitLabTokenDetector",
    "ibm_cloud_iam": "IbmCloudIamDetector",
    "ibm_cos_hmac": "IbmCosHmacDetector",
    "keyword": "KeywordDetector",
    "mailchimp": "MailchimpDetector",
    "pypi_token": "PypiTokenDetector",
    "sendgrid": "SendGridDetector",
    "slack": "SlackDetector",
    "softlayer": "SoftlayerDetector",
    "square_oauth": "SquareOAuthDetector",
    "stripe": "StripeDetector",
    "telegram_token": "TelegramBotTokenDetector",
    "twilio": "TwilioKeyDetector",
}
# Prefixes that issuers document for their keys.
_ISSUED = re.compile(
    r"(?<![\w-])(?:"
    r"AIza[\w-]{35}|ya29\.[\w-]{20,512}"  # Google
    r"|github_pat_\w{40,255}|npm_[A-Za-z0-9]{36}|hf_[A-Za-z0-9]{30,64}"
    r"|sk-(?:ant|proj|svcacct|or)-[\w-]{20,255}|sk-[A-Za-z0-9]{40,64}"  # Anthropic, OpenAI, OpenRouter
    r"|sk_(?:live|test)_[A-Za-z0-9]{16,255}|whsec_[\w+/=]{24,128}"  # Stripe
    r"|(?:AKIA|ASIA)[A-Z0-9]{16}|gl(?:pat|dt|rt)-[\w-]{20,64}|dop_v1_[a-f0-9]{64}|xox[abprs]-[\w-]{10,255}"
    r"|AGE-SECRET-KEY-1[A-Z0-9]{58}|shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}|pypi-[\w-]{50,255}"
    r")(?![\w-])"
)
# Words that announce a password or a key: one of the next words is it, if it looks like one.
_ANNOUNCED = re.compile(
    r"(?i)(?:(?P<password>password|passwd|passphrase|passcode|pwd|(?<![a-z])pw(?![a-z])|log-?in (?:is|was)"
    r"|cred(?:ential)?s (?:are|is))|secret|token|key)s?"
)
_WORD = re.compile(r"[^\s\"'`,;()\[\]{}<>]+")
_AHEAD, _WORDS = 160, 8  # characters and words after the announcement
_PASSWORD, _KEY = 6, 20  # characters of a password and of a key, at least
_ASSIGNED = re.compile(r"\s{0,3}[:=]{1,2}\s{0,3}[\"'`]?$")
_NO_KEY = re.compile(r"[\d.,:/+-]+[a-zA-Z]{0,3}|\w+://.*|@.*")  # numbers with units, addresses
_HASH = re.compile(r"[0-9a-fA-F-]+")  # or an id; a key only where it is assigned
_PLACEHOLDER = re.compile(r"(?i)(?:your|my|the)?[_-]?(?:password|passwd|pass|pwd|pw|secret|token|key)|[$<{%*].*|(.)\1*")
_BEARER = re.compile(r"(?i)(?<!\w)(?:bearer|basic)\s(?P<value>[\w.~+/-]{16,2048}=*)")
_IN_URL = re.compile(r"://[^\s:/@]{0,128}:(?P<value>[^\s/@]{1,128})@")
_JWT = re.compile(r"(?<![\w-])eyJ[\w-]{8,4096}\.eyJ[\w-]{8,4096}(?:\.[\w-]{0,4096})?")
_BLOCK = re.compile(r"-----(?P<edge>BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")


def secrets() -> Finder:
    """Return a finder of keys, tokens and passwords."""
    detectors = [_detector(module, name) for module, name in _DETECTORS.items()]

    def found(text: str) -> Iterator[Found]:
        yield from _known(text)
        for detector in detectors:
            for value in dict.fromkeys(detector.analyze_string(text)):
                yield from _places(text, value)

    return found


def _detector(module: str, name: str) -> Any:
    library = require(f"detect_secrets.plugins.{module}", extra="redaction", purpose="masking keys and passwords")
    return getattr(library, name)()


def _known(text: str) -> Iterator[Found]:
    for pattern in (_ISSUED, _JWT):
        for match in pattern.finditer(text):
            yield Found(match.start(), match.end(), "secret")
    for match in _IN_URL.finditer(text):
        if not _PLACEHOLDER.fullmatch(match["value"]):
            yield Found(match.start("value"), match.end("value"), "secret")
    for match in _ANNOUNCED.finditer(text):
        yield from _announced(text, match.end(), password=match["password"] is not None)
    for match in _BEARER.finditer(text):
        if _mixed(match["value"]):
            yield Found(match.start("value"), match.end("value"), "secret")
    yield from _private_keys(text)


def _announced(text: str, begin: int, *, password: bool) -> Iterator[Found]:
    """Yield the first of the next words in the line that looks like a password or key: it has letters and digits, and
    is long enough; directly after an assignment, it is as long as a password at least."""
    line = text[begin : begin + _AHEAD].partition("\n")[0]
    for number, match in enumerate(_WORD.finditer(line)):
        start = match.start() + len(match[0]) - len(match[0].lstrip(":="))
        assigned = start > match.start() or (number == 0 and _ASSIGNED.search(line, 0, start) is not None)
        word = line[start : match.end()].rstrip(".!?,;:=")
        if len(word) >= (_PASSWORD if password or assigned else _KEY) and _is_key(word, assigned=assigned):
            yield Found(begin + start, begin + start + len(word), "secret")
            return
        if number + 1 == _WORDS or (number > 1 and match[0][-1] in ".!?"):  # the sentence ends
            return


def _is_key(word: str, *, assigned: bool) -> bool:
    if not _mixed(word) or _NO_KEY.fullmatch(word) or _PLACEHOLDER.fullmatch(word):
        return False
    return assigned or not _HASH.fullmatch(word)


def _private_keys(text: str) -> Iterator[Found]:
    """Yield blocks of PEM and OpenPGP from BEGIN to END; one without an end goes to the end of the text."""
    begin: int | None = None
    for match in _BLOCK.finditer(text):
        if match["edge"] == "BEGIN":
            begin = match.start() if begin is None else begin
        elif begin is not None:
            yield Found(begin, match.end(), "secret")
            begin = None
    if begin is not None:
        yield Found(begin, len(text), "secret")


def _places(text: str, value: str) -> Iterator[Found]:
    """Yield each place of a value that a detector returned without its place."""
    start = text.find(value) if value else -1
    while start >= 0:
        yield Found(start, start + len(value), "secret")
        start = text.find(value, start + len(value))


def _mixed(value: str) -> bool:
    return any(character.isdigit() for character in value) and any(character.isalpha() for character in value)
