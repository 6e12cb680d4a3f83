"""What files of MindSpore up to 2.2 tell of operators that no other file knows; summaries that tell nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tb_npu_plugin.model import Capture
from tb_npu_plugin.problems import Problem, ProblemLog
from tb_npu_plugin.readers.mindinsight.registry import finish, read_file
from tb_npu_plugin.readers.shared.reading import Reading
from tb_npu_plugin.tables import Table
from tests.unit.readers.test_mindinsight import codes, read

DETAIL, WORK, FRAMEWORK = "aicore_intermediate_0_detail.csv", "flops_0.txt", "framework_raw_0.csv"


def read_all(folder: Path, **files: str) -> tuple[dict[str, Table], list[Problem]]:
    """Several files: by the names of the constants above."""
    log, tables = ProblemLog(), dict[str, Table]()
    for key, content in files.items():
        name = {"detail": DETAIL, "work": WORK, "framework": FRAMEWORK}[key]
        (folder / name).write_text(content)
        tables.update(read_file(Reading(folder / name, name, log, before=tables)))
    return finish(tables, Capture(), log), log.list()


@pytest.mark.parametrize("detail", ["name,time,count\nNet/a-op1,1,1\nNet/b-op2,1,1\n", None])
def test_work_of_operators_that_nobody_measured_is_told(tmp_path: Path, detail: str | None) -> None:
    """The rows were dropped, and nothing said so."""
    files = {} if detail is None else {"detail": detail}
    _, problems = read_all(tmp_path, **files, work="n, a, b, c\nNet/a-op1, 1, 2, 3\nc-op3, 1, 2, 3\nd-op4, 1, 2, 3\n")
    (found,) = problems
    assert (found.code, found.file) == ("unmatched", "flops_<rank>.txt")
    assert found.found == f"{2 if detail else 3} of 3 rows name other operators"


def test_a_list_of_other_operators_is_told(tmp_path: Path) -> None:
    """One that lists more than was measured is a usual one: copies and calls of AI CPU have no times there."""
    header = "stream_id,full_kernel_name,op_name,kernel_name,kernel_type,subgraph,op_info\n"
    rows = [f"0,Net/{name},{name},{name},T,Default,\n" for name in ("a-op1", "b-op2", "c-op3")]
    detail = "name,time,count\nNet/a-op1,1,1\n"
    assert read_all(tmp_path, detail=detail, framework=header + "".join(rows))[1] == []
    _, problems = read_all(tmp_path, detail=detail, framework=header + "".join(rows[1:]))
    (found,) = problems
    assert (found.code, found.found) == ("unmatched", "2 of 2 rows name other operators")
    assert found.file == "framework_raw_<rank>.csv"


@pytest.mark.parametrize("name", ["flops_summary_0.json", "memory_usage_summary_0.json"])
def test_a_summary_that_says_nothing_is_none(tmp_path: Path, name: str) -> None:
    """It was a row of unknown figures."""
    tables, problems = read(tmp_path, name, '{"other": 1}')
    assert tables == {} and codes(problems) == ["unexpected_shape"]
