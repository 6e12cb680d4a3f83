"""The kernels behind a finding: type, shapes, number, and the operator and source line that launch them."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Optional

import numpy as np

from tb_npu_plugin.analysis.findings.kernel_costs import labels
from tb_npu_plugin.analysis.findings.rank_kernels import RankKernels
from tb_npu_plugin.analysis.findings.run_data import RunData
from tb_npu_plugin.analysis.findings.text import duration
from tb_npu_plugin.analysis.grouping import Groups
from tb_npu_plugin.analysis.idle.gaps import tracks_of_device
from tb_npu_plugin.analysis.idle.places import launching_places
from tb_npu_plugin.analysis.kernels.work import Tensor, tensors
from tb_npu_plugin.tables import FloatArray, IntArray, StringColumn

#: Kernels of a group whose launches are looked up, and largest number of characters of their shapes and types.
_LOOKED_UP, _LONGEST = 100, 80
#: CANN's call that launches a kernel, at the start of its name.
_CALL = re.compile(r"aclnn[A-Za-z0-9]+(?=_)")


@dataclass(frozen=True)
class KernelGroup:
    """Kernels of one type, input shapes and call of CANN on a rank.

    ns, calls: cost and number per step; rows: the kernels, the costliest first.
    """

    rank: RankKernels
    type: str
    ns: int
    calls: float
    rows: IntArray

    def _text(self, column: str) -> Optional[str]:
        return self.rank.table.text(column)[int(self.rows[0])]

    @property
    def inputs(self) -> list[Tensor]:
        """Inputs of the kernel; empty if unknown."""
        return tensors(self._text("input_shapes"), self._text("input_types"), self._text("input_formats")) or []

    @property
    def call(self) -> str:
        """CANN's call that launches the kernel; "" if its name does not tell."""
        return _call(self._text("name"))

    @cached_property
    def place(self) -> str:
        """Operator and Python line that launch most of them, else CANN's call; "" if unknown."""
        return _place(self.rank, self.rows[:_LOOKED_UP]) or self.call

    @property
    def text(self) -> str:
        """ "4 × Cast (4096,1,151936) FLOAT 24.01 ms · aten::to · train.py(12): loss"."""
        shapes, types = (self._text(column) or "" for column in ("input_shapes", "input_types"))
        types = ";".join(dict.fromkeys(types.replace("DT_", "").split(";")))
        inputs = [_shortened(f"({shapes})"), _shortened(types)] if shapes else []
        figures = " ".join((f"{self.calls:.3g} × {self.type}", *inputs, duration(self.ns)))
        return " · ".join(part for part in (figures, self.place) if part)


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def groups_of(run: RunData, rank: RankKernels, cost: FloatArray, type: str) -> list[KernelGroup]:
    """The kernels of a type by input shapes and CANN's call, the costliest first. cost: ns of each kernel of the rank."""
    table = rank.table
    rows = np.flatnonzero((cost > 0) & labels(table).equals(type))
    rows = rows[np.argsort(-cost[rows], kind="stable")]
    names = table.text("name")
    calls = StringColumn.of([_call(name) for name in names.values]).codes
    call = np.where(names.codes[rows] >= 0, calls[names.codes[rows]], -1).astype(np.int64)
    groups = Groups([table.text("input_shapes").take(rows), call], len(rows))
    sums = np.bincount(groups.of_row, cost[rows], len(groups)) / run.step_count
    own = [rows[places] for places in groups.rows()]
    found = [KernelGroup(rank, type, round(ns), len(one) / run.step_count, one) for ns, one in zip(sums.tolist(), own)]
    return sorted(found, key=lambda one: -one.ns)


def largest_group(run: RunData, rank: RankKernels, cost: FloatArray, type: str) -> KernelGroup:
    """The first of them; the type costs something."""
    return groups_of(run, rank, cost, type)[0]


def _call(name: Optional[str]) -> str:
    found = _CALL.match(name or "")
    return found[0] if found else ""


def _place(rank: RankKernels, rows: IntArray) -> str:
    """Operator and Python line that launch most of these kernels; "" without a trace that is read."""
    timeline = rank.span.timeline
    if timeline is None or timeline.partial is not None:
        return ""
    start = rank.table.ints("start_ns")[rows] - timeline.base_ns
    names = rank.table.text("name").take(rows).tolist()
    tasks = np.full(len(rows), -1, dtype=np.int64)
    for track in tracks_of_device(timeline, None):
        found = timeline.rows.find(np.full(len(rows), track), start, np.ones(len(rows), dtype=bool))
        known = np.flatnonzero((found >= 0) & (tasks < 0))
        is_same = (timeline.rows.start[found[known]] == start[known]) & np.array(
            [timeline.names[int(timeline.name[found[at]])] == names[at] for at in known.tolist()], dtype=bool
        )
        tasks[known[is_same]] = found[known[is_same]]
    slices = zip(*(one.tolist() for one in launching_places(timeline, tasks[tasks >= 0])))
    places = Counter(" · ".join(timeline.names[int(timeline.name[at])] for at in found if at >= 0) for found in slices)
    return places.most_common(1)[0][0] if places else ""


def unaligned(tensor: Tensor, axes: int, multiple: int) -> list[str]:
    """ "1000 → 1024": the last dimensions that are not multiples, and the next multiple."""
    return [
        f"{size} → {-(-size // multiple) * multiple}" for size in tensor.dims[-axes:] if size > 1 and size % multiple
    ]
