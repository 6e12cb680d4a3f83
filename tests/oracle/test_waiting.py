"""Distributed: what recorded ranks wait for, recomputed from trace_view.json and communication.json."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from functools import cache
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import Any

import pytest

from tb_npu_plugin.views.base import ViewInput
from tb_npu_plugin.views.registry import VIEWS
from tests.oracle.raw import REAL_RUN, Event, Raw, ms, ns, raw
from tests.oracle.shown import span
from tests.oracle.timelines import timeline

RANKS = [REAL_RUN / f"rank{rank}_ascend_pt" for rank in (0, 1)]
#: Shorter waits are noise, us.
NOISE = 50
PARTS = ("waiting", "before_transfer", "transfer", "small_packets", "rest")


@cache
def shown() -> Any:
    """Distributed of both ranks with their traces."""
    spans = [replace(span(folder), token=folder.name, timeline=timeline(folder)) for folder in RANKS]
    view = next(view for view in VIEWS if view.id == "distributed")
    plain = json.dumps(view.build(ViewInput(spans, {})).data)
    return json.loads(plain, object_hook=lambda fields: SimpleNamespace(**fields))


def threads(data: Raw) -> dict[str, list[Event]]:
    """Slices by the name of their thread, by start."""
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in data.events if e.get("name") == "thread_name"}
    out: dict[str, list[Event]] = {}
    for event in sorted(data.slices, key=lambda event: event["ts"]):
        out.setdefault(names.get((event["pid"], event["tid"]), ""), []).append(event)
    return out


def last_waits(data: Raw) -> dict[str, tuple[Event, Event]]:
    """Operator -> (operator, of the first waits of its planes over 0.05 ms the one that ends last; the longest if all are noise)."""
    found, out = threads(data), {}
    (operators,) = (events for name, events in found.items() if name.startswith("Group"))
    for operator in operators:
        end = operator["ts"] + operator["dur"]
        waits = [
            [e for e in events if e["name"] == "Notify_Wait" and operator["ts"] <= e["ts"] < end]
            for name, events in found.items()
            if name.startswith("Plane")
        ]
        chosen = [one[0] for one in waits if one]
        real = [one for one in chosen if one["dur"] >= NOISE]
        out[operator["name"]] = operator, max(real or chosen, key=lambda e: e["ts"] + e["dur"] if real else e["dur"])
    return out


def close(value: int) -> Any:
    """Times of the trace are rounded to ns, one by one."""
    return pytest.approx(value, abs=12)


@pytest.mark.parametrize("folder", RANKS)
def test_waiting_lasts_from_the_start_of_each_collective_until_its_last_peer_arrives(folder: Path) -> None:
    data = raw(folder)
    budget = shown().budgets[RANKS.index(folder)]
    found = [(operator, wait) for operator, wait in last_waits(data).values() if wait["dur"] >= NOISE]
    assert {wait["args"]["dst rank"] for _, wait in found} == {5}
    waits = [(operator["ts"], wait["ts"] + wait["dur"]) for operator, wait in found]
    bare = [(e["ts"], e["ts"] + e["dur"]) for e in threads(data)["Communication(Not Overlapped)"]]
    exposed = sum(max(Decimal(0), min(stop, end) - max(begin, start)) for begin, stop in waits for start, end in bare)
    assert budget.waiting == close(sum(int((stop - begin) * 1000) for begin, stop in waits))
    assert budget.exposed_waiting == close(int(exposed * 1000))
    (late,) = budget.waiting_for
    assert (late.rank, late.time, late.exposed, late.collectives) == (
        5,
        budget.waiting,
        budget.exposed_waiting,
        len(found),
    )
    assert len(found) == 3


@pytest.mark.parametrize("folder", RANKS)
def test_parts_sum_to_the_elapsed_time(folder: Path) -> None:
    budget = shown().budgets[RANKS.index(folder)]
    operators = raw(folder).json("communication.json")["step50"]["collective"]
    transit = elapse = 0
    for name, operator in operators.items():
        if name != "Total Op Info":
            transit += ms(operator["Communication Time Info"]["Transit Time(ms)"])
            elapse += ms(operator["Communication Time Info"]["Elapse Time(ms)"])
    parts = [getattr(budget, part) for part in PARTS]
    assert sum(parts) == elapse == budget.elapse
    assert budget.transfer + budget.small_packets == transit


def test_clocks_and_arrivals_agree_with_the_waits_of_the_other_rank() -> None:
    first, second = (last_waits(raw(folder)) for folder in RANKS)
    end = {name: op["ts"] + op["dur"] for name, (op, _) in first.items()}
    offsets = sorted(op["ts"] + op["dur"] - end[name] for name, (op, _) in second.items())
    (clock,) = shown().clocks
    assert (clock.offset, clock.low, clock.high) == (
        close(round(median(offsets) * 1000)),
        close(int(offsets[0] * 1000)),
        close(int(offsets[-1] * 1000)),
    )
    collectives = {one.operator: one for one in shown().arrivals}
    assert collectives.keys() == first.keys()
    for name, one in collectives.items():
        starts = [ns(first[name][0]["ts"]), ns(second[name][0]["ts"]) - clock.offset]
        after = {arrival.rank: arrival.after for arrival in one.arrivals}
        assert [after[0], after[1]] == [close(start - min(starts)) for start in starts]
        waits = [start + int(seen[name][1]["dur"] * 1000) for start, seen in zip(starts, (first, second))]
        assert all(after[5] == pytest.approx(wait - min(starts), abs=7_000) for wait in waits)
        assert sorted(after) == list(range(8))
