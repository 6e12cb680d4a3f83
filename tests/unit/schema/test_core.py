from __future__ import annotations

import pytest

from tb_npu_plugin.schema.core import base_of, normalise_header
from tb_npu_plugin.schema.formats import TORCH_NPU
from tb_npu_plugin.schema.registry import RESULT_FILES, TABLES, file_of
from tb_npu_plugin.schema.torch_npu_csv import CSV_FILES
from tb_npu_plugin.tables import Kind


def test_only_units_are_taken_off_a_header() -> None:
    assert base_of("Duration(us)") == "Duration"
    assert base_of("\ufeffRatio(%)") == "Ratio"
    assert base_of("Communication(Not Overlapped)") == "Communication(Not Overlapped)"


def test_spellings_of_one_header_fold_together() -> None:
    assert normalise_header("Step Id") == normalise_header(" step_ID ")
    assert normalise_header("Duration(us)") == normalise_header("Duration (ns)")
    assert normalise_header("Communication") != normalise_header("Communication(Not Overlapped)")


@pytest.mark.parametrize("spec", RESULT_FILES, ids=lambda spec: spec.id)
def test_a_declaration_is_unambiguous(spec) -> None:
    keys = [column.key for column in spec.columns]
    assert len(set(keys)) == len(keys)
    owners: dict[str, str] = {}
    for column in spec.columns:
        for header in column.headers:
            assert owners.setdefault(normalise_header(header), column.key) == column.key
        assert column.doc.endswith(".")


def test_every_csv_column_has_a_header() -> None:
    assert all(column.headers for spec in CSV_FILES for column in spec.columns)


def test_times_name_their_unit() -> None:
    for spec in CSV_FILES:
        for column in spec.columns:
            if column.kind in (Kind.TIME, Kind.DURATION, Kind.BYTES):
                assert spec.unit or base_of(column.headers[0]) != column.headers[0], column.key


def test_sizes_of_communication_are_decimal() -> None:
    for table, columns in TABLES.items():
        sizes = {column.kind for column in columns if column.kind in (Kind.BYTES, Kind.TRAFFIC)}
        assert sizes <= {Kind.TRAFFIC if table.startswith("comm_") else Kind.BYTES}, table


def test_every_table_has_a_file() -> None:
    for table in TABLES:
        spec = file_of(table)
        assert spec.id == table or table in spec.fills


@pytest.mark.parametrize(
    ("name", "id"),
    [
        ("kernel_details.csv", "kernels"),
        ("kernel_details.csv.gz", "kernels"),
        ("profiler_info_12.json", "profiler_info"),
        ("profiler_info.json", "profiler_info"),
        ("communication.json", "communication"),
        ("communication_matrix.json", "comm_links"),
        ("kernel_details.csv.bak", None),
        ("profiler_info_x.json", None),
    ],
)
def test_files_are_reported_by_name(name: str, id: str | None) -> None:
    spec = TORCH_NPU.file(name)
    assert (spec.id if spec is not None else None) == id
