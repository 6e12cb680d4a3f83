"""Depth packing in C; see native/module.c. Columns are C-contiguous arrays of exactly the types named."""

from tb_npu_plugin.tables import IntArray

def pack(start: IntArray, dur: IntArray, max_depth: int) -> tuple[bytearray, bytearray]:
    """(depth, parent) as int32."""

def self_time(start: IntArray, dur: IntArray, parent: object) -> bytearray:
    """Self time as int64. parent: int32."""
