"""The model's server: its address, its key, and the headers to forward."""

from __future__ import annotations

import os
from collections.abc import Iterable
from http.cookiejar import CookieJar, DefaultCookiePolicy

import httpx2

from nscma_torch.core.config import UpstreamConfig
from nscma_torch.core.errors import ConfigError
from nscma_torch.server.access import is_loopback

_OF_THE_CONNECTION = {
    *("connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer"),
    *("transfer-encoding", "upgrade"),
}
_NOT_ON = {
    *_OF_THE_CONNECTION,
    *("host", "content-length", "accept-encoding", "expect"),
    *("authorization", "x-api-key", "cookie"),  # the upstream must not learn the caller
    *("origin", "referer", "forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip"),
}
_NOT_BACK = {*_OF_THE_CONNECTION, "content-encoding", "date", "server", "set-cookie"}
_PREFIXES_NOT_BACK = ("access-control-", "x-nscma-")


class UpstreamServer:
    """The model's server, to which requests are forwarded.

    Args:
        url: URL of an OpenAI-compatible server, with or without /v1.
        key: the API key, sent as a bearer token.

    Raises `ConfigError` for an invalid address or key.
    """

    def __init__(self, url: str, key: str | None, settings: UpstreamConfig) -> None:
        self.root = _root(url)
        if key is not None and not (key.isascii() and key.isprintable() and key.strip()):
            raise ConfigError("the upstream key is empty or not valid in an HTTP header")
        self._key = key
        self._settings = settings

    def client(self) -> httpx2.AsyncClient:
        """Create an HTTP client, which the caller closes. It stores no cookies, because they would be shared between
        users.
        """
        settings = self._settings
        return httpx2.AsyncClient(
            base_url=str(self.root),
            timeout=httpx2.Timeout(settings.silence, connect=settings.connect, pool=None),
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=64, keepalive_expiry=3.0),
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
            trust_env=not (self.root.host == "localhost" or is_loopback(self.root.host)),
        )

    def headers_on(self, given: Iterable[tuple[str, str]], *, anthropic: bool = False) -> list[tuple[str, str]]:
        """Return the client's headers to pass on, with the key added, for Anthropic's interface in its own header. They
        request an uncompressed response.
        """
        passed = [(name, value) for name, value in given if _passes_on(name.lower())]
        own: list[tuple[str, str]] = []
        if self._key is not None:
            own = [("x-api-key", self._key) if anthropic else ("authorization", f"Bearer {self._key}")]
        return [*passed, *own, ("accept-encoding", "identity")]


def headers_back(answer: httpx2.Response) -> list[tuple[str, str]]:
    """Return the response headers to send to the client. The body is passed on decoded."""
    drop = _NOT_BACK | ({"content-length"} if "content-encoding" in answer.headers else set())
    many = ((name.lower(), value) for name, value in answer.headers.multi_items())
    return [(name, value) for name, value in many if name not in drop and not name.startswith(_PREFIXES_NOT_BACK)]


def key_of(variable: str | None) -> str | None:
    """Return the key in an environment variable. Raises `ConfigError` if it isn't set."""
    if variable is None:
        return None
    key = os.environ.get(variable)
    if not key:  # the name is not repeated: it may be the key itself
        raise ConfigError("--upstream-key must name an environment variable that contains the key")
    return key


def _passes_on(name: str) -> bool:
    return name not in _NOT_ON and not name.startswith("x-nscma-")


def _root(url: str) -> httpx2.URL:
    try:
        root = httpx2.URL(url.rstrip("/").removesuffix("/v1"))
    except httpx2.InvalidURL as error:
        raise ConfigError(f"{url!r} is not a URL: {error}; write --upstream http://127.0.0.1:8000") from error
    if root.scheme not in ("http", "https") or not root.host:
        raise ConfigError(f"{url!r} is not a server URL; write --upstream http://127.0.0.1:8000")
    if root.userinfo:
        raise ConfigError(
            "the upstream address contains a password; put the credential in an environment variable instead"
        )
    return root
