"""Timeline: every slice of the trace, exact to the nanosecond; details, search, flows, counters and chains
likewise. Other zooms, windows and statistics: tests/property/test_timeline_window.py."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.oracle.raw import Event, every_result, raw, us
from tests.oracle.timelines import ask, bars, timeline

FOLDERS = every_result("trace_view.json")
Place = tuple[str, str, int, str]


def _place(event: Event) -> Place:
    return str(event["pid"]), str(event["tid"]), us(event["ts"]) or 0, event["name"]


def _slices(folder: Path) -> dict[int, tuple[Place, int]]:
    """id -> place and duration of every slice, as a window of the whole range has them."""
    found = timeline(folder)
    rows = [[number, 0, 4095] for number, track in enumerate(found.tracks) if track["kind"] == "slices"]
    header, data = bars(folder, rows=rows, t0=0, t1=found.end_ns - found.base_ns + 1, px=1)
    assert header["unit"] == 1 and set(data["count"]) == {1}
    out = {}
    for number, _, first, count in header["rows"]:
        track = found.tracks[number]
        for n in range(first, first + count):
            place = (
                track["pid"],
                track["tid"],
                int(header["base"]) + data["start"][n],
                header["names"][data["name"][n]],
            )
            out[data["id"][n]] = (place, data["dur"][n])
    return out


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_slice_exists_and_is_exact(folder: Path) -> None:
    expected = Counter((_place(event), us(event["dur"])) for event in raw(folder).slices)
    assert Counter(_slices(folder).values()) == expected
    names = [event["name"].lower() for event in raw(folder).slices]
    for text in ("ADD", "add aten", "no such name"):
        total = sum(all(word in name for word in text.lower().split()) for name in names)
        shown = ask(folder, "search", q=text, limit=10000)
        assert (shown["total"], len(shown["hits"])) == (total, total)
        starts = [hit[1] for hit in shown["hits"]]
        assert starts == sorted(starts)


@pytest.mark.parametrize("folder", FOLDERS)
def test_rows_carry_the_names_of_the_file(folder: Path) -> None:
    r = raw(folder)
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in r.events if e["ph"] == "M" and e["name"] == "thread_name"}
    shown = set()
    for track in timeline(folder).tracks:
        assert track["process"] == r.processes[int(track["pid"])]
        if track["kind"] == "slices":
            place = int(track["pid"]), int(track["tid"])
            shown.add(place)
            assert track["name"] == names[place]
            assert track["slices"] == sum((e["pid"], e["tid"]) == place for e in r.slices)
    assert shown >= {(e["pid"], e["tid"]) for e in r.slices}


def _same(shown: Any, expected: Any) -> bool:
    """Equal; a number that JavaScript would round is shown as its text."""
    if isinstance(expected, (int, Decimal)) and not isinstance(expected, bool):
        return Decimal(str(shown)) == expected
    return bool(shown == expected)


@pytest.mark.parametrize("folder", FOLDERS)
def test_details_of_a_slice(folder: Path) -> None:
    slices = raw(folder).slices
    count = Counter(map(_place, slices))
    events = {_place(event): event for event in slices}
    chosen = [
        (id_, *one) for id_, one in _slices(folder).items() if count[one[0]] == 1
    ]  # streams run some tasks at once
    for id_, place, dur in chosen[::11]:
        shown, args = ask(folder, "slice", id=id_), events[place].get("args") or {}
        assert (shown["start_epoch_ns"], shown["dur"], shown["name"]) == (str(place[2]), dur, place[3])
        assert 0 <= shown["self"] <= dur and (shown["children"] or shown["self"] == dur)
        assert set(shown["args"] or {}) == set(args)
        assert all(_same(shown["args"][key], value) for key, value in args.items())
        assert (shown["stack"] or []) == [line.rstrip(";") for line in args.get("Call stack", "").splitlines()]


@pytest.mark.parametrize("folder", FOLDERS)
def test_flows_join_the_slices_of_the_file(folder: Path) -> None:
    r, ids = raw(folder), {place: id_ for id_, (place, _) in _slices(folder).items()}
    for kind in ("async_npu", "async_task_queue", "fwdbwd"):
        flows: dict[str, dict[Any, Event]] = {"s": {}, "f": {}}
        for event in (event for event in r.events if event.get("cat") == kind):
            flows[event["ph"]][event["id"]] = r.by_place[event["pid"], event["tid"], event["ts"]]
        for id_, end in list(flows["f"].items())[::7]:
            begin, end = (ids[_place(slice_)] for slice_ in (flows["s"][id_], end))
            shown = ask(folder, "flows", id=end)["flows"]
            assert (begin, end) in [(flow["from"]["id"], flow["to"]["id"]) for flow in shown if flow["kind"] == kind]


@pytest.mark.parametrize("folder", every_result("trace_view.json", "kernel_details.csv"))
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
