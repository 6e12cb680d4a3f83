"""The part of Distributed for results of MindSpore up to 2.2: step figures of all ranks, and outliers among them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Optional, TypedDict

from tb_npu_plugin.analysis.ranks import cluster_rules as rules
from tb_npu_plugin.analysis.ranks.cluster_rules import ClusterFinding
from tb_npu_plugin.analysis.steps import trajectory as analysis
from tb_npu_plugin.model import SpanData
from tb_npu_plugin.schema.mindinsight_steps import ITERATIONS_COLUMNS, PARALLEL_COLUMNS
from tb_npu_plugin.schema.torch_npu_json import LOCAL, STAGES
from tb_npu_plugin.tables import NULL_INT, Column, Kind, Table, from_lists
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


NEEDS = ("iterations", "parallel_times")

_DECLARED = {column.key: column for column in (*ITERATIONS_COLUMNS, *PARALLEL_COLUMNS)}
COLUMNS = (
    Column("rank", Kind.INT, "Rank", "Rank of the process; unknown where no file tells.", "identity"),
    Column("stage", Kind.INT, "Stage", "Stage of the pipeline, from 1.", "identity"),
    Column(
        "basis", Kind.TEXT, "Row", "mean: of the steps but the first; recorded: average in the file; step.", "identity"
    ),
    Column("step", Kind.TEXT, "Step", "Step number; unknown of a mean.", "identity"),
    Column("count", Kind.INT, "Steps", "Steps in a mean; 0 where the file does not tell.", ""),
    *(_DECLARED[key] for key in analysis.FIGURES),
    Column("flops", Kind.FLOAT, "MFLOPs", "Work of a step, million floating-point operations.", ""),
    Column("flops_rate", Kind.FLOAT, "GFLOPS", "Floating-point operations per second, 1e9.", ""),
    Column("utilisation", Kind.PERCENT, "FLOPS utilization", "Of what the cores could do, 0 to 100.", ""),
    Column("peak_bytes", Kind.BYTES, "Peak", "Most that was planned at once.", ""),
    Column("capacity_bytes", Kind.BYTES, "Capacity", "Memory of the device.", ""),
)
_BASES = ("mean", "recorded", "step")
#: Columns with one value per rank, shown in the row of its mean.
_PER_RANK = (
    ("flops_summary", ("flops", "flops_rate", "utilisation")),
    ("memory_summary", ("peak_bytes", "capacity_bytes")),
)


def cluster(spans: Sequence[SpanData]) -> tuple[Optional[ClusterJson], dict[str, ViewTable]]:
    """See ClusterJson; None if no span has these figures."""
    if not any(span.rows(table) for span in spans for table in NEEDS):
        return None, {}
    job = {key: value for span in spans for key, value in span.capture.distributed_args.items()}
    mode, stages, world = (job.get(key) for key in ("parallel_mode", STAGES, "world_size"))
    courses = [_rank_course(span, world, stages) for span in spans]
    links = [link for span, one in zip(spans, courses) for link in _links(span, one)]
    found: list[ClusterFinding] = []
    for basis in ("mean", "recorded"):
        ranks = [_figures(span, one, basis) for span, one in zip(spans, courses)]
        found += [replace(one, basis=basis) for one in rules.findings(mode, ranks, links)]
    data: ClusterJson = {
        "mode": mode,
        "stages": stages if mode == "pipeline" else None,
        "complete": world is not None and len({one.rank for one in courses} - {None}) >= world,
        "findings": found,
    }
    return data, {"trajectory": ViewTable(_table(spans, courses))}


def _rank_course(span: SpanData, world: Any, stages: Any) -> analysis.RankCourse:
    rank = span.capture.rank
    stage = analysis.stage_of(rank, world, stages)
    return analysis.course(rank, stage, span.table("iterations"), span.table("parallel_times"))


def _figures(span: SpanData, course: analysis.RankCourse, basis: analysis.Basis) -> rules.RankFigures:
    row = course.row(basis)
    times = {} if row is None else row.figures
    work = _per_rank_values(span)
    return rules.RankFigures(
        rank=course.rank,
        stage=course.stage,
        interval_ns=times.get("interval_ns"),
        computation_ns=times.get("computation_ns"),
        communication_alone_ns=times.get("communication_alone_ns"),
        receive_alone_ns=times.get("receive_alone_ns"),
        collective_alone_ns=times.get("collective_alone_ns"),
        flops=work["flops"],
        flops_rate=work["flops_rate"],
    )


def _per_rank_values(span: SpanData) -> dict[str, Any]:
    """Values of the columns with one value per rank."""
    out: dict[str, Any] = {}
    for name, keys in _PER_RANK:
        table = span.table(name)
        for key in keys:
            out[key] = None
            if table is not None and len(table):
                value = table.ints(key)[0] if table.column(key).kind.is_int else table.floats(key)[0]
                out[key] = None if value == NULL_INT or value != value else value.item()
    return out


def _links(span: SpanData, course: analysis.RankCourse) -> list[rules.LinkFigures]:
    """Traffic of each link to another rank, summed over steps."""
    table = span.table("comm_links")
    if table is None:
        return []
    sums: dict[tuple[int, int, str], list[int]] = defaultdict(lambda: [0, 0])
    steps = set(table.text("step").tolist())
    columns = table.ints("src").tolist(), table.ints("dst").tolist(), table.text("transport").tolist()
    sizes, times = table.ints("size_bytes").tolist(), table.ints("time_ns").tolist()
    for src, dst, transport, size, time in zip(*columns, sizes, times):
        if transport not in (None, LOCAL) and src != dst and NULL_INT not in (size, time):
            sums[src, dst, transport][0] += size
            sums[src, dst, transport][1] += time
    return [
        rules.LinkFigures(course.rank, course.stage, src, dst, transport, size, time, max(1, len(steps)))
        for (src, dst, transport), (size, time) in sums.items()
        if time
    ]


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
            **(_per_rank_values(span) if row.basis == "mean" else {}),
        }
        for key, items in lists.items():
            items.append(values.get(key))
    return from_lists(COLUMNS, lists)
