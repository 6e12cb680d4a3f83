"""Device time by kernel, by type and core, by core. Communication is counted separately from computing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis.grouping import Groups, divide_half_even, group_rows, known_sum, largest_first, text_key
from tb_npu_plugin.analysis.kernels.kinds import MEANING, is_communication, is_computing, is_copy
from tb_npu_plugin.analysis.kernels.meaning import FOLDED, GROUP
from tb_npu_plugin.schema import kineto
from tb_npu_plugin.schema.kernel_meaning import SCHEDULING
from tb_npu_plugin.tables import Column, Data, FloatArray, GroupByQuery, IntArray, Kind, Table, column_texts, known

NAME = Column("name", Kind.TEXT, *column_texts("kernel_sums.name"), "identity")
TYPE = Column("type", Kind.TEXT, *column_texts("operator_type"), "identity")
CORE = Column("core", Kind.TEXT, *column_texts("task_core"), "identity")
CALLS = Column("calls", Kind.INT, *column_texts("ops.calls"), "")
TOTAL = Column("total_ns", Kind.DURATION, *column_texts("kernel_sums.total_ns"), "time")
MIN = Column("min_ns", Kind.DURATION, *column_texts("kernel_sums.min_ns"), "time")
MAX = Column("max_ns", Kind.DURATION, *column_texts("kernel_sums.max_ns"), "time")
AVG = Column("avg_ns", Kind.DURATION, *column_texts("kernel_sums.avg_ns"), "time")
SHAPES = Column("input_shapes", Kind.TEXT, *column_texts("input_shapes"), "shape")
CALL = Column("call", Kind.TEXT, *column_texts("kernel_sums.call"), "identity")
COMMUNICATION = Column("communication", Kind.INT, *column_texts("kernel_sums.communication"), "identity")
SHARE = Column("share", Kind.RATIO, *column_texts("kernel_sums.share"), "")
RATIO = Column("ratio", Kind.PERCENT, *column_texts("kernel_sums.ratio"), "")


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


def by_name(kinds: Table) -> Table:
    """One row per kernel and core, and per group of a collective: calls, total, min, max, avg, share, communication. The calls of a
    kernel have one name."""
    return _statistic(kinds, (NAME, GROUP, CORE, MEANING), share=True)


def by_type(kinds: Table) -> Table:
    """One row per type and core of the computing kernels, as in op_statistic.csv, by total time."""
    table = _statistic(kinds, (TYPE, CORE), share=False)
    return table.take(largest_first(table.ints("total_ns")))


def kinds_of_types(kernels: Table) -> Table:
    """What a row of `by_type` is made of: one row per name and shapes."""
    return _statistic(kinds_of(kernels, SHAPES), (TYPE, CORE, NAME, SHAPES), share=False)


def kinds_of_names(kernels: Table) -> Table:
    """What a row of `by_name` is made of: one row per name of a call and shapes."""
    return _statistic(kinds_of(kernels, CALL, SHAPES), (NAME, GROUP, CORE, MEANING, CALL, SHAPES), share=True)


def by_core(kinds: Table) -> list[CoreTime]:
    """One entry per accelerator core, by total time. What repeats communication that is counted is left out."""
    kinds = kinds.take(~kinds.text(MEANING.key).equals(SCHEDULING))
    communicates = is_communication(kinds).astype(np.int64)
    groups = Groups([kinds.text("core"), communicates], len(kinds))
    columns = kinds.text("core").take(groups.first).tolist(), groups.sum(kinds.ints("calls")).tolist()
    figures = groups.sum(kinds.ints("total_ns")).tolist(), (communicates[groups.first] > 0).tolist()
    entries = [CoreTime(core, calls, max(total, 0), comm) for core, calls, total, comm in zip(*columns, *figures)]
    return sorted(entries, key=lambda entry: -entry.total_ns)


def top_computing(kernels: Table, count: int) -> Table:
    """The `count` largest computing kernels by type and core, or by name and core if types are unknown."""
    kinds = kinds_of(kernels)
    typed = bool(((kinds.text("type").codes >= 0) & is_computing(kinds)).any())
    table = _statistic(kinds, (TYPE, CORE) if typed else (NAME, CORE), share=True)
    table = table.take(table.ints("communication") == 0)
    return table.take(largest_first(table.ints("total_ns"))[:count])


def kinds_of(kernels: Table, *more: Column) -> Table:
    """One row per folded name, type, core, meaning and group, in the order of their first rows: calls and times. `name` is the folded
    one. more: further columns of text that tell rows apart."""
    keys = tuple(_named_as(kernels, key) for key in (TYPE, CORE, MEANING, GROUP))
    texts = {"name": kernels.text(FOLDED.key), **{key.key: kernels.text(key.key) for key in keys}}
    texts.update((key.key, kernels.text("name" if key is CALL else key.key)) for key in more)
    keys = (*keys, *more)
    rows = Table((NAME, *keys, _TIME), {**texts, _TIME.key: kernels.ints(_TIME.key)})
    found = group_rows(rows, GroupByQuery(tuple(texts), ranges=(_TIME.key,)))
    figures = (found.count, *(of[_TIME.key] for of in (found.known, found.total, found.least, found.most)))
    columns = (CALLS, _KNOWN, TOTAL, MIN, MAX)
    return Table((NAME, *keys, *columns), {**found.keys, **{one.key: data for one, data in zip(columns, figures)}})


_KNOWN, _TIME = Column("known", Kind.INT), Column("dur_ns", Kind.DURATION)


def _summed(groups: Groups, figures: Mapping[str, IntArray]) -> dict[str, IntArray]:
    how = {"min_ns": groups.min, "max_ns": groups.max}
    return {key: how.get(key, groups.sum)(values) for key, values in figures.items()}


def _statistic(kinds: Table, keys: tuple[Column, ...], share: bool) -> Table:
    """One row per key; with `share` of all kernels, else of the computing kernels."""
    communicates, computes = ~is_computing(kinds) & ~is_copy(kinds), is_computing(kinds)
    if not share:
        kinds, computes = kinds.take(~communicates), computes[~communicates]
        communicates = communicates[~communicates]
    keys = tuple(kinds.column(key.key) for key in keys if key is not GROUP or (kinds.text("group").codes >= 0).any())
    groups = Groups([*(kinds.text(key.key) for key in keys), communicates.astype(np.int64)], len(kinds))
    figures = _summed(groups, {key: kinds.ints(key) for key in ("calls", "known", "total_ns", "min_ns", "max_ns")})
    total = figures["total_ns"]
    data: dict[str, Data] = {
        **{key.key: kinds.text(key.key).take(groups.first) for key in keys},
        **{key: values for key, values in figures.items() if key != "known"},
        "avg_ns": divide_half_even(total, figures["known"]),
    }
    shares = _share_of_sum(total, computes[groups.first])
    if not share:
        return Table((*keys, CALLS, TOTAL, MIN, AVG, MAX), data).with_columns([(RATIO, 100 * shares)])
    data["share"] = shares
    data["communication"] = communicates[groups.first].astype(np.int64)
    return Table((*keys, CALLS, TOTAL, MIN, MAX, AVG, SHARE, COMMUNICATION), data)


def _named_as(kernels: Table, key: Column) -> Column:
    """The key column with the table's title, which differs on a GPU."""
    own = kernels.column(key.key) if kernels.has(key.key) else key
    return own if own.title == kineto.CORE.title else key


def _share_of_sum(total: IntArray, rows: NDArray[np.bool_]) -> FloatArray:
    """Share of each total in the sum of these rows; unknown in other rows, and if the sum is 0."""
    out = np.full(len(total), np.nan)
    rows = rows & known(total)
    whole = int(total[rows].sum())
    if whole:
        out[rows] = total[rows] / whole
    return out
