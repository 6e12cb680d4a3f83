"""Sequences of kernels that one fused kernel of torch_npu replaces.

Sources: affinity rules of msprof-analyze's advisor and of MindStudio Insight, as sequences of kernel types on one stream.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Optional

import numpy as np

from tb_npu_plugin.analysis.findings.kernel_costs import Costs, costs, kernel_finding, missing_column
from tb_npu_plugin.analysis.findings.model import Finding, Rule, Unchecked
from tb_npu_plugin.analysis.findings.rank_kernels import RankKernels
from tb_npu_plugin.analysis.findings.run_data import RunData
from tb_npu_plugin.analysis.findings.text import duration
from tb_npu_plugin.analysis.grouping import Groups
from tb_npu_plugin.messages import Message
from tb_npu_plugin.tables import FloatArray, IntArray

#: Letter of a kernel type in the patterns. The first match applies; types without a letter end a sequence.
_LETTERS = tuple(
    (letter.encode(), re.compile(pattern, re.IGNORECASE))
    for letter, pattern in (
        ("", r"^(memset|dsagenbitmask|drop_?out_?gen_?mask\w*)$"),
        (".", r"grad|backward"),
        ("M", r"^(batch)?mat_?mul"),
        ("m", r"^(mul|muls|real_?div|div)$"),
        ("a", r"^add(v2|s)?$"),
        ("k", r"^(masked_?fill|select_?v2|masked_?scale)$"),
        ("s", r"^softmax"),
        ("d", r"^drop_?out"),
        ("n", r"^neg$"),
        ("c", r"^concat"),
        ("l", r"^(strided_?)?slice|^split"),
        ("p", r"^(pow|square)$"),
        ("r", r"^reduce_?mean"),
        ("q", r"^rsqrt$"),
        ("x", r"^cast$"),
        ("w", r"^(swish|silu)$"),
        ("g", r"^gelu"),
        ("L", r"^layer_?norm"),
        ("R", r"^rms_?norm"),
        ("G", r"^group_?norm"),
    )
)


@dataclass(frozen=True)
class Pattern:
    """A sequence and what replaces it."""

    sequence: re.Pattern[str]
    replacement: str


#: The longest first: a kernel belongs to one sequence.
PATTERNS = tuple(
    Pattern(re.compile(sequence), replacement)
    for sequence, replacement in (
        ("Mx?m?[ak]?x?sx?d?M", "torch_npu.npu_fusion_attention"),
        ("m?l{0,2}nl{0,2}cx?m[ma]a?", "torch_npu.npu_rotary_mul"),
        ("x?praqx*mx*m?", "torch_npu.npu_rms_norm"),
        ("m[ak]s|ks", "torch_npu.npu_scaled_masked_softmax"),
        ("wm", "torch_npu.npu_swiglu"),
        ("gm", "torch_npu.npu_geglu"),
        ("Gw", "torch_npu.npu_group_norm_silu"),
        ("aL", "torch_npu.npu_add_layer_norm"),
        ("aR", "torch_npu.npu_add_rms_norm"),
    )
)
_MATMUL = re.compile("mat_?mul", re.IGNORECASE)
#: Least number of occurrences on a rank.
_LEAST_COUNT = 5


def find(run: RunData) -> list[Finding]:
    """Each pattern on the rank where it costs most. The fused kernels are those of torch_npu."""
    if not run.recorded.is_torch:
        return []
    found = {id(rank): _occurrences(rank) for rank in run.kernels}
    out = []
    for number, pattern in enumerate(PATTERNS):
        one = costs(run, lambda rank, place=number: found[id(rank)][place].costs)  # type: ignore[misc]
        if one is not None:
            out.append(_finding(run, pattern, found[id(one.rank)][number], one))
    return out


@dataclass
class _Occurrences:
    """Occurrences of a pattern on a rank.

    costs: time of each kernel, ns, that the fused one would save at most
    first: kernels of the first occurrence
    """

    costs: FloatArray
    first: IntArray
    count: int = 0


def _finding(run: RunData, pattern: Pattern, occurrences: _Occurrences, found: Costs) -> Finding:
    types = found.rank.table.text("type").take(occurrences.first).tolist()
    message = Message(
        "finding.fusion",
        rank=found.rank.name,
        sequence=" ".join(type or "–" for type in types),
        count=round(occurrences.count / run.step_count) or 1,
        time=duration(found.total),
    )
    return kernel_finding(run, RULE, found, message, [Message("fix.fusion", call=pattern.replacement)])


@dataclass(frozen=True)
class _Sequences:
    """Occurrences of a pattern on a stream. rows: kernels of all of them, in order; first: index in `rows` where each begins."""

    pattern: int
    rows: IntArray
    first: IntArray


def _sequences(rank: RankKernels) -> Iterator[_Sequences]:
    """Occurrences of all patterns on each stream."""
    types = rank.table.text("type")
    letters = [next((letter for letter, pattern in _LETTERS if pattern.search(text)), b".") for text in types.values]
    lookup = np.asarray([*letters, b"."], dtype="S1")
    start = rank.table.ints("start_ns")
    streams = Groups([rank.table.ints("device_id"), rank.table.ints("stream_id")], len(rank.table))
    for rows in streams.rows():
        rows = rows[np.argsort(start[rows], kind="stable")]
        chosen = lookup[types.codes[rows]]
        rows = rows[chosen != b""]
        text = chosen[chosen != b""].tobytes().decode()
        for number, pattern in enumerate(PATTERNS):
            spans = [match.span() for match in pattern.sequence.finditer(text)]
            if spans:
                begin, end = np.asarray(spans, dtype=np.int64).T
                first = np.concatenate([[0], np.cumsum(end - begin)])
                places = np.arange(first[-1]) + np.repeat(begin - first[:-1], end - begin)
                yield _Sequences(number, rows[places], first[:-1])
                text = pattern.sequence.sub(lambda match: "." * len(match[0]), text)


def _occurrences(rank: RankKernels) -> list[_Occurrences]:
    """Occurrences by pattern. The longest member of one stays; with matrix multiplications these stay, but for half of
    them, which a causal mask makes needless. Patterns that occur seldom cost nothing."""
    dur, types = rank.table.ints("dur_ns"), rank.table.text("type")
    out = [_Occurrences(np.zeros(len(dur)), np.zeros(0, dtype=np.int64)) for _ in PATTERNS]
    is_matmul = types.matching(_MATMUL.search)
    for one in _sequences(rank):
        rows, found, products = one.rows, out[one.pattern], is_matmul[one.rows]
        found.first = found.first if found.count else rows[: (*one.first.tolist(), len(rows))[1]]
        found.count += len(one.first)
        number = np.repeat(np.arange(len(one.first)), np.diff(one.first, append=len(rows)))
        order = np.lexsort((-dur[rows], number))  # the longest of each occurrence begins it
        longest = order[one.first]
        costs = np.where(products, dur[rows] / 2, dur[rows])
        costs[longest[~np.logical_or.reduceat(products, one.first)]] = 0
        found.costs[rows] = costs
    for found in out:
        found.costs *= found.count >= _LEAST_COUNT
    return out


def missing(run: RunData) -> Optional[Unchecked]:
    """The types of the kernels."""
    return missing_column(run, RULE.id, "type")


RULE = Rule("fusion", "compute", find, missing, device="NPU")
