"""Builds the timeline folder of a span from its trace."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Optional

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis import packing
from tb_npu_plugin.errors import NoEvents
from tb_npu_plugin.messages import Message
from tb_npu_plugin.problems import Problem, ProblemLog, problem_of
from tb_npu_plugin.readers.shared.repeated_events import drop_stray_events, hide_repeated_events
from tb_npu_plugin.readers.shared.report import FileReport
from tb_npu_plugin.refusal import raise_if_of_environment
from tb_npu_plugin.scan import Scan, ScanSink, TraceEvents, scan_trace
from tb_npu_plugin.scan.args import ArgsFile
from tb_npu_plugin.store.timeline.arrows import save_arrows
from tb_npu_plugin.store.timeline.counters import Counters, read_counters
from tb_npu_plugin.store.timeline.curves import save_curves
from tb_npu_plugin.store.timeline.files import save
from tb_npu_plugin.store.timeline.flows import Flows, make_flows
from tb_npu_plugin.store.timeline.layout import write_slices
from tb_npu_plugin.store.timeline.levels import SliceColumns, save_levels
from tb_npu_plugin.store.timeline.meta import MAX_TRACKS, Origin, shown_tracks, write_meta
from tb_npu_plugin.store.timeline.open import ARGS_BLOB
from tb_npu_plugin.store.timeline.operators import read_operators, write_operators
from tb_npu_plugin.store.timeline.previews import Previews
from tb_npu_plugin.store.timeline.rebuilt_tables import rebuild_tables
from tb_npu_plugin.store.timeline.slices import Slices, make_slices
from tb_npu_plugin.store.timeline.tracks import (
    Names,
    Track,
    distinct_tracks,
    order_tracks,
    read_names,
    track_keys,
    track_of_key,
)
from tb_npu_plugin.tables import Table

Index = NDArray[np.int64]
#: Derives logical tables from the events of a trace and their args.
Derive = Callable[[TraceEvents, Optional[ArgsFile], ProblemLog], dict[str, Table]]
_SPOOL = "spool"
#: Temporary subfolder with the events within the recording.
_WITHOUT_STRAYS = "without_strays"
#: Approximate share of reading the file in the build time.
_READING_SHARE = 0.35


class BuildProgress:
    """Converts read bytes and built shares to progress in bytes of the file; see _READING_SHARE."""

    def __init__(self, size: int, report: Callable[[int], None]) -> None:
        self._size, self._report = size, report
        self._read = self._reported = 0

    def read(self, count: int) -> None:
        """`count` more bytes of the file were read."""
        self._read += count
        self._report_up_to(_READING_SHARE * self._read)

    def made(self, share: float) -> None:
        """This share of the timeline was built, 0 to 1."""
        self._report_up_to(self._size * (_READING_SHARE + (1 - _READING_SHARE) * share))

    def _report_up_to(self, reached: float) -> None:
        if reached > self._reported:
            count = int(reached) - self._reported
            self._reported += count
            self._report(count)


def _ignore_progress(share: float) -> None:
    """No-op progress."""


def build_timeline(
    trace: Path,
    out: Path,
    log: ProblemLog,
    progress: Callable[[int], None],
    preview: Callable[[Path], None] | None = None,
    scan: Scan = scan_trace,
    derive: Derive | None = None,
    size: int | None = None,
    rebuild: bool = False,
) -> dict[str, Table]:
    """Read a trace and write its timeline.

    Args:
        out: Existing empty folder.
        log: Gets the problems of the trace.
        progress: Called with the bytes processed since the last call, see BuildProgress.
        preview: Called with the folder of each timeline of the trace's beginning that is built during reading.
        scan: Reads the events.
        derive: Derives tables from the events. Without it, the operators are rebuilt and written with the timeline.
        size: Bytes of all files of a trace in several pieces.
        rebuild: Without `derive`, build the tables of the device, too.

    Returns:
        The tables of `derive`, or of the device.

    Raises:
        BadFile: The file holds nothing to show.
        OSError: `out` cannot be written.
    """
    origin = Origin.of(trace)
    spool = out / _SPOOL  # columns stay on disk: a large trace must not fill the memory
    spool.mkdir()
    blob = out / ARGS_BLOB
    size = origin.size if size is None else size
    bytes_done = BuildProgress(size, progress)
    try:
        with blob.open("wb") as args:
            previews = Previews(out, origin, args, _write_preview, preview)

            def count(done: int) -> None:
                previews.progress(done)
                bytes_done.read(done)

            positions = previews.positions(size)
            events = scan(trace, log, count, ScanSink(args, spool, previews.make, positions))
        if not len(events):
            raise NoEvents(Message("found.no_events", file=trace.name), Message("action.export_trace"))
        if events.args_path is not None:
            blob.unlink()
        tables = write_timeline(out, events, events.args_path or blob, origin, log, bytes_done.made, derive, rebuild)
        del events
        return tables
    finally:
        shutil.rmtree(spool, ignore_errors=True)


def write_timeline(
    out: Path,
    events: TraceEvents,
    args: Path,
    origin: Origin,
    log: ProblemLog,
    made: Callable[[float], None] = _ignore_progress,
    derive: Derive | None = None,
    rebuild: bool = False,
) -> dict[str, Table]:
    """Write the timeline of events whose args are in the file `args`. made: called with the built share, 0 to 1. See
    build_timeline."""
    tables: dict[str, Table] = {}
    try:
        with args.open("rb"):
            args_path: Path | None = args
    except OSError as error:
        raise_if_of_environment(error)
        log.add(_no_args(origin.name, error))
        args_path = None
    columns = out / _WITHOUT_STRAYS
    columns.mkdir()
    events = hide_repeated_events(drop_stray_events(events, origin.name, log, columns), origin.name, log)
    if derive is None:
        # A thread reads the args of the operators in parallel, from the file opened twice. It takes little memory.
        with (
            _open_args(args_path) as file,
            _open_args(args_path) as second,
            ThreadPoolExecutor(1, "npu-operators") as pool,
        ):
            read = pool.submit(read_operators, out, events, second)
            _Builder(out, log, events, file, origin).build(made)
            write_operators(out, events, read.result())
        with _open_args(args_path) as file:
            tables = rebuild_tables(events, file, log, only_iterations=not rebuild)
    else:
        with _open_args(args_path) as file:
            _Builder(out, log, events, file, origin).build(made)
        with _open_args(args_path) as file:
            tables = derive(events, file, log)
    shutil.rmtree(columns)  # mapped columns stay readable
    made(1)
    return tables


def _write_preview(out: Path, events: TraceEvents, args: Path, origin: Origin, log: ProblemLog) -> None:
    """Write a timeline without tables, as only the trace view shows it."""
    write_timeline(out, events, args, origin, log, derive=lambda *_: {})


@contextmanager
def _open_args(args: Path | None) -> Iterator[ArgsFile | None]:
    if args is None:
        yield None
        return
    with ArgsFile(args) as file:
        yield file


class _Builder:
    """Writes the files of one timeline from columns of events."""

    def __init__(self, out: Path, log: ProblemLog, events: TraceEvents, args: ArgsFile | None, origin: Origin) -> None:
        self._out, self._log, self._origin = out, log, origin
        self._events, self._args = events, args

    def build(self, made: Callable[[float], None]) -> None:
        """Write everything except the operators. Columns are freed as soon as they are written."""
        events, file = self._events, self._origin.name
        shown = np.zeros(len(events), dtype=np.bool_)  # events that the timeline holds
        slices = make_slices(events, file, self._log)
        counters = read_counters(events, self._args, file, self._log)
        base, end = self._time_range(slices, counters)
        keys, code = distinct_tracks(events, slices.event)
        names = read_names(events, self._args, file, self._log)
        tracks, number = self._tracks(keys, counters, names)
        track = number[code].astype(np.min_scalar_type(len(tracks)))
        del code
        made(0.15)
        rows, deep = write_slices(self._out, events, slices, track, len(tracks), base, shown)
        shown[slices.end] = shown[slices.begin]
        if len(deep):
            self._log.add(problem_of("too_deep", file, count=packing.MAX_DEPTH, times=len(deep)))
            self._tell(len(deep) + int(np.isin(slices.begin, deep).sum()))
        del slices, track
        made(0.55)

        def track_of(points: Index) -> Index:
            wanted = track_keys(events, points)
            place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
            return np.where(keys[place] == wanted, number[place], -1) if len(keys) else np.full(len(points), -1)

        flows = make_flows(events, rows, base, track_of)
        self._save_flows(flows)
        if flows.unmatched:
            self._report_unmatched(flows.unmatched)
        shown[flows.ends] = shown[counters.events] = shown[names.events] = True
        if len(tracks) > MAX_TRACKS:
            self._leave_out_unlisted(shown, [track for track, _ in tracks], track_of)
        count = int(np.count_nonzero(shown))
        self._log.seen.add(file, "events", shown=count)
        made(0.7)
        time = counters.time - base
        save(self._out, "counter_time", time)
        save(self._out, "counter_value", counters.value)
        write_meta(
            self._out,
            self._origin,
            events,
            rows,
            flows,
            shown=count,
            base_ns=base,
            end_ns=end,
            levels=save_levels(self._out, SliceColumns.load(self._out), rows),
            arrows=save_arrows(self._out, flows, rows),
            curves=save_curves(self._out, time, counters.value, counters.ends),
            tracks=shown_tracks(events, tracks, counters, rows),
        )
        made(0.9)  # the operators may take longer

    def _time_range(self, slices: Slices, counters: Counters) -> tuple[int, int]:
        """(first, last) time of all slices and counters, ns since the epoch."""
        start, dur = slices.times(self._events, slices.event)
        if not len(start) and not len(counters.time):
            raise NoEvents(Message("found.no_slices", file=self._origin.name), Message("action.export_trace"))
        extents = [(int(start.min()), int((start + dur).max()))] if len(start) else []
        if len(counters.time):
            extents.append((int(counters.time.min()), int(counters.time.max())))
        return min(first for first, _ in extents), max(last for _, last in extents)

    def _tell(self, count: int) -> None:
        """Count events that are left out with a problem."""
        self._log.seen.add(self._origin.name, "events", told=count)

    def _report_unmatched(self, unmatched: Mapping[int, int]) -> None:
        """Report the flow events without a partner or without a slice. unmatched: number by category."""
        count, kinds = sum(unmatched.values()), sorted(map(self._events.category_name, unmatched))
        report = FileReport(self._log, self._origin.name)
        report.leave_out("events", "unmatched_flow", found=", ".join(kinds), count=count)

    def _leave_out_unlisted(
        self, shown: NDArray[np.bool_], tracks: Sequence[Track], track_of: Callable[[Index], Index]
    ) -> None:
        """Report the tracks that the page does not list, and take their events out of `shown`."""
        self._log.add(problem_of("too_many_tracks", self._origin.name, found=str(len(tracks)), count=MAX_TRACKS))
        events, rows = self._events, np.flatnonzero(shown)
        listed = {(track.pid, track.name) for track in tracks[:MAX_TRACKS] if track.kind == "counter"}
        points = rows[events.phase[rows] == ord("C")]
        of = zip(events.pid[points].tolist(), events.name[points].tolist())
        unlisted = np.fromiter(((pid, events.names[name]) not in listed for pid, name in of), np.bool_, len(points))
        others = rows[~np.isin(events.phase[rows], [ord("C"), ord("M")])]  # names count as shown
        left_out = np.concatenate([points[unlisted], others[track_of(others) >= MAX_TRACKS]])
        shown[left_out] = False
        self._tell(len(left_out))

    def _tracks(
        self, keys: Index, counters: Counters, names: Names
    ) -> tuple[list[tuple[Track, dict[str, Any]]], Index]:
        """Tracks in display order, and the track number of each key."""
        events = self._events
        found = [track_of_key(events, key) for key in keys.tolist()]
        curves = dict.fromkeys(Track("counter", pid, -1, events.names[name]) for pid, name, _ in counters.series)
        tracks = order_tracks([*found, *curves], names, events.pids, events.tids)
        number = {track: index for index, (track, _) in enumerate(tracks)}
        return tracks, np.array([number[track] for track in found], dtype=np.int64)

    def _save_flows(self, flows: Flows) -> None:
        save(self._out, "flow_source", flows.source)
        save(self._out, "flow_target", flows.target)
        save(self._out, "flow_kind", flows.kind)
        save(self._out, "launched", flows.launched)
        save(self._out, "launch", flows.launch)
        save(self._out, "flow_by_target", np.argsort(flows.target, kind="stable"))


def _no_args(file: str, error: OSError) -> Problem:
    return problem_of(
        "unreadable_file",
        file,
        expected=Message("expected.same_file"),
        found=error.strerror or str(error),
        lost=Message("lost.args"),
        action=Message("action.reopen_trace"),
    )
