"""Known versions of each format: how to recognise them, and the evidence.

Source: docs/facts/ascend_pt.md, Differences between versions; docs/facts/ascend_ms.md, Generations, Folder name;
docs/facts/mindinsight.md.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Version:
    """A version of a format.

    name     profiler and version
    marker   recognised by
    sample   recorded result that tests read if it exists (folder of the real data, or of fixtures/); "" if the version
             is only known from documentation
    """

    name: str
    marker: str
    sample: str = ""


#: By id of schema.formats.FORMATS.
VERSIONS: dict[str, tuple[Version, ...]] = {
    "torch_npu": (
        Version(
            "2023 (up to CANN 7)",
            "`Block Dim`, core `HCCL`, `Enqueue`, numeric `ts`, AI CPU times in ms; no `OP State`, no Active columns, no "
            "`Preparing`; settings with leading underscores, 14 digits of time in the folder's name",
        ),
        Version(
            "early 2025 (CANN 8.0), text",
            "`OP State`, `Preparing`, Active columns, `ts` as text; no `Device_id`, core `HCCL`",
            "ascend_pt_text_level1",
        ),
        Version(
            "early 2025 (CANN 8.0), database",
            "`blockDim`; no `deviceId` in StepTraceTime and COMMUNICATION_OP; tables and columns that a viewer added",
            "ascend_pt_db_level1",
        ),
        Version(
            "late 2025 (CANN 8.1 and later)",
            "`Device_id`, core `COMMUNICATION`, `Enqueue@op`, `_export_type` as a list, `task_time.csv`, "
            "`analyse.done`, databases beside the text",
        ),
        Version("2026", "`Block Num` and `Mix Block Num`, `blockNum` in databases"),
    ),
    "mindspore": (
        Version("2.3 and 2.4", "`rank-<id>_<time>_ascend_ms` with `PROF_*` beside it, in a `profiler` folder"),
        Version("2.5 and later", "`<worker>_<pid>_<time>_ascend_ms` with `profiler_info_<rank>.json`"),
    ),
    "mindspore_cpu": (
        Version("2.10 on a CPU", "`FRAMEWORK/cpu_*_<rank>.txt` and no `PROF_*`", "mindspore_cpu/cpu_graph"),
    ),
    "minddata": (
        Version(
            "2.10, without a profiler",
            "`pipeline_profiling_<rank>.json` in a folder of any name",
            "mindspore_cpu/cpu_minddata",
        ),
    ),
    "mindinsight": (
        Version("1.x", "device ids in file names, a rank table beside `cluster_profiler`, four figures a batch"),
        Version("2.0 to 2.2, one device", "flat `profiler` folder", "mindinsight_single"),
        Version("2.0 to 2.2, pipeline of 4 ranks", "files of all ranks in one folder", "mindinsight_cluster"),
    ),
    "kineto": (
        Version(
            "PyTorch 1.8 to 1.12",
            "categories `Operator`, `Runtime`, `Kernel`, `Memcpy`, `Memset`; `external id` of the device in lower case",
        ),
        Version(
            "PyTorch 1.13 to 2.2", "`ts` in microseconds since the epoch; the external id may repeat the correlation"
        ),
        Version("PyTorch 2.3 and later, GPU", "`baseTimeNanoseconds`, `ts` counted from it"),
        Version("PyTorch 2.13, CPU alone", "`deviceProperties` is empty, `host_name`", "recorded/kineto_cpu"),
        Version(
            "PyTorch 2.13, CPU, with_stack", "events `python_function`, `Python parent id`", "recorded/kineto_stacks"
        ),
    ),
    "msprof": (
        Version("CANN 7 and later", "`PROF_*/mindstudio_profiler_output`, names end in the time of the export"),
    ),
    "cluster": (
        Version(
            "msprof-analyze 26.2, text", "`comm_group_parallel_info`, DP, PP and TP Index", "recorded/cluster_text"
        ),
        Version("msprof-analyze 26.2, database", "`cluster_analysis.db` with `ClusterBaseInfo`", "recorded/cluster_db"),
    ),
}
