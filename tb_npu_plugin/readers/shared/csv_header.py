"""Finds the columns of a result file by their header texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tb_npu_plugin.messages import Message
from tb_npu_plugin.readers.shared.report import FileReport
from tb_npu_plugin.schema.core import ResultFile, base_of, normalise, normalise_header
from tb_npu_plugin.schema.metrics import Guess, metric_column
from tb_npu_plugin.tables import Column, Kind
from tb_npu_plugin.units import BANDWIDTH_UNITS, SIZE_UNITS, TIME_UNITS, unit_of

#: Most columns of a file: profilers write up to 200.
MAX_COLUMNS = 1000


@dataclass(frozen=True)
class Field:
    """One column of a file.

    index    position in the file
    column   what it holds
    factor   converts its figures to ns, bytes or 1e9 bytes per second
    guess    how the kind may change once all cells are read
    """

    index: int
    column: Column
    factor: float = 1
    guess: Guess = Guess.NOTHING


def find_fields(header: Sequence[str], spec: ResultFile, report: FileReport) -> list[Field] | None:
    """Return the columns to read, in the file's order; None, and a problem, if a required one is missing. Counts the columns."""
    fields = _find_fields(header, spec, report)
    report.count("columns", seen=sum(bool(text.strip()) for text in header), shown=len(fields or ()))
    return fields


def _find_fields(header: Sequence[str], spec: ResultFile, report: FileReport) -> list[Field] | None:
    """See find_fields. Counts the columns that are not read."""
    texts = list(map(normalise, header))
    if len(header) > MAX_COLUMNS:
        most = Message("expected.fewer_columns", most=MAX_COLUMNS)
        report.count("columns", told=sum(map(bool, texts)))
        report.add("too_many_columns", "line 1", expected=most, found=Message("found.columns", count=len(header)))
        return None
    known = {normalise_header(spelling): column for column in spec.columns for spelling in column.headers}
    found: dict[str, Field] = {}
    unknown: list[tuple[int, str]] = []
    for index, text in enumerate(texts):
        column = known.get(normalise_header(text))
        if column is None:
            unknown.append((index, text))
        elif column.key in found:
            report.count("columns", told=1)
            report.add("duplicate_header", "line 1", found=text)
        else:
            found[column.key] = Field(index, column, _factor(text, column, spec, report))
    missing = [column.headers[0] for column in spec.columns if column.required and column.key not in found]
    if missing or not found:
        report.count("columns", told=sum(map(bool, texts)))
        expected = ", ".join(missing) if missing else Message("expected.known_column")
        report.add("missing_column", "line 1", expected=expected, found=", ".join(header))
        return None
    fields = list(found.values())
    unread = [text for _, text in unknown if text]
    if spec.extra == "metric":
        fields += _metrics(unknown, spec, report)
    elif unread:
        report.count("columns", told=len(unread))
        report.add("unknown_headers", "line 1", found=", ".join(unread))
    return sorted(fields, key=lambda field: field.index)


def _metrics(unknown: Sequence[tuple[int, str]], spec: ResultFile, report: FileReport) -> list[Field]:
    """Return the undeclared columns as metrics with unique keys."""
    taken = {column.key for column in spec.columns}
    fields = []
    for index, text in unknown:
        if not text:
            continue
        column, guess = metric_column(text)
        key = column.key
        number = 2
        while key in taken:
            key = f"{column.key}_{number}"
            number += 1
        taken.add(key)
        fields.append(Field(index, replace(column, key=key), _factor(text, column, spec, report), guess))
    return fields


def _factor(text: str, column: Column, spec: ResultFile, report: FileReport) -> float:
    """Return the factor of the header's unit."""
    if column.kind in (Kind.TIME, Kind.DURATION):
        units: dict[str, float] = dict(TIME_UNITS)
    elif column.kind is Kind.BYTES:
        units = {**SIZE_UNITS, **dict(spec.sizes)}
    elif column.kind is Kind.BANDWIDTH:
        units = {**BANDWIDTH_UNITS, **{f"{unit}/s": size / 1e9 for unit, size in spec.sizes}}
    else:
        return 1
    unit = unit_of(text)
    if unit in units:
        return units[unit]
    declared = spec.unit or unit_of(column.headers[0])
    if not spec.unit and text not in column.headers:
        report.add("unit_assumed", "line 1", expected=column.headers[0], found=base_of(text), kind=column.key)
    return units[declared]
