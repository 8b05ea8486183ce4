import math
import time
from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nscma_torch.core.errors import TimestampError
from nscma_torch.text.calendar.dates import find_dates
from nscma_torch.text.calendar.timestamps import format_day, format_days, format_time, parse_timestamp

WEDNESDAY = datetime(2023, 5, 17, 12, tzinfo=UTC)


def found(text, anchor=WEDNESDAY):
    return [(text[m.start : m.end], m.first_day, m.last_day) for m in find_dates(text, anchor)]


def day(year, month, number):
    return date(year, month, number), date(year, month, number)


def span(first, last):
    return date(*first), date(*last)


@pytest.mark.parametrize(
    ("text", "mention", "days"),
    [
        ("It was on 12 May 2023.", "12 May 2023", day(2023, 5, 12)),
        ("the 3rd of March, 2021", "3rd of March, 2021", day(2021, 3, 3)),
        ("May 12th, 2022 was fine", "May 12th, 2022", day(2022, 5, 12)),
        ("on 12-May-2023", "12-May-2023", day(2023, 5, 12)),
        ("born Sept. 3", "Sept. 3", day(2023, 9, 3)),
        ("by Dec 25", "Dec 25", day(2022, 12, 25)),
        ("2023-05-12T10:00:00Z", "2023-05-12", day(2023, 5, 12)),
        ("2023/5/2", "2023/5/2", day(2023, 5, 2)),
        ("on 13/05/2023", "13/05/2023", day(2023, 5, 13)),
        ("May 2023", "May 2023", span((2023, 5, 1), (2023, 5, 31))),
        ("in 2023-02", "2023-02", span((2023, 2, 1), (2023, 2, 28))),
        ("in early June", "early June", span((2023, 6, 1), (2023, 6, 10))),
        ("mid-June", "mid-June", span((2023, 6, 11), (2023, 6, 20))),
        ("late May 2018", "late May 2018", span((2018, 5, 21), (2018, 5, 31))),
        ("early 2009", "early 2009", span((2009, 1, 1), (2009, 4, 30))),
        ("at the end of 2019", "the end of 2019", span((2019, 9, 1), (2019, 12, 31))),
        ("around 2015", "around 2015", span((2014, 1, 1), (2016, 12, 31))),
        ("in '98", "'98", span((1998, 1, 1), (1998, 12, 31))),
        ("between 2010 and 2012", "between 2010 and 2012", span((2010, 1, 1), (2012, 12, 31))),
        ("in the early 2000s", "the early 2000s", span((2000, 1, 1), (2003, 12, 31))),
        ("in the '90s", "the '90s", span((1990, 1, 1), (1999, 12, 31))),
        ("in the late nineties", "the late nineties", span((1996, 1, 1), (1999, 12, 31))),
        ("in Q3 2013", "Q3 2013", span((2013, 7, 1), (2013, 9, 30))),
        ("the first quarter of 2020", "the first quarter of 2020", span((2020, 1, 1), (2020, 3, 31))),
        ("the spring of 2011", "the spring of 2011", span((2011, 3, 1), (2011, 5, 31))),
        ("last summer", "last summer", span((2022, 6, 1), (2022, 8, 31))),
        ("last winter", "last winter", span((2022, 12, 1), (2023, 2, 28))),
        ("on Easter Sunday 2014", "Easter Sunday 2014", day(2014, 4, 20)),
        ("last Christmas", "last Christmas", day(2022, 12, 25)),
        ("on Whit Monday 2013", "Whit Monday 2013", day(2013, 5, 20)),
        ("on Ash Wednesday 2016", "Ash Wednesday 2016", day(2016, 2, 10)),
        ("on Black Friday 2019", "Black Friday 2019", day(2019, 11, 29)),
        ("on Midsummer Saturday 2013", "Saturday 2013", span((2013, 1, 1), (2013, 12, 31))),
        ("we met last Monday in 2013", "last Monday in 2013", span((2013, 1, 1), (2013, 12, 31))),
        ("on Monday 2000 guests came", "Monday", day(2023, 5, 15)),
        ("I land on Monday 1930.", "Monday", day(2023, 5, 22)),
        ("on Friday, 12 March 2021", "Friday, 12 March 2021", day(2021, 3, 12)),
        ("I moved in the spring of the '90s", "the spring of the '90s", span((1990, 1, 1), (1999, 12, 31))),
        ("in the spring of '04", "the spring of '04", span((2004, 3, 1), (2004, 5, 31))),
        ("in May of '04", "May of '04", span((2004, 5, 1), (2004, 5, 31))),
        ("on 3 May '14", "3 May '14", day(2014, 5, 3)),
        ("at Christmas '09", "Christmas '09", day(2009, 12, 25)),
        ("in Q3 '15", "Q3 '15", span((2015, 7, 1), (2015, 9, 30))),
        ("for Thanksgiving 2019", "Thanksgiving 2019", day(2019, 11, 28)),
        ("the week of 3 May 2023", "the week of 3 May 2023", span((2023, 5, 1), (2023, 5, 7))),
        ("on 05/06/2023", "05/06/2023", span((2023, 5, 6), (2023, 6, 5))),
        ("for the weekend", "the weekend", span((2023, 5, 20), (2023, 5, 21))),
        ("on 25.12.2015", "25.12.2015", day(2015, 12, 25)),
        ("in 05/2014", "05/2014", span((2014, 5, 1), (2014, 5, 31))),
        ("on the 12th", "the 12th", day(2023, 5, 12)),
        ("two years ago or so", "two years ago or so", span((2020, 1, 1), (2022, 12, 31))),
        ("a decade ago", "a decade ago", span((2013, 1, 1), (2013, 12, 31))),
        ("since 2019", "2019", span((2019, 1, 1), (2019, 12, 31))),
        ("last May", "last May", span((2022, 5, 1), (2022, 5, 31))),
        ("next March", "next March", span((2024, 3, 1), (2024, 3, 31))),
        ("yesterday", "yesterday", day(2023, 5, 16)),
        ("the day before yesterday", "the day before yesterday", day(2023, 5, 15)),
        ("the day after tomorrow", "the day after tomorrow", day(2023, 5, 19)),
        ("Tomorrow!", "Tomorrow", day(2023, 5, 18)),
        ("last night", "last night", day(2023, 5, 16)),
        ("last Saturday", "last Saturday", day(2023, 5, 13)),
        ("last Wednesday", "last Wednesday", day(2023, 5, 10)),
        ("on Wednesday", "Wednesday", day(2023, 5, 17)),
        ("on Friday", "Friday", day(2023, 5, 12)),
        ("this Friday", "this Friday", day(2023, 5, 19)),
        ("next Friday", "next Friday", day(2023, 5, 26)),
        ("last weekend", "last weekend", span((2023, 5, 13), (2023, 5, 14))),
        ("next week", "next week", span((2023, 5, 22), (2023, 5, 28))),
        ("next month", "next month", span((2023, 6, 1), (2023, 6, 30))),
        ("last year", "last year", span((2022, 1, 1), (2022, 12, 31))),
        ("three days ago", "three days ago", day(2023, 5, 14)),
        ("two weeks ago", "two weeks ago", span((2023, 5, 1), (2023, 5, 7))),
        ("a couple of months ago", "a couple of months ago", span((2023, 3, 1), (2023, 3, 31))),
        ("a few days ago", "a few days ago", span((2023, 5, 12), (2023, 5, 15))),
        ("in 3 days", "in 3 days", day(2023, 5, 20)),
        ("a few days from now", "a few days from now", span((2023, 5, 19), (2023, 5, 22))),
        ("over the past two weeks", "the past two weeks", span((2023, 5, 3), (2023, 5, 17))),
        ("2026年5月12日", "2026年5月12日", day(2026, 5, 12)),
        ("二〇二三年十二月", "二〇二三年十二月", span((2023, 12, 1), (2023, 12, 31))),
        ("五月二十三号见", "五月二十三号", day(2023, 5, 23)),
        ("去年5月搬家", "去年5月", span((2022, 5, 1), (2022, 5, 31))),
        ("明年", "明年", span((2024, 1, 1), (2024, 12, 31))),
        ("昨天", "昨天", day(2023, 5, 16)),
        ("大前天", "大前天", day(2023, 5, 14)),
        ("上周六去了", "上周六", day(2023, 5, 13)),
        ("下周五", "下周五", day(2023, 5, 26)),
        ("上上周三", "上上周三", day(2023, 5, 3)),
        ("周六", "周六", day(2023, 5, 20)),
        ("这个周末", "这个周末", span((2023, 5, 20), (2023, 5, 21))),
        ("上个月12号", "上个月12号", day(2023, 4, 12)),
        ("三天前", "三天前", day(2023, 5, 14)),
        ("两周前", "两周前", span((2023, 5, 1), (2023, 5, 7))),
        ("三个月前", "三个月前", span((2023, 2, 1), (2023, 2, 28))),
        ("十天后", "十天后", day(2023, 5, 27)),
        ("几天前", "几天前", span((2023, 5, 12), (2023, 5, 15))),
        ("2015年左右", "2015年左右", span((2014, 1, 1), (2016, 12, 31))),
        ("去年夏天", "去年夏天", span((2022, 6, 1), (2022, 8, 31))),
    ],
)
def test_one_mention(text, mention, days):
    assert found(text) == [(mention, *days)]


@pytest.mark.parametrize(
    "text",
    [
        "31 February",
        "12 may come",
        "I may go, they march on",
        "on the 12th floor",
        "in his nineties",
        "a Christmas tree",
        "version 2.3.4 costs 2023.5",
        "9000 years ago",
        "1-800-2023-05",
        "Mondays are dull",
        "",
        "今后再说",
    ],
)
def test_no_mention(text):
    assert found(text) == []


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("I see the dentist on Monday.", date(2023, 5, 22)),
        ("I saw the dentist on Monday.", date(2023, 5, 15)),
        ("On Monday I'm flying to Oslo.", date(2023, 5, 22)),
        ("My exam is on Wednesday.", date(2023, 5, 24)),
        ("The train leaves on Tuesday.", date(2023, 5, 23)),
        ("Dentist appointment on Tuesday", date(2023, 5, 23)),
        ("I've booked a table for Tuesday.", date(2023, 5, 23)),
        ("We moved the meeting to Tuesday.", date(2023, 5, 23)),
        ("I spoke to Dr. Weber on Monday.", date(2023, 5, 15)),
        ("I slept at the weekend.", date(2023, 5, 13)),
        ("I quit on Monday.", date(2023, 5, 15)),
        ("What did I do on Monday?", date(2023, 5, 15)),
        ("What do I have on Monday?", date(2023, 5, 22)),
        ("I have to pay on the 12th.", date(2023, 6, 12)),
        ("I paid on the 20th.", date(2023, 4, 20)),
        ("We fly to Oslo in March.", date(2024, 3, 1)),
        ("We flew to Oslo in August.", date(2022, 8, 1)),
        ("I'm in Rome at Christmas.", date(2023, 12, 25)),
        ("I was in Rome at Christmas.", date(2022, 12, 25)),
        ("我周一去看牙医", date(2023, 5, 22)),
        ("我周一去了牙医", date(2023, 5, 15)),
        ("我约了周一看牙医", date(2023, 5, 22)),
        ("我三月去了罗马", date(2023, 3, 1)),
        ("我三月要去罗马", date(2024, 3, 1)),
    ],
)
def test_the_tense_of_a_clause_decides_its_direction(text: str, first: date) -> None:
    assert [mention.first_day for mention in find_dates(text, WEDNESDAY)] == [first]


def test_each_clause_has_its_own_direction() -> None:
    text = "We met on Friday and will meet again on Monday."
    assert [mention for _, mention, _ in found(text)] == [date(2023, 5, 12), date(2023, 5, 22)]


@pytest.mark.parametrize(("year", "sunday"), [(1818, (3, 22)), (2014, (4, 20)), (2038, (4, 25)), (2049, (4, 18))])
def test_easter(year: int, sunday: tuple[int, int]) -> None:
    assert found(f"at Easter {year}") == [(f"Easter {year}", *day(year, *sunday))]


def test_several_mentions_in_order_without_overlap():
    text = "From 1 May 2023 until next Friday; 昨天 too."
    assert [mention for mention, _, _ in found(text)] == ["1 May 2023", "next Friday", "昨天"]


def test_year_turns():
    new_year = datetime(2024, 1, 2, tzinfo=UTC)
    assert found("on December 30", new_year) == [("December 30", *day(2023, 12, 30))]
    assert found("last month", new_year) == [("last month", *span((2023, 12, 1), (2023, 12, 31)))]
    assert found("29 February", datetime(2024, 6, 1, tzinfo=UTC)) == [("29 February", *day(2024, 2, 29))]


def test_day_is_that_of_the_anchors_own_zone():
    late = datetime(2023, 5, 17, 23, tzinfo=timezone(timedelta(hours=-5)))
    assert found("today", late) == [("today", *day(2023, 5, 17))]
    assert found("today", late.astimezone(UTC)) == [("today", *day(2023, 5, 18))]


@pytest.mark.parametrize("anchor", [datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC)])
def test_edges_of_the_calendar(anchor):
    text = (
        "last year, next year, 12 May, in June, last week, next week, 去年, 上周六, 三天前, a few months ago, in 3 days"
    )
    assert all(mention.first_day <= mention.last_day for mention in find_dates(text, anchor))


@settings(deadline=None, derandomize=True)
@given(
    st.lists(
        st.sampled_from(
            [
                "last",
                "next",
                "Friday",
                "May",
                "12",
                "2023",
                "-",
                "/",
                "two",
                "weeks",
                "ago",
                "in",
                "a",
                "few",
                "days",
                "上",
                "周",
                "六",
                "三",
                "天",
                "前",
                "年",
                "5",
                "月",
                "日",
                "yesterday",
                "31",
                "Feb",
            ]
        )
    ),
    st.sampled_from(["", " "]),
    st.datetimes(timezones=st.just(UTC)),
)
def test_mentions_are_ordered_spans(words, glue, anchor):
    text = glue.join(words)
    end = 0
    for mention in find_dates(text, anchor):
        assert end <= mention.start < mention.end <= len(text)
        assert mention.first_day <= mention.last_day
        end = mention.end


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2023-05-12", datetime(2023, 5, 12, tzinfo=UTC)),
        (" 2023-05-12T10:00:00+02:00 ", datetime(2023, 5, 12, 8, tzinfo=UTC)),
        ("2023-05-12T10:00:00Z", datetime(2023, 5, 12, 10, tzinfo=UTC)),
        ("2023-05-12 10:00:00.5", datetime(2023, 5, 12, 10, 0, 0, 500_000, tzinfo=UTC)),
        (0, datetime(1970, 1, 1, tzinfo=UTC)),
        (1684000000.25, datetime(2023, 5, 13, 17, 46, 40, 250_000, tzinfo=UTC)),
        (datetime(2023, 5, 12), datetime(2023, 5, 12, tzinfo=UTC)),
        (date(2023, 5, 12), datetime(2023, 5, 12, tzinfo=UTC)),
    ],
)
def test_timestamps(value, expected):
    parsed = parse_timestamp(value)
    assert parsed == expected
    assert parsed.tzinfo is UTC or "+02:00" in str(value)


@pytest.mark.parametrize(
    ("value", "local"),
    [
        ("2026-03-05T00:30:00+09:00", "2026-03-05T00:30:00+09:00"),
        (datetime(2026, 7, 1, 1, tzinfo=ZoneInfo("America/New_York")), "2026-07-01T01:00:00-04:00"),
        ("2026-03-05T00:30:00+00:00", "2026-03-05T00:30:00+00:00"),
    ],
)
def test_a_time_keeps_the_offset_that_it_was_given_with(value: object, local: str) -> None:
    assert parse_timestamp(value).isoformat() == local


@pytest.mark.parametrize(
    "value", ["", "soon", "2023-13-01", "1684000000", True, None, [1], math.nan, math.inf, 1e300, 10**400, -(10**13)]
)
def test_bad_timestamps(value):
    with pytest.raises(TimestampError):
        parse_timestamp(value)


def test_milliseconds_get_a_hint():
    with pytest.raises(TimestampError, match="milliseconds: divide it by 1000"):
        parse_timestamp(1_684_000_000_000)


def test_naive_times_are_utc_wherever_the_machine_is(monkeypatch):
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        assert parse_timestamp("2023-05-12T10:00") == datetime(2023, 5, 12, 10, tzinfo=UTC)
        assert parse_timestamp(datetime(2023, 5, 12, 10)) == datetime(2023, 5, 12, 10, tzinfo=UTC)
    finally:
        monkeypatch.undo()
        time.tzset()


@settings(deadline=None, derandomize=True)
@given(st.datetimes(min_value=datetime(1, 1, 3), max_value=datetime(9999, 12, 29), timezones=st.just(UTC)))
def test_iso_strings_survive_the_way_through(when):
    assert parse_timestamp(when.isoformat()) == when


def test_formats():
    assert format_day(date(2023, 5, 2)) == "2 May 2023"
    assert format_time(WEDNESDAY) == "17 May 2023, 12:00 UTC"
    assert format_time(datetime(2023, 5, 17, tzinfo=UTC)) == "17 May 2023"
    assert format_time(parse_timestamp("2026-03-05T00:30:00+09:00")) == "5 March 2026, 00:30 +09:00"


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("around 2015", "2014 to 2016"),
        ("in the late nineties", "1996 to 1999"),
        ("in Q3 2013", "July 2013 to September 2013"),
        ("last winter", "December 2022 to February 2023"),
        ("on 01/12/2015", "12 January or 1 December 2015"),
        ("on 11/09/2012", "11 September or 9 November 2012"),
        ("the week of 3 May 2023", "1 May 2023 to 7 May 2023"),
        ("in 05/2014", "May 2014"),
        ("in early June", "1 June 2023 to 10 June 2023"),
    ],
)
def test_intervals_are_written_in_their_units(text: str, written: str) -> None:
    ((_, first, last),) = found(text)
    assert format_days(first, last) == written
