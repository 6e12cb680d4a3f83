"""Overview: the budget of each step, how the span was recorded, the top kernels and operators."""

from __future__ import annotations

import re
from typing import cast

from tb_npu_plugin.analysis.grouping import largest_first, summed
from tb_npu_plugin.analysis.kernels import statistics as kernel_analysis
from tb_npu_plugin.analysis.operators import statistics as operator_analysis
from tb_npu_plugin.analysis.ranks.world import least_world_size
from tb_npu_plugin.messages import messages_of
from tb_npu_plugin.model import SpanData
from tb_npu_plugin.schema.formats import FORMATS
from tb_npu_plugin.schema.registry import file_of
from tb_npu_plugin.schema.settings import AIC_METRICS
from tb_npu_plugin.tables import NULL_INT, GroupByQuery, IntArray, Table
from tb_npu_plugin.views.base import View, ViewInput, ViewResult, ViewTable, device_kind
from tb_npu_plugin.views.contract import CaptureJson, DatabaseJson, OverviewJson
from tb_npu_plugin.views.step_trace import mean_course
from tb_npu_plugin.views.steps import are_computed, steps_of

#: Rows of the tables "kernels" and "operators".
TOP = 10
_DEVICE = re.compile(r"[NG]PU:(\d+)")


def build(source: ViewInput) -> ViewResult:
    """See OverviewJson."""
    span = source.spans[0]
    steps, steps_source = steps_of(span)
    course, course_steps = (None, 0) if steps else mean_course(span)
    data: OverviewJson = {
        "steps": steps,
        "steps_source": steps_source,
        "steps_computed": are_computed(span),
        "course": course,
        "course_steps": course_steps,
        "capture": capture_json(span),
    }
    tables = {}
    kernels, operators = _top_kernels(span), span.table("operators")
    if kernels is not None:
        tables["kernels"] = ViewTable(kernels, "total_ns")
    if operators is not None:
        tables["operators"] = _top_operators(operators)
    return ViewResult(data, tables, span.base_ns)


def capture_json(span: SpanData) -> CaptureJson:
    """How a span was recorded. `ranks_profiled` counts this span's rank only: /api/ranks has the run's."""
    capture = span.capture
    times = capture.start_ns, capture.end_ns
    return {
        "producer": FORMATS[span.format].title,
        "texts": messages_of({"producer": FORMATS[span.format].title}),
        "device": capture.device_name,
        "device_ids": _device_ids(span),
        "device_kind": device_kind(span),
        "rank": capture.rank,
        "rank_source": capture.rank_source,
        "world_size": least_world_size([capture], [span.table("comm_links")]),
        "ranks_profiled": 1,
        "level": capture.level,
        "aic_metrics": AIC_METRICS.get(capture.aic_metrics, capture.aic_metrics) if capture.aic_metrics else None,
        "activities": None if capture.activities is None else list(capture.activities),
        "recorded": [name for name, on in capture.switches.items() if on],
        "not_recorded": [name for name, on in capture.switches.items() if not on],
        "schedule": capture.schedule,
        "window": None if capture.window is None else {"start": capture.window[0], "stop": capture.window[1]},
        "jit_level": capture.jit_level,
        "versions": capture.versions,
        "start_ns": None if times[0] is None else str(times[0]),
        "utc_offset_minutes": capture.utc_offset_minutes,
        "duration_ns": None if times[0] is None or times[1] is None else times[1] - times[0],
        "host": capture.host,
        "pid": capture.pid,
        "simulated": capture.simulated,
        "environment": capture.environment,
        "metadata": capture.metadata,
        "files": list(span.files),
        "databases": _databases(span),
    }


def _databases(span: SpanData) -> list[DatabaseJson]:
    """Which parts come from databases."""
    format = FORMATS[span.format]
    known = [(name, format.file(name)) for name in (path.rpartition("/")[2] for path in span.files)]
    first = {table for _, file in known if file is not None and not file.fallback for table in file.tables}
    out: list[DatabaseJson] = []
    for name, file in known:
        if file is None or not file.fallback:
            continue
        filled = [table for table in file.tables if name in span.rows_by_file(table)]
        filled += [table for table in file.tables if table == "trace" and table not in first]
        if filled:
            titles = dict.fromkeys(file_of(table, span.format).title for table in filled)
            out.append({"file": name, "tables": list(titles)})
    return out


def _device_ids(span: SpanData) -> list[int]:
    """Physical ids of the Device_id columns; where no file has one, the numbers of "NPU:0" or "GPU:0" in the memory
    tables, else what the settings say."""
    found: set[int] = set()
    for name in ("step_trace", "kernels", "op_statistic"):
        table = span.table(name)
        if table is not None and table.has("device_id"):
            ids = summed(table, GroupByQuery(("device_id",))).keys["device_id"]
            found.update(value for value in cast(IntArray, ids).tolist() if value != NULL_INT)
    if found:
        return sorted(found)
    for name in ("memory_record", "op_memory"):
        table = span.table(name)
        if table is not None:
            matches = (_DEVICE.fullmatch(device) for device in table.text("device").values)
            found.update(int(match.group(1)) for match in matches if match)
    if not found and span.capture.device_id is not None:
        found.add(span.capture.device_id)
    return sorted(found)


def _top_kernels(span: SpanData) -> Table | None:
    kernels = span.table("kernels")
    if kernels is not None:
        return kernel_analysis.top_computing(kernels, TOP)
    statistic = span.table("op_statistic")
    return None if statistic is None else statistic.take(largest_first(statistic.ints("total_ns"))[:TOP])


def _top_operators(operators: Table) -> ViewTable:
    """By device self time; by host self time where nothing ran on a device."""
    table = operator_analysis.by_name(operators)
    sort = "device_self_ns" if (table.ints("device_self_ns") > 0).any() else "host_self_ns"
    return ViewTable(table.take(largest_first(table.ints(sort))[:TOP]), sort)


VIEW = View(id="overview", title="Overview", scope="span", needs=(), build=build, contract=OverviewJson, early=True)
