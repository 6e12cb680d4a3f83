"""Numbers of tasks have 16 bits in CANN: a stream's come again, in the next batch."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from tb_npu_plugin.capture.models.run import Recipe, write_run
from tb_npu_plugin.capture.simulation import step

LAST = (1 << 16) - 1


def test_numbers_come_again_in_the_next_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step, "FIRST_TASK", LAST - 5)
    write_run(Recipe("linear", steps=2), tmp_path, jobs=1)
    (output,) = tmp_path.glob("*/ASCEND_PROFILER_OUTPUT")
    with (output / "kernel_details.csv").open(newline="") as file:
        numbers = [int(row["Task ID"]) for row in csv.DictReader(file) if row["Stream ID"] == "2"]
    assert LAST in numbers and 0 in numbers and max(numbers) == LAST
    events = json.loads((output / "trace_view.json").read_text())
    arrivals = {
        (e["pid"], e["tid"], e["ts"]): int(e["id"]) for e in events if e.get("cat") == "HostToDevice" and e["ph"] == "f"
    }
    batches = set()
    for event in events:
        args = event.get("args", {})
        if "Batch Id" not in args or args["Task Type"] in ("PCIE_DMA_SQE", "SDMA_SQE", "EVENT_WAIT_SQE"):
            continue
        id_ = arrivals[event["pid"], event["tid"], event["ts"]]
        stream, task, batch, _ = id_ >> 64, id_ >> 48 & LAST, id_ >> 32 & LAST, id_ & 0xFFFFFFFF
        assert (stream, task, batch) == (args["Physic Stream Id"], args["Task Id"], args["Batch Id"])
        batches.add((stream, batch))
    assert batches == {(2, 0), (2, 1), (3, 0)}
