"""Phrase answers from facts in English and Chinese: values, lists, counts, yes or no, and disputes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Literal

from nscma_torch.reading.relations import Shape
from nscma_torch.text.calendar.timestamps import are_two_readings, format_days, whole
from nscma_torch.text.names import name_key
from nscma_torch.text.number_words import TO_TWENTY

Language = Literal["en", "zh"]

_NUMBERS = {
    "en": ["none", *TO_TWENTY[1:13]],
    "zh": ["没有", *"一两三四五六七八九十", "十一", "十二"],
}
_NOBODY = {"en": "nobody", "zh": "没有人"}
_NOTHING = {"en": "nothing", "zh": "没有"}
_NONE_NOW = {"en": "none now", "zh": "现在没有"}


class FactWording:
    """Phrases answers for one asker; `asker` is their name in the memory."""

    def __init__(self, language: Language, asker: str) -> None:
        self._language = language
        self._asker = asker

    def name(self, name: str) -> str:
        """Phrase a name from the asker's viewpoint: "user's sister" becomes "your sister"."""
        key, asker = name_key(name), name_key(self._asker)
        you, your = ("you", "your ") if self._language == "en" else ("你", "你的")
        if key == asker:
            return you
        return your + name[len(asker) + 3 :] if key.startswith(f"{asker}'s ") else name

    def listed(self, names: Sequence[str]) -> str:
        """Join names into a list."""
        return (", " if self._language == "en" else "、").join(map(self.name, names))

    def by_subject(self, pairs: Sequence[tuple[str, str]]) -> str:
        """Phrase the values for different subjects: "Anna: Oslo; Eva: Rome"."""
        between, end = (": ", "; ") if self._language == "en" else ("：", "；")
        return end.join(f"{self.name(subject)}{between}{self.name(value)}" for subject, value in pairs)

    def disputed(self, sides: Sequence[str]) -> str:
        """Phrase all sides in a dispute, and ask for clarification."""
        names = list(dict.fromkeys(map(self.name, sides)))
        if self._language == "zh":
            return f"有不同的说法：{'、'.join(names)}。哪个是对的？"
        return f"I was told different things: {', '.join(names[:-1])} and {names[-1]}. Which is right?"

    def unsure(self, quotes: Sequence[tuple[str, date, str]]) -> str:
        """Phrase the answer if the current value is unclear: each quote with its speaker and date, newest first."""
        if self._language == "zh":
            return "不确定：" + "\n".join(f"{who}（{day:%Y-%m-%d}）：{text}" for who, day, text in quotes)
        return "not sure: " + "\n".join(f"{who}, {format_days(day, day)}: {text}" for who, day, text in quotes)

    def verdict(self, verdict: Literal["yes", "no"], known: Sequence[str] = ()) -> str:
        """Phrase yes or no, adding the known value."""
        word = {"yes": "yes", "no": "no"} if self._language == "en" else {"yes": "是", "no": "不是"}
        comma = ", " if self._language == "en" else "，"
        return word[verdict] + (comma + self.listed(known) if known else "")

    def count(self, number: int) -> str:
        """Phrase a number, in words up to twelve; "none" for 0."""
        words = _NUMBERS[self._language]
        return words[number] if number < len(words) else str(number)

    def none(self, shape: Shape, *, ended: bool = False) -> str:
        """Phrase that there is no value, or that there is no longer one (`ended`)."""
        if ended:
            return _NONE_NOW[self._language]
        return (_NOBODY if shape == "person" else _NOTHING)[self._language]

    def days(self, first: date, last: date) -> str:
        """Phrase a day, month, year or range of days."""
        if self._language == "en":
            return format_days(first, last)
        either = are_two_readings(first, last)
        unit = "" if either else whole(first, last)
        ends = [
            f"{day.year}年" + (f"{day.month}月" if unit != "year" else "") + ("" if unit else f"{day.day}日")
            for day in (first, last)
        ]
        return ("或" if either else "至").join(dict.fromkeys(ends))
