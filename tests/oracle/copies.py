"""Which operators launched the copies in a database, by the standard library alone.
Source: docs/facts/ascend_pt.md, operator_details.csv; docs/facts/databases.md, Joins.

call of the copy -> element of the task queue that was executed then -> the operator that ran when it was put in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

_QUEUE = """SELECT CAST(startNs AS INTEGER),CAST(endNs AS INTEGER),globalTid,x.connectionId FROM PYTORCH_API a
            JOIN STRING_IDS s ON s.id=a.name JOIN CONNECTION_IDS x ON x.id=a.connectionId
            WHERE a.type=50002 AND s.value LIKE '{}queue%' ORDER BY 1"""
_OPS = """SELECT rowid,CAST(startNs AS INTEGER),CAST(endNs AS INTEGER),globalTid FROM PYTORCH_API WHERE type=50001
          ORDER BY 2,1"""
#: Of several copies of one call, the first.
_COPIES = """SELECT c.startNs,t.endNs-t.startNs,MIN(t.startNs) FROM TASK t JOIN STRING_IDS s ON s.id=t.taskType
             JOIN CANN_API c ON c.connectionId=t.connectionId WHERE s.value='MEMCPY_ASYNC' AND t.globalTaskId NOT IN
             ({}) GROUP BY c.connectionId"""


def copies_by_operator(query: Callable[[str], list[Any]]) -> Counter[int]:
    """Row id of an operator -> ns of the copies that it launched itself."""
    tables = {name for (name,) in query("SELECT name FROM sqlite_master WHERE type='table'")}
    found: Counter[int] = Counter()
    if not {"TASK", "CANN_API", "PYTORCH_API"} <= tables:
        return found
    parts = "SELECT globalTaskId FROM COMMUNICATION_TASK_INFO" * ("COMMUNICATION_TASK_INFO" in tables)
    enqueues = {number: (at, thread) for at, _, thread, number in query(_QUEUE.format("En"))}
    dequeues = query(_QUEUE.format("De"))
    ops = query(_OPS)
    for called, dur, _ in query(_COPIES.format(parts)):
        at, thread = called, None
        if dequeues:
            numbers = [number for start, end, _, number in dequeues if start <= called <= end]
            if not numbers or numbers[0] not in enqueues:
                continue
            at, thread = enqueues[numbers[0]]
        around = [op for op in ops if op[1] <= at <= op[2]]
        if around and thread in (around[-1][3], None):
            found[around[-1][0]] += dur
    return found
