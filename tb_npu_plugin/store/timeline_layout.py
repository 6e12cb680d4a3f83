"""Puts slices into rows, track by track, and writes their columns as it goes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.scan import TraceEvents
from tb_npu_plugin.store.timeline_columns import ColumnFile
from tb_npu_plugin.store.timeline_files import compact, load, save, save_texts
from tb_npu_plugin.store.timeline_native import Packing, chosen_packing
from tb_npu_plugin.store.timeline_rows import ROWS, Rows
from tb_npu_plugin.store.timeline_slices import Slices
from tb_npu_plugin.tables import IntArray

Index = NDArray[np.int64]


def write_slices(
    folder: Path, events: TraceEvents, slices: Slices, track: NDArray[Any], tracks: int, base: int
) -> tuple[Rows, int]:
    """Write all slices by track, depth, start. track: of each slice; base: ns since the epoch that times count from.

    Returns the row table over the mapped columns, and the number of slices that lie too deep to be shown.
    """
    used, place = compact(events.name[slices.event], len(events.names))
    save_texts(folder, "names", events.names.take(used))
    save_texts(folder, "categories", events.categories)
    order = np.argsort(track, kind="stable")  # a radix sort, as there are few tracks
    bounds = np.searchsorted(track[order], np.arange(tracks + 1, dtype=track.dtype))
    with ExitStack() as stack:
        writer = _Writer(folder, events, chosen_packing(), stack)
        for low, high in zip(bounds[:-1].tolist(), bounds[1:].tolist()):
            chosen = order[low:high]
            writer.track(slices.event[chosen], *slices.times(events, slices.event[chosen]), place[chosen], base)
    save(folder, "row_first", np.array(writer.first, dtype=np.int64))
    save(folder, "track_row", np.array(writer.track_row, dtype=np.int64))
    return Rows(*(load(folder, name) for name in ROWS)), writer.hidden


def by_start(start: IntArray, dur: IntArray) -> Callable[[NDArray[Any]], NDArray[Any]]:
    """Brings columns into packing.sort_order: by start, longer first, else as given. Nothing is moved where they are
    in that order, as they mostly are in a trace."""
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


class _Writer:
    """The columns of slices, and the row table that grows with them. `hidden` counts what lies too deep."""

    def __init__(self, folder: Path, events: TraceEvents, packing: Packing, stack: ExitStack) -> None:
        self._events, self._packing = events, packing
        category = np.int16 if len(events.categories) < 2**15 else np.int32
        types = {
            "busy": np.int64,
            "start": np.int64, "dur": np.int64, "self": np.int64, "parent": np.int32, "name": np.int32,
            "category": category, "args_offset": np.int64, "args_length": np.uint32,
        }  # fmt: skip
        self._files = {
            name: stack.enter_context(closing(ColumnFile(folder, name, dtype))) for name, dtype in types.items()
        }
        self.first, self.track_row, self.hidden = [0], [0], 0
        self._busy = np.zeros(1, dtype=np.int64)  # ns of all slices written so far
        self._files["busy"].append(self._busy)

    def track(self, event: Index, start: IntArray, dur: IntArray, name: NDArray[np.int32], base: int) -> None:
        """Append the slices of the next track."""
        start = start - base
        sort = by_start(start, dur)
        event, start, dur, name = sort(event), sort(start), sort(dur), sort(name)
        depth, parent = self._packing.pack(start, dur)
        own = self._packing.self_time(start, dur, parent)
        final = np.argsort(depth.astype(np.int16), kind="stable")  # a radix sort; what is hidden (-1) first
        hidden = int(np.count_nonzero(depth < 0))
        final = final[hidden:]
        place = np.full(len(depth) + 1, -1, dtype=np.int32)  # the last stands for "no parent"
        place[final] = np.arange(len(final), dtype=np.int32) + self.first[-1]
        counts = np.bincount(depth[final])
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
        self.track_row.append(self.track_row[-1] + len(counts))
        self.hidden += hidden
