"""What result folders look like, as data.
Source: docs/facts/ascend_pt.md, Folder name, Folder contents; docs/facts/ascend_ms.md, Folder name."""

from __future__ import annotations

import re

from tb_npu_plugin.schema.formats import Format
from tb_npu_plugin.schema.torch_npu_json import OUTPUT_FOLDER

#: Ends of the names that profilers give to result folders.
RESULT_SUFFIXES = ("_ascend_pt", "_ascend_ms")
_SUFFIX = r"_ascend_(?:pt|ms)"

#: `{worker}_{pid}_{local time}_ascend_pt`; everything but the suffix may be absent.
RESULT_NAME = re.compile(rf"(?:(?P<worker>.*?)_)?(?P<time>\d{{14,17}}){_SUFFIX}")
#: The pid at the end of a worker name.
WORKER_PID = re.compile(r"(?P<host>.+)_(?P<pid>\d+)")
#: A folder whose name says nothing but which rank (and which part of its run) it holds. More digits are no rank.
RANK_FOLDER = re.compile(
    r"rank[-_]?(?P<rank>\d{1,9})(?:_start_?(?P<start>\d+)(?:_stop_?(?P<stop>\d+))?)?(?:_(?P<time>\d{14,17}))?"
    rf"(?:{_SUFFIX})?",
    re.IGNORECASE,
)
#: A folder that says nothing at all between that of a rank and its results (mindformers).
PLAIN_FOLDER = "profiler"
#: A rank inside the name of a result folder ("bert_rank3_ascend_pt").
RANK_IN_NAME = re.compile(r"(?:^|_)rank[-_]?(?P<rank>\d{1,9})(?=_|$)", re.IGNORECASE)
#: A folder that only numbers a host; it folds into the worker when rank folders are directly in it.
NODE_FOLDER = re.compile(r"(?:node|host|server)[-_]?\d+", re.IGNORECASE)
#: `profiler_info_{rank}.json`.
INFO_NAME = re.compile(r"profiler_info(?:_(?P<rank>\d{1,9}))?\.json")

#: Folders of raw data: what the profiler wrote before it was parsed.
RAW_FRAMEWORK = "FRAMEWORK"
RAW_PREFIX = "PROF_"
#: Folders of a result (not of others: a user's "logs" is walked) that hold no further results.
CLOSED_FOLDERS = frozenset({OUTPUT_FOLDER, "logs"})

#: Deeper than this is taken for a mistake (a loop of mounts, for instance).
MAX_DEPTH = 40
#: More folders than this are not walked in one scan.
MAX_FOLDERS = 200_000


def is_result_name(name: str) -> bool:
    """The name ends as profilers name their results."""
    return name.endswith(RESULT_SUFFIXES)


def suffix_of(name: str) -> str:
    """The end of a name that profilers give to their results; "" for other names."""
    return next((suffix for suffix in RESULT_SUFFIXES if name.endswith(suffix)), "")


def is_raw(name: str) -> bool:
    """A folder of this name holds raw data."""
    return name == RAW_FRAMEWORK or name.startswith(RAW_PREFIX)


def is_in_root(format: Format, name: str) -> bool:
    """A file of this name belongs into the result folder itself."""
    spec = format.file(name)
    return spec is not None and spec.in_root
