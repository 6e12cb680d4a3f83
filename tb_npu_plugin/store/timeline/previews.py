"""Timelines of the beginning of a trace, built while the rest is read."""

from __future__ import annotations

import dataclasses
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from tb_npu_plugin.errors import BadFile
from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.scan import TraceEvents
from tb_npu_plugin.store.timeline.meta import Origin
from tb_npu_plugin.store.timeline.open import ARGS_BLOB

Write = Callable[[Path, TraceEvents, Path, Origin, ProblemLog], None]
#: Bytes of the trace in the first preview, and the growth factor of the following ones.
FIRST = 4 << 20
GROWTH = 8
#: A preview takes as long as a build of the same bytes: none is built beyond 1 / _MIN_RATIO of the trace.
_MIN_RATIO = 4


class Previews:
    """Builds previews next to the folder `out` and passes each to `ready`.

    Args:
        args: File that gets the args of a compressed trace.
        write: Writes a timeline, see build.write_timeline.
    """

    def __init__(
        self, out: Path, origin: Origin, args: BinaryIO, write: Write, ready: Callable[[Path], None] | None
    ) -> None:
        self._out, self._origin, self._args, self._write, self._ready = out, origin, args, write, ready
        self._read = 0
        self._count = 0

    def positions(self, size: int) -> list[int]:
        """Numbers of read bytes at which a preview is built, for a file of this size."""
        found = []
        position = FIRST
        while self._ready is not None and position * _MIN_RATIO <= size:
            found.append(position)
            position *= GROWTH
        return found

    def progress(self, count: int) -> None:
        """`count` more bytes of the file were read."""
        self._read += count

    def make(self, events: TraceEvents) -> None:
        """Build the next preview. Skips it if there is nothing to show yet or the disk is full."""
        origin = dataclasses.replace(self._origin, partial=self._read)
        self._count += 1
        folder = self._out.parent / f"preview-{self._count}"
        try:
            folder.mkdir()
            args = events.args_path or self._linked_args(folder)
            self._write(folder, events, args, origin, ProblemLog())  # problems are reported by the complete build
        except (BadFile, OSError):
            shutil.rmtree(folder, ignore_errors=True)
            return
        if self._ready is not None:
            self._ready(folder)

    def _linked_args(self, folder: Path) -> Path:
        """Hard link to the args file of a compressed trace, which only grows."""
        self._args.flush()
        path = folder / ARGS_BLOB
        os.link(self._out / ARGS_BLOB, path)
        return path
