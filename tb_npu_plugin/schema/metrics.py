"""AI Core metrics of kernel_details.csv: columns that depend on aic_metrics and on the chip, so they are not listed
but told by their headers. Source: specs/ascend_pt.md 4.1.2."""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass

from tb_npu_plugin.schema.core import base_of, normalise
from tb_npu_plugin.tables import Column, Kind

GROUP = "metric"


class Guess(enum.Enum):
    """What of a column's kind only its cells can tell."""

    NOTHING = "the kind is certain"
    FRACTIONS = "INT if all known cells are whole, FLOAT otherwise"
    FIGURES = "FLOAT if all known cells are figures, TEXT otherwise"


@dataclass(frozen=True)
class _Rule:
    header: re.Pattern[str]
    kind: Kind
    doc: str


_CORES = {"aic": "cube cores", "aiv": "vector cores", "aicore": "AI Cores"}
#: First match wins. {unit} is the part that the header names, {core} the cores it was measured on.
_RULES = tuple(
    _Rule(re.compile(pattern, re.IGNORECASE), kind, doc)
    for pattern, kind, doc in (
        (r"^(aicore|aiv|aic)_time\((us|ms|ns)\)$", Kind.DURATION, "Mean time that the {core} were busy."),
        (r"_time\((us|ms|ns)\)$", Kind.DURATION, "Time in which {unit} of the {core} was busy."),
        (r"_ratio$", Kind.RATIO, "Share of the cycles for {unit} on the {core}."),
        (r"_rate$", Kind.RATIO, "Rate of {unit} on the {core}."),
        (r"\([KMG]?B/s\)$", Kind.BANDWIDTH, "Bandwidth of {unit} on the {core}."),
        (r"\((KB|MB|GB)\)$", Kind.BYTES, "Bytes moved: {unit} on the {core}."),
        (r"\(%\)$", Kind.PERCENT, "{unit} on the {core}."),
        (r"_cycles$", Kind.INT, "Cycles summed over the {core}."),
        (r"(_hit|_miss|_victim|_miss_allocate|_fops)$", Kind.INT, "Count of {unit} on the {core}."),
    )
)
_SUFFIX = re.compile(r"_(time|ratio|rate|cycles|bw)$", re.IGNORECASE)
_NO_KEY = re.compile(r"\W+")


def metric_column(header: str) -> tuple[Column, Guess]:
    """The column of an undeclared header, and what of its kind remains to be told from the cells."""
    header = normalise(header)
    base = base_of(header)
    key = _NO_KEY.sub("_", base).strip("_").lower() or "column"
    for rule in _RULES:
        if rule.header.search(header):
            first = base.split("_", 1)[0].lower()
            unit = _SUFFIX.sub("", base.split("_", 1)[-1] if first in _CORES else base)
            doc = rule.doc.format(unit=unit.replace("_", " "), core=_CORES.get(first, "AI Cores"))
            guess = Guess.FRACTIONS if rule.kind is Kind.INT else Guess.NOTHING
            return Column(key, rule.kind, base, doc, GROUP, (header,)), guess
    return Column(key, Kind.FLOAT, base, "", GROUP, (header,)), Guess.FIGURES
