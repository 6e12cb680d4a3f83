"""Writes docs/formats.md: every result file that is read, from its declaration.

python -m tb_npu_plugin.schema.docgen > docs/formats.md
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tb_npu_plugin.schema.core import ResultFile
from tb_npu_plugin.schema.formats import FORMATS, Format
from tb_npu_plugin.schema.registry import TABLES
from tb_npu_plugin.schema.torch_npu_db import SELECTS
from tb_npu_plugin.schema.torch_npu_json import OUTPUT_FOLDER
from tb_npu_plugin.tables import Column, Kind

# Known versions of each format, declared in versions.csv: how to recognise them, and the evidence.
#
# Source: docs/facts/ascend_pt.md, Differences between versions; docs/facts/ascend_ms.md, Generations, Folder name;
# docs/facts/mindinsight.md.


@dataclass(frozen=True)
class Version:
    """A version of a format.

    name     profiler and version
    marker   recognised by
    sample   recorded result that tests read if it exists (folder of the real data, or of fixtures/); "" if the version
             is only known from documentation
    """

    name: str
    marker: str
    sample: str = ""


def _declared_versions() -> dict[str, tuple[Version, ...]]:
    found: dict[str, tuple[Version, ...]] = {}
    with (Path(__file__).parent / "versions.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            format = row.pop("format")
            found[format] = (*found.get(format, ()), Version(**row))
    return found


#: By id of schema.formats.FORMATS, the oldest first.
VERSIONS = _declared_versions()


_INTRODUCTION = f"""# Result files

Generated from `tb_npu_plugin/schema/` by `python -m tb_npu_plugin.schema.docgen > docs/formats.md`. Do not edit.

What is read of a result folder, by the profiler that wrote it. Files are in `{OUTPUT_FOLDER}/` unless said otherwise; each may be
gzip-compressed (`.gz`). Columns are found by their headers, never by position: case, the unit in brackets, and `_` for
a space do not matter. The unit is read from the header. Empty cells and `N/A` are unknown. A row without a valid value
in a **required** column is lost, a file without the column cannot be read; whatever is lost is reported. Figures outside the
bounds in brackets, and rows that a table repeats, cannot be right: they are unknown, or count once.

Kinds: {{kinds}}.
"""

_KINDS = {
    Kind.TEXT: "text",
    Kind.INT: "integer",
    Kind.FLOAT: "figure",
    Kind.TIME: "ns since the Unix epoch",
    Kind.DURATION: "ns",
    Kind.BYTES: "bytes, of 1024-based units",
    Kind.TRAFFIC: "bytes, of 1000-based units",
    Kind.RATIO: "0 to 1",
    Kind.PERCENT: "0 to 100",
    Kind.BANDWIDTH: "1e9 bytes per second",
}


def formats_page() -> str:
    """The whole page as Markdown."""
    kinds = ", ".join(f"`{kind.value}` ({meaning}{_bounds_of_kind(kind)})" for kind, meaning in _KINDS.items())
    parts = [_INTRODUCTION.format(kinds=kinds)]
    seen: list[ResultFile] = []
    for format in FORMATS.values():
        parts.append("\n".join([f"## {format.title}", "", *_versions(format.id), ""]))
        for spec in format.files:
            twin = next((file for file in seen if file.name == spec.name and file.columns == spec.columns), None)
            parts.append(_file(spec, twin, format))
            seen.append(spec)
    parts.append(_databases())
    return "\n".join(parts)


def _bounds_of_kind(kind: Kind) -> str:
    bounds = Column("", kind).bounds
    return "" if bounds is None else f" [{bounds[0]:.10g}, {bounds[1]:.10g}]"


def _versions(format: str) -> list[str]:
    """A Markdown table of the versions of a kind of result."""
    lines = ["| version | recognised by | backed by |", "|---|---|---|"]
    for version in VERSIONS[format]:
        backed = f"a recorded sample, `{version.sample}`" if version.sample else "from documentation"
        lines.append(f"| {version.name} | {version.marker} | {backed} |")
    return lines


def _file(spec: ResultFile, twin: ResultFile | None, format: Format) -> str:
    """The section of one result file. twin: the declaration of another profiler, further up, with the same columns."""
    lines = [f"### {spec.name}", "", f"{spec.title}. {spec.doc}".strip(), ""]
    lines.append(f"{spec.condition.text} Setting: `{spec.condition.option}`.")
    if spec.pattern is not None:
        lines.append(f"File names: `{spec.pattern.pattern}`.")
    unseen = [one.key for one in spec.columns if format.is_from_documents(spec, one.key)]
    if format.is_from_documents(spec):
        lines.append("Known from documentation alone: no recorded file was compared.")
    elif unseen:
        lines.append(f"Known from documentation alone: {', '.join(f'`{key}`' for key in unseen)}.")
    if spec.in_root:
        lines.append("In the result folder itself.")
    if spec.unit:
        lines.append(f"Unit of headers that name none: {spec.unit}.")
    lines += [f"A {unit} is {size:,} bytes in this file." for unit, size in spec.sizes]
    if twin is not None and twin.tables == spec.tables:
        lines.append("Columns as above.")
        return "\n".join([*lines, ""])
    if spec.extra == "metric":
        lines.append("Any other column is kept as a metric; its kind shows in its header.")
    if spec.fallback:
        lines += [
            "",
            "Read for what the text files lack. It fills " + ", ".join(f"`{table}`" for table in spec.fills) + ".",
        ]
        return "\n".join([*lines, ""])
    for table, columns in _tables_of(spec):
        lines += ["", f"Table `{table}`:", "", *_columns(columns)]
    return "\n".join([*lines, ""])


def _databases() -> str:
    """The section on databases."""
    lines = ["## Tables of databases", "", "Columns are found by their names (newest first); others are ignored.", ""]
    lines += ["| table | columns |", "|---|---|"]
    for select in SELECTS.values():
        names = [" or ".join(f"`{name}`" for name in field.names) for field in select.fields]
        required = [" **required**" if field.required else "" for field in select.fields]
        lines.append(f"| `{select.table}` | {', '.join(map(str.__add__, names, required))} |")
    return "\n".join([*lines, ""])


def _tables_of(spec: ResultFile) -> Iterable[tuple[str, Sequence[Column]]]:
    """The logical tables that a file fills."""
    tables = [(table, TABLES[table]) for table in spec.tables if table in TABLES]
    return [(tables[0][0], spec.columns), *tables[1:]] if tables and spec.columns else tables


def _bounds(column: Column) -> str:
    """ " [0, 2]" for the bounds of a column, where they are not those of its kind; else ""."""
    least, most = column.bounds or (0, 0)
    is_own = column.least is not None or column.most is not None
    return f" [{least:.10g}, {most:.10g}]" if is_own else ""


def _columns(columns: Sequence[Column]) -> list[str]:
    """A Markdown table of columns."""
    lines = ["| column | kind | headers | meaning |", "|---|---|---|---|"]
    for column in columns:
        headers = ", ".join(f"`{header}`" for header in column.headers)
        key = f"`{column.key}`" + (" **required**" if column.required else "")
        kind = column.kind.value + _bounds(column)
        lines.append(f"| {key} | {kind} | {headers} | {column.doc.replace('|', '/')} |")
    return lines


if __name__ == "__main__":
    sys.stdout.write(formats_page())
