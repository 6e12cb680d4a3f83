"""Files of MindSpore up to 2.2 and of its data pipeline: written, read and compared."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tb_npu_plugin.model import Capture
from tb_npu_plugin.problems import Problem, ProblemLog
from tb_npu_plugin.readers.mindinsight.reader import finish, read_file
from tb_npu_plugin.readers.shared.reading import Reading
from tb_npu_plugin.tables import NULL_INT, Table


@dataclass
class Case:
    """Files and what is read of them. Columns: "table.column" -> values, None where unknown. Problems: code and place."""

    files: dict[str, str]
    columns: dict[str, list[Any]]
    problems: list[str] = field(default_factory=list)


def read(folder: Path, *files: tuple[str, str]) -> tuple[dict[str, Table], list[Problem]]:
    """The files in this order, as the worker reads them."""
    log, tables = ProblemLog(), dict[str, Table]()
    for name, content in files:
        (folder / name).write_text(content)
        tables.update(read_file(Reading(folder / name, name, log, before=tables)))
    return finish(tables, Capture(), log), log.list()


def values(table: Table, column: str) -> list[Any]:
    """Values of a column, None where unknown."""
    return [None if value == NULL_INT or value != value else value for value in table.data[column].tolist()]


def told(problems: list[Problem]) -> list[str]:
    """Code and place of each."""
    return [f"{problem.code} {problem.where}".strip() for problem in problems]
