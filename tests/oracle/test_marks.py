"""Built-in mstx marks of torch_npu: trace and database agree, and the marks describe what communicated."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.oracle.raw import FULL, Raw, ns
from tests.support.invariants import query
from tests.support.mock import rank_folder, run

RANKS = {"both_mstx": 3, "both_mstx_level0": 1, "both_mstx_level_none": 1}


def folder_of(name: str) -> Path:
    return rank_folder(run(name)[0], RANKS[name])


MAX_MARKS = """SELECT m.value, d.value, startNs, endNs, globalTid & 0xffffffff, connectionId FROM MSTX_EVENTS
           JOIN STRING_IDS m ON m.id=message JOIN STRING_IDS d ON d.id=domainId ORDER BY startNs"""


@pytest.mark.parametrize("name", ["both_mstx", *(pytest.param(name, marks=FULL) for name in [*RANKS][1:])])
def test_trace_and_database_agree(name: str) -> None:
    folder = folder_of(name)
    shown = [
        (e["name"], e["args"]["domain"], ns(e["ts"]), ns(e["ts"] + e["dur"]), e["tid"])
        for e in sorted(Raw(folder).process("mstx"), key=lambda e: e["ts"])
        if e["ph"] == "X"
    ]
    assert [row[:5] for row in query(folder, MAX_MARKS)] == shown
    domains = [(domain, message) for message, domain, *_ in shown]
    assert domains.count(("default", "dataloader")) == 2  # steps
    assert {domain for domain, _ in domains} == {"default", "communication"}


def test_each_communication_operator_has_a_mark() -> None:
    folder = folder_of("both_mstx")
    marks = [row for row in query(folder, MAX_MARKS) if row[1] == "communication"]
    operators = query(
        folder,
        """SELECT c.startNs, c.endNs, c.count, lower(e.name), g.value, t.value, a.startNs, a.endNs, a.globalTid & 0xffffffff
           FROM COMMUNICATION_OP c JOIN ENUM_HCCL_DATA_TYPE e ON e.id=c.dataType JOIN STRING_IDS g ON g.id=groupName
           JOIN STRING_IDS t ON t.id=opType JOIN CANN_API a ON a.connectionId=c.connectionId ORDER BY a.startNs""",
    )
    tasks = {row[0]: row[1:] for row in query(folder, "SELECT connectionId, startNs, endNs, streamId FROM TASK")}
    assert len(marks) == len(operators) > 10
    for (message, _, start, end, tid, connection), (first, last, count, type_, group, kind, *call) in zip(
        marks, operators
    ):
        fields = json.loads(message)
        assert message.startswith('{"streamId": "') and '","count": "' in message
        assert [start, end, tid] == call  # around the call of HCCL, on the thread that makes it
        assert (fields["count"], fields["dataType"], fields["groupName"]) == (str(count), type_, group)
        title = kind.replace("hcom_", "").strip("_").lower().replace("receive", "recv")
        assert fields["opName"].lower() == f"hccl{title}"
        begun, ended, stream = tasks[connection]
        assert begun < first and last < ended and fields["streamId"] == str(stream)


def test_level_none_has_them_only_on_the_host() -> None:
    folder = folder_of("both_mstx_level_none")
    assert {row[5] for row in query(folder, MAX_MARKS)} == {4294967295}
    assert not Raw(folder).process("Ascend Hardware")
