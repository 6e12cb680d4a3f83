"""Iterations of a serving engine, by phase and number of requests. They are the steps of such a capture."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Optional

import numpy as np

from tb_npu_plugin.model import SpanData
from tb_npu_plugin.tables import nullable

#: The 99th percentile needs this many iterations.
LEAST_P99 = 20

#: Phase and number of requests; None: its mark does not tell.
Kind = tuple[Optional[str], Optional[int]]


@dataclass(frozen=True)
class IterationGroup:
    """Iterations with the same phase and number of requests. Times in ns."""

    phase: Optional[str]
    """prefill, decode, mixed, verify or draft; null: its mark does not tell."""
    requests: Optional[int]
    """Requests of each iteration; null: unknown."""
    steps: list[str]
    """Numbers of the iterations, in order of time."""
    tokens: Optional[int]
    """New tokens of all iterations; null if a mark does not tell."""
    kernels: int
    """Device tasks of all iterations."""
    graph_kernels: int
    """Those launched by calls that replay a graph."""
    total_ns: int
    """Device time of all iterations: each lasts from its first to its last task, on the device that takes longest."""
    median_ns: int
    """Median of their times."""
    p99_ns: Optional[int]
    """Their 99th percentile; null for fewer than 20."""


@dataclass(frozen=True)
class TimeBetween:
    """Time between the iterations of a device, ns. With the time of the iterations, where they overlap counted once, it sums to
    `span_ns`. Whether requests waited meanwhile is not recorded."""

    total_ns: int
    """All of it."""
    per_iteration_ns: int
    """Its mean per iteration."""
    gaps: int
    """Number of gaps."""
    median_ns: int
    """Median of the gaps."""
    longest_ns: int
    """The longest gap."""
    span_ns: int
    """From the start of the first iteration to the end of the last."""


def time_between(bounds: Iterable[tuple[int, int]]) -> Optional[TimeBetween]:
    """Time between iterations, from their starts and ends in ns; None for fewer than two."""
    ordered = np.array(sorted(bounds), dtype=np.int64).reshape(-1, 2)
    if len(ordered) < 2:
        return None
    ends = np.maximum.accumulate(ordered[:, 1])
    gaps = ordered[1:, 0] - ends[:-1]
    found = gaps[gaps > 0].tolist() or [0]
    total, span = sum(found), int(ends[-1] - ordered[0, 0])
    return TimeBetween(total, total // len(ordered), int((gaps > 0).sum()), round(median(found)), max(found), span)


def groups_of(span: SpanData) -> list[IterationGroup]:
    """The groups of a span, [] if its steps are no iterations: the phase with the most device time first, in it the group with
    the most."""
    table, figures = span.table("engine_iterations"), span.table("step_trace")
    if table is None or figures is None:
        return []
    longest: dict[Optional[str], int] = {}
    for step, time in zip(figures.text("step").tolist(), figures.ints("stage").tolist()):
        longest[step] = max(longest.get(step, 0), time)
    steps, phases = table.text("step").tolist(), table.text("phase").tolist()
    requests, tokens = (nullable(table.ints(key)) for key in ("requests", "tokens"))
    kernels, in_graphs = (table.ints(key).tolist() for key in ("kernels", "graph_kernels"))
    rows: dict[Kind, list[int]] = {}
    for row, kind in enumerate(zip(phases, requests)):
        rows.setdefault(kind, []).append(row)
    out = []
    for (phase, count), own in rows.items():
        names = [steps[row] or "" for row in own]
        times = sorted(longest.get(name, 0) for name in names)
        given = [value for row in own if (value := tokens[row]) is not None]
        out.append(
            IterationGroup(
                phase,
                count,
                names,
                sum(given) if len(given) == len(own) else None,
                sum(kernels[row] for row in own),
                sum(in_graphs[row] for row in own),
                sum(times),
                round(median(times)),
                times[-(-99 * len(times) // 100) - 1] if len(times) >= LEAST_P99 else None,
            )
        )
    of_phase: dict[Optional[str], int] = {}
    for one in out:
        of_phase[one.phase] = of_phase.get(one.phase, 0) + one.total_ns
    return sorted(out, key=lambda one: (-of_phase[one.phase], one.phase or "", -one.total_ns))


def main_groups(groups: Sequence[IterationGroup]) -> list[IterationGroup]:
    """The groups of the phase with the most device time: means do not mix phases."""
    return [one for one in groups if one.phase == groups[0].phase]


def steps_in(groups: Iterable[IterationGroup]) -> set[str]:
    """Numbers of all iterations of some groups."""
    return {step for one in groups for step in one.steps}


def kinds_of(groups: Iterable[IterationGroup]) -> Mapping[Kind, IterationGroup]:
    """The groups by phase and number of requests."""
    return {(one.phase, one.requests): one for one in groups}
