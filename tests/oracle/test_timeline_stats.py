"""Statistics of ranges, and the chain of launches of each kernel: recomputed from the files alone."""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from tests.oracle.figures import us
from tests.oracle.raw import Event, every_result, raw
from tests.oracle.timelines import ask, timeline

FOLDERS = every_result("trace_view.json")
KERNEL_FOLDERS = every_result("trace_view.json", "kernel_details.csv")
Key = tuple[str, str, str]
#: Parts of the whole range, as shares: all, a half, a sliver, a moment, before everything.
RANGES = ((0.0, 1.0), (0.25, 0.75), (0.5, 0.501), (0.4, 0.4), (-0.2, 0.05), (0.9, 1.5))


def _expected(folder: Path, t0: int, t1: int) -> dict[Key, dict[str, int]]:
    """Per thread and name, of the slices that overlap [t0, t1) (ns since 1970)."""
    found: dict[Key, list[tuple[int, int]]] = defaultdict(list)
    for event in raw(folder).slices:
        start, dur = us(event["ts"]), us(event["dur"])
        if start < t1 and (start + dur > t0 or start >= t0):
            found[str(event["pid"]), str(event["tid"]), event["name"]].append((start, dur))
    return {
        key: {
            "count": len(slices),
            "total": sum(dur for _, dur in slices),
            "min": min(dur for _, dur in slices),
            "max": max(dur for _, dur in slices),
            "clipped": sum(max(0, min(start + dur, t1) - max(start, t0)) for start, dur in slices),
        }
        for key, slices in found.items()
    }


def _busy(folder: Path, t0: int, t1: int) -> dict[tuple[str, str], int]:
    """How long anything runs in [t0, t1), per thread whose slices nest: what their own times add up to."""
    threads: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    for event in raw(folder).slices:
        start = us(event["ts"])
        threads[str(event["pid"]), str(event["tid"])].append((start, start + us(event["dur"])))
    found = {}
    for key, slices in threads.items():
        slices.sort(key=lambda one: (one[0], -one[1]))
        open_ends: list[int] = []
        busy, until, nests = 0, t0, True
        for start, end in slices:
            while open_ends and open_ends[-1] <= start:
                open_ends.pop()
            nests = nests and (not open_ends or end <= open_ends[-1])
            open_ends.append(end)
            if start < t1 and end > until:
                busy += min(end, t1) - max(start, until)
                until = max(until, min(end, t1))
        if nests:
            found[key] = busy
    return found


def _shown(folder: Path, data: dict[str, list[Any]]) -> dict[Key, dict[str, int]]:
    tracks = timeline(folder).tracks
    return {
        (tracks[int(track)]["pid"], tracks[int(track)]["tid"], data["name"][row]): {
            key: int(data[key][row]) for key in ("count", "total", "min", "max", "clipped")
        }
        for row, track in enumerate(data["track"])
    }


@pytest.mark.parametrize("share", RANGES)
@pytest.mark.parametrize("folder", FOLDERS)
def test_statistics_of_a_range(folder: Path, share: tuple[float, float]) -> None:
    found = timeline(folder)
    length = found.end_ns - found.base_ns
    t0 = int(length * share[0])
    t1 = max(int(length * share[1]), t0 + 1)
    answer = ask(folder, "stats", t0=t0, t1=t1)
    table = answer["table"]
    expected = _expected(folder, found.base_ns + t0, found.base_ns + t1)
    assert (answer["slices"], answer["wall"]) == (sum(one["count"] for one in expected.values()), t1 - t0)
    assert table["total"] == len(expected) and len(table["data"]["name"]) == min(len(expected), 2000)
    assert table["data"]["clipped_self"] == sorted(table["data"]["clipped_self"], reverse=True)
    shown = _shown(folder, table["data"])
    assert shown == {key: expected[key] for key in shown}
    text = b"".join(ask(folder, "stats", t0=t0, t1=t1, format="csv")).decode()
    # The header names the unit of the figures.
    rows = [
        {k[:-3] if k.endswith("_ns") else k: v for k, v in row.items()} for row in csv.DictReader(io.StringIO(text))
    ]
    assert rows == [] or "total_ns" in text.splitlines()[0]
    assert _shown(folder, {key: [row[key] for row in rows] for key in (rows[0] if rows else table["data"])}) == expected
    own: dict[tuple[str, str], int] = defaultdict(int)
    for row in rows:
        track = found.tracks[int(row["track"])]
        own[track["pid"], track["tid"]] += int(row["clipped_self"])
    busy = _busy(folder, found.base_ns + t0, found.base_ns + t1)
    assert {key: own[key] for key in busy} == busy


@pytest.mark.parametrize("folder", KERNEL_FOLDERS)
def test_every_kernel_is_found_and_has_its_chain(folder: Path) -> None:
    found, r = timeline(folder), raw(folder)
    kernels = r.csv("kernel_details.csv")
    launches = _launches(folder)
    by_start = {
        (event["name"], us(event["ts"])): event for event in r.process("Ascend Hardware", "HCCL", "Communication")
    }
    checked = 0
    for row in kernels:
        start = us(row.get("Start Time(us)") or row["Task Start Time(us)"])
        event = by_start.get((row["Name"], start))
        if event is None:  # the float times of 2023 round the trace
            continue
        chosen = ask(folder, "find", name=row["Name"], at=start - found.base_ns)["id"]
        detail = ask(folder, "slice", id=chosen)
        assert (detail["name"], int(detail["start_epoch_ns"]), detail["dur"]) == (row["Name"], start, us(event["dur"]))
        links = ask(folder, "chain", id=chosen)["links"]
        assert links[-1]["id"] == chosen
        key = (str(event["pid"]), str(event["tid"]), start)
        if key in launches:
            launcher = links[-2]
            track = found.tracks[launcher["track"]]
            begin = found.base_ns + launcher["start"]
            pid, tid, moment = launches[key]
            assert (links[-2]["via"], track["pid"], track["tid"]) == ("HostToDevice", pid, tid)
            assert begin <= moment <= begin + launcher["dur"]
            checked += 1
    assert checked or not launches or not r.exact_ts


def _launches(folder: Path) -> dict[tuple[str, str, int], tuple[str, str, int]]:
    """Where each device task was launched: (pid, tid, ns) of the arrival -> of the departure, HostToDevice only; without
    those of level 0, whose CANN calls are not in the file."""

    def place(event: Event) -> tuple[str, str, int]:
        return str(event["pid"]), str(event["tid"]), us(event["ts"])

    flows = [event for event in raw(folder).events if event.get("cat") == "HostToDevice"]
    threads = {(event["pid"], event["tid"]) for event in raw(folder).slices}
    begins = {
        str(event["id"]): place(event)
        for event in flows
        if event["ph"] == "s" and (event["pid"], event["tid"]) in threads
    }
    return {
        place(event): begins[str(event["id"])] for event in flows if event["ph"] == "f" and str(event["id"]) in begins
    }
