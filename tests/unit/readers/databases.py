"""Changes a database and reads it."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.problems import Problem, ProblemLog
from tb_npu_plugin.readers.database.tables import read_database
from tb_npu_plugin.readers.shared.reading import Reading
from tb_npu_plugin.readers.shared.spool import Spool
from tb_npu_plugin.schema.registry import TABLES
from tb_npu_plugin.tables import Table
from tests.support.mock import RUNS

#: Runs with text and databases that are compared in every test run; `full` takes all.
QUICK = ("both_level2", "both_cluster", "both_level0_npu_only")


def runs_with_both(*without: str) -> list[Any]:
    """Names of runs that have text and databases, as parameters."""
    names = [name for name in RUNS if name.startswith("both_") and name not in without]
    return [pytest.param(name, marks=() if name in QUICK else pytest.mark.full) for name in names]


def read(path: Path, *wanted: str, spool: Spool | None = None) -> tuple[dict[str, Table], list[Problem]]:
    log = ProblemLog()
    tables = read_database(Reading(path, "x.db", log, spool=spool or Spool()), wanted or tuple(TABLES))
    return tables, log.list()


def change(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


def same(left: Table, right: Table) -> bool:
    return all(
        str(left.data[column.key].tolist()) == str(right.data[column.key].tolist()) for column in left.columns
    ) and [column.key for column in left.columns] == [column.key for column in right.columns]
