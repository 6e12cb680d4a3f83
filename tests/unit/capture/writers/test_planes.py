"""Tasks of communication in the database: those of one stream follow each other."""

from __future__ import annotations

import sqlite3

from tests.support.mock import rank_folder, run

OVERLAPS = """
SELECT count(*) FROM (
  SELECT task.startNs AS start, lag(task.endNs) OVER (PARTITION BY task.streamId ORDER BY task.startNs, task.endNs) AS before
  FROM TASK task JOIN COMMUNICATION_TASK_INFO USING (globalTaskId)
) WHERE start < before
"""
PLANES = "SELECT DISTINCT info.groupName, info.planeId, task.streamId FROM COMMUNICATION_TASK_INFO info JOIN TASK task USING (globalTaskId)"


def test_each_plane_has_a_separate_stream() -> None:
    folder, _ = run("both_cluster")
    with sqlite3.connect(
        rank_folder(folder, 0) / "ASCEND_PROFILER_OUTPUT" / "ascend_pytorch_profiler_0.db"
    ) as database:
        planes = database.execute(PLANES).fetchall()
        assert len({group for group, _, _ in planes}) > 1 and len({plane for _, plane, _ in planes}) > 1
        assert len({stream for _, _, stream in planes}) == len(planes)
        assert database.execute(OVERLAPS).fetchone() == (0,)
