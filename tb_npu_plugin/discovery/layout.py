"""Names and limits of result folders.
Source: docs/facts/ascend_pt.md, Folder name, Folder contents; docs/facts/ascend_ms.md, Folder name.
"""

from __future__ import annotations

import re

from tb_npu_plugin.schema.formats import Format
from tb_npu_plugin.schema.torch_npu_json import OUTPUT_FOLDER

#: Suffixes of result folders.
RESULT_SUFFIXES = ("_ascend_pt", "_ascend_ms")
_SUFFIX = r"_ascend_(?:pt|ms)"

#: `{worker}_{pid}_{local time}_ascend_pt`; everything but the suffix may be absent.
RESULT_NAME = re.compile(rf"(?:(?P<worker>.*?)_)?(?P<time>\d{{14,17}}){_SUFFIX}")
#: The pid at the end of a worker name.
WORKER_PID = re.compile(r"(?P<host>.+)_(?P<pid>\d+)")
#: A folder that only names a rank (and which part of its run). Ranks have at most nine digits.
RANK_FOLDER = re.compile(
    r"rank[-_]?(?P<rank>\d{1,9})(?:_start_?(?P<start>\d+)(?:_stop_?(?P<stop>\d+))?)?(?:_(?P<time>\d{14,17}))?"
    rf"(?:{_SUFFIX})?",
    re.IGNORECASE,
)
#: A folder without meaning between a rank folder and its results (mindformers).
PLAIN_FOLDER = "profiler"
#: A rank inside the name of a result folder ("bert_rank3_ascend_pt").
RANK_IN_NAME = re.compile(r"(?:^|_)rank[-_]?(?P<rank>\d{1,9})(?=_|$)", re.IGNORECASE)
#: A folder that only holds a host number; it becomes part of the worker if rank folders are directly in it.
NODE_FOLDER = re.compile(r"(?:node|host|server)[-_]?\d+", re.IGNORECASE)
#: A folder of one role of a reinforcement learning job (verl), and one of a training step above it, which some versions write.
#: Source: docs/facts/ascend_pt.md, Roles.
ROLE_FOLDER = re.compile(
    r"actor_update|actor_compute_log_prob|ref_compute_log_prob|rollout_generate|"
    r"(?:agent_loop_rollout_replica_|rollout-replica)\d+(?:_.*)?"
)
STEP_FOLDER = re.compile(r"(?:(?:global_)?step[-_]?)?(?P<step>\d{1,9})")
#: All roles together: a common name, which means that only below a step.
ALL_ROLES = "e2e"
#: A rank in the name of a database: the profiler writes one of its own, people number the others when they collect them.
DATABASE_RANK = re.compile(r"(?:ascend_\w+_profiler|analysis|communication_analyzer)[-_]?(?P<rank>\d{1,9})\.db")
NUMBERED_ANALYSIS = re.compile(r"analysis[-_]?\d{1,9}\.db")
#: `profiler_info_{rank}.json`.
INFO_NAME = re.compile(r"profiler_info(?:_(?P<rank>\d{1,9}))?\.json")

#: Folder of raw data, written before parsing.
RAW_FRAMEWORK = "FRAMEWORK"
RAW_PREFIX = "PROF_"
#: Subfolders of a result that hold no further results (elsewhere a user's "logs" is walked).
CLOSED_FOLDERS = frozenset({OUTPUT_FOLDER, "logs"})

#: Maximum depth of the walk; deeper nesting is assumed to be an error, such as a loop of mounts.
MAX_DEPTH = 40
#: Maximum number of folders in one scan.
MAX_FOLDERS = 200_000


def is_result_name(name: str) -> bool:
    """Whether the name has a suffix of result folders."""
    return name.endswith(RESULT_SUFFIXES)


def suffix_of(name: str) -> str:
    """The result suffix of a name; "" for other names."""
    return next((suffix for suffix in RESULT_SUFFIXES if name.endswith(suffix)), "")


def is_raw(name: str) -> bool:
    """Whether a folder of this name holds raw data."""
    return name == RAW_FRAMEWORK or name.startswith(RAW_PREFIX)


def is_in_root(format: Format, name: str) -> bool:
    """Whether a file of this name is in the result folder itself."""
    spec = format.file(name)
    return spec is not None and spec.in_root
