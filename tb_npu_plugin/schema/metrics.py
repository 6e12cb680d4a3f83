"""AI Core metrics of kernel_details.csv. The columns depend on aic_metrics and on the chip, so they are not listed but
derived from their headers. Source: docs/facts/ascend_pt.md, Metric columns."""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass

from tb_npu_plugin.schema.core import base_of, normalise
from tb_npu_plugin.tables import Column, Kind

GROUP = "metric"


#: Units that text exports append to names of the databases.
_UNITS_OF_NAMES = (
    (re.compile(r"_time$"), "(us)"),
    (re.compile(r"_bw(_|$)"), "(GB/s)"),
    (re.compile(r"_datas$"), "(KB)"),
)


def header_of(name: str) -> str:
    """Header in kernel_details.csv of a metric in a database."""
    return name + next((unit for pattern, unit in _UNITS_OF_NAMES if pattern.search(name)), "")


class Guess(enum.Enum):
    """Properties of a column that only its cells show."""

    NOTHING = "the kind is certain"
    FRACTIONS = "INT if all known cells are whole, FLOAT otherwise"
    FIGURES = "FLOAT if all known cells are figures, TEXT otherwise"


@dataclass(frozen=True)
class _Rule:
    header: re.Pattern[str]
    kind: Kind
    doc: str


CORES = {"aic": "cube cores", "aiv": "vector cores", "aicore": "AI Cores"}
UNITS = {
    "mac": "the matrix unit",
    "cube": "the matrix unit",
    "vec": "the vector unit",
    "scalar": "the scalar unit",
    "mte1": "MTE1 (L1 to L0)",
    "mte2": "MTE2 (global memory to L1 or UB)",
    "mte3": "MTE3 (UB to global memory)",
    "fixpipe": "FixPipe (L0C to global memory or L1)",
    "icache_miss": "instruction cache misses",
}
#: The first match applies. {unit}: part of the core that the header names; {core}: cores measured.
RULES = tuple(
    _Rule(re.compile(pattern, re.IGNORECASE), kind, doc)
    for pattern, kind, doc in (
        (
            r"^(aicore|aiv|aic)_time\((us|ms|ns)\)$",
            Kind.DURATION,
            "Mean time that the {core} were busy (split chips: aicore is the cube cores).",
        ),
        (r"_time\((us|ms|ns)\)$", Kind.DURATION, "Time that {unit} was busy on the {core}."),
        (r"_ratio$", Kind.RATIO, "Share of the cycles that went to {unit} on the {core}; 0 to 1."),
        (r"_rate$", Kind.RATIO, "Rate of {unit} on the {core}; 0 to 1."),
        (r"\([KMG]?B/s\)$", Kind.BANDWIDTH, "Bandwidth: {unit} on the {core}."),
        (r"\((KB|MB|GB)\)$", Kind.BYTES, "Bytes moved: {unit} on the {core}."),
        (r"^cube_utilization\(%\)$", Kind.PERCENT, "Cycles of the matrix unit by those that all cores had meanwhile."),
        (r"\(%\)$", Kind.PERCENT, "{unit} on the {core}."),
        (r"^memory_bound$", Kind.FLOAT, "Time share of MTE2 by the larger of those of matrix and vector unit."),
        (r"_cycles$", Kind.INT, "Cycles summed over the {core}."),
        (r"(_hit|_miss|_victim|_miss_allocate|_fops)$", Kind.INT, "Count of {unit} on the {core}."),
    )
)
_NOISE = re.compile(r"_(time|ratio|rate|cycles|datas)$|_bw(?=_|$)", re.IGNORECASE)
#: Bound of figures whose meaning is unknown.
_ANY = float("inf")
_NO_KEY = re.compile(r"\W+")


def metric_column(header: str) -> tuple[Column, Guess]:
    """The column of an undeclared header, and which property must be derived from its cells."""
    header = normalise(header)
    base = base_of(header)
    key = _NO_KEY.sub("_", base).strip("_").lower() or "column"
    for rule in RULES:
        if rule.header.search(header):
            guess = Guess.FRACTIONS if rule.kind is Kind.INT else Guess.NOTHING
            return Column(key, rule.kind, base, _doc(rule, base), GROUP, (header,)), guess
    return Column(key, Kind.FLOAT, base, "", GROUP, (header,), least=-_ANY, most=_ANY), Guess.FIGURES


def _doc(rule: _Rule, base: str) -> str:
    """The rule's sentence for one metric: "aic_mac_time" refers to the unit "mac" of the cores "aic"."""
    first, _, rest = base.partition("_")
    core = CORES.get(first.lower())
    unit = _NOISE.sub("", rest if core else base)
    return rule.doc.format(unit=UNITS.get(unit.lower(), unit.replace("_", " ")), core=core or "AI Cores")
