"""The figures that MindInsight's rules judge, of the ranks and links of a MindSpore job up to 2.2."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, Optional

from tb_npu_plugin.analysis.ranks import cluster_rules as rules
from tb_npu_plugin.analysis.ranks.cluster_rules import ClusterFinding
from tb_npu_plugin.analysis.steps import trajectory as analysis
from tb_npu_plugin.model import SpanData
from tb_npu_plugin.schema.torch_npu_json import LOCAL, STAGES
from tb_npu_plugin.tables import NULL_INT

#: Computed means, or the averages in the files.
Basis = Literal["mean", "recorded"]
#: Tables that hold such figures.
NEEDS = ("iterations", "parallel_times")
#: Columns with one value per rank.
PER_RANK = (
    ("flops_summary", ("flops", "flops_rate", "utilisation")),
    ("memory_summary", ("peak_bytes", "capacity_bytes")),
)


def job_of(spans: Sequence[SpanData]) -> tuple[Optional[str], Any, Any]:
    """(parallel mode, pipeline stages, ranks of the job)."""
    job = {key: value for span in spans for key, value in span.capture.distributed_args.items()}
    return job.get("parallel_mode"), job.get(STAGES), job.get("world_size")


def courses_of(spans: Sequence[SpanData]) -> list[analysis.RankCourse]:
    """The steps of each rank."""
    _, stages, world = job_of(spans)
    return [
        analysis.course(
            span.capture.rank,
            analysis.stage_of(span.capture.rank, world, stages),
            span.table("iterations"),
            span.table("parallel_times"),
        )
        for span in spans
    ]


def cluster_findings(
    spans: Sequence[SpanData], courses: Sequence[analysis.RankCourse], basis: Basis
) -> list[ClusterFinding]:
    """Results of MindInsight's rules. basis: computed means, or the averages in the files."""
    links = [link for span, one in zip(spans, courses) for link in _links(span, one)]
    ranks = [_figures(span, one, basis) for span, one in zip(spans, courses)]
    return [replace(one, basis=basis) for one in rules.findings(job_of(spans)[0], ranks, links)]


def _figures(span: SpanData, course: analysis.RankCourse, basis: analysis.Basis) -> rules.RankFigures:
    row = course.row(basis)
    times = {} if row is None else row.figures
    work = per_rank_values(span)
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


def per_rank_values(span: SpanData) -> dict[str, Any]:
    """Values of the columns with one value per rank."""
    out: dict[str, Any] = {}
    for name, keys in PER_RANK:
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
