"""Small traces for tests: written, built and opened."""

from __future__ import annotations

import json
import struct
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from tb_npu_plugin.problems import Problem, ProblemLog
from tb_npu_plugin.store.timeline.build import build_timeline
from tb_npu_plugin.store.timeline.open import Timeline


def event(name: str, start: float, dur: float, tid: int = 1, pid: int = 1, **more: Any) -> dict[str, Any]:
    """A complete event; times in us."""
    return {"ph": "X", "name": name, "pid": pid, "tid": tid, "ts": f"{start:.3f}", "dur": dur, **more}


def metadata(kind: str, pid: int, tid: int = 0, **args: Any) -> dict[str, Any]:
    """A metadata event."""
    return {"ph": "M", "name": kind, "pid": pid, "tid": tid, "args": args}


def flow(phase: str, flow_id: Any, time: float, tid: int = 1, cat: str = "k", **more: Any) -> dict[str, Any]:
    """A flow event; time in us."""
    return {"ph": phase, "name": "arrow", "cat": cat, "id": flow_id, "pid": 1, "tid": tid, "ts": time, **more}


def open_trace(events: Any, folder: Path | None = None) -> tuple[Timeline, list[Problem]]:
    """Build and open the timeline of some events (or of a file's text) in a new folder."""
    folder = Path(tempfile.mkdtemp(dir=folder))
    path = folder / "trace_view.json"
    path.write_text(events if isinstance(events, str) else json.dumps(events), encoding="utf-8")
    out = folder / "timeline"
    out.mkdir()
    log = ProblemLog()
    build_timeline(path, out, log, lambda n: None)
    return Timeline.open(out, path), log.list()


def decode(data: Any) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
    """Header and columns of a binary answer, as docs/http_api.md words it."""
    magic, length = struct.unpack_from("<II", data)
    assert (magic, length % 8) == (0x5542504E, 0)
    header = json.loads(data[8 : 8 + length])
    columns: dict[str, np.ndarray[Any, Any]] = {}
    for name, (kind, offset, count, *less) in header["columns"].items():
        assert offset % 8 == 0
        if kind == "packed":
            planes = np.frombuffer(data, np.uint8, 4 * count, 8 + length + offset).reshape(4, -1)
            values = np.zeros(count, dtype=np.uint32)
            for number, plane in enumerate(planes):
                values += plane.astype(np.uint32) << 8 * number
            for other in less[0]:
                values = np.cumsum(values, dtype=np.uint32) if other == name else values + columns[other]
            columns[name] = values
        else:
            columns[name] = np.frombuffer(data, {"u32": "<u4", "f64": "<f8"}[kind], count, 8 + length + offset)
    return header, columns
