"""Operators that run on the AI CPU instead of the AI Core. Source of types: msprof-analyze's advisor, CANN 7.0 and 8.0."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tb_npu_plugin.analysis.findings.fixes import Fix
from tb_npu_plugin.analysis.findings.kernel_costs import LEAST_KERNEL_NS, Costs, kernel_rule, labels, share_of_step
from tb_npu_plugin.analysis.findings.kernel_groups import largest_group
from tb_npu_plugin.analysis.findings.rank_kernels import RankKernels
from tb_npu_plugin.analysis.findings.run_data import RunData
from tb_npu_plugin.analysis.findings.text import duration, percent
from tb_npu_plugin.messages import Message
from tb_npu_plugin.tables import FloatArray

_CORE = "AI_CPU"
#: Data types that operators run with on the AI Core; others are left to the AI CPU.
_SUPPORTED = frozenset(
    "FLOAT FLOAT32 FLOAT16 BF16 BOOL INT8 INT16 INT32 INT64 UINT8 UINT16 UINT32 UINT64".split()  # noqa: SIM905
)
#: Types that an operator does not run with on the AI Core although others do.
_UNSUPPORTED = {
    "cast": frozenset(("INT8", "INT16", "UINT16")),
    "mul": frozenset(("INT16", "UINT16")),
    "nonzero": _SUPPORTED - {"FLOAT16", "BOOL", "BF16"},
    "equal": _SUPPORTED - {"FLOAT", "FLOAT32", "FLOAT16", "BOOL", "INT32", "INT64", "INT8", "UINT8"},
    "tensorequal": _SUPPORTED - {"FLOAT", "FLOAT32", "FLOAT16", "BOOL", "INT32", "INT8", "UINT8"},
}
#: Types that inputs are converted to, and their names in the frameworks; number of those that are named.
_TARGETS = {"FLOAT": "float32", "INT32": "int32", "FLOAT16": "float16", "BF16": "bfloat16"}
_MODULE, _NAMED_TARGETS = {"PyTorch": "torch.", "MindSpore": "mindspore.", "": ""}, 2
_FIX = Fix("fix.ai_cpu")
_OF_TYPES = Fix("fix.ai_cpu.types")
_OF_INDEX = Fix("fix.ai_cpu.index", torch="fix.ai_cpu.index.torch", mindspore="fix.ai_cpu.index.mindspore")
#: Operators that other ones replace.
_REPLACED = frozenset(("index", "indexput", "indexputv2", "nonzero", "argmin"))


def _conclude(run: RunData, found: Costs) -> tuple[Message, Sequence[Message]]:
    """Types with a kernel of 20 µs or more, on the rank with most of that time."""
    fix = [text for type in list(found.items)[:3] for text in _fix(run, found.rank, type)]
    share = percent(share_of_step(run, found.total), 1)
    message = Message(
        "finding.ai_cpu", rank=found.rank.name, time=duration(found.total), share=share, kernels=found.listed()
    )
    return message, fix


def _times(rank: RankKernels) -> FloatArray:
    """Time of each kernel on the AI CPU of a type that takes long enough."""
    table, dur, types = rank.table, rank.table.ints("dur_ns"), labels(rank.table)
    rows = np.flatnonzero(table.text("core").equals(_CORE))
    long = types.codes[rows[dur[rows] >= LEAST_KERNEL_NS]]
    rows = rows[np.isin(types.codes[rows], long)]
    out = np.zeros(len(dur))
    out[rows] = dur[rows]
    return out


def _fix(run: RunData, rank: RankKernels, type: str) -> tuple[Message, ...]:
    """What to do about one type."""
    rows = labels(rank.table).equals(type) & rank.table.text("core").equals(_CORE)
    texts = set(rank.table.text("input_types").take(rows).tolist()) - {None}
    types = {part.removeprefix("DT_") for text in texts for part in (text or "").split(";")} - {"N/A", ""}
    supported = _SUPPORTED - _UNSUPPORTED.get(type.lower(), frozenset())
    found = sorted(types - supported)
    fix = _OF_TYPES if found else _OF_INDEX if type.lower() in _REPLACED else _FIX
    targets = [f"`{_MODULE[run.recorded.framework]}{name}`" for one, name in _TARGETS.items() if one in supported]
    group = largest_group(run, rank, _times(rank), type)
    return fix.of(
        run, kernels=group.text, kernel=type, types=", ".join(found), targets=", ".join(targets[:_NAMED_TARGETS])
    )


RULE = kernel_rule("ai_cpu", ["core"], _times, _conclude)
