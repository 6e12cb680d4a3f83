"""Timeline: every slice of the trace, exact to the nanosecond, at any zoom; details, search, flows likewise."""

from __future__ import annotations

from collections import Counter, defaultdict
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.oracle.figures import us
from tests.oracle.raw import Event, every_result, raw
from tests.oracle.timelines import ask, columns, timeline

FOLDERS = every_result("trace_view.json")
ROW_STEP = 4096
Bar = dict[str, Any]


def _start(event: Event) -> int:
    return us(event["ts"]) or 0


def _dur(event: Event) -> int:
    return us(event["dur"]) or 0


def _threads(folder: Path) -> dict[int, tuple[str, str]]:
    """(pid, tid) of each track of slices."""
    tracks = timeline(folder).tracks
    return {n: (track["pid"], track["tid"]) for n, track in enumerate(tracks) if track["kind"] == "slices"}


def _bars(folder: Path, px: float, t0: int = 0, t1: int | None = None) -> list[Bar]:
    """All bars of [t0, t1); start and end ns since the epoch, `track` and `depth` from the row."""
    found = timeline(folder)
    t1 = found.end_ns - found.base_ns + 1 if t1 is None else t1
    rows = ",".join(f"{track * ROW_STEP}-{track * ROW_STEP + ROW_STEP - 1}" for track in _threads(folder))
    header, data = columns(ask(folder, "slices", rows=rows, t0=t0, t1=t1, px=px))
    assert header["unit"] == 1  # all of these windows are under 4 s
    out = []
    for row, first, count in header["rows"]:
        for n in range(first, first + count):
            start, end = (int(header["base"]) + data[key][n] for key in ("start", "end"))
            out.append(
                {
                    "track": row // ROW_STEP,
                    "depth": row % ROW_STEP,
                    "start": start,
                    "end": end,
                    "dur": data["dur"][n],
                    "id": data["id"][n],
                    "name": header["names"][data["name"][n]],
                    "count": data["count"][n],
                }
            )
    return out


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_slice_is_there_and_exact(folder: Path) -> None:
    bars, threads = _bars(folder, px=1), _threads(folder)
    assert {bar["count"] for bar in bars} == {1}
    found = Counter((*threads[bar["track"]], bar["start"], bar["dur"], bar["name"]) for bar in bars)
    expected = Counter((str(e["pid"]), str(e["tid"]), _start(e), _dur(e), e["name"]) for e in raw(folder).slices)
    assert found == expected


@pytest.mark.parametrize("folder", FOLDERS)
def test_slices_of_one_row_never_overlap(folder: Path) -> None:
    rows = _by_row(_bars(folder, px=1))
    for bars in rows.values():
        for before, after in zip(bars, bars[1:]):
            assert before["start"] + before["dur"] <= after["start"]


@pytest.mark.parametrize("folder", FOLDERS)
def test_what_contains_stands_above_what_it_contains(folder: Path) -> None:
    by_track: dict[int, list[Bar]] = defaultdict(list)
    for bar in _bars(folder, px=1):
        by_track[bar["track"]].append(bar)
    for bars in by_track.values():
        open_: list[Bar] = []
        for bar in sorted(bars, key=lambda s: (s["start"], -s["end"])):
            while open_ and open_[-1]["end"] <= bar["start"]:
                open_.pop()
            if open_ and bar["end"] <= open_[-1]["end"]:
                assert open_[-1]["depth"] < bar["depth"], bar["name"]
            open_.append(bar)


@pytest.mark.parametrize("folder", FOLDERS)
@pytest.mark.parametrize("px", [1_000, 37_000, 1_000_000])
def test_zoomed_out_bars_count_every_slice(folder: Path, px: int) -> None:
    """Bars stand for the slices of their row in order: `count` of them each."""
    exact = _by_row(_bars(folder, px=1))
    bars = _by_row(_bars(folder, px))
    assert set(bars) == set(exact)
    for row, slices in exact.items():
        at = 0
        for bar in bars[row]:
            merged = slices[at : at + bar["count"]]
            at += bar["count"]
            assert (bar["start"], bar["end"]) == (merged[0]["start"], merged[-1]["end"])
            (named,) = (s for s in merged if s["id"] == bar["id"])
            assert bar["dur"] == named["dur"] == max(s["dur"] for s in merged)
            assert bar["name"] == named["name"]
            # a slice wider than a pixel is never merged away
            assert len(merged) == 1 or sum(s["dur"] > px for s in merged) <= 1
        assert at == len(slices)


def _by_row(bars: list[Bar]) -> dict[tuple[int, int], list[Bar]]:
    rows: dict[tuple[int, int], list[Bar]] = defaultdict(list)
    for bar in bars:
        rows[bar["track"], bar["depth"]].append(bar)
    return rows


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_window_has_what_overlaps_it(folder: Path) -> None:
    found, everything = timeline(folder), {bar["id"]: bar for bar in _bars(folder, px=1)}
    length = found.end_ns - found.base_ns
    for t0, t1 in ((length // 3, length // 3 + length // 50), (length // 2, length // 2 + 1)):
        first, last = found.base_ns + t0, found.base_ns + t1
        bars = {bar["id"]: bar for bar in _bars(folder, 1, t0, t1)}
        # what ends at or begins with the border may be there
        assert {id_ for id_, s in everything.items() if s["start"] < last and s["end"] > first} <= set(bars)
        assert set(bars) <= {id_ for id_, s in everything.items() if s["start"] < last and s["end"] >= first}
        for id_, bar in bars.items():
            assert (bar["end"], bar["dur"]) == (everything[id_]["end"], everything[id_]["dur"])
            assert bar["start"] == everything[id_]["start"] or everything[id_]["start"] < bar["start"] < first


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
    threads, events = _threads(folder), defaultdict(list)
    for event in raw(folder).slices:
        events[str(event["pid"]), str(event["tid"]), _start(event), event["name"]].append(event)
    for bar in _bars(folder, px=1)[::11]:
        shown = ask(folder, "slice", id=bar["id"])
        (event,) = events[(*threads[bar["track"]], bar["start"], bar["name"])]
        assert (shown["start_epoch_ns"], shown["dur"]) == (str(_start(event)), _dur(event))
        args = event.get("args")
        if args is None:
            assert not shown["args"]
            continue
        assert set(shown["args"]) == set(args)
        assert all(_same(shown["args"][key], value) for key, value in args.items())
        frames = [line.rstrip(";") for line in args.get("Call stack", "").splitlines()]
        assert (shown["stack"] or []) == frames


@pytest.mark.parametrize("folder", FOLDERS)
def test_self_time_is_without_the_children(folder: Path) -> None:
    """Children by containment in the rows of one thread."""
    by_track: dict[int, list[Bar]] = defaultdict(list)
    for bar in _bars(folder, px=1):
        by_track[bar["track"]].append(bar)
    for bars in by_track.values():
        for bar in bars[::17]:
            shown = ask(folder, "slice", id=bar["id"])
            assert 0 <= shown["self"] <= shown["dur"]
            if shown["children"] == 0:
                assert shown["self"] == shown["dur"]


@pytest.mark.parametrize("folder", FOLDERS)
def test_flows_join_the_slices_of_the_file(folder: Path) -> None:
    r, threads = raw(folder), _threads(folder)
    ids = {(*threads[bar["track"]], bar["start"], bar["name"]): bar["id"] for bar in _bars(folder, px=1)}

    def key(event: Event) -> tuple[str, str, int, str]:
        found = r.by_place[event["pid"], event["tid"], event["ts"]]
        return str(found["pid"]), str(found["tid"]), _start(found), found["name"]

    for kind in ("async_npu", "async_task_queue", "fwdbwd"):
        begins = {e["id"]: e for e in r.events if e.get("cat") == kind and e["ph"] == "s"}
        ends = [e for e in r.events if e.get("cat") == kind and e["ph"] == "f"]
        for end in ends[::7]:
            shown = ask(folder, "flows", id=ids[key(end)])["flows"]
            pairs = [(flow["from"]["id"], flow["to"]["id"]) for flow in shown if flow["kind"] == kind]
            assert (ids[key(begins[end["id"]])], ids[key(end)]) in pairs


@pytest.mark.parametrize("folder", FOLDERS)
@pytest.mark.parametrize("px", [1, 50_000])
def test_arrows_join_the_slices_of_the_file(folder: Path, px: int) -> None:
    """Every arrow of a kind, from and to the row and moment of its slices."""
    r, found = raw(folder), timeline(folder)
    threads = {place: number for number, place in _threads(folder).items()}
    ends = found.end_ns - found.base_ns + 1
    for number, kind in enumerate(found.flow_kinds):
        begins = {e["id"]: e for e in r.events if e.get("cat") == kind and e["ph"] == "s"}
        wanted: Counter[tuple[int, int, int, int]] = Counter()
        for end in (e for e in r.events if e.get("cat") == kind and e["ph"] == "f"):
            begin = begins[end["id"]]
            if any((e["pid"], e["tid"], e["ts"]) not in r.by_place for e in (begin, end)):
                continue
            moments = [((us(e["ts"]) or 0) - found.base_ns) // (1 << px.bit_length() - 1) for e in (begin, end)]
            tracks = [threads[str(e["pid"]), str(e["tid"])] for e in (begin, end)]
            wanted[tracks[0], moments[0], tracks[1], moments[1]] += 1
        header, data = columns(ask(folder, "arrows", kind=number, t0=0, t1=ends, px=px))
        assert (header["unit"], header["bin"], header["left_out"]) == (1, 1 << px.bit_length() - 1, 0)
        base = int(header["base"]) - found.base_ns
        shown: Counter[tuple[int, int, int, int]] = Counter()
        for from_row, from_time, to_row, to_time, count in zip(
            *(data[key] for key in ("from_row", "from_time", "to_row", "to_time", "count"))
        ):
            moments = [(time + base) // header["bin"] for time in (from_time, to_time)]
            shown[from_row // ROW_STEP, moments[0], to_row // ROW_STEP, moments[1]] += count
        assert wanted and not wanted - shown


@pytest.mark.parametrize("folder", FOLDERS)
def test_search_counts_every_slice_of_a_name(folder: Path) -> None:
    names = [event["name"] for event in raw(folder).slices]
    for text in ("aten::", "ADD", "hcom", "add aten", "no such name"):
        expected = sum(all(word in name.lower() for word in text.lower().split()) for name in names)
        shown = ask(folder, "search", q=text, limit=10_000)
        assert (shown["total"], len(shown["hits"])) == (expected, expected)
        starts = [hit[1] for hit in shown["hits"]]
        assert starts == sorted(starts)


@pytest.mark.parametrize("folder", FOLDERS)
def test_statistics_of_the_whole_range(folder: Path) -> None:
    found, threads = timeline(folder), _threads(folder)
    expected: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    for event in raw(folder).slices:
        expected[str(event["pid"]), str(event["tid"]), event["name"]].append(_dur(event))
    data = ask(folder, "stats", t0=0, t1=found.end_ns - found.base_ns + 1)["table"]["data"]
    shown = {
        (*threads[track], name): (count, total, low, high)
        for track, name, count, total, low, high in zip(
            *(data[key] for key in ("track", "name", "count", "total", "min", "max"))
        )
    }
    assert shown == {key: (len(durs), sum(durs), min(durs), max(durs)) for key, durs in expected.items()}


@pytest.mark.parametrize("folder", FOLDERS)
def test_counters_keep_their_values(folder: Path) -> None:
    r, found = raw(folder), timeline(folder)
    expected: dict[tuple[str, str], list[tuple[int, float]]] = defaultdict(list)
    for event in r.events:
        if event["ph"] == "C" and len(event["args"]) == 1:
            (value,) = event["args"].values()
            expected[str(event["pid"]), event["name"]].append((_start(event), float(value)))
    seen = 0
    for number, track in enumerate(found.tracks):
        own = expected.get((track["pid"], track["name"]))
        if track["kind"] != "counter" or own is None:
            continue
        seen += 1
        header, data = columns(ask(folder, "counter", track=number, t0=0, t1=found.end_ns - found.base_ns + 1, px=1))
        points = [(int(header["base"]) + at * header["unit"], v) for at, v in zip(data["t0"], data["last0"])]
        assert set(points) <= set(own) | {(found.base_ns, own[0][1])}
        assert {value for _, value in points} == {value for _, value in own}
        assert track["max_value"] == max(value for _, value in own)
    assert seen == len(expected)
