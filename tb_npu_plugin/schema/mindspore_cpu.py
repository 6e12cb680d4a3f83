"""Files that MindSpore's profiler writes without an NPU: operators that ran on the CPU, and the host's memory.
Source: docs/facts/ascend_ms.md, Results of a CPU."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tb_npu_plugin.schema import torch_npu_csv, torch_npu_json
from tb_npu_plugin.schema.files import result_file
from tb_npu_plugin.schema.mindspore import MEMORY_RECORD_KEYS
from tb_npu_plugin.schema.torch_npu_memory_csv import MEMORY_RECORD

#: Name of the device in `Capture.device_name` and in the memory record.
CPU = "CPU"
#: Rank in the file names: the only place that has it.
RANK = re.compile(r"cpu_\w+_(?P<rank>\d{1,9})\.(?:txt|csv)")


#: Separators in the file of executions: between fields, executions, and figures of an execution.
FIELD, EXECUTION, FIGURE = ";", " ", ","
#: An input in the file of launches: "input_1:[8, 64]"; one without a shape is "input_3:NoShape".
INPUT = re.compile(r"input_\d+:(?:\[(?P<shape>[\d, -]*)\]|\w+)")
#: Begin of a row of the host's memory: time in ns, allocated and reserved bytes.
MEMORY_ROW = re.compile(r"(\d+),(\d+),(\d+)(,|$)", re.ASCII)
#: Begin of an event in RuntimeProfilerDetail*.csv of the runtime profiler.
RUNTIME_EVENT = re.compile(
    r"(?:module:(?P<module>\w*)|stage:(?P<stage>\w*)), event:(?P<event>\w*), op:(?P<op>.*?), start_time:(?P<start>\d+), "
    r"end_time:(?P<end>\d+),.*?tid:(?P<tid>\d+)"
)
#: End of an operator's name in a graph, and of the names of its scopes: "Default/fc1-Dense/MatMul-op0".
NUMBER = re.compile(r"-op\d+$")
SCOPE = "/"
#: Types of operators that communicate.
COLLECTIVE = re.compile(
    r"(?:Inner|Dist)?(?:Comm)?(?:All(?:Reduce|Gather|to(?:all|AllV?))|ReduceScatter|Broadcast|Barrier|CollectiveScatter"
    r"|CollectiveGather|NeighborExchange)(?:V2?)?"
)
POINT_TO_POINT = re.compile(r"(?:Inner|Dist)?(?:Comm)?(?:Send|Receive|Isend|Irecv|BatchISendIRecv)")

EXECUTIONS = result_file("mindspore_cpu.operators")
LAUNCHES = result_file("mindspore_cpu.operator_shapes")
HOST_MEMORY = result_file(
    "mindspore_cpu.memory_record",
    columns=tuple(MEMORY_RECORD.column(key) for key in MEMORY_RECORD_KEYS if key not in ("component", "device")),
)
TRACE = result_file("mindspore_cpu.trace")

CPU_FILES = (EXECUTIONS, LAUNCHES, HOST_MEMORY, TRACE, torch_npu_json.PROFILER_METADATA)
#: Columns of the operators: nothing ran on a device.
OPERATOR_COLUMNS = tuple(
    torch_npu_csv.OPERATORS.column(key)
    for key in ("name", "input_shapes", "call_stack", "host_self_ns", "host_total_ns")
)
#: Columns of the collectives: how long they waited was not recorded.
COLLECTIVE_COLUMNS = tuple(
    column
    for column in torch_npu_json.COMM_OPS_COLUMNS
    if column.key in ("step", "kind", "name", "group", "start_ns", "elapse_ns")
)


def rank_in(names: Iterable[str]) -> tuple[int | None, str]:
    """Return the rank in the file names and the first name that has it; (None, "") if none does."""
    found = next((found for name in names if (found := RANK.fullmatch(name))), None)
    return (None, "") if found is None else (int(found.group("rank")), found.string)


def is_collective(type_: str) -> bool:
    """Whether operators of this type only communicate."""
    return bool(COLLECTIVE.fullmatch(type_) or POINT_TO_POINT.fullmatch(type_))
