"""Assigns slices to rows, track by track, and writes their columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis import packing
from tb_npu_plugin.analysis.packing import Int32
from tb_npu_plugin.scan import TraceEvents, native_or_python
from tb_npu_plugin.store.timeline.columns import ColumnFile
from tb_npu_plugin.store.timeline.files import Texts, compact, load, save, save_texts
from tb_npu_plugin.store.timeline.levels import waiting_names
from tb_npu_plugin.store.timeline.rows import ROWS, RowTable
from tb_npu_plugin.store.timeline.slices import Slices
from tb_npu_plugin.tables import IntArray


class Packing(Protocol):
    """Interface of analysis.packing and analysis.native_packing."""

    def pack(self, start: IntArray, dur: IntArray, /) -> tuple[Int32, Int32]:
        """See packing.pack."""

    def self_time(self, start: IntArray, dur: IntArray, parent: Int32, /) -> IntArray:
        """See packing.self_time."""


def load_packing() -> Packing:
    """The packing module that TB_NPU_SCANNER selects. Raises ImportError if it selects C and that is not built."""

    def load_native() -> Packing:
        from tb_npu_plugin.analysis import native_packing

        return native_packing

    return native_or_python(load_native, lambda: packing)


Index = NDArray[np.int64]
#: Maximum number of slices, and of tracks, per batch.
_BATCH = 1 << 15
#: Maximum shift of times, in ns.
_MAX_SHIFT = 1 << 62


def write_slices(
    folder: Path,
    events: TraceEvents,
    slices: Slices,
    track: NDArray[Any],
    tracks: int,
    base: int,
    shown: NDArray[np.bool_],
) -> tuple[RowTable, NDArray[Any]]:
    """Write all slices, sorted by track, depth, start.

    Args:
        track: Track number of each slice.
        base: Origin of slice times, ns since the epoch.
        shown: Mask of all events. The events of the written slices are added.

    Returns:
        The row table over the mapped columns, and the events of the slices too deep to be shown.
    """
    used, place = compact(events.name[slices.event], len(events.names))
    save_texts(folder, "names", events.names.take(used))
    save(folder, "waits", waiting_names(Texts(folder, "names")))
    save_texts(folder, "categories", events.categories)
    order = np.argsort(track, kind="stable").astype(slices.event.dtype)  # a radix sort, as there are few tracks
    bounds = np.searchsorted(track[order], np.arange(tracks + 1, dtype=track.dtype))
    with ExitStack() as stack:
        writer = _Writer(folder, events, load_packing(), stack, shown)
        for first, last in _batches(bounds):
            chosen = order[bounds[first] : bounds[last]]
            event = slices.event[chosen]
            start, dur = slices.times(events, event)
            start -= base
            ends = bounds[first + 1 : last + 1] - bounds[first]
            writer.tracks(event, start, dur, place[chosen], ends)
    save(folder, "row_first", np.array(writer.first, dtype=np.int64))
    save(folder, "track_row", np.array(writer.track_row, dtype=np.int64))
    return RowTable(*(load(folder, name) for name in ROWS)), np.concatenate(writer.hidden)


def _batches(bounds: Index) -> Iterator[tuple[int, int]]:
    """Batches of tracks [first, last): written one by one, small tracks would take most of the time for calls."""
    first, count = 0, len(bounds) - 1
    while first < count:
        last = int(np.searchsorted(bounds, bounds[first] + _BATCH, side="right")) - 1
        last = min(max(last, first + 1), first + _BATCH, count)
        yield first, last
        first = last


def by_start(start: IntArray, dur: IntArray) -> Callable[[NDArray[Any]], NDArray[Any]]:
    """A function that sorts columns into packing.sort_order: by start, longer first, stable. It returns columns that
    are sorted already, as usual in a trace, without a copy."""
    if bool((start[1:] > start[:-1]).all()):
        return lambda column: column
    same, ordered = start[1:] == start[:-1], dur[1:] <= dur[:-1]
    if bool(((start[1:] > start[:-1]) | (same & ordered)).all()):
        return lambda column: column
    order = np.argsort(start, kind="stable")
    start, dur = start[order], dur[order]
    tie = np.append(False, start[1:] == start[:-1])
    tie[:-1] |= tie[1:]  # both ends
    ties = np.flatnonzero(tie)
    order[ties] = order[ties][np.lexsort((-dur[ties], start[ties]))]
    return lambda column: column[order]


def _shift_tracks(start: IntArray, dur: IntArray, ends: IntArray) -> IntArray | None:
    """Starts shifted so that tracks follow each other and can be packed as one; None if the times would overflow."""
    if len(ends) == 1 or not len(start):
        return start
    span = int((start + dur).max()) - int(start.min()) + 1
    if span * len(ends) > _MAX_SHIFT:
        return None
    return start + np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0)) * span


def rows_by_depth(depth: NDArray[Any], ends: IntArray) -> tuple[Index, Index, Index]:
    """(visible slices by track and depth, slices per row, rows per track)."""
    hidden = int(np.count_nonzero(depth < 0))
    if len(ends) == 1:
        final = np.argsort(depth.astype(np.int16), kind="stable")[hidden:]  # a radix sort; hidden ones (-1) first
        counts = np.bincount(depth[final])
        return final, counts, np.array([len(counts)])
    of = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))
    row = of * (int(depth.max(initial=0)) + 1) + depth
    row[depth < 0] = -1
    final = np.argsort(row, kind="stable")[hidden:]
    begins = np.flatnonzero(np.diff(row[final], prepend=-1))
    return final, np.diff(begins, append=len(final)), np.bincount(of[final][begins], minlength=len(ends))


class _Writer:
    """Writes the columns of slices and builds the row table. hidden: events of the slices that are too deep."""

    def __init__(
        self, folder: Path, events: TraceEvents, packing: Packing, stack: ExitStack, shown: NDArray[np.bool_]
    ) -> None:
        self._events, self._packing, self._shown = events, packing, shown
        category = np.int16 if len(events.categories) < 2**15 else np.int32
        types = {
            "busy": np.int64,
            "start": np.int64,
            "dur": np.int64,
            "self": np.int64,
            "parent": np.int32,
            "name": np.int32,
            "category": category,
            "args_offset": np.int64,
            "args_length": np.uint32,
        }
        self._files = {
            name: stack.enter_context(closing(ColumnFile(folder, name, dtype))) for name, dtype in types.items()
        }
        self.first, self.track_row = [0], [0]
        self.hidden: list[NDArray[Any]] = [np.zeros(0, dtype=np.int64)]
        self._busy = np.zeros(1, dtype=np.int64)  # ns of all slices written so far
        self._files["busy"].append(self._busy)

    def tracks(
        self, event: NDArray[Any], start: IntArray, dur: IntArray, name: NDArray[np.int32], of: IntArray
    ) -> None:
        """Append the slices of the next tracks. of: end of each track among these slices."""
        moved = _shift_tracks(start, dur, of)
        if moved is None:
            for low, high in zip([0, *of[:-1].tolist()], of.tolist()):
                self.tracks(event[low:high], start[low:high], dur[low:high], name[low:high], np.array([high - low]))
            return
        sort = by_start(moved, dur)
        event, start, dur, name, moved = sort(event), sort(start), sort(dur), sort(name), sort(moved)
        depth, parent = self._packing.pack(moved, dur)
        own = self._packing.self_time(moved, dur, parent)
        final, counts, rows = rows_by_depth(depth, of)
        place = np.full(len(depth) + 1, -1, dtype=np.int32)  # index -1: no parent
        place[final] = np.arange(len(final), dtype=np.int32) + self.first[-1]
        columns: dict[str, NDArray[Any]] = {"start": start, "dur": dur, "self": own, "name": name}
        for key, values in columns.items():
            self._files[key].append(values[final])
        if len(final):
            busy = self._busy + np.cumsum(dur[final])
            self._files["busy"].append(busy)
            self._busy = busy[-1:]
        self._files["parent"].append(place[parent[final]])
        for key in ("category", "args_offset", "args_length"):
            self._files[key].append(getattr(self._events, key)[event[final]])
        self.first += (self.first[-1] + np.cumsum(counts)).tolist()
        self.track_row += (self.track_row[-1] + np.cumsum(rows)).tolist()
        self._shown[event[final]] = True
        if len(final) < len(depth):
            self.hidden.append(event[depth < 0])
