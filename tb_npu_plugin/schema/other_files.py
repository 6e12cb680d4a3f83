"""Known files that this version does not read: what they are, and which program opens them.
Source: docs/facts/ascend_pt.md, Files and when they are written, Files copied from msprof; the vendor's reference of
msprof's files for data that the trace has too; documents of the other programs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Optional

from tb_npu_plugin.messages import Message

# Names of the Summary event files of MindSpore, and of the folders that hold them converted.
# Source: docs/facts/summary.md, File names.

_NAME = re.compile(r".+\.out\.events\.summary\.(?P<second>\d{1,12})(?:\.(?P<rank>\d{1,9}))?\..+", re.DOTALL)
#: A file in each folder of converted events; the process that writes there keeps it locked.
LOCK_FILE = "summary.lock"
_LINEAGE, _EXPLAIN = "_lineage", "_explain"


class SummaryName(NamedTuple):
    """What the name of a Summary file says: second of its creation since the epoch, rank (0 in old names, which have
    none), and whether it holds lineage."""

    second: int
    rank: int
    is_lineage: bool


def parse_summary_name(name: str) -> Optional[SummaryName]:
    """Parts of the name of a Summary file; None for other files."""
    match = _NAME.fullmatch(name)
    if match is None or name.endswith(_EXPLAIN):
        return None
    return SummaryName(int(match["second"]), int(match["rank"] or 0), name.endswith(_LINEAGE))


def is_converted(folder: Path) -> bool:
    """Whether the folder holds converted Summary events."""
    return (folder / LOCK_FILE).is_file()


#: Numbers that msprof puts before the suffix: device, slice, export time. Frameworks' profilers drop them.
_NUMBERS = r"(?:_slice_\d+|_\d+)*"
_INSIGHT = "MindStudio Insight"


@dataclass(frozen=True)
class OtherFile:
    """A file that is not read; a folder if the pattern ends in "/".

    pattern  pattern of its name
    title    what it is, and for profiles why no page shows it
    program  opens it, if it is a profile of another program; "" for others
    """

    pattern: re.Pattern[str]
    title: Message
    program: str = ""


def _other_file(stem: str, end: str, title: Message) -> OtherFile:
    """A file `{stem}.{end}` of a result, optionally with numbers, optionally compressed."""
    return OtherFile(re.compile(rf"(?:{stem}){_NUMBERS}\.{end}(?:\.gz)?"), title)


def _profile(pattern: str, title: Message, program: str) -> OtherFile:
    return OtherFile(re.compile(pattern, re.IGNORECASE), title, program)


OTHER_FILES = (
    _other_file("analyse", "done", Message("other.done")),
    _other_file("README", "txt", Message("other.readme")),
    _other_file("nic|roce|pcie|hccs|hbm|ddr|llc_read_write|npu_mem", "csv", Message("other.curve")),
    _other_file("host_(?:cpu|mem|disk|network)_usage", "csv", Message("other.curve")),
    _other_file("soc_pmu", "csv", Message("other.soc_pmu")),
    _other_file("static_op_mem", "csv", Message("other.static_memory")),
    _other_file("fusion_op", "csv", Message("other.fusion")),
    _other_file("msprof_tx", "(?:csv|json)", Message("other.marks")),
    _other_file("step_trace", "json", Message("other.iterations")),
    _other_file("prof_rule", "json", Message("other.advice")),
    _other_file("dp|aicpu_mi", "csv", Message("other.data_pipeline")),
    _other_file("dvpp", "csv", Message("other.dvpp")),
    _other_file("ai_(?:vector_)?core_utilization", "csv", Message("other.core_use")),
    _other_file("(?:process_)?cpu_usage|sys_mem|process_mem|os_runtime_statistic", "csv", Message("other.host_use")),
    _other_file("(?:ai|ctrl|ts)_cpu_(?:top_function|pmu_events)", "csv", Message("other.cpu_events")),
    _profile(r"OPPROF_.+/", Message("other.operator_counters"), _INSIGHT),
    _profile(
        r"(?:batch|request|request_status|kvcache|forward|coordinator|pd_split_\w+)\.csv|ms_service\w*\.db|profiler\.db"
        r"|chrome_tracing\.json",
        Message("other.service"),
        _INSIGHT,
    ),
    _profile(r".*snapshot.*\.(?:pkl|pickle)", Message("other.memory_snapshot"), "pytorch.org/memory_viz"),
    _profile(r"(?:memscope|leaks)_dump_\w+\.(?:db|csv)", Message("other.memscope"), _INSIGHT),
    _profile(
        r"(?:prefill|decode)_\d+\.csv|(?:prefill|decode)_global_deployment\.json|model_gen_config\.json",
        Message("other.experts"),
        _INSIGHT,
    ),
    _profile(r"RuntimeProfiler(?:Detail|Summary)\d+\.csv", Message("other.host_runtime"), "a text editor"),
    _profile(r"RLConfig\.json", Message("other.roles"), _INSIGHT),
    _profile(r"msmonitor_\w+\.db", Message("other.monitor"), "msMonitor"),
    _profile(r"graph_debug.*\.json", Message("other.graph_dump"), "Perfetto"),
    _profile(r"(?:mstt_advisor|performance_comparison_result)_.*\.(?:html|xlsx)", Message("other.report"), "a browser"),
    _profile(r".*\.(?:nsys-rep|qdrep|qdstrm)", Message("other.gpu_system"), "Nsight Systems"),
    _profile(r".*\.ncu-rep", Message("other.gpu_kernels"), "Nsight Compute"),
    _profile(r".*\.(?:pftrace|perfetto-trace)", Message("other.perfetto"), "Perfetto"),
    _profile(r".*\.xplane\.pb", Message("other.xplane"), "XProf"),
    _profile(
        r"perf\.data|.*\.(?:prof|pstats)|.*\.speedscope\.json",
        Message("other.host_profile"),
        "perf, snakeviz, speedscope",
    ),
)


def find_other(name: str) -> OtherFile | None:
    """The entry of a file's name, or of a folder's with a "/" at its end; None if unknown."""
    return next((other for other in OTHER_FILES if other.pattern.fullmatch(name)), None)
