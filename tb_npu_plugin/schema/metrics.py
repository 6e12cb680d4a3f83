"""AI Core metrics of kernel_details.csv. The columns depend on aic_metrics and on the chip, so they are not listed but
derived from their headers. Source: docs/facts/ascend_pt.md, Metric columns."""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass

from tb_npu_plugin.messages import Message
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


CORES = {core: Message(f"metric.core.{core}") for core in ("aic", "aiv", "aicore")}
UNITS = {
    unit: Message(f"metric.unit.{unit}")
    for unit in ("mac", "cube", "vec", "scalar", "mte1", "mte2", "mte3", "fixpipe", "icache_miss")
}
#: The first match applies. Parameters of the docs: unit, the part of the core that the header names, and core, the cores measured.
RULES = tuple(
    _Rule(re.compile(pattern, re.IGNORECASE), kind, doc)
    for pattern, kind, doc in (
        (r"^(aicore|aiv|aic)_time\((us|ms|ns)\)$", Kind.DURATION, "metric.busy"),
        (r"_time\((us|ms|ns)\)$", Kind.DURATION, "metric.unit_busy"),
        (r"_ratio$", Kind.RATIO, "metric.ratio"),
        (r"_rate$", Kind.RATIO, "metric.rate"),
        (r"\([KMG]?B/s\)$", Kind.BANDWIDTH, "metric.bandwidth"),
        (r"\((KB|MB|GB)\)$", Kind.BYTES, "metric.bytes"),
        (r"^cube_utilization\(%\)$", Kind.PERCENT, "metric.cube_utilization"),
        (r"\(%\)$", Kind.PERCENT, "metric.percent"),
        (r"^memory_bound$", Kind.FLOAT, "metric.memory_bound"),
        (r"_cycles$", Kind.INT, "metric.cycles"),
        (r"(_hit|_miss|_victim|_miss_allocate|_fops)$", Kind.INT, "metric.count"),
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


def _doc(rule: _Rule, base: str) -> Message:
    """The rule's sentence for one metric: "aic_mac_time" refers to the unit "mac" of the cores "aic"."""
    first, _, rest = base.partition("_")
    core = CORES.get(first.lower())
    unit = _NOISE.sub("", rest if core else base)
    return Message(rule.doc, unit=UNITS.get(unit.lower(), unit.replace("_", " ")), core=core or CORES["aicore"])
