"""The memory files of ASCEND_PROFILER_OUTPUT. Source: docs/facts/ascend_pt.md, Memory files."""

from __future__ import annotations

from tb_npu_plugin.messages import Message
from tb_npu_plugin.schema.core import ALLOCATOR, DEVICE_ID, Condition, ResultFile
from tb_npu_plugin.tables import MAX_WHOLE, Column, Kind

MEMORY = Condition("profile_memory=True", Message("written.memory"))

T, I = Kind.TEXT, Kind.INT
TIME, DUR, BYTES = Kind.TIME, Kind.DURATION, Kind.BYTES

OP_MEMORY = ResultFile(
    id="op_memory",
    name="operator_memory.csv",
    title="Operator memory",
    condition=MEMORY,
    columns=(
        Column(
            "name",
            T,
            "Name",
            "Operator that allocated; cann:: rows come from the graph engine.",
            "identity",
            ("Name",),
            required=True,
        ),
        Column(
            "size_bytes",
            BYTES,
            "Size",
            "Bytes allocated; negative for the release of memory that was allocated before the capture.",
            "",
            ("Size(KB)",),
            required=True,
            least=-MAX_WHOLE,
        ),
        Column(
            "alloc_ns",
            TIME,
            "Allocation Time",
            "When it was allocated; unknown for what was allocated before the capture.",
            "time",
            ("Allocation Time(us)",),
        ),
        Column(
            "release_ns",
            TIME,
            "Release Time",
            "When the tensor was freed; unknown when still held at the end.",
            "time",
            ("Release Time(us)",),
        ),
        Column(
            "active_release_ns",
            TIME,
            "Active Release Time",
            "When the block could be used again.",
            "time",
            ("Active Release Time(us)",),
            written=ALLOCATOR,
        ),
        Column("dur_ns", DUR, "Duration", "Release minus allocation.", "time", ("Duration(us)",)),
        Column(
            "active_dur_ns",
            DUR,
            "Active Duration",
            "Active release minus allocation.",
            "time",
            ("Active Duration(us)",),
            written=ALLOCATOR,
        ),
        Column(
            "alloc_allocated_bytes",
            BYTES,
            "Allocated at allocation",
            "Total allocated right after.",
            "",
            ("Allocation Total Allocated(MB)",),
        ),
        Column(
            "alloc_reserved_bytes",
            BYTES,
            "Reserved at allocation",
            "Total reserved right after.",
            "",
            ("Allocation Total Reserved(MB)",),
        ),
        Column(
            "alloc_active_bytes",
            BYTES,
            "Active at allocation",
            "Total active right after.",
            "",
            ("Allocation Total Active(MB)",),
            written=ALLOCATOR,
        ),
        Column(
            "release_allocated_bytes",
            BYTES,
            "Allocated at release",
            "Total allocated after the release.",
            "",
            ("Release Total Allocated(MB)",),
        ),
        Column(
            "release_reserved_bytes",
            BYTES,
            "Reserved at release",
            "Total reserved after the release.",
            "",
            ("Release Total Reserved(MB)",),
        ),
        Column(
            "release_active_bytes",
            BYTES,
            "Active at release",
            "Total active after the release.",
            "",
            ("Release Total Active(MB)",),
            written=ALLOCATOR,
        ),
        Column("stream", I, "Stream", "Stream pointer or id.", "identity", ("Stream Ptr",), written=ALLOCATOR),
        Column("device", T, "Device", "Device, e.g. NPU:0.", "identity", ("Device Type",)),
    ),
    doc="One row per allocation.",
)

MEMORY_RECORD = ResultFile(
    id="memory_record",
    name="memory_record.csv",
    title="Memory record",
    condition=MEMORY,
    columns=(
        Column(
            "component", T, "Component", "PTA, GE, PTA+GE, APP, WORKSPACE.", "identity", ("Component",), required=True
        ),
        Column("time_ns", TIME, "Time", "When it was recorded.", "time", ("Timestamp(us)",), required=True),
        Column("allocated_bytes", BYTES, "Allocated", "Total allocated.", "", ("Total Allocated(MB)",)),
        Column("reserved_bytes", BYTES, "Reserved", "Total reserved.", "", ("Total Reserved(MB)",)),
        Column("active_bytes", BYTES, "Active", "Total active.", "", ("Total Active(MB)",), written=ALLOCATOR),
        Column("stream", I, "Stream", "Stream pointer or id.", "identity", ("Stream Ptr",), written=ALLOCATOR),
        Column("device", T, "Device", "Device, e.g. NPU:0.", "identity", ("Device Type",)),
    ),
    doc="Totals per component over time.",
)

MODULE_MEMORY = ResultFile(
    id="module_memory",
    name="npu_module_mem.csv",
    title="Module memory",
    condition=MEMORY,
    columns=(
        DEVICE_ID,
        Column("component", T, "Component", "CANN module.", "identity", ("Component",), required=True),
        Column("time_ns", TIME, "Time", "When it was sampled.", "time", ("Timestamp(us)",), required=True),
        Column("reserved_bytes", BYTES, "Reserved", "Reserved by the module.", "", ("Total Reserved(MB)",)),
        Column("device", T, "Device", "Device, e.g. NPU:0.", "identity", ("Device",)),
    ),
    doc="Memory of each CANN module, every 20 ms.",
)
