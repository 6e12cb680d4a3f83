"""Which implementation the build of a timeline takes: C where it was built, as for the scanner."""

from __future__ import annotations

from typing import Protocol

from tb_npu_plugin.analysis import packing
from tb_npu_plugin.analysis.packing import Int32
from tb_npu_plugin.scan import native_or_python
from tb_npu_plugin.tables import IntArray


class Packing(Protocol):
    """What analysis.packing and analysis.native_packing both are."""

    def pack(self, start: IntArray, dur: IntArray, /) -> tuple[Int32, Int32]:
        """See packing.pack."""

    def self_time(self, start: IntArray, dur: IntArray, parent: Int32, /) -> IntArray:
        """See packing.self_time."""


def chosen_packing() -> Packing:
    """The packing that TB_NPU_SCANNER asks for; ImportError when it asks for C and that was not built."""

    def native() -> Packing:
        from tb_npu_plugin.analysis import native_packing

        return native_packing

    return native_or_python(native, lambda: packing)
