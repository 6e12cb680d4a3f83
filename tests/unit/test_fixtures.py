"""What the fixtures hold. `make check` compares them with what the generator makes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.oracle.raw import Raw
from tests.support.fixtures import FIXTURES, folders, label

GROUPS = ("demo", "results", "broken")


def test_every_fixture_is_described() -> None:
    text = (FIXTURES / "README.md").read_text()
    names = {folder.relative_to(FIXTURES).parts[1] for group in GROUPS for folder in folders(group)}
    assert [name for name in names if f"`{name}`" not in text and not name.startswith("metrics_")] == []


@pytest.mark.parametrize("folder", [f for f in folders("demo") if f.parent.name == "transformer_910b"], ids=label)
def test_the_first_run_of_the_demo_has_something_for_every_view(folder: Path) -> None:
    result = Raw(folder)
    assert len(result.steps) == 3
    assert {row["Accelerator Core"] for row in result.kernels} == {
        "AI_CORE",
        "AI_VECTOR_CORE",
        "MIX_AIC",
        "MIX_AIV",
        "DSA_SQE",
        "AI_CPU",
        "COMMUNICATION",
    }
    assert {e["cat"] for e in result.events if e["ph"] == "s"} == {
        "async_task_queue",
        "fwdbwd",
        "HostToDevice",
        "async_npu",
    }
    assert {e["name"] for e in result.process("Communication")} >= {"Notify_Wait", "Notify_Record", "Memcpy"}
    counters = {result.processes[e["pid"]] for e in result.events if e["ph"] == "C"}
    assert counters == {"AI Core Freq", "HBM", "LLC", "NPU MEM"}
    assert {row["Component"] for row in result.csv("memory_record.csv")} == {"APP", "PTA", "GE", "PTA+GE"}
    allocations = result.csv("operator_memory.csv")
    assert any(not row["Release Time(us)"] for row in allocations)
    assert any(row["Name"].startswith("cann::") for row in allocations)
    for step in result.csv("step_trace_time.csv"):
        assert min(float(step[name]) for name in ("Overlapped", "Communication(Not Overlapped)", "Free")) > 0
