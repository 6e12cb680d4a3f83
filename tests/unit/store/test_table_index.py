"""One place says where a table lives: the file's table before that of the trace, iterations of a server for steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.schema.formats import TORCH_NPU
from tb_npu_plugin.store.cache.disk import Entry
from tb_npu_plugin.store.stages import SHORT_FILE
from tb_npu_plugin.store.tables import index
from tb_npu_plugin.store.tables.index import in_timeline, only_in_trace, shown_tables, write_tables
from tests.support.span import table_of

KERNELS = table_of("kernels", [{"name": "a"}, {"name": "b"}])


def entry(stage: str, *tables: str, steps: tuple[str, ...] = ()) -> Entry:
    return Entry(
        Path(stage), {"tables": {name: in_timeline(len(stage), f"{stage}.csv") for name in tables}, "steps": steps}
    )


def shown(tables: Entry | None, trace: Entry | None) -> dict[str, tuple[str, str]]:
    return {name: (found.entry.folder.name, found.name) for name, found in shown_tables(tables, trace).items()}


def test_a_table_is_that_of_its_file_else_that_of_the_trace() -> None:
    found = shown(entry("tables", "kernels"), entry("trace", "kernels", "operators"))
    assert found == {"kernels": ("tables", "kernels"), "operators": ("trace", "operators")}
    assert shown(None, None) == {}


@pytest.mark.parametrize("trace", [None, entry("trace", "operators")])
def test_calls_without_times_stand_for_operators_that_nothing_else_has(trace: Entry | None) -> None:
    found = shown(entry("tables", "operator_shapes"), trace)
    assert found["operators"] == (("tables", "operator_shapes") if trace is None else ("trace", "operators"))


@pytest.mark.parametrize(("tables", "of"), [((), "trace"), (("iterations",), "tables")])
def test_steps_of_a_server_are_its_iterations_unless_the_files_mark_some(tables: tuple[str, ...], of: str) -> None:
    trace = entry("trace", "step_trace", "engine_iterations")
    found = shown(entry("tables", "step_trace", *tables), trace)
    assert found["step_trace"][0] == of and ("engine_iterations" in found) == (of == "trace")
    marked = shown(entry("tables", "step_trace", steps=("1",)), trace)
    assert marked["step_trace"][0] == "tables" and "engine_iterations" not in marked


def test_only_the_trace_has_what_the_files_lack() -> None:
    assert only_in_trace(TORCH_NPU, entry("tables", "operators")) == {"kernels"}
    assert only_in_trace(TORCH_NPU, None) == {"kernels", "operators"}


def test_the_index_says_which_file_of_the_entry_has_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"kernels": {"kernel_details.csv": 2}}
    found: dict[str, Any] = write_tables(tmp_path, {"kernels": KERNELS}, files)
    assert found == {"kernels": {"rows": 2, "where": "short", "files": files["kernels"]}}
    assert [path.name for path in tmp_path.iterdir()] == [SHORT_FILE]
    monkeypatch.setattr(index, "SHORT_ROWS", 1)
    assert write_tables(tmp_path, {"kernels": KERNELS}, {})["kernels"] == {"rows": 2, "where": "long", "files": {}}
