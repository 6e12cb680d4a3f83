"""The memory files of ASCEND_PROFILER_OUTPUT. Source: docs/facts/ascend_pt.md, Memory files."""

from __future__ import annotations

from tb_npu_plugin.messages import Message
from tb_npu_plugin.schema.core import ALLOCATOR, DEVICE_ID, Condition, ResultFile
from tb_npu_plugin.tables import MAX_WHOLE, Column, Kind, column_texts

MEMORY = Condition("profile_memory=True", Message("written.memory"))

T, I = Kind.TEXT, Kind.INT
TIME, DUR, BYTES = Kind.TIME, Kind.DURATION, Kind.BYTES

OP_MEMORY = ResultFile(
    id="op_memory",
    name="operator_memory.csv",
    condition=MEMORY,
    columns=(
        Column("name", T, *column_texts("op_memory.name"), "identity", ("Name",), required=True),
        Column(
            "size_bytes",
            BYTES,
            *column_texts("op_memory.size_bytes"),
            "",
            ("Size(KB)",),
            required=True,
            least=-MAX_WHOLE,
        ),
        Column("alloc_ns", TIME, *column_texts("alloc_ns"), "time", ("Allocation Time(us)",)),
        Column("release_ns", TIME, *column_texts("release_ns"), "time", ("Release Time(us)",)),
        Column(
            "active_release_ns",
            TIME,
            *column_texts("active_release_ns"),
            "time",
            ("Active Release Time(us)",),
            written=ALLOCATOR,
        ),
        Column("dur_ns", DUR, *column_texts("op_memory.dur_ns"), "time", ("Duration(us)",)),
        Column(
            "active_dur_ns", DUR, *column_texts("active_dur_ns"), "time", ("Active Duration(us)",), written=ALLOCATOR
        ),
        Column(
            "alloc_allocated_bytes",
            BYTES,
            *column_texts("alloc_allocated_bytes"),
            "",
            ("Allocation Total Allocated(MB)",),
        ),
        Column(
            "alloc_reserved_bytes", BYTES, *column_texts("alloc_reserved_bytes"), "", ("Allocation Total Reserved(MB)",)
        ),
        Column(
            "alloc_active_bytes",
            BYTES,
            *column_texts("alloc_active_bytes"),
            "",
            ("Allocation Total Active(MB)",),
            written=ALLOCATOR,
        ),
        Column(
            "release_allocated_bytes",
            BYTES,
            *column_texts("release_allocated_bytes"),
            "",
            ("Release Total Allocated(MB)",),
        ),
        Column(
            "release_reserved_bytes",
            BYTES,
            *column_texts("release_reserved_bytes"),
            "",
            ("Release Total Reserved(MB)",),
        ),
        Column(
            "release_active_bytes",
            BYTES,
            *column_texts("release_active_bytes"),
            "",
            ("Release Total Active(MB)",),
            written=ALLOCATOR,
        ),
        Column("stream", I, *column_texts("stream"), "identity", ("Stream Ptr",), written=ALLOCATOR),
        Column("device", T, *column_texts("module.device"), "identity", ("Device Type",)),
    ),
    doc="One row per allocation.",
)

MEMORY_RECORD = ResultFile(
    id="memory_record",
    name="memory_record.csv",
    condition=MEMORY,
    columns=(
        Column("component", T, *column_texts("memory_record.component"), "identity", ("Component",), required=True),
        Column("time_ns", TIME, *column_texts("memory_record.time_ns"), "time", ("Timestamp(us)",), required=True),
        Column("allocated_bytes", BYTES, *column_texts("allocated_bytes"), "", ("Total Allocated(MB)",)),
        Column("reserved_bytes", BYTES, *column_texts("memory_record.reserved_bytes"), "", ("Total Reserved(MB)",)),
        Column("active_bytes", BYTES, *column_texts("active_bytes"), "", ("Total Active(MB)",), written=ALLOCATOR),
        Column("stream", I, *column_texts("stream"), "identity", ("Stream Ptr",), written=ALLOCATOR),
        Column("device", T, *column_texts("module.device"), "identity", ("Device Type",)),
    ),
    doc="Totals per component over time.",
)

MODULE_MEMORY = ResultFile(
    id="module_memory",
    name="npu_module_mem.csv",
    condition=MEMORY,
    columns=(
        DEVICE_ID,
        Column("component", T, *column_texts("module.component"), "identity", ("Component",), required=True),
        Column("time_ns", TIME, *column_texts("module_memory.time_ns"), "time", ("Timestamp(us)",), required=True),
        Column("reserved_bytes", BYTES, *column_texts("module_memory.reserved_bytes"), "", ("Total Reserved(MB)",)),
        Column("device", T, *column_texts("module.device"), "identity", ("Device",)),
    ),
    doc="Memory of each CANN module, every 20 ms.",
)
