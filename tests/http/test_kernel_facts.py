"""What the table of kernels adds to a slice of the timeline."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from tb_npu_plugin.schema.registry import TABLES
from tb_npu_plugin.server.kernel_facts import kernel_facts
from tb_npu_plugin.tables import from_lists

KEYS = ("name", "start_ns", "dur_ns", "core", "block_dim", "wait_ns", "input_shapes")
ROWS = [
    ("MatMul", 1000, 50, "AI_CORE", 20, 7, "2,3"),
    ("MatMul", 1050, 10, "AI_VECTOR_CORE", None, None, None),
    ("Add", 1050, 10, "AI_VECTOR_CORE", 1, 0, "4"),
]


def span(rows: list[tuple[Any, ...]] | None, file: str = "kernel_details.csv") -> Any:
    columns = [column for column in TABLES["kernels"] if column.key in KEYS]
    lists = {key: [row[place] for row in rows or ()] for place, key in enumerate(KEYS)}
    table = None if rows is None else from_lists(columns, lists)
    return SimpleNamespace(table=lambda name: table, source=lambda name: file)


def test_a_kernel_is_found_by_name_and_start() -> None:
    facts, second = (kernel_facts(span(ROWS), "MatMul", start) for start in (1001, 1050))
    assert facts is not None and second is not None
    keys = ("source", "core", "block_dim", "wait_ns", "input_shapes", "output_shapes")
    assert [facts[key] for key in keys] == ["kernel_details.csv", "AI_CORE", 20, 7, "2,3", None]
    assert [second[key] for key in keys[1:4]] == ["AI_VECTOR_CORE", None, None]
    found = kernel_facts(span(ROWS, "ascend_pytorch_profiler_0.db"), "Add", 1050)
    assert found is not None and found["source"] == "ascend_pytorch_profiler_0.db"


def test_other_slices_have_no_facts() -> None:
    assert kernel_facts(span(ROWS), "MatMul", 1002) is None
    assert kernel_facts(span(ROWS), "Sub", 1050) is None
    assert kernel_facts(span(None), "MatMul", 1000) is None
