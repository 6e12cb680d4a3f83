"""Writes meta.json of a timeline folder."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tb_npu_plugin.scan import TraceEvents
from tb_npu_plugin.schema.trace import STEP_MARK
from tb_npu_plugin.store.timeline.counters import Counters, track_fields
from tb_npu_plugin.store.timeline.files import Texts, load
from tb_npu_plugin.store.timeline.flows import Flows
from tb_npu_plugin.store.timeline.open import META
from tb_npu_plugin.store.timeline.rows import RowTable
from tb_npu_plugin.store.timeline.tracks import Track

#: Maximum number of steps in meta.json.
MAX_STEPS = 10_000
#: Maximum number of tracks that the page lists. Traces of large hosts have thousands.
MAX_TRACKS = 20_000


@dataclass(frozen=True)
class Origin:
    """The file that a timeline is built from. partial: number of bytes read; None: all."""

    name: str
    size: int
    mtime_ns: int
    partial: int | None = None

    @staticmethod
    def of(trace: Path) -> Origin:
        """Current size and time of the file; 0 if stat fails."""
        try:
            status = trace.stat()
        except OSError:
            return Origin(trace.name, 0, 0)
        return Origin(trace.name, status.st_size, status.st_mtime_ns)


def write_meta(
    folder: Path, origin: Origin, events: TraceEvents, rows: RowTable, flows: Flows, shown: int, **more: Any
) -> None:
    """Write meta.json. It is the last file of a timeline. shown: number of events that it shows."""
    meta = {
        **more,
        "events": shown,
        "slices": len(rows.start),
        "scanner": events.scanner,
        "source": origin.name,
        "source_size": origin.size,
        "source_mtime_ns": origin.mtime_ns,
        "partial": origin.partial,
        "args_blob": events.args_path is None,
        "steps": _steps(folder, rows),
        "flow_kinds": [events.category_name(kind) for kind in np.unique(flows.kind).tolist()],
    }
    (folder / META).write_text(json.dumps(meta), encoding="utf-8")


def _steps(folder: Path, rows: RowTable) -> list[tuple[str, int, int]]:
    """(step, start, end) of the step marks, sorted by start; the first if several threads mark a step."""
    texts, name = Texts(folder, "names"), load(folder, "name")
    marked = texts.with_match([re.compile(re.escape(STEP_MARK.encode()))])
    marks = [index for index in marked.tolist() if texts[index].startswith(STEP_MARK)]
    ids = np.flatnonzero(np.isin(name, marks)) if marks else np.zeros(0, dtype=np.int64)
    found: dict[str, tuple[str, int, int]] = {}
    for one in ids[np.argsort(rows.start[ids], kind="stable")].tolist():
        step = texts[int(name[one])][len(STEP_MARK) :]
        found.setdefault(step, (step, int(rows.start[one]), int(rows.start[one] + rows.dur[one])))
    return list(found.values())[:MAX_STEPS]


def shown_tracks(
    events: TraceEvents, tracks: list[tuple[Track, dict[str, Any]]], counters: Counters, rows: RowTable
) -> list[dict[str, Any]]:
    """Tracks in the form of meta.json; counter tracks include their series."""
    series_of: dict[Track, list[tuple[str, int, int, int]]] = {}
    start = 0
    for number, ((pid, name, key), end) in enumerate(zip(counters.series, counters.ends.tolist())):
        track = Track("counter", pid, -1, events.names[name])
        series_of.setdefault(track, []).append((key, number, start, end))
        start = end
    out = []
    for index, (track, shown) in enumerate(tracks):
        series = series_of.get(track, [])
        first, last = int(rows.track_row[index]), int(rows.track_row[index + 1])
        values = np.concatenate([np.zeros(0), *(counters.value[a:b] for _, _, a, b in series)])
        out.append(
            {
                **shown,
                **track_fields([key for key, *_ in series], values),
                "rows": last - first if track.kind == "slices" else 1,
                "slices": int(rows.first[last] - rows.first[first]),
                "series": series,
            }
        )
    return out
