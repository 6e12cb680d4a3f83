"""/api/timeline/strips by brute force: of random ranks with clocks that differ, each nanosecond belongs to one part."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tb_npu_plugin.analysis.run.strips import (
    PARTS,
    DeviceTimes,
    Wait,
    coverage_of,
    exposed_waits,
    longest_awaited,
    mean_parts,
)
from tb_npu_plugin.errors import BadRequest
from tb_npu_plugin.intervals import Intervals
from tb_npu_plugin.service.strips import StripCache
from tests.support.ask import ask_service
from tests.support.span import TestSpan, table_of
from tests.support.trace import decode

LENGTH, COLLECTIVE, EPOCH = 900, 200, 1_700_000_000_000_000_000
KINDS = {"AI_CORE": "compute", "HCCL": "communicate", "MEMCPY": "copy"}


class Rank(TestSpan):
    entries: dict[str, str] = {}  # noqa: RUF012


def ranks(draw: random.Random, count: int) -> tuple[list[Any], list[dict[str, list[tuple[int, int]]]]]:
    """Spans with random kernels and four collectives that end together, and the raw times by kind; own clocks."""
    spans, raw = [], []
    arrivals = [[draw.randint(0, COLLECTIVE) for _ in range(count)] for _ in range(4)]
    for rank in range(count):
        clock = EPOCH + draw.randint(-5000, 5000)
        kernels, ops = [], []
        times: dict[str, list[tuple[int, int]]] = {"compute": [], "communicate": [], "copy": [], "wait": []}
        for _ in range(draw.randint(1, 60)):
            core, start = draw.choice([*KINDS]), clock + draw.randint(0, LENGTH)
            times[KINDS[core]].append((start, start + draw.randint(1, 30)))
            kernels.append({"core": core, "start_ns": start, "dur_ns": times[KINDS[core]][-1][1] - start})
        for number, starts in enumerate(arrivals):
            start, end = clock + number * COLLECTIVE + starts[rank], clock + (number + 1) * COLLECTIVE + 50
            times["communicate"].append((start, end))
            last = clock + number * COLLECTIVE + max(starts)
            times["wait"].append((start, last))
            one = {"core": "HCCL", "start_ns": start, "dur_ns": end - start}
            kernels.append(one)
            ops.append(
                {"kind": "collective", "group": "g", "name": f"r{number}", "start_ns": start, "elapse_ns": end - start}
            )
        same = {"name": "k", "step": "1"}
        tables = {
            "kernels": table_of("kernels", [{**same, **row} for row in kernels]),
            "comm_ops": table_of("comm_ops", [{"step": "1", **row} for row in ops]),
        }
        spans.append(Rank(tables=tables, token=f"s{rank}"))
        raw.append(times)
    return spans, raw


def part_at(times: dict[str, list[tuple[int, int]]], waits: list[tuple[int, int]], moment: int) -> str | None:
    """The part of a nanosecond; None outside the recording."""
    tasks = [one for key in KINDS.values() for one in times[key]]
    if not min(start for start, _ in tasks) <= moment < max(end for _, end in tasks):
        return None
    computes, communicates, copies = (any(a <= moment < b for a, b in times[key]) for key in KINDS.values())
    if communicates:
        waiting = any(a <= moment < b for a, b in waits)
        return "overlapped" if computes else "waiting" if waiting else "communication"
    return "computing" if computes else "copying" if copies else "free"


@pytest.mark.parametrize("seed", range(12))
def test_each_nanosecond_of_random_ranks_is_in_one_part(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tb_npu_plugin.analysis.communication.waiting.LEAST_WAIT_NS", 1)
    draw = random.Random(seed)
    spans, raw = ranks(draw, draw.randint(1, 4))
    t0, bins = draw.randint(-6000, 6000), draw.randint(1, 50)
    t1 = t0 + draw.randint(1, 3000)
    shifts = [draw.randint(-4000, 4000) for _ in spans]
    bases = [EPOCH + draw.randint(-100, 100) for _ in spans]
    run = StripCache().get(spans)
    service: Any = SimpleNamespace(strips=lambda tokens: dict.fromkeys(tokens, run))
    zeros = [str(base - shift) for base, shift in zip(bases, shifts)]
    sources = [{"span": span.token, "zero": zero} for span, zero in zip(spans, zeros)]
    header, columns = decode(ask_service(service, "strips", sources, t0=t0, t1=t1, bins=bins))
    assert header["parts"] == list(PARTS)
    for at, span in enumerate(spans):
        times = raw[at]
        waits = times["wait"] if len(spans) > 1 else []
        found = columns[span.token].reshape(len(PARTS), bins)
        expected = np.zeros((len(PARTS), bins))
        for number in range(bins):
            edges = (t0 + (t1 - t0) * number // bins, t0 + (t1 - t0) * (number + 1) // bins)
            for moment in range(*edges):
                part = part_at(times, waits, moment - shifts[at] + bases[at])
                if part is not None:
                    expected[PARTS.index(part), number] += 1
        assert found.tolist() == expected.tolist()
        for start, end, *_ in header["strips"][at]["waits"]:
            moments = {part_at(times, waits, moment - shifts[at] + bases[at]) for moment in range(start, end)}
            assert moments == {"waiting"}


@pytest.mark.parametrize(
    "wrong",
    [
        {"bins": 0},
        {"bins": 4097},
        {"sources": []},
        {"sources": [{"span": "s", "zero": "x"}]},
        {"t1": 0},
        {"sources": [{"span": "s"}] * 129},
    ],
)
def test_parameters_out_of_range_are_refused(wrong: dict[str, Any]) -> None:
    service: Any = SimpleNamespace(strips=lambda tokens: dict.fromkeys(tokens, StripCache().get([])))
    good: dict[str, Any] = {"sources": [{"span": "s"}], "t0": 0, "t1": 10, "bins": 4}
    answer = decode(ask_service(service, "strips", **good))[0]
    assert answer["strips"] == [{"span": "s", "state": "reading", "waits": []}]
    with pytest.raises(BadRequest):
        ask_service(service, "strips", **{**good, **wrong})


def test_a_rank_without_times_or_with_several_devices_has_no_strip() -> None:
    rows = [{"name": "k", "core": "AI_CORE", "start_ns": EPOCH, "dur_ns": 5, "step": "1"}]
    two = [{**row, "device_id": device} for row in rows for device in (0, 1)]
    tables = {"one": rows, "two": two, "unknown": [{**rows[0], "start_ns": None}], "none": []}
    spans: list[Any] = [
        Rank(tables={"kernels": table_of("kernels", made)}, token=name) for name, made in tables.items()
    ]
    run = StripCache().get(spans)
    service: Any = SimpleNamespace(strips=lambda tokens: dict.fromkeys(tokens, run))
    sources = [{"span": span, "zero": str(EPOCH)} for span in tables]
    header, columns = decode(ask_service(service, "strips", sources, t0=0, t1=10, bins=1))
    assert [one["state"] for one in header["strips"]] == ["ready", "none", "none", "none"]
    assert columns["one"].tolist() == [5, 0, 0, 0, 0, 0]


def intervals_of(*pairs: tuple[int, int]) -> Intervals:
    return Intervals(*(np.array([pair[at] for pair in pairs], dtype=np.int64) for at in (0, 1)))


def test_a_wait_names_its_root_and_the_rank_that_is_awaited_directly() -> None:
    none = intervals_of()
    times = DeviceTimes(none, none, intervals_of((0, 100)), none)
    waits = SimpleNamespace(time=np.array([30, 20, 10]), start=np.array([0, 40, 70]))
    run: Any = SimpleNamespace(
        waits=[waits], names_of_last=lambda at: ["7", "4", "local 2"], awaited_rank=lambda at, row: [4, 4, None][row]
    )
    found = exposed_waits(run, 0, times)
    assert found == [Wait(0, 30, "7", "4"), Wait(40, 60, "4"), Wait(70, 80, "local 2")]
    assert longest_awaited(found) == "7"
    assert longest_awaited(found, 25, 90) == "4"
    assert longest_awaited(found, 61, 70) is None
    waiting = coverage_of(found)
    assert mean_parts(times, waiting, []) == [0, 0, 60, 40, 0, 0]
    assert mean_parts(times, waiting, [[3, 0, 9, 1, 0, 1], [4, 0, 2, 1, 0, 0]]) == [3, 0, 5, 1, 0, 0]
