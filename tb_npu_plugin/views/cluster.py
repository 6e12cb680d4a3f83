"""The part of Distributed for results of MindSpore up to 2.2: step figures of all ranks, and outliers among them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional, TypedDict

from tb_npu_plugin.analysis.ranks.cluster_figures import (
    NEEDS,
    Basis,
    cluster_findings,
    courses_of,
    job_of,
    per_rank_values,
)
from tb_npu_plugin.analysis.ranks.cluster_rules import ClusterFinding
from tb_npu_plugin.analysis.steps import trajectory as analysis
from tb_npu_plugin.model import SpanData
from tb_npu_plugin.schema.columns import columns_of
from tb_npu_plugin.tables import Column, Kind, Table, column_texts, from_lists
from tb_npu_plugin.views.base import ViewTable


class ClusterJson(TypedDict):
    """Step figures of all ranks, if recorded (MindSpore up to 2.2)."""

    mode: Optional[str]
    """Parallel mode of the job."""
    stages: Optional[int]
    """Pipeline stages; null without pipeline parallelism."""
    complete: bool
    """Whether every rank of the job was profiled."""
    findings: list[ClusterFinding]
    """Results of MindInsight's rules."""


_DECLARED = {column.key: column for column in (*columns_of("iterations"), *columns_of("parallel_times"))}
COLUMNS = (
    Column("rank", Kind.INT, *column_texts("communication.rank"), "identity"),
    Column("stage", Kind.INT, *column_texts("cluster.stage"), "identity"),
    Column("basis", Kind.TEXT, *column_texts("basis"), "identity"),
    Column("step", Kind.TEXT, *column_texts("cluster.step"), "identity"),
    Column("count", Kind.INT, *column_texts("cluster.count"), ""),
    *(_DECLARED[key] for key in analysis.FIGURES),
    Column("flops", Kind.FLOAT, *column_texts("flops_summary.flops"), ""),
    Column("flops_rate", Kind.FLOAT, *column_texts("flops_summary.flops_rate"), ""),
    Column("utilisation", Kind.PERCENT, *column_texts("utilisation"), ""),
    Column("peak_bytes", Kind.BYTES, *column_texts("memory_summary.peak_bytes"), ""),
    Column("capacity_bytes", Kind.BYTES, *column_texts("capacity_bytes"), ""),
)
_BASES = ("mean", "recorded", "step")


def cluster(spans: Sequence[SpanData]) -> tuple[Optional[ClusterJson], dict[str, ViewTable]]:
    """See ClusterJson; None if no span has these figures."""
    if not any(span.rows(table) for span in spans for table in NEEDS):
        return None, {}
    mode, stages, world = job_of(spans)
    courses = courses_of(spans)
    bases: tuple[Basis, ...] = ("mean", "recorded")
    data: ClusterJson = {
        "mode": mode,
        "stages": stages if mode == "pipeline" else None,
        "complete": world is not None and len({one.rank for one in courses} - {None}) >= world,
        "findings": [one for basis in bases for one in cluster_findings(spans, courses, basis)],
    }
    return data, {"trajectory": ViewTable(_table(spans, courses))}


def _table(spans: Sequence[SpanData], courses: Sequence[analysis.RankCourse]) -> Table:
    """Means of all ranks, then all recorded averages, then steps: the first page always has the means of all ranks."""
    lists: dict[str, list[Any]] = {column.key: [] for column in COLUMNS}
    rows = [(span, course, row) for span, course in zip(spans, courses) for row in course.rows]
    for span, course, row in sorted(rows, key=lambda item: _BASES.index(item[2].basis)):
        values = {
            "rank": course.rank,
            "stage": course.stage,
            "basis": row.basis,
            "step": row.step,
            "count": row.count,
            **row.figures,
            **(per_rank_values(span) if row.basis == "mean" else {}),
        }
        for key, items in lists.items():
            items.append(values.get(key))
    return from_lists(COLUMNS, lists)
