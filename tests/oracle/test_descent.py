"""What a slice led to, by the raw events: the inverse of climbing from each device task to all its causes."""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.oracle.raw import Event, every_result, raw, us
from tests.oracle.timelines import ask, timeline

FOLDERS = every_result("trace_view.json")
CAUSES = ("HostToDevice", "async_task_queue", "async_npu", "async_mindspore")
PROGRAM, HOST = ("Python", "MindSpore"), ("Python", "MindSpore", "CANN")
#: Slices that are asked for, of each result.
ASKED = 40


class Causes:
    """Causes of the slices of a trace. Slices are numbered in the order of the file."""

    def __init__(self, folder: Path) -> None:
        r = raw(folder)
        self.slices = r.slices
        self.start = [us(event["ts"]) or 0 for event in self.slices]
        self.dur = [us(event["dur"]) or 0 for event in self.slices]
        #: A slice lasts 1 ns at least.
        self.end = [start + max(dur, 1) for start, dur in zip(self.start, self.dur)]
        self.process = [r.processes[event["pid"]] for event in self.slices]
        self.thread: dict[tuple[int, int], list[int]] = defaultdict(list)
        self.tid: dict[int, list[int]] = defaultdict(list)
        for number, event in enumerate(self.slices):
            self.thread[event["pid"], event["tid"]].append(number)
            if self.process[number] in PROGRAM:
                self.tid[event["tid"]].append(number)
        self.into: dict[int, list[tuple[int, str]]] = defaultdict(list)
        self.bare: dict[int, int] = {}  # task -> its launch, which no slice shows: level 0
        begins = {(e["cat"], e["id"]): e for e in r.events if e["ph"] == "s" and e.get("cat") in CAUSES}
        for event in r.events:
            begin = begins.get((event.get("cat"), event.get("id"))) if event["ph"] == "f" else None
            if begin is not None:
                source, target = self._at(begin), self._at(event)
                if source is not None and target is not None:
                    self.into[target].append((source, event["cat"]))
                elif target is not None and event["cat"] == "HostToDevice":
                    self.bare[target] = us(begin["ts"]) or 0
        self.causes = {number: self._climb(number) for number, name in enumerate(self.process) if name not in HOST}

    def _at(self, point: Event) -> int | None:
        """The innermost slice of the thread at the time of a flow event; one that starts then comes first."""
        time = us(point["ts"]) or 0
        around = [
            number
            for number in self.thread.get((point["pid"], point["tid"]), ())
            if self.start[number] <= time <= self.start[number] + self.dur[number]
        ]
        return max(around, key=lambda one: (self.start[one], -self.end[one], one), default=None)

    def around(self, inner: int, others: list[int]) -> list[int]:
        """Slices among others that enclose one; of two equal slices the later one is inside."""
        start, end = self.start[inner], self.end[inner]
        return [
            one
            for one in others
            if self.start[one] <= start
            and end <= self.end[one]
            and ((self.start[one], self.end[one]) != (start, end) or one < inner or self._is_call(inner, one))
        ]

    def key(self, number: int) -> tuple[str, int, int]:
        """Name, start and duration."""
        return self.slices[number]["name"], self.start[number], self.dur[number]

    def _is_call(self, inner: int, outer: int) -> bool:
        return self.process[inner] == "CANN" != self.process[outer]

    def _climb(self, task: int) -> set[int]:
        found, left = set(), [source for source, _ in self.into[task]]
        while left:
            number = left.pop()
            if number in found:
                continue
            found.add(number)
            event = self.slices[number]
            left += [source for source, _ in self.into[number]]
            if self.process[number] in HOST:
                left += self.around(number, self.thread[event["pid"], event["tid"]])
            if self.process[number] == "CANN":
                left += self.around(number, self.tid[event["tid"]])
        return found


@cache
def causes(folder: Path) -> Causes:
    return Causes(folder)


def _asked(folder: Path, of: Causes) -> list[tuple[int, int]]:
    """(number, id) of some host slices, among them all kinds of causes."""
    causing = sorted({one for found in of.causes.values() for one in found})
    others = [number for number, name in enumerate(of.process) if name in HOST]
    chosen = [*causing[:: max(len(causing) // ASKED, 1)], *others[:: max(len(others) // ASKED, 1)]]
    keys = Counter((name, start) for name, start, _ in map(of.key, range(len(of.slices))))
    return [(one, _id(folder, of, one)) for one in chosen if keys[of.key(one)[:2]] == 1]


def _id(folder: Path, of: Causes, number: int) -> int:
    name, start, _ = of.key(number)
    return ask(folder, "find", name=name, at=start - timeline(folder).base_ns)["id"]


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_slice_leads_to_the_tasks_that_it_caused(folder: Path) -> None:
    of = causes(folder)
    by_task: dict[int, set[int]] = defaultdict(set)
    for task, found in of.causes.items():
        for cause in found:
            by_task[cause].add(task)
    base = timeline(folder).base_ns
    for number, id_ in _asked(folder, of):
        shown, expected = ask(folder, "descent", id=id_), by_task[number]
        data = shown["tasks"]["data"]
        found = [(name, base + start, dur) for name, start, dur in zip(data["name"], data["start"], data["dur"])]
        assert sorted(found) == sorted(map(of.key, expected))
        assert data["start"] == sorted(data["start"])
        assert shown["device_ns"] == sum(of.dur[task] for task in expected)
        assert shown["first"] == min(data["start"], default=None)
        assert shown["last"] == max(map(sum, zip(data["start"], data["dur"])), default=None)
        _check_nested(of, number, shown["nested"], base, by_task)


def _check_nested(of: Causes, number: int, shown: dict[str, Any], base: int, by_task: dict[int, set[int]]) -> None:
    """The slices nested in one on its thread, with the tasks of each."""
    event = of.slices[number]
    inside = [
        one for one in of.thread[event["pid"], event["tid"]] if one != number and number in of.around(one, [number])
    ]
    expected = [(*of.key(one), len(by_task[one]), sum(of.dur[task] for task in by_task[one])) for one in inside]
    columns = (shown["data"][key] for key in ("name", "start", "dur", "tasks", "device"))
    found = [(name, base + start, *rest) for name, start, *rest in zip(*columns)]
    assert (shown["total"], sorted(found)) == (len(expected), sorted(expected))
    places = list(zip(shown["data"]["start"], shown["data"]["level"]))
    assert places == sorted(places)


@pytest.mark.parametrize("folder", FOLDERS)
def test_launch_delay_and_queue_position_of_each_task(folder: Path) -> None:
    of = causes(folder)
    launches = dict(of.bare)  # of each task: start of the first launch
    for task in of.causes:
        starts = [of.start[source] for source, kind in of.into[task] if kind == "HostToDevice"]
        if starts:
            launches[task] = min(starts)
    expected = {}
    for task in of.causes:
        event, launched = of.slices[task], launches.get(task)
        queue = delay = None
        if launched is not None:
            delay = max(of.start[task] - launched, 0)
            stream = [one for one in of.thread[event["pid"], event["tid"]] if one in launches]
            queue = sum(launches[one] < launched < of.start[one] for one in stream)
        expected[of.key(task)] = delay, queue
    checked, base = 0, timeline(folder).base_ns
    for _, id_ in _asked(folder, of):
        shown = ask(folder, "descent", id=id_)["tasks"]["data"]
        for name, start, dur, delay, queue in zip(*(shown[key] for key in ("name", "start", "dur", "delay", "queue"))):
            assert (delay, queue) == expected[name, base + start, dur], (name, start)
            checked += delay is not None
    assert checked or not launches


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_collective_leads_to_the_tasks_of_its_planes(folder: Path) -> None:
    r, of = raw(folder), causes(folder)
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in r.events if e["ph"] == "M" and e["name"] == "thread_name"}
    threads = sorted(of.thread, key=lambda place: (place[0], place[1]))
    for place in threads:
        if not names[place].startswith("Group "):
            continue
        later = [names[one].startswith("Group ") for one in threads[threads.index(place) + 1 :]] + [True]
        planes = threads[threads.index(place) + 1 :][: later.index(True)]
        planes = [one for one in planes if one[0] == place[0] and names[one].startswith("Plane ")]
        for number in of.thread[place][::3]:
            tasks = [of.slices[one] for plane in planes for one in of.thread[plane] if of.around(one, [number])]
            shown = ask(folder, "descent", id=_id(folder, of, number))
            assert shown["is_collective"]
            rank = {4294967295: None}
            ranks = [(e["args"]["src rank"], e["args"]["dst rank"]) for e in tasks]
            data = shown["tasks"]["data"]
            found = sorted(map(repr, zip(data["name"], data["plane"], data["source"], data["target"], data["dur"])))
            assert found == sorted(
                repr((e["name"], names[e["pid"], e["tid"]], *(rank.get(one, one) for one in pair), us(e["dur"])))
                for e, pair in zip(tasks, ranks)
            )
