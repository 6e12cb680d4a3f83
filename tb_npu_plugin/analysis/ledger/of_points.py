"""The ledger of a rank of MindSpore up to 2.2, whose profiler records points of each step, and sums for each rank of a cluster."""

from __future__ import annotations

from typing import Optional

from tb_npu_plugin.analysis.ledger.model import Entry, EntryKind, Needs, RankLedger
from tb_npu_plugin.analysis.steps import trajectory
from tb_npu_plugin.model import SpanData


def ledger_of_points(span: SpanData) -> Optional[RankLedger]:
    """The mean step; None without step times.

    With the sums of a cluster: exposed communication, and the time that is computing or idle. Else the points: the gap before the forward pass,
    forward and backward pass, and the tail. What ran on the device between two points is unknown.
    """
    course = trajectory.course(span.capture.rank, None, span.table("iterations"), span.table("parallel_times"))
    means = [found.figures for basis in ("mean", "recorded") if (found := course.row(basis)) is not None]
    figures = next((one for one in means if one.get("total_ns")), None)
    if figures is None:
        return None
    total = figures["total_ns"] or 0
    computing, communication = figures.get("computation_ns"), figures.get("communication_alone_ns")
    if computing is not None and communication is not None:
        total = max(total, computing + communication)
        entries = [
            _entry("computing", "or_idle", computing, "kernels"),
            _entry("communication", "", communication, "ranks"),
            _entry("unexplained", "idle", total - computing - communication, "trace"),
        ]
    else:
        gap, tail = (figures.get(key) or 0 for key in ("interval_ns", "tail_ns"))
        entries = [
            _entry("computing", "forward_backward", total - gap - tail, "kernels"),
            _entry("computing", "tail", tail, "kernels"),
            _entry("unexplained", "gap", gap, "trace"),
        ]
    return RankLedger(span, None, total, 0, 0, 0, 0, tuple(one for one in entries if one.ns))


def _entry(kind: EntryKind, detail: str, ns: int, needs: Needs) -> Entry:
    return Entry(kind, detail, ns, ns, ns, None, needs)
