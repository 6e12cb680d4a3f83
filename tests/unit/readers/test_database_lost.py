"""What a timeline of a database does not show is reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.readers.database.events.scan import scan_database
from tests.unit.readers.databases import change, database_of


def problems(path: Path) -> list[tuple[str, str, str]]:
    log = ProblemLog()
    scan_database(path, log, lambda count: None)
    return [(one.code, one.where, one.found) for one in log.list()]


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        (
            "UPDATE HBM SET type=(SELECT id FROM STRING_IDS WHERE value='N/A') WHERE rowid=1",
            ("unknown_curve", "HBM", "1"),
        ),
        ("UPDATE HBM SET hbmId=NULL WHERE rowid<3", ("unknown_curve", "HBM", "2")),
        ("UPDATE LLC SET mode=NULL WHERE rowid=1", ("unknown_curve", "LLC", "1")),
        (
            "UPDATE COMMUNICATION_TASK_INFO SET globalTaskId=-7 WHERE rowid=2",
            ("unknown_part", "COMMUNICATION_TASK_INFO", "1"),
        ),
    ],
)
def test_what_belongs_nowhere_is_reported(statement: str, told: tuple[str, str, str], tmp_path: Path) -> None:
    path = database_of("both_cluster", tmp_path)
    assert problems(path) == []
    change(path, statement)
    assert problems(path) == [told]


def test_a_damaged_name_is_damage(tmp_path: Path) -> None:
    """SQLite quotes it in its message, and sqlite3 could not read that: it was told as a defect of ours."""
    path = database_of("db_only", tmp_path)
    path.write_bytes(path.read_bytes().replace(b"CREATE TABLE STRING_IDS", b"CREATE TABL\xfb STRING_IDS"))
    assert {code for code, *_ in problems(path)} == {"no_database"}
