"""Chinese date expressions: rules for `dates.find_dates`."""

from __future__ import annotations

import re
from datetime import date, timedelta

from nscma_torch.text.calendar.calendar_spans import (
    VAGUE,
    DaySpan,
    date_rule,
    day_span,
    joined,
    month_span,
    months_span,
    nearest,
    shift,
    shifted_month,
    week_span,
    year_span,
)
from nscma_torch.text.calendar.tense import Direction
from nscma_torch.text.number_words import HAN_DIGITS

_HAN_NUMBER = r"\d{1,4}|[一二两兩三四五六七八九十]{1,3}"
_HAN_WEEKDAYS = {char: i for i, char in enumerate("一二三四五六日")} | {"天": 6, "末": 5}
_HAN_DAYS = {"大前": -3, "前": -2, "昨": -1, "今": 0, "明": 1, "后": 2, "後": 2, "大后": 3, "大後": 3}
_HAN_YEARS = {"前": -2, "去": -1, "今": 0, "明": 1, "后": 2, "後": 2}
_HAN_UNITS = {"天": "day", "日": "day", "月": "month", "年": "year"}  # all others are words for a week
_HAN_WEEK = "(?:周|週|星期|礼拜|禮拜)"
_HAN_DAY = rf"(?P<day>{_HAN_NUMBER})[日号號]"
_HAN_SEASONS = {"春": 3, "夏": 6, "秋": 9, "冬": 12}  # their first months
_CLAUSE_END = re.compile(r"[，。！？；,.!?;\n]")
_BACK = re.compile(r"[了过過曾]|已经|已經")
_AHEAD = re.compile(r"[要会會将將]|打算|准备|準備|[约約订訂]了")


def _direction(match: re.Match[str]) -> Direction:
    """Return the time direction of the clause that contains a mention: -1 past, 1 future, 0 unclear."""
    text = match.string
    before = _CLAUSE_END.split(text[max(0, match.start() - 40) : match.start()])[-1]
    clause = before + _CLAUSE_END.split(text[match.end() : match.end() + 40], maxsplit=1)[0]
    return 1 if _AHEAD.search(clause) else -1 if _BACK.search(clause) else 0


def _han_number(word: str) -> int:
    """Parse a number such as 12, 十二, 二十 or 二十三."""
    if word.isdecimal():
        return int(word)
    tens, ten, ones = word.partition("十")
    if ten:
        return 10 * (HAN_DIGITS[tens] if tens else 1) + (HAN_DIGITS[ones] if ones else 0)
    return int("".join(str(HAN_DIGITS[char]) for char in word))


def _han_calendar(match: re.Match[str], today: date) -> DaySpan:
    word = match["year"]
    relative = word[0] in _HAN_YEARS
    year = today.year + _HAN_YEARS[word[0]] if relative else int("".join(str(HAN_DIGITS.get(c, c)) for c in word))
    if match["about"]:
        return joined(year_span(year - 1), year_span(year + 1))
    if match["season"]:
        return months_span(year, _HAN_SEASONS[match["season"]], 3)
    if not match["month"]:
        return year_span(year)
    month = _han_number(match["month"])
    return day_span(date(year, month, _han_number(match["day"]))) if match["day"] else month_span(year, month)


def _han_month_day(match: re.Match[str], today: date) -> DaySpan:
    month = _han_number(match["month"])
    if match["day"]:
        day = _han_number(match["day"])
        return nearest(lambda year: day_span(date(year, month, day)), today, _direction(match))
    return nearest(lambda year: month_span(year, month), today, _direction(match))


def _han_named_day(match: re.Match[str], today: date) -> DaySpan:
    return day_span(today + timedelta(days=_HAN_DAYS[match["which"]]))


def _han_week(match: re.Match[str], today: date) -> DaySpan:
    which, day = match["which"] or "", match["day"] or match["bare"]
    monday, sunday = week_span(today, which.count("下") - which.count("上"))
    if not day:
        return monday, sunday
    if not which and day != "末":
        since = (today.weekday() - _HAN_WEEKDAYS[day]) % 7
        return day_span(today - timedelta(days=since if _direction(match) < 0 else since - 7 if since else 0))
    first = monday + timedelta(days=_HAN_WEEKDAYS[day])
    return first, sunday if day == "末" else first


def _han_relative_month(match: re.Match[str], today: date) -> DaySpan:
    first, last = shifted_month(today, {"上": -1, "下": 1}.get(match["which"], 0))
    return day_span(first.replace(day=_han_number(match["day"]))) if match["day"] else (first, last)


def _han_distance(match: re.Match[str], today: date) -> DaySpan:
    unit, sign = _HAN_UNITS.get(match["unit"], "week"), -1 if "前" in match["side"] else 1
    if match["count"] in ("几", "幾"):
        ends = [shift(today, unit, sign * count) for count in VAGUE]
        return min(ends)[0], max(ends)[1]
    return shift(today, unit, sign * _han_number(match["count"]))


_HAN_YEAR = r"(?P<year>(?<!\d)\d{4}|[一二][〇零一二三四五六七八九]{3}|[前去今明后後](?=年))年"
_HAN_MONTH = r"(?P<month>1[0-2]|0?[1-9]|十[一二]?|[一二三四五六七八九])月"
_HAN_WEEK_OR_DAY = (
    rf"(?:(?P<which>上上|下下|[上下这這本])[一个個]?{_HAN_WEEK}(?P<day>[一二三四五六日天末])?"
    rf"|{_HAN_WEEK}(?P<bare>[一二三四五六日天末]))"
)
_HAN_AGO = (
    rf"(?P<count>{_HAN_NUMBER}|[几幾])[个個]?(?P<unit>{_HAN_WEEK}|[天日年]|(?<=[个個])月)[之以]?(?P<side>[前后後])"
)

CHINESE = (
    date_rule(
        rf"{_HAN_YEAR}(?:(?P<month>{_HAN_NUMBER})月份?(?:{_HAN_DAY})?|的?(?P<season>[春夏秋冬])[天季]|(?P<about>左右|前[后後]))?",
        _han_calendar,
        "年",
    ),
    date_rule(rf"(?<![\d年个個上下这這本十]){_HAN_MONTH}(?:{_HAN_DAY}|份)?", _han_month_day, "月"),
    date_rule(r"(?P<which>大前|大后|大後|[前昨今明后後])[天日晚早]", _han_named_day, "天 日 晚 早"),
    date_rule(_HAN_WEEK_OR_DAY, _han_week, "周 週 星期 礼拜 禮拜"),
    date_rule(rf"(?P<which>[上下这這本])[个個]?月(?:{_HAN_DAY})?", _han_relative_month, "月"),
    date_rule(_HAN_AGO, _han_distance, "前 后 後"),
)
