"""What a kernel does, by its name and type: the table kernel_meaning.csv. The first row that matches applies.

Columns of the table:
    where: Text that the pattern is looked for in: "kernel_name", "kernel_type", "gpu_kernel", "task_type", "host_op" or "api".
    match: "exact", "prefix" or "regex" (anywhere in the text).
    meaning: What the kernel does, such as "matmul". "other" for a name that CANN's compilers made: its type or stem says it.
    waits_inside: "yes" if the kernel waits for other ranks.
    fold: Rule that makes the names of its calls equal, see `folded_name`. "kfc" and "dtype_suffix": the kernel is the device side of a
        collective that an operator (hcom_...) stands for.
    evidence, source: How the row is known.

The file that TB_NPU_KERNEL_TABLE names has the same columns; the rows of this table are looked up first. Nothing of this is cached on
disk: readers do not use it.
"""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import Literal, NamedTuple, Optional, get_args

from tb_npu_plugin.messages import Message
from tb_npu_plugin.problems import Problem, problem_of
from tb_npu_plugin.schema.pattern_cost import why_expensive

Where = Literal["kernel_name", "kernel_type", "gpu_kernel", "task_type", "host_op", "api"]
#: Categories of slices in a trace: kernels of a GPU; what is not work of its own.
KERNEL_CATEGORY, NO_WORK = "kernel", ("python_function", "user_annotation")
#: Environment variable with the path of a user's own table.
USER_TABLE = "TB_NPU_KERNEL_TABLE"
#: Meanings of kernels that compute and communicate: their time counts as computing.
FUSED = ("fused_comm_compute", "moe_dispatch_combine")
#: Meanings of kernels that compute nothing. SCHEDULING: the device side of a collective whose operator is listed, too.
COMMUNICATION = ("collective", "point_to_point", "ai_cpu_unfolded_collective")
SCHEDULING = "collective_scheduling"
#: Meanings that the product itself distinguishes, in display order; a user's table may have others.
MEANINGS = (
    "conv_forward",
    "conv_backward",
    "matmul",
    "grouped_matmul",
    "attention",
    "rope",
    "normalization",
    "activation",
    "quantization",
    "embedding",
    "loss_softmax",
    "optimizer",
    "moe_routing",
    "moe_dispatch_combine",
    "fused_comm_compute",
    "cache_kv",
    "sampling",
    "random_dropout",
    "cast_format",
    "copy_memory",
    "reduction",
    "sync_event",
    "other",
)
_MATCHES = ("exact", "prefix", "regex")
#: Text that all matches of a regular expression begin with.
_LITERAL = re.compile(r"\^(\w+)(?![\w?*{])(?!.*\|)", re.DOTALL)
_COLUMNS = ("where", "match", "pattern", "meaning")
#: No kernel's name is longer, characters: searches take up to the square of it.
_MOST_TEXT = 4096
_GROUP = re.compile(r"__(\d{1,3})_\d+_\d+$")
#: Folds that drop the numbers of a call.
CALL_FOLDS = ("hcom", "kfc", "dtype_suffix", "graph_index", "hash")
#: Folds of names that CANN's compilers made of a type.
_OF_COMPILERS = ("graph_index", "hash")
#: What CANN's compilers add to the type in a name: "te_" before it, a hash and all after it, numbers of calls or graphs.
_BEFORE, _AFTER = re.compile(r"^(?:te|trans)_"), re.compile(r"_[0-9a-f]{32,64}.*|__kernel\d+$", re.DOTALL)
_INDEX = re.compile(r"(?<=[A-Za-z])\d+(?=$|_MemSet$)")
_HASH, _ANY_HASH, _LONG_NUMBER = re.compile(r"_[0-9a-f]{32,64}"), "_" + "f" * 32, re.compile(r"\d{3,}")
_CORE, _DTYPE = re.compile(r"_mix_ai[cv]$"), re.compile(r"_(?:u?int\d+|b?float\d*|bf16|fp\d+\w*|half)$")
#: Of C++: return type, namespaces without a name; numbers that begin the template arguments. Of Triton: number of the kernel, versions of
#: its arguments. Of libraries: sizes of tiles, and all after them.
_UNNAMED, _NUMBERS = re.compile(r"^void |\(anonymous namespace\)::"), re.compile(r"(?<=<)(?:\d+(?:u?l+)?(?:, |(?=>)))+")
_TRITON, _SIZES = re.compile(r"(?:_\d+)?(?:_0d\w*)?$"), re.compile(r"_(?:MT|tilesize)?\d+x\d+.*$", re.DOTALL)


class KernelMeaning(NamedTuple):
    """What a kernel does."""

    meaning: str
    waits_inside: bool
    fold: str


class _Row(NamedTuple):
    """start: What each text begins with that matches."""

    where: str
    match: str
    pattern: str
    start: str
    found: KernelMeaning

    def matches(self, text: str) -> bool:
        """Whether the row is about this text."""
        if not text.startswith(self.start):
            return False
        return self.match == "prefix" or bool(
            _compiled(self.pattern).search(text) if self.match == "regex" else text == self.pattern
        )


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """A row's regular expression, once the row is looked up: it takes long to compile."""
    return re.compile(pattern)


@cache
def user_table() -> tuple[list[_Row], list[Problem]]:
    """Rows of the user's table, and what is wrong with it: a bad row costs itself."""
    path = os.environ.get(USER_TABLE, "")
    if not path:
        return [], []
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            lines = csv.DictReader(file)
            if not set(_COLUMNS).issubset(lines.fieldnames or ()):
                return [], [_problem(path, "1", ", ".join(lines.fieldnames or ()), is_whole=True)]
            found = list(_rows_of(lines, _why_refused))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        return [], [_problem(path, "", str(error), is_whole=True)]
    rows = [row for row in found if isinstance(row, _Row)]
    return rows, [_problem(path, str(line), row) for line, row in enumerate(found, start=2) if isinstance(row, str)]


def _rows_of(
    lines: csv.DictReader[str], refuse: Callable[[str], Optional[str]] = lambda pattern: None
) -> Iterator[_Row | str]:
    """Each row, or what is wrong with it. refuse: why a regular expression is not taken."""
    for line in lines:
        where, match, pattern, meaning = ((line.get(key) or "").strip() for key in _COLUMNS)
        if where not in get_args(Where) or match not in _MATCHES or not pattern or not meaning:
            yield ", ".join(f"{key}={line.get(key)}" for key in _COLUMNS)
            continue
        reason = refuse(pattern) if match == "regex" else None
        if reason:
            yield f"{pattern}: {reason}"
            continue
        literal = _LITERAL.match(pattern) if match == "regex" else None
        start = pattern if match != "regex" else literal[1] if literal else ""
        yield _Row(
            where,
            match,
            pattern,
            start,
            KernelMeaning(meaning, line.get("waits_inside") == "yes", line.get("fold") or ""),
        )


def _why_refused(pattern: str) -> Optional[str]:
    """Why a user's regular expression is not taken; None if it is."""
    try:
        re.compile(pattern)
        return why_expensive(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        return str(error)


def _problem(path: str, line: str, found: str, is_whole: bool = False) -> Problem:
    return problem_of(
        "kernel_table",
        Path(path).name,
        line,
        found=found[:200],
        lost=Message("lost.whole_kernel_table" if is_whole else "lost.kernel_table"),
        columns=", ".join(_COLUMNS),
    )


@cache
def _own_table() -> list[_Row]:
    with (Path(__file__).parent / "kernel_meaning.csv").open(encoding="utf-8", newline="") as file:
        return [row for row in _rows_of(csv.DictReader(file)) if isinstance(row, _Row)]


@cache
def _rows(where: Where) -> list[_Row]:
    """The rows about one text, the user's first."""
    return [row for row in (*user_table()[0], *_own_table()) if row.where == where]


@lru_cache(maxsize=65_536)
def meaning_of(text: str, where: Where) -> Optional[KernelMeaning]:
    """Meaning of one text; None if the table does not know it."""
    if len(text) > _MOST_TEXT:
        return None
    return next((row.found for row in _rows(where) if row.matches(text)), None)


@lru_cache(maxsize=4096)
def own_meaning_of(text: str, where: Where) -> Optional[KernelMeaning]:
    """The same by the product's table alone: what a simulation writes does not depend on a user's table."""
    return next((row.found for row in _own_table() if row.where == where and row.matches(text)), None)


def meaning_of_kernel(name: Optional[str], kernel_type: Optional[str], is_gpu: bool = False) -> Optional[KernelMeaning]:
    """Meaning of a kernel; None if it is not known by name.

    GPU: by the whole name. NPU: by the name, else by the type; where that is unknown, by the type in the name.
    """
    name = _alike(without_call(name or ""))
    return meaning_of(name, "gpu_kernel") if is_gpu else _meaning_on_npu(name, kernel_type)


def meaning_of_slice(name: str, category: str) -> str:
    """Meaning of a slice of a timeline, a task, a kernel or an operator of the host; "" if it is not known by name."""
    return "" if category in NO_WORK else _meaning_of_slice(_alike(without_call(name)), category == KERNEL_CATEGORY)


@lru_cache(maxsize=65_536)
def _meaning_of_slice(name: str, is_gpu: bool) -> str:
    if is_gpu:
        found = meaning_of(name, "gpu_kernel")
    else:
        found = meaning_of(name, "task_type") or meaning_of(name, "host_op") or _meaning_on_npu(name, None)
    return found.meaning if found is not None else ""


def without_call(name: str) -> str:
    """The name with 0 as the numbers of its call: names that differ in nothing else mean the same, unless a row of the user's names
    a call."""
    stem = name if user_table()[0] else _stem(name)
    return name if stem is name else f"{stem}_0"


def _stem(name: str) -> str:
    """The name without the numbers of its call, such as `__564_7_1`."""
    stem = name.rstrip("_0123456789")
    numbers = name[len(stem) :]
    return stem + numbers.partition("_")[0] if "_" in numbers and numbers[-1] != "_" else name


def _alike(name: str) -> str:
    """The name with one hash for all and one long number for all: no row of the table names one, but one of the user's may."""
    return name if user_table()[0] else _LONG_NUMBER.sub("000", _HASH.sub(_ANY_HASH, name))


@lru_cache(maxsize=65_536)
def _meaning_on_npu(name: str, kernel_type: Optional[str]) -> Optional[KernelMeaning]:
    by_name = meaning_of(name, "kernel_name")
    if by_name is not None and not (by_name.meaning == "other" and by_name.fold in _OF_COMPILERS):
        return by_name
    words = [kernel_type] if kernel_type and kernel_type != "N/A" else _types_in(name)
    found = next((one for word in words if (one := meaning_of(word, "kernel_type")) is not None), None)
    if by_name is None:
        return found
    return KernelMeaning(found.meaning, found.waits_inside, by_name.fold) if found is not None else None


def _types_in(name: str) -> list[str]:
    """Types that a kernel's name may hold: aclnnX_Y_Z -> Z, trans_TransData_3 -> TransData, Conv2D1 -> Conv2D."""
    word = _AFTER.sub("", _stem(_BEFORE.sub("", _CORE.sub("", name)))).rpartition("_")[2]
    return [word, _INDEX.sub("", word)] if word else []


def folded_name(name: str, fold: str) -> str:
    """Name of all calls of a kernel, by the rule `fold` of its row in the table."""
    if fold in ("hcom", "kfc"):
        return _stem(name) or name
    if fold == "dtype_suffix":
        return _DTYPE.sub("", _stem(name)) or name
    if fold in _OF_COMPILERS:
        stem = _AFTER.sub("", _stem(_CORE.sub("", name)))
        return (_INDEX.sub("", stem) if fold == "graph_index" else stem) or name
    if fold in ("template", "nccl", "library", "triton"):
        function = _NUMBERS.sub("", _UNNAMED.sub("", _without_arguments(name)))
        if fold == "triton" or function.startswith("triton_"):
            return _TRITON.sub("", function)
        return _SIZES.sub("", function) if fold == "library" else function
    return name


def use_user_table(path: str) -> None:
    """Look kernels up in this table first; "" for none."""
    os.environ[USER_TABLE] = path
    for cached in (user_table, _rows, meaning_of, _meaning_on_npu, _meaning_of_slice):
        cached.cache_clear()


def group_of_call(name: str) -> Optional[str]:
    """Group of a call of HCCL, the end of its id: hcom_allReduce__509_15_1 -> 509."""
    found = _GROUP.search(name)
    return found and found[1]


def _without_arguments(function: str) -> str:
    """A C++ function without its arguments, the last brackets."""
    depth = 0
    for at in range(len(function) - 1, 0, -1) if function.endswith(")") else ():
        depth += (function[at] == ")") - (function[at] == "(")
        if depth == 0:
            return function[:at]
    return function
