"""The tasks of a collective on all ranks, against the raw events of both traces."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import FIXTURES
from tests.http.conftest import Browser, serving

RUN = FIXTURES / "results" / "two_ranks"
#: The clock of the second rank is moved by this on the common axis, ns.
SHIFT = 1234
ALL_REDUCE, SEND = "hcom_allReduce__509_0_1", "hcom_send__564_0_1"


@pytest.fixture
def ranks(tmp_path: Path) -> Iterator[Browser]:
    with serving(tmp_path, str(RUN)) as browser:
        yield browser


def raw_tasks(folder: Path, name: str) -> list[tuple[str, int, int, int, int]]:
    """(name, start in ns since the epoch, duration, peer, bytes) of the tasks of a collective, by start."""
    file = folder / "ASCEND_PROFILER_OUTPUT" / "trace_view.json"
    events = json.loads(file.read_text("utf-8"), parse_float=Decimal)
    thread = {(one["pid"], one["tid"]): one["args"]["name"] for one in events if one.get("name") == "thread_name"}
    planes: dict[str, set[Any]] = {}
    group = ""
    for (_, tid), title in sorted(thread.items()):
        group = title if title.startswith("Group ") else group
        if title.startswith("Plane "):
            planes.setdefault(group, set()).add(tid)
    slices = [one for one in events if one["ph"] == "X"]
    (whole,) = (one for one in slices if one["name"] == name and thread[one["pid"], one["tid"]].startswith("Group "))
    start, end = whole["ts"], Decimal(whole["ts"]) + Decimal(whole["dur"])
    own = planes[thread[whole["pid"], whole["tid"]]]
    inside = [
        one
        for one in slices
        if one["pid"] == whole["pid"] and one["tid"] in own and Decimal(start) <= Decimal(one["ts"]) < end
    ]
    return sorted(
        (
            one["name"],
            int(Decimal(one["ts"]) * 1000),
            int(Decimal(one["dur"]) * 1000),
            one["args"]["dst rank"],
            one["args"]["size(Byte)"],
        )
        for one in inside
    )


def test_tasks_of_a_collective_on_all_ranks(ranks: Browser) -> None:
    first, second = ranks.spans()
    ranks.plugin.app().service._for_page = False  # nothing but what a view needs
    trace = ranks.view("trace", span=first)
    base = int(trace["base_ns"])
    library = ranks.plugin.app().library
    library.read([library.place(second)], ["tables"])
    own = {"span": first, "version": trace["data"]["version"], "zero": str(base)}
    both = [own, {"span": second, "zero": str(base - SHIFT)}]

    def collective(name: str, **more: str) -> Any:
        chosen = ranks.timeline("search", own, q=f"{name} dur>1us").get_json()
        in_group = next(hit for hit in chosen["hits"] if in_group_row(trace, hit[3]))
        return ranks.timeline("collective", both, id=in_group[0], **more)

    found = collective(ALL_REDUCE).get_json()
    assert [one["state"] for one in found["ranks"]] == ["ready", "unread"]
    ranks.view("trace", span=second)
    found = collective(ALL_REDUCE).get_json()
    assert [one["state"] for one in found["ranks"]] == ["ready", "ready"] and found["is_matched"]
    folders = sorted(RUN.glob("*_ascend_pt"))
    expected = [raw_tasks(folder, ALL_REDUCE) for folder in folders]
    data = found["tasks"]["data"]
    assert data["start"] == sorted(data["start"])
    rows = list(zip(*(data[key] for key in ("part", "name", "start", "dur", "target", "size_bytes"))))
    for number, zero in enumerate((base, base - SHIFT)):
        mine = sorted((name, start + zero, *rest) for part, name, start, *rest in rows if part == number)
        shown = [(*one[:3], None if one[3] == 2**32 - 1 else one[3], one[4]) for one in expected[number]]
        assert mine == shown and found["ranks"][number]["tasks"] == len(mine) > 0
    lines = list(csv.DictReader(collective(ALL_REDUCE, format="csv").text.splitlines()))
    assert [int(one["start_ns"]) for one in lines] == [
        start for tasks in expected for start in sorted(one[1] for one in tasks)
    ]
    assert len({one["worker"] for one in lines}) == 2

    window = {"t0": -10_000_000, "t1": 10_000_000_000}
    one_file = ranks.timeline("export", both, **window).get_json()
    ends = {
        one["ts"] + one["dur"]
        for one in one_file["traceEvents"]
        if one["name"] == ALL_REDUCE and one["ph"] == "X" and "connection_id" in one["args"]
    }
    assert len(ends) == 2 and len(one_file["otherData"]["ranks"]) == 2 and "metadata" not in one_file
    assert ranks.timeline("export", {**own, "version": "old"}, **window).status_code == 404

    alone = collective(SEND).get_json()  # a send ends when its receiver is ready: other ranks have no such call
    assert [one["state"] for one in alone["ranks"]] == ["ready", "absent"] and not alone["is_matched"]
    assert set(alone["tasks"]["data"]["part"]) == {0}
    assert ranks.timeline("collective", own, id=0).status_code == 400


def in_group_row(trace: Any, track: int) -> bool:
    threads = [thread for process in trace["data"]["processes"] for thread in process["threads"]]
    return any(thread["track"] == track and thread["name"].startswith("Group ") for thread in threads)
