"""Device time by kernel, by type and core, by core. Communication rows are kept apart from computing kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis.grouping import Groups, known_sum, largest_first
from tb_npu_plugin.schema.torch_npu_json import COMMUNICATION_CORES
from tb_npu_plugin.tables import Column, FloatArray, IntArray, Kind, Table, Text, known

NAME = Column("name", Kind.TEXT, "Name", "Kernel name.", "identity")
TYPE = Column("type", Kind.TEXT, "Type", "Operator type; unknown at level 0.", "identity")
CORE = Column("core", Kind.TEXT, "Core", "Accelerator core that ran it; unknown at level 0.", "identity")
CALLS = Column("calls", Kind.INT, "Calls", "How often it ran.", "")
TOTAL = Column("total_ns", Kind.DURATION, "Total", "Sum of the durations on the device.", "time")
MIN = Column("min_ns", Kind.DURATION, "Min", "Shortest.", "time")
MAX = Column("max_ns", Kind.DURATION, "Max", "Longest.", "time")
AVG = Column("avg_ns", Kind.DURATION, "Avg", "Mean duration, rounded to the nanosecond.", "time")
COMMUNICATION = Column(
    "communication", Kind.INT, "Communication", "1 for communication operators, 0 for computing kernels.", "identity"
)
SHARE = Column(
    "share",
    Kind.RATIO,
    "Share",
    "Total / total of all computing kernels; for communication rows / total of all communication.",
    "",
)
RATIO = Column("ratio", Kind.PERCENT, "Ratio", "Share of the computing kernels' time, 0 to 100.", "")


@dataclass(frozen=True)
class CoreTime:
    """Device time of one accelerator core, ns."""

    core: Optional[str]
    calls: int
    total_ns: int
    communication: bool


def is_communication(kernels: Table) -> NDArray[np.bool_]:
    """Mask of the communication rows, known by their accelerator core (HCCL, COMMUNICATION)."""
    return kernels.text("core").isin(COMMUNICATION_CORES)


def steps_of(table: Table) -> list[str | None]:
    """Distinct steps in the order of their first row."""
    steps = table.text("step")
    _, first = np.unique(steps.codes, return_index=True)
    return [steps[int(row)] for row in np.sort(first)]


def of_step(table: Table, step: str | None) -> Table:
    """Rows of one step; None: the rows that belong to no step."""
    steps = table.text("step")
    return table.take(steps.equals(step) if step is not None else steps.codes < 0)


def by_step(table: Table) -> dict[str | None, Table]:
    """Rows of each step, in the order of their first row; None: the rows that belong to no step."""
    steps = table.text("step")
    return {steps[int(rows[0])]: table.take(rows) for rows in Groups([steps], len(table)).rows()}


def total_ns(kernels: Table) -> int:
    """Sum of the durations."""
    return known_sum(kernels.ints("dur_ns")) or 0


def by_name(kernels: Table) -> Table:
    """One row per name and core: calls, total, min, max, avg, share, communication."""
    return _statistic(kernels, (NAME, CORE), share=True)


def by_type(kernels: Table) -> Table:
    """One row per type and core of the computing kernels, as op_statistic.csv has them, by total time."""
    table = _statistic(kernels.take(~is_communication(kernels)), (TYPE, CORE), share=False)
    return table.take(largest_first(table.ints("total_ns")))


def by_core(kernels: Table) -> list[CoreTime]:
    """One entry per accelerator core, by total time."""
    cores = kernels.text("core")
    groups = Groups([cores], len(kernels))
    totals, calls = groups.sum(kernels.ints("dur_ns")), groups.count()
    communication = is_communication(kernels)
    entries = [
        CoreTime(cores[int(row)], int(calls[group]), max(int(totals[group]), 0), bool(communication[row]))
        for group, row in enumerate(groups.first)
    ]
    return sorted(entries, key=lambda entry: -entry.total_ns)


def top_computing(kernels: Table, count: int) -> Table:
    """The computing kernels with the most time, by type and core; by name and core where no type is known."""
    computing = kernels.take(~is_communication(kernels))
    typed = bool((computing.text("type").codes >= 0).any())
    table = _statistic(computing, (TYPE if typed else NAME, CORE), share=True)
    return table.take(largest_first(table.ints("total_ns"))[:count])


def _statistic(kernels: Table, keys: tuple[Column, ...], share: bool) -> Table:
    groups = Groups([kernels.text(key.key) for key in keys], len(kernels))
    durations = kernels.ints("dur_ns")
    total = groups.sum(durations)
    data: dict[str, Text | IntArray | FloatArray] = {
        **{key.key: kernels.text(key.key).take(groups.first) for key in keys},
        "calls": groups.count(),
        "total_ns": total,
        "min_ns": groups.min(durations),
        "max_ns": groups.max(durations),
        "avg_ns": groups.mean(durations),
    }
    if not share:
        data["ratio"] = 100 * _share(total, np.zeros(len(total), dtype=np.int64))
        return Table((*keys, CALLS, TOTAL, MIN, AVG, MAX, RATIO), data)
    communication = is_communication(kernels).astype(np.int64)[groups.first]
    data["share"] = _share(total, communication)
    data["communication"] = communication
    return Table((*keys, CALLS, TOTAL, MIN, MAX, AVG, SHARE, COMMUNICATION), data)


def _share(total: IntArray, kind: IntArray) -> FloatArray:
    """Each total over the sum of the totals of its kind; unknown where that sum is 0."""
    out = np.full(len(total), np.nan)
    for which in np.unique(kind):
        rows = (kind == which) & known(total)
        whole = int(total[rows].sum())
        if whole:
            out[rows] = total[rows] / whole
    return out
