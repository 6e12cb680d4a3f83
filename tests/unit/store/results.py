"""Small results on disk, for the tests of discovery, store and server."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

from tb_npu_plugin.schema.torch_npu_json import OUTPUT_FOLDER
from tests.support.trace import event, metadata

KERNELS = (
    "Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Dim\r\n"
    "7,aclnnAdd_Add,Add,AI_VECTOR_CORE,1736408883704643.212\t,3.5,0,8\r\n"
    "7,aclnnMm_MatMul,MatMul,AI_CORE,1736408883704700.001\t,10.25,1,20\r\n"
)
STEPS = (
    "Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble,"
    "Communication(Not Overlapped and Exclude Receive),Preparing\r\n"
    "7,13.75,0,0,0,1.5,15.25,0,0,2\r\n"
)
TRACE = json.dumps(
    [
        metadata("process_name", 1, name="Python"),
        event("aten::add", 1736408883704000.500, 9.5, cat="cpu_op", args={"Input Dims": "2,2"}),
    ]
)
NAME = "host1_4242_20250109154804123_ascend_pt"


def write_result(
    folder: Path,
    rank: int | None = 0,
    files: dict[str, str] | None = None,
    trace: str | None = TRACE,
    settled: bool = True,
) -> Path:
    """A result with kernels, steps and a trace; `files` adds or replaces files of ASCEND_PROFILER_OUTPUT."""
    output = folder / OUTPUT_FOLDER
    output.mkdir(parents=True, exist_ok=True)
    contents = {"kernel_details.csv": KERNELS, "step_trace_time.csv": STEPS, **(files or {})}
    if trace is not None:
        contents["trace_view.json"] = trace
    for name, content in contents.items():
        (output / name).write_bytes(content.encode())
    info = "profiler_info.json" if rank is None else f"profiler_info_{rank}.json"
    (folder / info).write_text(
        json.dumps({"config": {"common_config": {"with_stack": True}, "experimental_config": {}}})
    )
    if settled:
        settle(folder)
    return folder


def settle(folder: Path, seconds: float = 60) -> None:
    """Make all files look as if nobody had written them for a while."""
    past = time.time() - seconds
    for path in [folder, *folder.rglob("*")]:
        if not path.is_symlink():
            os.utime(path, (past, past))
