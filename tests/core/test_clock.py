"""Microseconds and datetimes convert without loss."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given, settings
from hypothesis import strategies as st

from nscma_torch.core.database.clock import from_micros, optional_micros, to_micros, utc_offset

moments = st.datetimes(min_value=datetime(1, 1, 2), max_value=datetime(9999, 12, 30), timezones=st.just(UTC))


@settings(deadline=None, derandomize=True)
@given(moments)
def test_back_and_forth(moment: datetime) -> None:
    assert from_micros(to_micros(moment)) == moment


def test_zones() -> None:
    east = datetime(2024, 1, 1, 12, tzinfo=timezone(timedelta(hours=8)))
    assert to_micros(east) == to_micros(datetime(2024, 1, 1, 4))
    assert to_micros(datetime(1970, 1, 1)) == 0 == optional_micros(datetime(1970, 1, 1, tzinfo=UTC))
    assert optional_micros(None) is None
    assert utc_offset(east) == 8 * 3600 and utc_offset(None) is utc_offset(datetime(2024, 1, 1, tzinfo=UTC)) is None
    assert from_micros(to_micros(east), 8 * 3600).isoformat() == east.isoformat()
