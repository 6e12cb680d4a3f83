"""What a rank, or a group of ranks, runs longer than the others: by kernel type and shapes, collectives by operation and group."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Literal, Optional

import numpy as np

from tb_npu_plugin.analysis.communication.statistics import base_names
from tb_npu_plugin.analysis.grouping import Groups
from tb_npu_plugin.analysis.kernels.kinds import is_computing
from tb_npu_plugin.analysis.kernels.meaning import FOLDED, is_fused
from tb_npu_plugin.analysis.run.devices import RankDevice
from tb_npu_plugin.analysis.steps.of_span import averaged_of_span
from tb_npu_plugin.tables import IntArray, StringColumn, Table, known

#: "clock": all kernels that the others run, too, take longer by about the same factor. "kernel": one of them takes longer.
#: "work": it runs other kernels, or more of them. "": it does not run longer.
ExcessKind = Literal["clock", "kernel", "work", ""]
#: Least excess over the others that is explained, as a share of their time.
_LEAST_EXCESS = 0.05
#: The cause of an excess explains at least this share of it.
_LEAST_EXPLAINED = 0.7
#: The factors of all kernels are about the same if this share of their time has one within `_MOST_SPREAD` of the mean factor.
_MOST_TIME, _MOST_SPREAD = 0.8, 0.15
#: Fewer types of kernels cannot tell a low clock from slow kernels.
_LEAST_TYPES = 3
#: A dimension of shapes; those of vocabularies are at least this large, and most of an excess is at least this share of it.
_SIZE, _LEAST_VOCABULARY, _MOST_OF = re.compile(r"(?<!\d)\d{5,9}(?!\d)"), 16_384, 0.5
_Key = tuple[Optional[str], Optional[str], bool]
#: (type, shapes or group, is communication) -> (calls, time in ns) of a rank in the mean step.
Kinds = Mapping[_Key, tuple[float, float]]


@dataclass(frozen=True)
class KernelExcess:
    """Kernels of one type and shapes in the mean step, or collectives of one operation and group."""

    type: Optional[str]
    """Type of the kernel, or operation; null if unknown."""
    shapes: Optional[str]
    """Input shapes; null if unknown, and for collectives."""
    group: Optional[str]
    """Communication group of collectives, or input shapes of kernels that communicate inside; else null."""
    calls: float
    """Calls in a step, mean of the ranks in question."""
    other_calls: float
    """The same, median of the others."""
    ns: int
    """Time in a step, mean of the ranks in question, ns."""
    other_ns: int
    """The same, median of the others, ns."""

    @property
    def excess_ns(self) -> int:
        """By how much longer it runs."""
        return self.ns - self.other_ns

    @property
    def factor(self) -> Optional[float]:
        """Time by that of the others; None where they do not run it."""
        return self.ns / self.other_ns if self.other_ns else None

    @property
    def is_communication(self) -> bool:
        """A collective."""
        return self.group is not None


@dataclass(frozen=True)
class Excess:
    """The kernels by excess, the largest first, and what most of the excess of computing is. factor: time by that of the others,
    of all common kernels ("clock") or of the first one ("kernel"). types: the computing kernels by type alone; whole: all of them."""

    ranks: list[int]
    kind: ExcessKind
    factor: Optional[float]
    rows: Sequence[KernelExcess]
    types: Sequence[KernelExcess]
    whole: KernelExcess

    @property
    def computing(self) -> list[KernelExcess]:
        """The rows of computing kernels."""
        return [row for row in self.rows if not row.is_communication]

    @property
    def by_type(self) -> list[tuple[str, int]]:
        """(type, excess in ns) of the computing kernels that run longer, the largest excess first."""
        sums: Counter[str] = Counter()
        for row in self.computing:
            sums[row.type or ""] += row.excess_ns
        return [(name, ns) for name, ns in sums.most_common() if ns > 0 and name]

    @property
    def vocabulary(self) -> Optional[tuple[int, int]]:
        """(dimension, excess in ns) if most of the excess is of kernels with one large dimension, as those of the head and the
        loss of a language model."""
        sums: Counter[int] = Counter()
        for row in self.computing:
            for size in {int(text) for text in _SIZE.findall(row.shapes or "")}:
                if size >= _LEAST_VOCABULARY:
                    sums[size] += row.excess_ns
        size, ns = sums.most_common(1)[0] if sums else (0, 0)
        return (size, ns) if ns > 0 and ns >= _MOST_OF * sum(row.excess_ns for row in self.computing) else None


def excess_of(own: Sequence[RankDevice], others: Sequence[RankDevice]) -> Optional[Excess]:
    """Compare ranks with others; None if either side has no kernels."""
    sides = [[found for line in lines if (found := kinds_of(line)) is not None] for lines in (own, others)]
    ranks = sorted(rank for line in own if (rank := line.span.capture.rank) is not None)
    return compare(ranks, *sides) if all(sides) else None


def compare(ranks: list[int], own: Sequence[Kinds], others: Sequence[Kinds]) -> Excess:
    """What the kernels of some ranks take longer than those of others."""
    rows = _rows(own, others)
    types = _rows(*([summed(kinds, lambda key: key[0]) for kinds in side] for side in (own, others)))
    (whole,) = _rows(*([summed(kinds, lambda _: None) for kinds in side] for side in (own, others)))
    return Excess(ranks, *_kind([row for row in rows if not row.is_communication]), rows, types, whole)


def summed(kinds: Kinds, label: Callable[[_Key], Optional[str]]) -> Kinds:
    """The computing kernels by a label alone; an entry for all of them where they are none."""
    sums: dict[_Key, tuple[float, float]] = {}
    for key, (calls, ns) in kinds.items():
        if not key[2]:
            before = sums.get((label(key), None, False), (0.0, 0.0))
            sums[label(key), None, False] = before[0] + calls, before[1] + ns
    return sums or {(None, None, False): (0.0, 0.0)}


def _rows(own: Sequence[Kinds], others: Sequence[Kinds]) -> list[KernelExcess]:
    """One row per key, the largest excess first."""
    keys = dict.fromkeys(key for side in (own, others) for kinds in side for key in kinds)
    rows = [_row(key, own, others) for key in keys]
    return sorted(rows, key=lambda one: (-one.excess_ns, one.type or "", one.shapes or "", one.group or ""))


def _row(key: _Key, own: Sequence[Kinds], others: Sequence[Kinds]) -> KernelExcess:
    calls, times = zip(*(kinds.get(key, (0.0, 0.0)) for kinds in own))
    other_calls, other_times = zip(*(kinds.get(key, (0.0, 0.0)) for kinds in others))
    name, detail, communicates = key
    shapes, group = (None, detail or "") if communicates else (detail, None)
    return KernelExcess(
        name, shapes, group, fmean(calls), median(other_calls), round(fmean(times)), round(median(other_times))
    )


def kinds_of(line: RankDevice) -> Optional[Kinds]:
    """Kinds of a device; None without kernels."""
    kernels, collectives = line.kernels(), line.operators()
    steps = {step.step for step in averaged_of_span(line.span, line.steps)}
    if kernels is None or not len(kernels):
        return None
    kernels = _of_steps(kernels.take(is_computing(kernels)), steps)
    fused = is_fused(kernels)
    inside, kernels = kernels.take(fused), kernels.take(~fused)
    label = "type" if (kernels.text("type").codes >= 0).any() else FOLDED.key
    out = _sums(kernels.text(label), kernels.text("input_shapes"), kernels.ints("dur_ns"), False, len(steps))
    out.update(_sums(inside.text("type"), inside.text("input_shapes"), inside.ints("dur_ns"), True, len(steps)))
    if collectives is not None:
        ops = _of_steps(collectives, steps)
        out.update(_sums(base_names(ops.text("name")), ops.text("group"), ops.ints("elapse_ns"), True, len(steps)))
    return out


def _of_steps(table: Table, steps: Collection[Optional[str]]) -> Table:
    names = [step for step in steps if step is not None]
    return table.take(table.text("step").isin(names)) if names else table


def _sums(
    names: StringColumn, details: StringColumn, times: IntArray, communicates: bool, steps: int
) -> dict[_Key, tuple[float, float]]:
    rows = np.flatnonzero(known(times))
    names, details, times, count = names.take(rows), details.take(rows), times[rows], max(steps, 1)
    groups = Groups([names, details], len(rows))
    columns = names.take(groups.first).tolist(), details.take(groups.first).tolist()
    figures = zip((groups.count() / count).tolist(), (groups.sum(times) / count).tolist())
    return {(name, detail, communicates): both for name, detail, both in zip(*columns, figures)}


def _kind(rows: Sequence[KernelExcess]) -> tuple[ExcessKind, Optional[float]]:
    """What most of the excess of computing is. rows: by excess, the largest first."""
    excess = sum(row.excess_ns for row in rows)
    if excess <= 0 or excess < _LEAST_EXCESS * sum(row.other_ns for row in rows):
        return "", None
    common = [row for row in rows if row.ns and row.other_ns]
    slower = sum(row.excess_ns - _of_more_calls(row) for row in common)
    if slower < _LEAST_EXPLAINED * excess:
        return "work", None
    expected = {row: row.other_ns + _of_more_calls(row) for row in common}
    factor = sum(row.ns for row in common) / sum(expected.values())
    alike = sum(row.ns for row in common if abs(row.ns / expected[row] - factor) <= _MOST_SPREAD * factor)
    if len({row.type for row in common}) >= _LEAST_TYPES and alike >= _MOST_TIME * sum(row.ns for row in common):
        return "clock", factor
    first = common[0]
    return "kernel", first.ns / expected[first]


def _of_more_calls(row: KernelExcess) -> float:
    """Excess of a kernel that runs more often, at the time that a call takes on the others."""
    return row.other_ns * (row.calls / row.other_calls - 1) if row.other_calls else 0.0
