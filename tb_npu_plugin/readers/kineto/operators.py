"""Table "operators": host operators with the device time of their kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Optional

import msgspec
import numpy as np
from msgspec import Raw, Struct, field

from tb_npu_plugin.analysis.operators.nesting import codes, nesting
from tb_npu_plugin.analysis.operators.tree import with_children, without_children
from tb_npu_plugin.readers.kineto.selected_events import Index, SelectedEvents
from tb_npu_plugin.readers.kineto.stacks import FRAME_END, NestedEvents, call_stacks
from tb_npu_plugin.schema import kineto, trace
from tb_npu_plugin.schema.registry import TABLES
from tb_npu_plugin.tables import Data, IntArray, StringColumn, Table


class _OpArgs(Struct):
    """The decoded args of an operator."""

    dims: Raw = field(name=trace.INPUT_DIMS, default=Raw(b""))
    older_dims: Raw = field(name=kineto.OLDER_INPUT_DIMS, default=Raw(b""))
    stack: Raw = field(name=trace.CALL_STACK, default=Raw(b""))


class Operators(NestedEvents):
    """Operators with their external ids, which other events refer to."""

    def __init__(self, selected: SelectedEvents) -> None:
        super().__init__(selected, selected.ops)
        self.id: IntArray = selected.external(selected.ops)[self.order]
        self._selected = selected

    def table(self, owner: Index, device_ns: IntArray) -> Table:
        """Return the logical table. owner: operator of each device event; device_ns: its duration."""
        own = np.zeros(len(self.rows), dtype=np.int64)
        np.add.at(own, owner[owner >= 0], device_ns[owner >= 0])
        dur = self.end - self.start
        names, texts = self._selected.names(self.rows), self._texts()
        data: dict[str, Data] = {
            "name": names,
            **texts,
            "host_self_ns": without_children(self.parent, dur),
            "host_total_ns": dur,
            "device_self_ns": own,
            "device_total_ns": with_children(self.parent, own),
            "nested": nesting(self.parent, codes(names), codes(texts["input_shapes"])),
        }
        return Table.of(TABLES["operators"], data)

    def _texts(self) -> dict[str, StringColumn]:
        """Return shapes and call stacks, reading the file in order."""
        order = np.argsort(self.rows)
        shapes, stacks = _TextColumn(), _TextColumn()
        for place, found in zip(order.tolist(), self._selected.structs(self.rows[order], _OpArgs)):
            if found is not None:
                shapes.add(place, bytes(found.dims) or bytes(found.older_dims))
                stacks.add(place, bytes(found.stack))
        recorded = stacks.text(len(self.rows), _frames_text)
        return {
            "input_shapes": shapes.text(len(self.rows), _shapes),
            "call_stack": recorded if recorded.values else call_stacks(self._selected, self),
        }


class _TextColumn:
    """Collects the distinct JSON texts of a column."""

    def __init__(self) -> None:
        self._codes: dict[bytes, int] = {}
        self._at: list[int] = []
        self._code: list[int] = []

    def add(self, row: int, raw: bytes) -> None:
        """Add the text of a row; an empty one is unknown."""
        if raw:
            self._at.append(row)
            self._code.append(self._codes.setdefault(raw, len(self._codes)))

    def text(self, rows: int, read: Callable[[bytes], Optional[str]]) -> StringColumn:
        """Return the column, each distinct text converted by `read`."""
        words: dict[str, int] = {}
        lookup = [-1 if (word := read(raw)) is None else words.setdefault(word, len(words)) for raw in self._codes]
        codes = np.full(rows, -1, dtype=np.int32)
        codes[self._at] = np.array([*lookup, -1], dtype=np.int32)[self._code]
        return StringColumn(codes, list(words))


def _shapes(raw: bytes) -> str | None:
    """Return "4,8;8,8;" for [[4, 8], [8, 8], []], as NPU profilers write shapes; None if no input has a shape."""
    value = _decode(raw)
    if isinstance(value, str):
        return value or None
    if not isinstance(value, list) or not any(value):
        return None
    return ";".join(_shape(item) for item in value)


def _decode(raw: bytes) -> Any:
    """Return the decoded JSON; None if it is invalid."""
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _shape(value: Any) -> str:
    """Return the shape of a tensor or of a list of tensors as text."""
    if not isinstance(value, list):
        return str(value)
    nested = any(isinstance(item, list) for item in value)
    return f"[{' '.join(_shape(item) for item in value)}]" if nested else ",".join(map(str, value))


def _frames_text(raw: bytes) -> str | None:
    """Return the frames, which are separated by semicolons, one per FRAME_END."""
    value = _decode(raw)
    if not isinstance(value, str):
        return None
    return FRAME_END.join(frame for part in value.split(";") if (frame := part.strip())) or None
