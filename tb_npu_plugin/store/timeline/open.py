"""Queries on a timeline folder."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.errors import NotFound
from tb_npu_plugin.messages import Message, messages_of
from tb_npu_plugin.refusal import raise_if_exhausted
from tb_npu_plugin.scan.args import ArgsFile, decode, read_object
from tb_npu_plugin.schema import trace as words
from tb_npu_plugin.store.timeline.arrows import ArrowLevels
from tb_npu_plugin.store.timeline.contract import FlowJson, SliceDetailJson, SliceJson
from tb_npu_plugin.store.timeline.curves import Curves
from tb_npu_plugin.store.timeline.files import Texts, load
from tb_npu_plugin.store.timeline.levels import Levels, SliceColumns
from tb_npu_plugin.store.timeline.operators import count_operators, load_operators, load_operators_between
from tb_npu_plugin.store.timeline.rows import ROWS, RowTable
from tb_npu_plugin.tables import Table

META = "meta.json"
ARGS_BLOB = "args.bin"

Index = NDArray[np.int64]


class Timeline:
    """An open timeline. Read-only, thread-safe. Times are int ns after `base_ns`; a slice id is its index in row order.

    Attributes:
        base_ns, start_ns, end_ns: ns since the epoch: origin of times (the first event), first and last time.
        tracks: Track fields of /api/view/trace, by track number.
        rows: Slice times and the row table.
        busy: Sum of the durations of all slices before each slice, and the total at the end, in ns.
        steps: (step, start, end) of the step marks, sorted by start.
        partial: Bytes of the file that were read; None: all.
    """

    def __init__(self, folder: Path, trace: Path, meta: dict[str, Any]) -> None:
        self._folder, self._trace, self._meta = folder, trace, meta
        self.base_ns = self.start_ns = int(meta["base_ns"])
        self.end_ns = int(meta["end_ns"])
        self.tracks: list[dict[str, Any]] = meta["tracks"]
        self.event_count, self.slice_count = int(meta["events"]), int(meta["slices"])
        self.flow_kinds: list[str] = meta["flow_kinds"]
        self.steps: list[tuple[str, int, int]] = [tuple(step) for step in meta["steps"]]
        self.scanner, self.source = str(meta["scanner"]), str(meta["source"])
        self.partial: int | None = meta.get("partial")
        self.rows = RowTable(*(load(folder, name) for name in ROWS))
        self.busy = load(folder, "busy")
        self.name, self.category = load(folder, "name"), load(folder, "category")
        self._waits = load(folder, "waits")
        self.parent, self.self_time = load(folder, "parent"), load(folder, "self")
        self.names, self._categories = Texts(folder, "names"), Texts(folder, "categories")
        #: Newest searches by text (store/timeline/matches.py).
        self.searched: dict[str, Any] = {}
        self.levels = Levels(folder, meta["levels"], self.slice_columns)
        self.arrows, self.curves = ArrowLevels(folder, meta["arrows"]), Curves(folder, meta["curves"])
        self._args_offset, self._args_length = load(folder, "args_offset"), load(folder, "args_length")
        self._flow_source, self._flow_target = load(folder, "flow_source"), load(folder, "flow_target")
        self._flow_kind, self._flow_by_target = load(folder, "flow_kind"), load(folder, "flow_by_target")

    @staticmethod
    def open(folder: Path, trace: Path) -> Timeline:
        """Open the folder that build_timeline wrote. trace: the original file, read for args; it may be missing.

        Raises OSError, ValueError or KeyError when the folder is damaged.
        """
        return Timeline(folder, trace, json.loads((folder / META).read_text(encoding="utf-8")))

    @property
    def slice_columns(self) -> SliceColumns:
        """What is drawn of slices."""
        return SliceColumns(self.rows.start, self.rows.dur, self.busy, self.name, self.category, self._waits)

    def operators(self) -> Table:
        """The logical table "operators", rebuilt from the trace."""
        return load_operators(self._folder)

    def operators_between(self, start_ns: int, end_ns: int) -> Table | None:
        """Rows of `operators` whose call on the host overlaps [start_ns, end_ns), ns since the epoch; None where the
        timeline was built without that table."""
        return load_operators_between(self._folder, start_ns, end_ns)

    @property
    def operator_count(self) -> int:
        """Row count of `operators`."""
        return count_operators(self._folder)

    @cached_property
    def slice_bounds(self) -> tuple[int, int] | None:
        """(start of the first slice, end of the last), ns after base_ns; None without slices. Excludes counters."""
        if not self.slice_count:
            return None
        heads, ends = self.rows.first[:-1], self.rows.first[1:] - 1  # within a row, starts and ends ascend
        last = self.rows.start[ends] + self.rows.dur[ends]
        return int(self.rows.start[heads].min()), int(last.max())

    def place(self, slice_id: int) -> tuple[int, int]:
        """(track, depth) of a slice."""
        return self.rows.place(int(self.rows.row_of(np.array([slice_id]))[0]))

    def row_number(self, track: int, depth: int) -> int:
        """Index in the row table; -1 if the track has no such depth."""
        if not 0 <= track < len(self.tracks):
            return -1
        row = int(self.rows.track_row[track]) + depth
        return row if depth >= 0 and row < int(self.rows.track_row[track + 1]) else -1

    def brief(self, slice_id: int) -> SliceJson:
        """Name, place and time of a slice, with its numbers in answers."""
        track, depth = self.place(slice_id)
        shown = self.tracks[track]
        return {
            "id": slice_id,
            "name": self.names[int(self.name[slice_id])],
            "track": track,
            "depth": depth,
            "start": int(self.rows.start[slice_id]),
            "dur": int(self.rows.dur[slice_id]),
            "process": shown["process"],
            "thread": shown["name"],
        }

    def category_of(self, slice_id: int) -> str:
        """Category of a slice; "" where it has none."""
        return self.category_name(int(self.category[slice_id]))

    def category_name(self, code: int) -> str:
        """A category by its value in `category`; "" for -1."""
        return self._categories[code] if code >= 0 else ""

    def detail(self, slice_id: int) -> SliceDetailJson:
        """Details of a slice; `slice_id` must be valid. The caller adds `kernel` and `derived`."""
        out = self.brief(slice_id)
        track, depth = self.place(slice_id)
        row = self.row_number(track, depth)
        first, end = self.rows.bounds(row)
        low = int(self.rows.first[self.rows.track_row[track]])
        high = int(self.rows.first[self.rows.track_row[track + 1]])
        parent = int(self.parent[slice_id])
        args, error = self.args(slice_id)
        return {
            **out,
            "category": self.category_of(slice_id),
            "start_epoch_ns": str(self.base_ns + out["start"]),
            "self": int(self.self_time[slice_id]),
            "parent": {"id": parent, "name": self.names[int(self.name[parent])]} if parent >= 0 else None,
            "children": int(np.count_nonzero(self.parent[low:high] == slice_id)),
            "args": args,
            "args_error": error,
            "texts": messages_of({"args_error": error}),
            "stack": _call_stack(args),
            "previous": out["id"] - 1 if slice_id > first else None,
            "next": out["id"] + 1 if slice_id + 1 < end else None,
            "kernel": None,
            "derived": None,
        }

    def args(self, slice_id: int) -> tuple[dict[str, Any] | None, str]:
        """(args, "") of a slice, or (None, why they cannot be read)."""
        offset, length = int(self._args_offset[slice_id]), int(self._args_length[slice_id])
        if offset < 0:
            return {}, ""
        try:
            with self.open_args() as file:
                found = decode(file.read(offset, length))
        except (NotFound, OSError) as error:
            raise_if_exhausted(error)
            return None, self._unreadable(error)
        return found, "" if found is not None else Message("error.args", byte=offset, file=self.source)

    def args_bytes(self, ids: Index) -> tuple[list[bytes], str]:
        """(args of slices as the file has them, read in file order; "") or (b"" for each, why they cannot be read). b"" also where
        a slice has none."""
        begin, length = self.args_bounds(ids)
        order = np.argsort(begin, kind="stable")
        found = [b""] * len(ids)
        try:
            with self.open_args() as file:
                for place, data in zip(order.tolist(), file.each(begin[order], length[order])):
                    found[place] = data
        except (NotFound, OSError) as error:
            raise_if_exhausted(error)
            return [b""] * len(ids), self._unreadable(error)
        return found, ""

    def args_of(self, ids: Index) -> Iterator[dict[str, Any] | None]:
        """Args of slices with plain numbers; {} where a slice has none, None where they are not an object. Raises NotFound if the
        file cannot be read."""
        found, error = self.args_bytes(ids)
        if error:
            raise NotFound(error)
        return (read_object(data) if data else {} for data in found)

    def _unreadable(self, error: NotFound | OSError) -> str:
        """Why args cannot be read."""
        if isinstance(error, NotFound):
            return error.message
        return Message("error.file_unreadable", file=self.source, reason=error.strerror or str(error))

    @contextmanager
    def open_args(self) -> Iterator[ArgsFile]:
        """The file that holds the args. Raises OSError; NotFound if the trace changed since it was read, also if it changes within
        the block."""
        blob = bool(self._meta["args_blob"])
        with ArgsFile(self._folder / ARGS_BLOB if blob else self._trace) as file:
            self._check_unchanged(file, blob)
            yield file
            self._check_unchanged(file, blob)

    def _check_unchanged(self, file: ArgsFile, is_blob: bool) -> None:
        if not is_blob and file.stamp() != (self._meta["source_size"], self._meta["source_mtime_ns"]):
            raise NotFound(Message("error.file_changed", file=self.source), Message("hint.file_changed"))

    def args_bounds(self, ids: Index) -> tuple[Index, Index]:
        """(offset, length) of the args of slices in that file; offset -1: no args."""
        return self._args_offset[ids].astype(np.int64), self._args_length[ids].astype(np.int64)

    def flows(self, slice_id: int) -> list[FlowJson]:
        """Flows that start or end at a slice."""
        low, high = np.searchsorted(self._flow_source, [slice_id, slice_id + 1])
        targets = self._flow_target
        order = self._flow_by_target
        first = _lower_bound(targets, order, slice_id)
        last = _lower_bound(targets, order, slice_id + 1)
        which = np.unique(np.concatenate([np.arange(low, high), order[first:last]]))
        return [
            {
                "kind": self._categories[int(self._flow_kind[flow])] if self._flow_kind[flow] >= 0 else "",
                "from": self.brief(int(self._flow_source[flow])),
                "to": self.brief(int(targets[flow])),
            }
            for flow in which.tolist()
        ]

    def category_code(self, category: str) -> int:
        """Value of `category` for slices of this category; -1 where no slice or flow has it."""
        return next(iter(np.flatnonzero(self._categories.equal(category)).tolist()), -1)

    def flow_pairs(self, kind: str) -> tuple[Index, Index]:
        """(source, target) of all flows of a kind, as slice ids, sorted by source."""
        code = self.category_code(kind)
        chosen = np.flatnonzero(self._flow_kind == code) if code >= 0 else np.zeros(0, dtype=np.int64)
        return np.asarray(self._flow_source[chosen]), np.asarray(self._flow_target[chosen])

    def bare_launches(self) -> tuple[Index, Index]:
        """(launch in ns after base_ns, slice of the task) of the launches without a slice of the host."""
        return load(self._folder, "launch"), load(self._folder, "launched").astype(np.int64)

    def flows_from(self, low: int, high: int, kinds: Sequence[str]) -> tuple[Index, Index]:
        """(source, target) of the flows of some kinds that start at the slices [low, high), sorted by source."""
        part = slice(*np.searchsorted(self._flow_source, [low, high]).tolist())
        chosen = np.isin(self._flow_kind[part], [code for code in map(self.category_code, kinds) if code >= 0])
        return self._flow_source[part][chosen].astype(np.int64), self._flow_target[part][chosen].astype(np.int64)

    def numbers_of(self, ids: Index) -> Index:
        """Numbers of slices in answers."""
        return ids

    def tracks_of(self, kind: str) -> Sequence[int]:
        """Numbers of the tracks of a kind: "slices" or "counter"."""
        return [index for index, track in enumerate(self.tracks) if track["kind"] == kind]


def _lower_bound(values: Index, order: Index, wanted: int) -> int:
    """First index in `order`, which sorts `values`, whose value is at least `wanted`."""
    low, high = 0, len(order)
    while low < high:
        middle = (low + high) // 2
        if values[order[middle]] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


def _call_stack(args: dict[str, Any] | None) -> list[str] | None:
    """Frames of the call stack, innermost first; None if not recorded."""
    text = (args or {}).get(words.CALL_STACK)
    if not isinstance(text, str):
        return None
    return [frame.strip() for frame in text.split(words.FRAME_SEPARATOR) if frame.strip()]
