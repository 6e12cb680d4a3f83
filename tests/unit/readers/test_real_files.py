"""The files of a real run on 910B, against the standard library's csv module and the invariants of the format."""

from __future__ import annotations

import csv
import json
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from tb_npu_plugin.problems import ProblemLog
from tb_npu_plugin.readers.shared.reading import Reading
from tb_npu_plugin.readers.text.capture import read_capture
from tb_npu_plugin.readers.text.reader import read_file
from tb_npu_plugin.schema.registry import RESULT_FILES, TABLES
from tb_npu_plugin.schema.torch_npu_csv import CSV_FILES, NESTED
from tb_npu_plugin.schema.torch_npu_json import OUTPUT_FOLDER
from tb_npu_plugin.tables import NULL_INT, Table

ROWS = {
    "kernels": 191,
    "operators": 859,
    "op_memory": 184,
    "op_statistic": 33,
    "api_statistic": 57,
    "step_trace": 1,
    "comm_ops": 4,
    "comm_bandwidth": 20,
    "comm_packets": 8,
    "comm_links": 48,
}


@pytest.fixture(scope="module", params=[0, 1])
def output(request: pytest.FixtureRequest, real_text_run: Path) -> Path:
    return real_text_run / f"rank{request.param}_ascend_pt" / OUTPUT_FOLDER


@pytest.fixture(scope="module")
def tables(output: Path) -> dict[str, Table]:
    log = ProblemLog()
    found: dict[str, Table] = {}
    for spec in RESULT_FILES:
        path = output / spec.name
        if path.exists() and spec.id != "trace":
            found.update(read_file(Reading(path, spec.name, log)))
    assert log.list() == []
    return found


def cells(output: Path, name: str) -> list[dict[str, str]]:
    with (output / name).open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def test_row_counts(tables: dict[str, Table], output: Path) -> None:
    assert {name: len(tables[name]) for name in ROWS} == ROWS
    for spec in CSV_FILES:
        if (output / spec.name).exists():
            assert len(tables[spec.id]) == len(cells(output, spec.name))


def test_every_column_of_every_file_is_read(tables: dict[str, Table], output: Path) -> None:
    for spec in CSV_FILES:
        if (output / spec.name).exists():
            columns = [column for column in tables[spec.id].columns if column is not NESTED]  # computed
            assert len(columns) == len(cells(output, spec.name)[0]), spec.name


@pytest.mark.parametrize(
    ("name", "table", "header", "key", "factor"),
    [
        ("kernel_details.csv", "kernels", "Start Time(us)", "start_ns", 1000),
        ("kernel_details.csv", "kernels", "Duration(us)", "dur_ns", 1000),
        ("kernel_details.csv", "kernels", "aiv_mte2_time(us)", "aiv_mte2_time", 1000),
        ("operator_details.csv", "operators", "Host Total Duration(us)", "host_total_ns", 1000),
        ("operator_memory.csv", "op_memory", "Size(KB)", "size_bytes", 1024),
        ("operator_memory.csv", "op_memory", "Release Time(us)", "release_ns", 1000),
        ("memory_record.csv", "memory_record", "Total Allocated(MB)", "allocated_bytes", 1024**2),
        ("op_statistic.csv", "op_statistic", "Total Time(us)", "total_ns", 1000),
        ("step_trace_time.csv", "step_trace", "Computing", "computing", 1000),
    ],
)
def test_figures_are_the_digits_of_the_file(
    tables: dict[str, Table], output: Path, name: str, table: str, header: str, key: str, factor: int
) -> None:
    expected = []
    for row in cells(output, name):
        text = row[header].strip()
        expected.append(NULL_INT if text in ("", "N/A") else int((Decimal(text) * factor).to_integral_value()))
    assert tables[table].ints(key).tolist() == expected


def test_texts_are_those_of_the_file(tables: dict[str, Table], output: Path) -> None:
    rows = cells(output, "operator_details.csv")
    assert tables["operators"].text("name").tolist() == [row["Name"] for row in rows]
    assert tables["operators"].text("call_stack").tolist() == [row["Call Stack"].strip() or None for row in rows]
    shapes = [row["Input Shapes"].strip('"') for row in cells(output, "kernel_details.csv")]
    assert [shape or "" for shape in tables["kernels"].text("input_shapes").tolist()] == [
        "" if shape == "N/A" else shape for shape in shapes
    ]


def test_durations_of_memory_are_release_minus_allocation(tables: dict[str, Table]) -> None:
    memory = tables["op_memory"]
    released = memory.ints("release_ns") != NULL_INT
    assert released.sum() == 160
    assert (memory.ints("release_ns") - memory.ints("alloc_ns") == memory.ints("dur_ns"))[released].all()


def test_communication_agrees_with_its_kernels(tables: dict[str, Table]) -> None:
    kernels, ops = tables["kernels"], tables["comm_ops"]
    rows = np.flatnonzero(kernels.text("core").equals("HCCL"))
    duration = dict(zip(kernels.take(rows).text("name").tolist(), kernels.ints("dur_ns")[rows].tolist()))
    assert len(duration) == 4
    for name, elapsed in zip(ops.text("name").tolist(), ops.ints("elapse_ns").tolist()):
        assert abs(duration[name] - elapsed) <= 10
    assert (ops.ints("idle_ns") == ops.ints("elapse_ns") - ops.ints("transit_ns") - ops.ints("wait_ns")).all()


def test_packets_add_up_to_their_transport(tables: dict[str, Table]) -> None:
    bandwidth, packets = tables["comm_bandwidth"], tables["comm_packets"]
    hccs = bandwidth.text("transport").equals("HCCS")
    total = int((packets.ints("packet_bytes") * packets.ints("count")).sum())
    assert abs(total - int(bandwidth.ints("size_bytes")[hccs].sum())) <= len(packets)
    sdma = bandwidth.text("transport").equals("SDMA")
    assert bandwidth.ints("rollup").tolist() == sdma.astype(int).tolist()


def test_tables_are_those_of_the_registry(tables: dict[str, Table]) -> None:
    for name, table in tables.items():
        declared = set(TABLES[name])
        assert all(column in declared or column.group == "metric" for column in table.columns)


def test_capture(output: Path) -> None:
    log = ProblemLog()
    found = read_capture(output.parent, log)
    assert log.list() == []
    info = json.loads((output.parent / f"profiler_info_{found.rank}.json").read_text())
    assert found.rank == info["rank_id"]
    assert (found.level, found.activities, found.export_types) == ("Level1", ("CPU", "NPU"), ("text",))
    assert found.start_ns is not None and found.end_ns is not None
    table = read_file(Reading(output / "kernel_details.csv", "", log))["kernels"]
    assert found.start_ns < table.ints("start_ns").min() < found.end_ns
