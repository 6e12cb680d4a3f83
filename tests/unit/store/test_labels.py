"""Times of day: one clock for every line, the recorder's or UTC."""

from __future__ import annotations

import os
import time
from datetime import datetime

import pytest

from tb_npu_plugin.discovery.find_kineto import _utc_digits
from tb_npu_plugin.store.labels import utc_offset_minutes

START = 1_736_408_883_573_957_920  # 2025-01-09 07:48:03 UTC


@pytest.mark.parametrize(
    ("local", "start", "minutes"),
    [
        (datetime(2025, 1, 9, 15, 48, 4), START, 480),
        (datetime(2025, 1, 9, 4, 20, 40), START, -210),  # the folder is made some minutes after the start
        (datetime(2025, 1, 9, 7, 47, 59), START, 0),
        (datetime(2025, 3, 9, 15, 48, 4), START, 0),  # not the time of this capture: UTC
        (None, START, 0),
        (datetime(2025, 1, 9, 15, 48, 4), None, 0),
        (datetime(2025, 1, 9, 15, 48, 4), 77_000, 0),  # a clock that counts from when the device was switched on
    ],
)
def test_the_zone_of_the_recorder(local: datetime | None, start: int | None, minutes: int) -> None:
    assert utc_offset_minutes(local, start) == minutes


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="no tzset here")
def test_the_zone_of_this_host_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "TZ", "Asia/Shanghai")
    time.tzset()
    try:
        assert _utc_digits("1736408883573") == "20250109074803573"
    finally:
        monkeypatch.undo()
        time.tzset()
