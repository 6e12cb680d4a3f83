"""A real database export: its tables, and the step times.
Source: docs/facts/databases.md, Joins; docs/facts/analysis.md, Reference figures of step times.

The oracle reads with sqlite3 alone.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.readers.database.tables import read_database
from tb_npu_plugin.readers.shared.reading import Reading
from tb_npu_plugin.schema.registry import TABLES
from tb_npu_plugin.schema.torch_npu_json import OUTPUT_FOLDER
from tb_npu_plugin.tables import Table
from tests.support.invariants import query
from tests.support.reading import losses
from tests.support.real_data import recording

#: us, step 50: Computing, not overlapped, Overlapped, Communication, Free, Stage, Preparing.
STEPS = {
    0: (8903.431, 98071.947, 4036.153, 102108.100, 25258.144, 132233.522, 18055.693),
    1: (8915.634, 94556.050, 4034.140, 98590.190, 25840.499, 129312.183, 17512.827),
}
#: ns of the copies that operators launched: call of the copy -> task queue -> operator.
COPIES = {0: 853_379, 1: 773_916}
KEYS = ("computing", "communication_not_overlapped", "overlapped", "communication", "free", "stage", "preparing")


@pytest.fixture(params=[0, 1])
def rank(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture
def folder(rank: int) -> Path:
    return recording("ascend_pt_db_level1") / f"rank{rank}_ascend_pt"


@cache
def tables(folder: Path) -> dict[str, Table]:
    log = ProblemLog()
    out: dict[str, Table] = {}
    for path in sorted((folder / OUTPUT_FOLDER).glob("*.db")):
        out.update(read_database(Reading(path, path.name, log), TABLES))
    assert losses(log) == []
    return out


def test_steps(folder: Path, rank: int) -> None:
    steps = tables(folder)["step_trace"]
    assert steps.text("step").tolist() == ["50"]
    assert [int(steps.ints(key)[0]) for key in KEYS] == [round(us * 1000) for us in STEPS[rank]]


def test_kernels_and_their_waiting_times(folder: Path) -> None:
    sql = """WITH k AS (
      SELECT t.startNs s,t.endNs e,i.name n,i.opType ty,i.taskType tt,i.blockDim bd,i.inputShapes sh
        FROM COMPUTE_TASK_INFO i JOIN TASK t ON t.globalTaskId=i.globalTaskId
      UNION ALL SELECT startNs,endNs,opName,opType,NULL,0,NULL FROM COMMUNICATION_OP)
      SELECT (SELECT value FROM STRING_IDS WHERE id=n),(SELECT value FROM STRING_IDS WHERE id=ty),
        COALESCE((SELECT value FROM STRING_IDS WHERE id=tt),'HCCL'),s,e-s,
        MAX(0,s-COALESCE(LAG(e) OVER (ORDER BY s),s)),bd,TRIM((SELECT value FROM STRING_IDS WHERE id=sh),'"')
      FROM k ORDER BY s"""
    kernels = tables(folder)["kernels"]
    keys = ("name", "type", "core", "start_ns", "dur_ns", "wait_ns", "block_dim", "input_shapes")
    shown = list(zip(*(kernels.data[key].tolist() for key in keys)))
    expected = [tuple(None if cell in ("", "N/A") else cell for cell in row) for row in query(folder, sql)]
    assert len(shown) == 191
    assert shown == expected
    assert set(kernels.text("step").tolist()) <= {"50", None}


def test_metrics(folder: Path) -> None:
    kernels = tables(folder)["kernels"]
    sql = """SELECT t.startNs,p.value FROM TASK_PMU_INFO p JOIN TASK t USING(globalTaskId)
             JOIN STRING_IDS s ON s.id=p.name WHERE s.value='{}'"""
    for name, key in (("aic_total_time", "aicore_time"), ("aiv_vec_time", "aiv_vec_time")):
        found = dict(zip(kernels.ints("start_ns").tolist(), kernels.ints(key).tolist()))
        rows = query(folder, sql.format(name))
        assert len(rows) == 185
        assert all(found[start] == round(value) for start, value in rows)
    found_ratio = dict(zip(kernels.ints("start_ns").tolist(), kernels.floats("aic_mac_ratio").tolist()))
    assert all(found_ratio[start] == value for start, value in query(folder, sql.format("aic_mac_ratio")))
    assert not any(column.key.startswith(("aiv_mac", "aiv_mte1")) for column in kernels.columns)


def test_statistics(folder: Path) -> None:
    found = tables(folder)
    sql = """SELECT y.value,c.value,COUNT(*),SUM(t.endNs-t.startNs) FROM COMPUTE_TASK_INFO i JOIN TASK t
             USING(globalTaskId) JOIN STRING_IDS y ON y.id=i.opType JOIN STRING_IDS c ON c.id=i.taskType GROUP BY 1,2"""
    keys = ("type", "core", "calls", "total_ns")
    statistic = found["op_statistic"]
    shown = list(zip(*(statistic.data[key].tolist() for key in keys)))
    assert sorted(shown) == sorted(query(folder, sql)) and len(shown) == 33
    assert [row[3] for row in shown] == sorted((row[3] for row in shown), reverse=True)
    sql = """SELECT e.name,s.value,COUNT(*),SUM(endNs-startNs),MIN(endNs-startNs),MAX(endNs-startNs) FROM CANN_API a
             JOIN ENUM_API_TYPE e ON e.id=a.type JOIN STRING_IDS s ON s.id=a.name GROUP BY 1,2"""
    keys = ("level", "name", "calls", "total_ns", "min_ns", "max_ns")
    shown = list(zip(*(found["api_statistic"].data[key].tolist() for key in keys)))
    assert sorted(shown) == sorted(query(folder, sql)) and len(shown) == 57


def test_operators(folder: Path, rank: int) -> None:
    sql = """WITH dev AS (SELECT t.connectionId c,t.endNs-t.startNs d,v.value core FROM TASK t JOIN COMPUTE_TASK_INFO i
               USING(globalTaskId) JOIN STRING_IDS v ON v.id=i.taskType
               UNION ALL SELECT connectionId,endNs-startNs,'' FROM COMMUNICATION_OP)
             SELECT a.rowid,SUM(d),SUM(CASE WHEN core IN ('AI_CORE','AI_VECTOR_CORE') THEN d ELSE 0 END)
             FROM PYTORCH_API a JOIN CONNECTION_IDS x ON x.id=a.connectionId JOIN dev ON dev.c=x.connectionId
             WHERE a.type=50001 GROUP BY a.rowid"""
    rows = query(folder, sql)
    operators = tables(folder)["operators"]
    assert len(operators) == 859
    device = operators.ints("device_self_ns")
    found = Counter(device[device > 0].tolist()) - Counter(dur for _, dur, _ in rows)
    assert sum(found.values()) <= 19  # the other operators launched the 19 copies
    assert int(operators.ints("device_self_aicore_ns").sum()) == sum(row[2] for row in rows)
    assert int(device.sum()) == sum(row[1] for row in rows) + COPIES[rank]
    sql = """SELECT value,CAST(endNs AS INTEGER)-CAST(startNs AS INTEGER) FROM PYTORCH_API JOIN STRING_IDS ON name=id
             WHERE type=50001 AND value NOT LIKE 'ProfilerStep#%' ORDER BY CAST(startNs AS INTEGER)"""
    found = list(zip(operators.text("name").tolist(), operators.ints("host_total_ns").tolist()))
    assert found == query(folder, sql)
    sql = """SELECT COUNT(*),COUNT(callchainId) FROM PYTORCH_API JOIN STRING_IDS ON name=id
             WHERE type=50001 AND value NOT LIKE 'ProfilerStep#%'"""
    assert (len(operators), int((operators.text("call_stack").codes >= 0).sum())) == query(folder, sql)[0]


def test_memory(folder: Path, rank: int) -> None:
    found = tables(folder)
    assert len(found["op_memory"]) == 184 and len(found["module_memory"]) == 1078
    engine = [name for name in found["op_memory"].text("name").tolist() if (name or "").startswith("cann::")]
    assert len(engine) == 57
    ((app,),) = query(folder, "SELECT COUNT(*) FROM NPU_MEM JOIN STRING_IDS s ON s.id=type WHERE value='app'")
    record = found["memory_record"]
    assert len(record) == 990 + app
    assert record.text("component").tolist()[: app + 1] == ["APP"] * app + ["PTA"]
    assert set(record.text("device").tolist()) == {f"NPU:{rank}"}
