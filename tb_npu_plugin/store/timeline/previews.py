"""Timelines of the beginning of a trace, made while the rest of it is read."""

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
#: Bytes of the trace that the first preview shows, and how many times as many each following one.
FIRST = 32 << 20
GROWTH = 4
#: A preview costs what a build of as much costs: beyond this share of the trace it is not worth it.
_SHARE = 4


class Previews:
    """Makes previews beside the folder `out`, and tells `ready` of each. args: where a compressed trace's args go;
    write: timeline_build.write_timeline."""

    def __init__(
        self, out: Path, origin: Origin, args: BinaryIO, write: Write, ready: Callable[[Path], None] | None
    ) -> None:
        self._out, self._origin, self._args, self._write, self._ready = out, origin, args, write, ready
        self._read = 0
        self._count = 0

    def positions(self, size: int) -> list[int]:
        """Bytes of the file after which a preview is made, for a file of this size."""
        found = []
        position = FIRST
        while self._ready is not None and position * _SHARE <= size:
            found.append(position)
            position *= GROWTH
        return found

    def progress(self, count: int) -> None:
        """So many more bytes of the file were read."""
        self._read += count

    def make(self, events: TraceEvents) -> None:
        """Make the next one. What has nothing to show yet, or no room on the disk, is no preview, and no loss."""
        origin = dataclasses.replace(self._origin, partial=self._read)
        self._count += 1
        folder = self._out.parent / f"preview-{self._count}"
        try:
            folder.mkdir()
            args = events.args_path or self._linked_args(folder)
            self._write(folder, events, args, origin, ProblemLog())  # the problems are told when all is read
        except (BadFile, OSError):
            shutil.rmtree(folder, ignore_errors=True)
            return
        if self._ready is not None:
            self._ready(folder)

    def _linked_args(self, folder: Path) -> Path:
        """The args so far of a compressed trace: the same file, which only grows."""
        self._args.flush()
        path = folder / ARGS_BLOB
        os.link(self._out / ARGS_BLOB, path)
        return path
