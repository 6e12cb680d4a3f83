"""Writes a result file and reads it back."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

from tb_npu_plugin.problems import Problem, ProblemLog
from tb_npu_plugin.readers.shared.reading import Reading
from tb_npu_plugin.readers.text.reader import read_file
from tb_npu_plugin.tables import Table

KERNELS = "kernel_details.csv"
KERNEL_HEADER = "Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Dim"


def kernel_row(name: str = "k", start: str = "1736408883704643.212\t", duration: str = "53.741") -> str:
    """A row under KERNEL_HEADER."""
    return f"50,{name},Conv2D,AI_CORE,{start},{duration},0,32"


def kernels(*rows: str, end: str = "\r\n") -> bytes:
    """A kernel_details.csv of KERNEL_HEADER and these rows."""
    return "".join(line + end for line in (KERNEL_HEADER, *rows)).encode()


def read(folder: Path, name: str, content: bytes) -> tuple[dict[str, Table], list[Problem]]:
    """The tables and problems of a file with this content (packed when the name ends in .gz)."""
    path = folder / name
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return read_path(path)


def read_path(path: Path) -> tuple[dict[str, Table], list[Problem]]:
    """The tables and problems of a file."""
    log = ProblemLog()
    tables = read_file(Reading(path, f"OUT/{path.name}", log))
    problems = log.list()
    assert all(problem.file == f"OUT/{path.name}" for problem in problems)
    return tables, problems


def codes(problems: list[Problem]) -> list[str]:
    """Their codes, each with its count."""
    return [f"{problem.code} x{problem.count}" for problem in problems]


def rows(table: Table | None) -> list[dict[str, Any]]:
    """Its rows as {column: value}."""
    if table is None:
        return []
    columns = {column.key: table.data[column.key].tolist() for column in table.columns}
    return [dict(zip(columns, cells)) for cells in zip(*columns.values())]
