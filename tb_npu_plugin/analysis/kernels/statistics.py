"""Device time by kernel, by type and core, by core. Communication is counted separately from computing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis.grouping import Groups, divide_half_even, group_rows, known_sum, largest_first, text_key
from tb_npu_plugin.schema import kineto
from tb_npu_plugin.schema.kernel_meaning import meaning_of_kernel
from tb_npu_plugin.schema.torch_npu_json import COMMUNICATION_CORES
from tb_npu_plugin.tables import (
    Column,
    FloatArray,
    GroupByQuery,
    GroupByResult,
    IntArray,
    Kind,
    StringColumn,
    Table,
    known,
)

NAME = Column("name", Kind.TEXT, "Name", "Kernel name.", "identity")
TYPE = Column("type", Kind.TEXT, "Type", "Operator type; unknown at level 0.", "identity")
CORE = Column(
    "core",
    Kind.TEXT,
    "Core",
    "Accelerator core that ran it; unknown at level 0.",
    "identity",
)
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
    "Share of computing",
    "Total / total of all computing kernels; communication is no part of it.",
    "",
)
RATIO = Column("ratio", Kind.PERCENT, "Share of computing", "Share of the computing kernels' time, 0 to 100.", "")

#: Values of `core` for copies and memory sets in GPU traces; these compute nothing.
COPIES = (kineto.MEMCPY_KIND, kineto.MEMSET_KIND)


@dataclass(frozen=True)
class CoreTime:
    """Device time of one accelerator core."""

    core: Optional[str]
    """Name of the core; None if unknown."""
    calls: int
    """Number of kernels."""
    total_ns: int
    """Sum of their durations."""
    communication: bool
    """HCCL or COMMUNICATION."""


def is_communication(kernels: Table) -> NDArray[np.bool_]:
    """Mask of the communication rows, by accelerator core (HCCL, COMMUNICATION)."""
    return kernels.text("core").isin(COMMUNICATION_CORES)


def is_fused(kernels: Table) -> NDArray[np.bool_]:
    """Mask of the kernels that compute and communicate; they wait for other ranks inside."""
    types = kernels.text("type")
    meanings = ((text, meaning_of_kernel(None, text)) for text in types.values)
    return types.isin([text for text, meaning in meanings if meaning is not None and meaning.is_fused])


def is_copy(kernels: Table) -> NDArray[np.bool_]:
    """Mask of the copies and memory sets, which GPU traces list among the kernels."""
    return kernels.text("core").isin(COPIES)


def steps_of(table: Table) -> list[str | None]:
    """Distinct steps in the order of their first row."""
    return text_key(group_rows(table, GroupByQuery(("step",))), "step").tolist()


def of_step(table: Table, step: str | None) -> Table:
    """Rows of one step; None: rows outside steps."""
    steps = table.text("step")
    return table.take(steps.equals(step) if step is not None else steps.codes < 0)


def by_step(table: Table) -> dict[str | None, Table]:
    """Rows of each step, in the order of their first row; None: rows outside steps."""
    steps = table.text("step")
    return {steps[int(rows[0])]: table.take(rows) for rows in Groups([steps], len(table)).rows()}


def total_ns(kernels: Table) -> int:
    """Sum of the durations."""
    return known_sum(group_rows(kernels, GroupByQuery((), ("dur_ns",))).total["dur_ns"]) or 0


def by_name(kernels: Table) -> Table:
    """One row per name and core: calls, total, min, max, avg, share, communication."""
    return _statistic(kernels, (NAME, CORE), share=True)


def by_type(kernels: Table) -> Table:
    """One row per type and core of the computing kernels, as in op_statistic.csv, by total time."""
    table = _statistic(kernels, (TYPE, CORE), share=False)
    return table.take(largest_first(table.ints("total_ns")))


def by_core(kernels: Table) -> list[CoreTime]:
    """One entry per accelerator core, by total time."""
    found = group_rows(kernels, GroupByQuery(("core",), ("dur_ns",)))
    cores = text_key(found, "core")
    columns = cores.tolist(), found.count.tolist(), found.total["dur_ns"].tolist(), _communicates(found).tolist()
    entries = [CoreTime(core, calls, max(total, 0), communicates) for core, calls, total, communicates in zip(*columns)]
    return sorted(entries, key=lambda entry: -entry.total_ns)


def top_computing(kernels: Table, count: int) -> Table:
    """The `count` largest computing kernels by type and core, or by name and core if types are unknown."""
    found = group_rows(kernels, GroupByQuery(("type", "core")))
    typed = bool(((text_key(found, "type").codes >= 0) & ~_communicates(found)).any())
    table = by_name(kernels) if not typed else _statistic(kernels, (TYPE, CORE), share=True)
    table = table.take(table.ints("communication") == 0)
    return table.take(largest_first(table.ints("total_ns"))[:count])


def _statistic(kernels: Table, keys: tuple[Column, ...], share: bool) -> Table:
    """One row per key; with `share` of all kernels, else of the computing kernels."""
    keys = tuple(_named_as(kernels, key) for key in keys)
    found = group_rows(kernels, GroupByQuery(tuple(key.key for key in keys), ranges=("dur_ns",)))
    total, communicates = found.total["dur_ns"], _communicates(found)
    data: dict[str, StringColumn | IntArray | FloatArray] = {
        **{key.key: text_key(found, key.key) for key in keys},
        "calls": found.count,
        "total_ns": total,
        "min_ns": found.least["dur_ns"],
        "max_ns": found.most["dur_ns"],
        "avg_ns": divide_half_even(total, found.known["dur_ns"]),
    }
    shares = _share_of_sum(total, ~communicates & ~text_key(found, "core").isin(COPIES))
    if not share:
        table = Table((*keys, CALLS, TOTAL, MIN, AVG, MAX), data).take(~communicates)
        return table.with_columns([(RATIO, 100 * shares[~communicates])])
    data["share"] = shares
    data["communication"] = communicates.astype(np.int64)
    return Table((*keys, CALLS, TOTAL, MIN, MAX, AVG, SHARE, COMMUNICATION), data)


def _named_as(kernels: Table, key: Column) -> Column:
    """The key column with the table's title, which differs on a GPU."""
    own = kernels.column(key.key) if kernels.has(key.key) else key
    return own if own.title == kineto.ACTIVITY else key


def _communicates(found: GroupByResult) -> NDArray[np.bool_]:
    """Mask of the groups of communication rows; the core is one of the keys."""
    return text_key(found, "core").isin(COMMUNICATION_CORES)


def _share_of_sum(total: IntArray, rows: NDArray[np.bool_]) -> FloatArray:
    """Share of each total in the sum of these rows; unknown in other rows, and if the sum is 0."""
    out = np.full(len(total), np.nan)
    rows = rows & known(total)
    whole = int(total[rows].sum())
    if whole:
        out[rows] = total[rows] / whole
    return out
