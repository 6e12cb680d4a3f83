"""Computing kernels of a rank, for the rules about kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tb_npu_plugin.analysis.findings.text import rank_name
from tb_npu_plugin.analysis.kernels.meaning import CLASSES, classes
from tb_npu_plugin.analysis.kernels.roofline import Device, clocks, device
from tb_npu_plugin.model import SpanData
from tb_npu_plugin.tables import FloatArray, IntArray, Table


@dataclass(frozen=True)
class RankKernels:
    """Computing kernels of a rank.

    Attributes:
        table: Those of the averaged steps; all if none is marked.
        marked: Those of all steps, for what changes from step to step.
    """

    span: SpanData
    table: Table
    marked: Table

    @property
    def name(self) -> str:
        """See rank_name."""
        return rank_name(self.span)

    @cached_property
    def device(self) -> Device:
        """The device and its peaks."""
        return device(self.table, self.span.capture.device_name)

    @cached_property
    def clocks(self) -> FloatArray:
        """Clock of the cores during each kernel, MHz; NaN if unknown."""
        return clocks(self.table)

    def are(self, names: Sequence[str]) -> NDArray[np.bool_]:
        """Mask of the kernels of these classes."""
        return np.isin(self._classes, [CLASSES.index(name) for name in names])

    @cached_property
    def _classes(self) -> IntArray:
        return classes(self.table)
