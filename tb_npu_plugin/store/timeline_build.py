"""Makes the timeline folder of a span from its trace."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis import packing
from tb_npu_plugin.errors import BadFile
from tb_npu_plugin.problems import Problem, ProblemLog
from tb_npu_plugin.scan import TraceEvents, scan_trace
from tb_npu_plugin.scan.args import ArgsFile
from tb_npu_plugin.store.timeline_counters import Counters, read_counters, track_fields
from tb_npu_plugin.store.timeline_files import save, save_texts
from tb_npu_plugin.store.timeline_flows import Flows, make_flows
from tb_npu_plugin.store.timeline_levels import save_levels
from tb_npu_plugin.store.timeline_native import chosen_packing
from tb_npu_plugin.store.timeline_open import ARGS_BLOB, META
from tb_npu_plugin.store.timeline_operators import write_operators
from tb_npu_plugin.store.timeline_rows import Rows
from tb_npu_plugin.store.timeline_slices import Slices, make_slices
from tb_npu_plugin.store.timeline_tracks import Names, Track, ordered, read_names

Index = NDArray[np.int64]


def build_timeline(trace: Path, out: Path, log: ProblemLog, progress: Callable[[int], None]) -> None:
    """Read a trace and write its timeline into the folder `out`, which must exist and be empty.

    progress: bytes of the file read since the last call. Defects go to `log`. Raises BadFile when the file holds
    nothing to show; OSError when `out` cannot be written.
    """
    stamp = _stamp(trace)
    with (out / ARGS_BLOB).open("wb") as blob:
        events = scan_trace(trace, log, progress, blob)
    if not len(events):
        raise BadFile(f"{trace.name} holds no events", "Export the trace again.")
    if events.args_path is not None:
        (out / ARGS_BLOB).unlink()
    with ExitStack() as stack:
        args: ArgsFile | None = None
        try:
            args = stack.enter_context(ArgsFile(events.args_path or out / ARGS_BLOB))
        except OSError as error:
            log.add(_no_args(trace.name, error))
        _Builder(trace, out, log, events, args, stamp).build()


class _Builder:
    """One build: columns of events in, files out."""

    def __init__(
        self,
        trace: Path,
        out: Path,
        log: ProblemLog,
        events: TraceEvents,
        args: ArgsFile | None,
        stamp: tuple[int, int],
    ) -> None:
        self._trace, self._out, self._log, self._stamp = trace, out, log, stamp
        self._events, self._args = events, args

    def build(self) -> None:
        """Everything, in order; intermediate columns are given up as soon as they are written."""
        events = self._events
        slices = make_slices(events, self._trace.name, self._log)
        counters = read_counters(events, self._args, self._trace.name, self._log)
        names = read_names(events, self._args)
        tracks, slice_track = self._tracks(slices, counters, names)
        times = [part for part in (slices.start, counters.time) if len(part)]
        if not times:
            raise BadFile(f"{self._trace.name} holds no slices and no counters", "Export the trace again.")
        base = min(int(part.min()) for part in times)
        ends = [int((slices.start + slices.dur).max())] if len(slices.start) else []
        ends += [int(counters.time.max())] if len(counters.time) else []
        event, rows = self._pack(slices, slice_track, base, len(tracks))
        self._save_slices(event, rows)
        flows = make_flows(events, rows, base, self._track_lookup(tracks))
        self._save_flows(flows)
        self._save_counters(counters, base)
        write_operators(self._out, events, self._args)
        shown = self._shown_tracks(tracks, counters, rows)
        self._save_meta(shown, base, max(ends), rows, flows)

    def _tracks(self, slices: Slices, counters: Counters, names: Names) -> tuple[list[tuple[Track, dict]], Index]:  # type: ignore[type-arg]
        """Tracks in display order, and the track number of each slice."""
        events = self._events
        width = len(events.tids) + 1
        key = (events.pid[slices.event].astype(np.int64) + 1) * width + events.tid[slices.event] + 1
        distinct, code = np.unique(key, return_inverse=True)
        found = [Track("slices", one // width - 1, one % width - 1, "") for one in distinct.tolist()]
        curves = dict.fromkeys(Track("counter", pid, -1, events.names[name]) for pid, name, _ in counters.series)
        tracks = ordered([*found, *curves], names, events.pids, events.tids)
        number = {track: index for index, (track, _) in enumerate(tracks)}
        return tracks, np.array([number[track] for track in found], dtype=np.int64)[code]

    def _pack(self, slices: Slices, track: Index, base: int, tracks: int) -> tuple[Index, Rows]:
        """Sort slices by track, depth, start; write depth-dependent columns. Returns their events and rows."""
        start = slices.start - base
        order = np.lexsort((-slices.dur, start, track))
        event, start, dur, track = slices.event[order], start[order], slices.dur[order], track[order]
        depth = np.empty(len(order), dtype=np.int32)
        parent = np.empty(len(order), dtype=np.int32)
        own = np.empty(len(order), dtype=np.int64)
        bounds = np.searchsorted(track, np.arange(tracks + 1))
        packer = chosen_packing()
        for low, high in zip(bounds[:-1].tolist(), bounds[1:].tolist()):
            part = slice(low, high)
            depth[part], above = packer.pack(start[part], dur[part])
            own[part] = packer.self_time(start[part], dur[part], above)
            parent[part] = np.where(above >= 0, above + low, -1)
        final = np.lexsort((start, depth, track))
        hidden = int((depth < 0).sum())
        if hidden:
            self._log.add(_too_deep(self._trace.name, hidden))
            final = final[depth[final] >= 0]
        place = np.full(len(order) + 1, -1, dtype=np.int32)  # the last stands for "no parent"
        place[final] = np.arange(len(final), dtype=np.int32)
        save(self._out, "parent", place[parent[final]])
        save(self._out, "self", own[final])
        rows = Rows.of(start[final], dur[final], track[final], depth[final], tracks)
        return event[final], rows

    def _save_slices(self, event: Index, rows: Rows) -> None:
        events = self._events
        save(self._out, "start", rows.start)
        save(self._out, "dur", rows.dur)
        save(self._out, "row_first", rows.first)
        save(self._out, "track_row", rows.track_row)
        used, name = np.unique(events.name[event], return_inverse=True)
        save(self._out, "name", name.astype(np.int32))
        save_texts(self._out, "names", [events.names[code] for code in used.tolist()])
        save(self._out, "category", events.category[event])
        save_texts(self._out, "categories", events.categories)
        save(self._out, "args_offset", events.args_offset[event])
        save(self._out, "args_length", events.args_length[event].astype(np.uint32))

    def _track_lookup(self, tracks: list[tuple[Track, dict[str, Any]]]) -> Callable[[Index], Index]:
        events = self._events
        width = len(events.tids) + 1
        known = {
            (track.pid + 1) * width + track.tid + 1: index
            for index, (track, _) in enumerate(tracks)
            if track.kind == "slices"
        }
        keys = np.array(sorted(known), dtype=np.int64)
        numbers = np.array([known[key] for key in keys.tolist()], dtype=np.int64)

        def lookup(rows: Index) -> Index:
            wanted = (events.pid[rows].astype(np.int64) + 1) * width + events.tid[rows] + 1
            if not len(keys):
                return np.full(len(rows), -1, dtype=np.int64)
            place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
            return np.where(keys[place] == wanted, numbers[place], -1)

        return lookup

    def _save_flows(self, flows: Flows) -> None:
        save(self._out, "flow_source", flows.source)
        save(self._out, "flow_target", flows.target)
        save(self._out, "flow_kind", flows.kind)
        save(self._out, "flow_by_target", np.argsort(flows.target, kind="stable"))

    def _save_counters(self, counters: Counters, base: int) -> None:
        save(self._out, "counter_time", counters.time - base)
        save(self._out, "counter_value", counters.value)

    def _shown_tracks(
        self, tracks: list[tuple[Track, dict[str, Any]]], counters: Counters, rows: Rows
    ) -> list[dict[str, Any]]:
        """Tracks as meta.json keeps them; a counter with its series and their places."""
        events = self._events
        series_of: dict[Track, list[tuple[str, int, int]]] = {}
        start = 0
        for (pid, name, key), end in zip(counters.series, counters.ends.tolist()):
            track = Track("counter", pid, -1, events.names[name])
            series_of.setdefault(track, []).append((key, start, end))
            start = end
        out = []
        for index, (track, shown) in enumerate(tracks):
            series = series_of.get(track, [])
            first, last = int(rows.track_row[index]), int(rows.track_row[index + 1])
            values = np.concatenate([np.zeros(0), *(counters.value[a:b] for _, a, b in series)])
            out.append(
                {
                    **shown,
                    **track_fields([key for key, _, _ in series], values),
                    "rows": last - first if track.kind == "slices" else 1,
                    "slices": int(rows.first[last] - rows.first[first]),
                    "series": series,
                }
            )
        return out

    def _save_meta(self, tracks: list[dict[str, Any]], base: int, end: int, rows: Rows, flows: Flows) -> None:
        events = self._events
        kinds = np.unique(flows.kind).tolist()
        meta = {
            "base_ns": base,
            "end_ns": end,
            "events": len(events),
            "slices": len(rows.start),
            "scanner": events.scanner,
            "source": self._trace.name,
            "source_size": self._stamp[0],
            "source_mtime_ns": self._stamp[1],
            "args_blob": events.args_path is None,
            "levels": save_levels(self._out, rows),
            "tracks": tracks,
            "flow_kinds": [events.categories[kind] if kind >= 0 else "" for kind in kinds],
            "flows_unmatched": {
                (events.categories[kind] if kind >= 0 else ""): lost for kind, lost in flows.unmatched.items()
            },
        }
        (self._out / META).write_text(json.dumps(meta), encoding="utf-8")


def _stamp(trace: Path) -> tuple[int, int]:
    try:
        status = trace.stat()
    except OSError:
        return 0, 0
    return status.st_size, status.st_mtime_ns


def _no_args(file: str, error: OSError) -> Problem:
    return Problem(
        code="unreadable_file",
        file=file,
        where="",
        expected="the file that was just read",
        found=error.strerror or str(error),
        lost="Names of processes and threads, counters, and the details of slices.",
        action="Open the trace again.",
    )


def _too_deep(file: str, count: int) -> Problem:
    return Problem(
        code="too_deep",
        file=file,
        where="",
        expected=f"at most {packing.MAX_DEPTH} slices at a time on one thread",
        found="more",
        lost="The slices beyond.",
        action="Look for threads that share one id.",
        count=count,
    )
