"""Changes a database and reads it."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.problems import Problem, ProblemLog
from tb_npu_plugin.readers.database.tables import read_database
from tb_npu_plugin.readers.formats import READERS
from tb_npu_plugin.readers.shared.reading import Reading
from tb_npu_plugin.readers.shared.spool import Spool
from tb_npu_plugin.schema.formats import TORCH_NPU
from tb_npu_plugin.schema.registry import TABLES
from tb_npu_plugin.store.timeline.build import build_timeline
from tb_npu_plugin.store.timeline.open import Timeline
from tb_npu_plugin.tables import Table
from tests.support.mock import RUNS, run
from tests.support.reading import losses

#: Runs with text and databases that are compared in every test run; `full` takes all.
QUICK = ("both_level2", "both_cluster", "both_gc", "both_mstx_level0", "both_level0_npu_only")


def runs_with_both(*without: str) -> list[Any]:
    """Names of runs that have text and databases, as parameters."""
    names = [name for name in RUNS if name.startswith("both_") and name not in without]
    return [pytest.param(name, marks=() if name in QUICK else pytest.mark.full) for name in names]


def read(path: Path, *wanted: str, spool: Spool | None = None) -> tuple[dict[str, Table], list[Problem]]:
    log = ProblemLog()
    tables = read_database(Reading(path, "x.db", log, spool=spool or Spool()), wanted or tuple(TABLES))
    return tables, losses(log)


def change(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


#: Tables that every recording of the device has, without rows.
TASKS = """
CREATE TABLE STRING_IDS (id, value);
CREATE TABLE TASK (startNs, endNs, deviceId, connectionId, globalTaskId, globalPid, taskType, contextId, streamId, taskId,
                   modelId);
"""


def create(folder: Path, script: str) -> Path:
    """A database that this script makes."""
    path = folder / "ascend_pytorch_profiler.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)
    return path


def database_of(name: str, folder: Path) -> Path:
    """A copy of the profiler's database of a run (of its first rank)."""
    result = min(run(name)[0].glob("*_ascend_pt"))
    (found,) = (result / "ASCEND_PROFILER_OUTPUT").glob("ascend_pytorch_profiler_*.db")
    return Path(shutil.copyfile(found, folder / found.name))


def timeline_of(path: Path, out: Path) -> tuple[Timeline, list[Problem]]:
    """The timeline of a database or of a trace of torch_npu."""
    log = ProblemLog()
    out.mkdir()
    build_timeline(path, out, log, lambda count: None, scan=READERS[TORCH_NPU.id].scan)
    counts = log.seen.of(path.name)
    assert ("events", "") in counts and all(one.seen == one.shown + one.told for one in counts.values()), counts
    return Timeline.open(out, path), log.list()


def same(left: Table, right: Table) -> bool:
    return all(
        str(left.data[column.key].tolist()) == str(right.data[column.key].tolist()) for column in left.columns
    ) and [column.key for column in left.columns] == [column.key for column in right.columns]
