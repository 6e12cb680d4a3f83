"""Capture settings of a span, as JSON."""

from __future__ import annotations

import re
from typing import Any, Optional, TypedDict, cast

from tb_npu_plugin.analysis.grouping import group_rows
from tb_npu_plugin.analysis.ranks.world import least_world_size
from tb_npu_plugin.messages import MessageJson, messages_of
from tb_npu_plugin.model import SpanData
from tb_npu_plugin.schema.formats import FORMATS
from tb_npu_plugin.schema.registry import file_of
from tb_npu_plugin.schema.settings import AIC_METRICS
from tb_npu_plugin.tables import NULL_INT, GroupByQuery, IntArray
from tb_npu_plugin.views.base import device_kind, fields_of

_DEVICE = re.compile(r"[NG]PU:(\d+)")


class DatabaseJson(TypedDict):
    """A database, and what was read from it. Text files take precedence."""

    file: str
    """Path below the result folder."""
    tables: list[str]
    """Titles of the data that it filled."""
    texts: dict[str, MessageJson]
    """Code and parameters of the titles: "tables.0", "tables.1" ..."""


class DynamicWindowJson(TypedDict):
    """Steps selected for dynamic profiling, from the folder name."""

    start: int
    """First step."""
    stop: Optional[int]
    """Last step; null if the name lacks it."""


class CaptureJson(TypedDict):
    """Capture settings of a span. Null: not recorded."""

    producer: str
    """Profiler that wrote the result."""
    texts: dict[str, MessageJson]
    """Code and parameters of `producer`."""
    device: Optional[str]
    """Name of the chip."""
    device_ids: list[int]
    """Ids of the devices in the files."""
    device_kind: str
    """ "NPU", "GPU", "CPU", or "" where no device was recorded."""
    rank: Optional[int]
    """Rank in the job."""
    rank_source: str
    """File that the rank comes from, or "assumed"."""
    world_size: Optional[int]
    """Ranks of the job; at least those seen in the links."""
    ranks_profiled: int
    """Always 1: this span's rank. /api/catalog has those of the run."""
    level: Optional[str]
    """Profiler level."""
    aic_metrics: Optional[str]
    """AI Core metrics that were recorded."""
    activities: Optional[list[str]]
    """Activities that were recorded: CPU, NPU, …"""
    recorded: list[str]
    """Enabled switches."""
    not_recorded: list[str]
    """Disabled switches."""
    schedule: Optional[dict[str, int]]
    """Arguments of `schedule(...)`."""
    window: Optional[DynamicWindowJson]
    """Only set for dynamic profiling."""
    jit_level: Optional[str]
    """MindSpore's jit_level."""
    versions: dict[str, str]
    """Versions by program."""
    start_ns: Optional[str]
    """Start, ns since the epoch."""
    utc_offset_minutes: int
    """Time zone of the recorder; 0 if unknown."""
    duration_ns: Optional[int]
    """From start to end."""
    host: Optional[str]
    """Host name."""
    pid: Optional[int]
    """Process id."""
    simulated: bool
    """Whether a mock device wrote the device side."""
    environment: dict[str, str]
    """Recorded environment variables."""
    metadata: dict[str, Any]
    """Entries added by the training script with `add_metadata`."""
    files: list[str]
    """Files that are read, as paths below the result folder."""
    databases: list[DatabaseJson]
    """Databases that filled a table."""


def capture_json(span: SpanData) -> CaptureJson:
    """Capture settings of a span. `ranks_profiled` counts this span's rank only; /api/catalog has those of the run."""
    capture = span.capture
    times = capture.start_ns, capture.end_ns
    return fields_of(
        CaptureJson,
        capture,
        producer=FORMATS[span.format].title,
        texts=messages_of({"producer": FORMATS[span.format].title}),
        device=capture.device_name,
        device_ids=_device_ids(span),
        device_kind=device_kind(span),
        world_size=least_world_size([capture], [span.table("comm_links")]),
        ranks_profiled=1,
        aic_metrics=AIC_METRICS.get(capture.aic_metrics, capture.aic_metrics) if capture.aic_metrics else None,
        activities=None if capture.activities is None else list(capture.activities),
        recorded=[name for name, on in capture.switches.items() if on],
        not_recorded=[name for name, on in capture.switches.items() if not on],
        window=None if capture.window is None else {"start": capture.window[0], "stop": capture.window[1]},
        start_ns=None if times[0] is None else str(times[0]),
        duration_ns=None if times[0] is None or times[1] is None else times[1] - times[0],
        files=list(span.files),
        databases=_databases(span),
    )


def _databases(span: SpanData) -> list[DatabaseJson]:
    """Databases that filled tables."""
    format = FORMATS[span.format]
    known = [(path.rpartition("/")[2], format.file(kind)) for path, kind in span.kinds.items()]
    first = {table for _, file in known if file is not None and not file.fallback for table in file.tables}
    out: list[DatabaseJson] = []
    for name, file in known:
        if file is None or not file.fallback:
            continue
        filled = [table for table in file.tables if name in span.rows_by_file(table)]
        filled += [table for table in file.tables if table == "trace" and table not in first]
        if filled:
            titles = list(dict.fromkeys(file_of(table, span.format).title for table in filled))
            texts = messages_of({f"tables.{at}": title for at, title in enumerate(titles)})
            out.append({"file": name, "tables": [str(title) for title in titles], "texts": texts})
    return out


def _device_ids(span: SpanData) -> list[int]:
    """Physical ids from the Device_id columns; without them, the numbers of "NPU:0" or "GPU:0" in the memory tables,
    else those in the settings."""
    found: set[int] = set()
    for name in ("step_trace", "kernels", "op_statistic"):
        table = span.table(name)
        if table is not None and table.has("device_id"):
            ids = group_rows(table, GroupByQuery(("device_id",))).keys["device_id"]
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
