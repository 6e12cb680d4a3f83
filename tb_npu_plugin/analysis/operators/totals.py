"""Statistics of operators that the recorder summed up; single calls are unknown."""

from __future__ import annotations

import numpy as np

from tb_npu_plugin.analysis.grouping import Groups, divide_half_even, largest_first
from tb_npu_plugin.analysis.kernels.statistics import AVG, CALLS, CORE, RATIO, TOTAL, TYPE, CoreTime
from tb_npu_plugin.tables import Table, known


def by_type(totals: Table) -> Table:
    """One row per type and core, by total time: calls, total, mean per call, share."""
    groups = Groups([totals.text("type"), totals.text("core")], len(totals))
    total, calls = groups.sum(totals.ints("total_ns")), groups.sum(totals.ints("calls"))
    whole = int(total[known(total)].sum())
    table = Table(
        (TYPE, CORE, CALLS, TOTAL, AVG, RATIO),
        {
            "type": totals.text("type").take(groups.first),
            "core": totals.text("core").take(groups.first),
            "calls": calls,
            "total_ns": total,
            "avg_ns": divide_half_even(total, calls),
            "ratio": np.where(known(total), 100 * total / whole if whole else np.nan, np.nan),
        },
    )
    return table.take(largest_first(total))


def by_core(types: Table) -> list[CoreTime]:
    """One entry per core of a table with core, calls and total_ns, by total time."""
    groups = Groups([types.text("core")], len(types))
    totals, calls = groups.sum(types.ints("total_ns")).tolist(), groups.sum(types.ints("calls")).tolist()
    cores = types.text("core").take(groups.first).tolist()
    entries = [CoreTime(core, max(count, 0), max(total, 0), False) for core, count, total in zip(cores, calls, totals)]
    return sorted(entries, key=lambda entry: -entry.total_ns)
