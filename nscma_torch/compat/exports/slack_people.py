"""Names of the people and bots in Slack's export."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from nscma_torch.compat.exports.speakers import Speaker

_BOT = "USLACKBOT"


class People:
    """The users in `users.json`, and those of other workspaces, whom only their messages describe."""

    def __init__(self, users: Iterable[Mapping[str, Any]]) -> None:
        self._known = {user["id"]: _speaker(user["id"], user, _profile(user)) for user in users}

    def name(self, user_id: str) -> str:
        """Return a user's name, or the id if it is unknown."""
        found = self._known.get(user_id)
        return user_id if found is None else found.name

    def speaker(self, message: Mapping[str, Any]) -> Speaker:
        """Return who wrote a message."""
        key = str(message.get("user") or message.get("bot_id") or message.get("username") or "unknown")
        known = self._known.get(key)
        if message.get("subtype") == "bot_message" or message.get("bot_id"):
            profile = message.get("bot_profile")
            given = message.get("username") or (profile.get("name") if isinstance(profile, Mapping) else None)
            name = str(given) if given else known.name if known is not None else key
            return Speaker(key, name, is_owner=False, is_bot=True)
        if known is None:
            profile = message.get("user_profile")
            known = _speaker(key, {}, profile if isinstance(profile, Mapping) else {})
            self._known[key] = known
        return known


def _profile(user: Mapping[str, Any]) -> Mapping[str, Any]:
    profile = user.get("profile")
    return profile if isinstance(profile, Mapping) else {}


def _speaker(key: str, user: Mapping[str, Any], profile: Mapping[str, Any]) -> Speaker:
    given = (profile.get("display_name"), profile.get("real_name"), user.get("real_name"), user.get("name"))
    names = [name for name in (*given, profile.get("name"), profile.get("email")) if isinstance(name, str) and name]
    is_bot = key == _BOT or user.get("is_bot") is True
    return Speaker(key, names[0] if names else key, tuple(names), False if is_bot else None, is_bot)
