"""What bars are made of: the slices of some rows."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.scan.args import ArgsFile
from tb_npu_plugin.store.timeline.curves import Curves
from tb_npu_plugin.store.timeline.files import Texts
from tb_npu_plugin.store.timeline.levels import Levels, SliceColumns
from tb_npu_plugin.store.timeline.rows import RowTable

Index = NDArray[np.int64]


class Drawn(Protocol):
    """Slices in rows, numbered in row order. Those of a trace: see Timeline.

    Attributes:
        searched: Newest searches by text (store/timeline/matches.py).
    """

    @property
    def base_ns(self) -> int:
        """ns since the epoch: origin of all times."""

    @property
    def tracks(self) -> Sequence[dict[str, Any]]:
        """The tracks of the rows, by number."""

    @property
    def names(self) -> Texts:
        """Texts of `name`."""

    @property
    def slice_columns(self) -> SliceColumns:
        """What is drawn of the slices."""

    @property
    def curves(self) -> Curves:
        """The curves of the counters."""

    rows: RowTable
    name: Any
    category: Any
    levels: Levels
    slice_count: int
    searched: dict[str, Any]

    def category_name(self, code: int) -> str:
        """A category by its value in `category`; "" for -1."""

    def numbers_of(self, ids: Index) -> Index:
        """Numbers of slices in answers."""

    def args_bounds(self, ids: Index) -> tuple[Index, Index]:
        """(offset, length) of the args of slices in their file; offset -1: no args."""

    def open_args(self) -> AbstractContextManager[ArgsFile]:
        """The file that holds the args. Raises OSError, NotFound."""
