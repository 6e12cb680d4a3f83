"""Known files that this version does not read, with their purpose.
Source: docs/facts/ascend_pt.md, Files and when they are written, Files copied from msprof; the vendor's reference of
msprof's files for data that the trace has too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

#: Numbers that msprof puts before the suffix: device, slice, export time. Frameworks' profilers drop them.
_NUMBERS = r"(?:_slice_\d+|_\d+)*"


@dataclass(frozen=True)
class OtherFile:
    """A file that is not read. pattern: of its name; title: its content."""

    pattern: re.Pattern[str]
    title: str


def _other_file(stem: str, end: str, title: str) -> OtherFile:
    """A file `{stem}.{end}`, optionally with numbers, optionally compressed."""
    return OtherFile(re.compile(rf"(?:{stem}){_NUMBERS}\.{end}(?:\.gz)?"), title)


OTHER_FILES = (
    _other_file("analyse", "done", title="Mark that the export has ended"),
    _other_file("README", "txt", title="Explains the other files"),
    _other_file("nic|roce|pcie|hccs|hbm|ddr|llc_read_write|npu_mem", "csv", title="Statistic of a curve of the trace"),
    _other_file("host_(?:cpu|mem|disk|network)_usage", "csv", title="Statistic of a curve of the trace"),
    _other_file("soc_pmu", "csv", title="TLB hits of AI core tasks"),
    _other_file("static_op_mem", "csv", title="Memory of operators of static graphs"),
    _other_file("fusion_op", "csv", title="Operators before and after fusion"),
    _other_file("msprof_tx", "(?:csv|json)", title="Marks of the user, which are in the trace too"),
    _other_file("step_trace", "json", title="Events of the iterations"),
    _other_file("prof_rule", "json", title="Advice of msprof"),
    _other_file("dp|aicpu_mi", "csv", title="Data pipeline on the device"),
    _other_file("dvpp", "csv", title="Use of the image and video units"),
    _other_file("ai_(?:vector_)?core_utilization", "csv", title="Use of the cores, sampled"),
    _other_file(
        "(?:process_)?cpu_usage|sys_mem|process_mem|os_runtime_statistic", "csv", title="Use of processors and memory"
    ),
    _other_file(
        "(?:ai|ctrl|ts)_cpu_(?:top_function|pmu_events)", "csv", title="Functions and events of the device's processors"
    ),
)


def other_title(name: str) -> str:
    """Title of a file that is not read; "" if unknown."""
    return next((other.title for other in OTHER_FILES if other.pattern.fullmatch(name)), "")
