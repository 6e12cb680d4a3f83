"""Any two settings of a capture meet in one of these real runs: each has the files
that its settings write, the invariants hold as text and as database, and every view opens it.
Source: docs/facts/ascend_pt.md, Files and when they are written, Invariants."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tb_npu_plugin.capture.mock.parse import parse
from tb_npu_plugin.schema.torch_npu_json import OUTPUT_FOLDER
from tests.oracle.raw import Raw
from tests.support.invariants import check_all
from tests.support.kernel_columns import check_columns
from tests.support.pairs import covering, pairs_in, pairs_of
from tests.support.views import open_all
from tests.unit.capture.mock.paired import (
    AXES,
    DROPPED,
    FORMS,
    HOST_AXES,
    KEPT,
    TOGETHER,
    captures,
    environment,
    files_of,
    forms,
    suffix,
)
from tests.unit.capture.scripts import needs_torch
from tests.unit.store.results import settle

pytestmark = needs_torch
PARTS = 20


@cache
def rows() -> list[dict[str, Any]]:
    device: list[dict[str, Any]] = covering(AXES)
    return [*({**device[0], **some} for some in TOGETHER), *device, *covering(HOST_AXES)]


def test_any_two_settings_meet() -> None:
    met = [pair for row in rows() for pair in pairs_in(row)]
    assert pairs_of(AXES) | pairs_of(HOST_AXES) <= set(met) and len(rows()) < 80


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.full) for part in range(1, PARTS))])
def test_any_combination_of_settings_gives_a_whole_result(part: int, tmp_path: Path) -> None:
    for number, row in enumerate(rows()[part::PARTS]):
        try:
            _check(row, tmp_path / str(number))
        except AssertionError as problem:
            raise AssertionError(row) from problem


def _check(row: dict[str, Any], place: Path) -> None:
    run = place / ("task_queue_0" if row["queue"] == "0" else "run")  # as support.mock.queued knows it
    folders = captures(row, run)
    assert len(folders) == (2 if row["schedule"] in ("cold", "repeated") else 1)
    empty = {folders[-1]} if row["schedule"] == "cold" else set()
    for folder in folders:
        assert (folder / f"profiler_info{suffix(row)}.json").exists()
        _parse(folder, row, forms(row), folder in empty)
        settle(folder)
    open_all(run)
    for folder in folders:
        _parse(folder, row, [form for form in FORMS if form not in forms(row)], folder in empty)
        check_all(folder)
        _check_marks(Raw(folder), row, folder in empty)
        if folder not in empty:
            _check_host(Raw(folder), row)
            _check_kernels(Raw(folder), row)


def _parse(folder: Path, row: dict[str, Any], new: list[str], empty: bool) -> None:
    """Parse into these forms beside those that are there: the files are those of the settings."""
    output = folder / OUTPUT_FOLDER
    there = [] if not output.exists() else forms(row)
    output.mkdir(exist_ok=True)
    with environment(row):
        parse(folder, output, new, lambda progress: None)
    loose = {"memory_record.csv"} if empty else set()
    assert {path.name for path in output.iterdir()} - loose == files_of(row, [*there, *new], empty)


def _check_marks(raw: Raw, row: dict[str, Any], empty: bool) -> None:
    """Only those of the chosen domains."""
    shown = {event["name"] for event in raw.process("mstx")} & {KEPT, DROPPED}
    on = row["activities"] != "CPU" and (row["marks"] != "off" or row["level"] == "Level_none") and not empty
    flows = [event for event in raw.events if event.get("cat") == "MsTx" and event["ph"] == "s"]
    assert bool(flows) == (on and row["level"] != "Level_none")
    assert shown == ({KEPT} | ({DROPPED} if row["marks"] in ("off", "all") else set()) if on else set())


def _check_host(raw: Raw, row: dict[str, Any]) -> None:
    """What is recorded of each operator, and beside them."""
    operators = [event for event in raw.slices if event.get("cat") == "cpu_op" and "#" not in event["name"]]
    functions = {event["name"] for event in raw.slices if event.get("cat") == "python_function"}
    keys = {key for event in operators for key in event["args"]}
    host = row["activities"] != "NPU"
    assert bool(operators) == host
    assert ("Input Dims" in keys, "Call stack" in keys) == (host and row["record_shapes"], host and row["with_stack"])
    assert ("nn.Module: Linear_0" in functions) == (host and (row["with_stack"] or row["with_modules"]))
    assert any("paired.py" in name for name in functions) == (host and row["with_stack"])
    assert bool(raw.process("Python GC")) == (host and row["gc_detect_threshold"] == 0.0)


def _check_kernels(raw: Raw, row: dict[str, Any]) -> None:
    """Columns by level, metrics and chip; steps are marked where the host is recorded."""
    if raw.has("kernel_details.csv"):
        steps = row["schedule"] != "none" and row["activities"] != "NPU"
        unified = row["chip"] in ("910A", "310P")
        check_columns(list(raw.kernels[0]), row["level"], row["metrics"], unified, steps)
