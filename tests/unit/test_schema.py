"""Declarations of files and tables, the kinds that headers give, and the page that lists them all."""

from __future__ import annotations

import csv
import re

import pytest

from tb_npu_plugin.discovery.scan import scan
from tb_npu_plugin.schema.columns import declared_columns
from tb_npu_plugin.schema.core import base_of, normalise_header
from tb_npu_plugin.schema.docgen import VERSIONS, formats_page
from tb_npu_plugin.schema.files import declared_files
from tb_npu_plugin.schema.formats import FORMATS, MSPROF, TORCH_NPU, Format
from tb_npu_plugin.schema.metrics import Guess, metric_column
from tb_npu_plugin.schema.registry import RESULT_FILES, TABLES, file_of
from tb_npu_plugin.schema.torch_npu_csv import CSV_FILES
from tb_npu_plugin.tables import Kind
from tests.conftest import FIXTURES, ROOT
from tests.support.real_data import REAL_DATA, recording


@pytest.mark.parametrize("spec", RESULT_FILES, ids=lambda spec: spec.id)
def test_a_declaration_is_unambiguous(spec) -> None:
    keys = [column.key for column in spec.columns]
    assert len(set(keys)) == len(keys)
    owners: dict[str, str] = {}
    for column in spec.columns:
        for header in column.headers:
            assert owners.setdefault(normalise_header(header), column.key) == column.key
        assert column.doc.endswith(".")


def test_columns_of_csv_files_have_a_header_and_times_their_unit() -> None:
    for spec in CSV_FILES:
        for column in spec.columns:
            assert column.headers, column.key
            if column.kind in (Kind.TIME, Kind.DURATION, Kind.BYTES):
                assert spec.unit or base_of(column.headers[0]) != column.headers[0], column.key


def test_every_table_has_a_file_and_sizes_of_communication_are_decimal() -> None:
    for table, columns in TABLES.items():
        spec = file_of(table)
        assert spec.id == table or table in spec.fills
        sizes = {column.kind for column in columns if column.kind in (Kind.BYTES, Kind.TRAFFIC)}
        assert sizes <= {Kind.TRAFFIC if table.startswith("comm_") else Kind.BYTES}, table


def test_every_table_of_columns_is_used() -> None:
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "tb_npu_plugin").rglob("*.py")]
    asked = {name for source in sources for name in re.findall(r'columns_of\("(\w+)"\)', source)}
    asked |= {row["table"] for row in declared_files().values() if row["table"]}
    assert asked | {*TABLES} >= {*declared_columns()} and asked <= {*declared_columns()}


@pytest.mark.parametrize(
    ("name", "id"),
    [
        ("kernel_details.csv.gz", "kernels"),
        ("profiler_info_12.json", "profiler_info"),
        ("profiler_info.json", "profiler_info"),
        ("communication_matrix.json", "comm_links"),
        ("kernel_details.csv.bak", None),
        ("profiler_info_x.json", None),
    ],
)
def test_files_are_known_by_name(name: str, id: str | None) -> None:
    spec = TORCH_NPU.file(name)
    assert (spec.id if spec is not None else None) == id


@pytest.mark.parametrize(
    ("header", "key", "kind", "guess"),
    [
        ("aic_mac_time(us)", "aic_mac_time", Kind.DURATION, Guess.NOTHING),
        ("vec_ratio", "vec_ratio", Kind.RATIO, Guess.NOTHING),
        ("aic_icache_miss_rate", "aic_icache_miss_rate", Kind.RATIO, Guess.NOTHING),
        ("aiv_ub_read_bw_vector(GB/s)", "aiv_ub_read_bw_vector", Kind.BANDWIDTH, Guess.NOTHING),
        ("aic_GM_to_L1_datas(KB)", "aic_gm_to_l1_datas", Kind.BYTES, Guess.NOTHING),
        ("total_cycles", "total_cycles", Kind.INT, Guess.FRACTIONS),
        ("aic_r0_read_cache_hit", "aic_r0_read_cache_hit", Kind.INT, Guess.FRACTIONS),
        ("aic_write_cache_miss_allocate", "aic_write_cache_miss_allocate", Kind.INT, Guess.FRACTIONS),
        ("aic_cube_fops", "aic_cube_fops", Kind.INT, Guess.FRACTIONS),
        ("memory_bound", "memory_bound", Kind.FLOAT, Guess.NOTHING),
        ("新指标", "新指标", Kind.FLOAT, Guess.FIGURES),
        ("(%)", "column", Kind.PERCENT, Guess.NOTHING),
    ],
)
def test_headers_of_metrics_give_their_kind(header: str, key: str, kind: Kind, guess: Guess) -> None:
    column, found = metric_column(header)
    assert (column.key, column.kind, found, column.group) == (key, kind, guess, "metric")


def test_docs_of_metrics_name_unit_and_cores() -> None:
    docs = [metric_column(header)[0].doc for header in ("aic_mte2_time(us)", "aiv_ub_read_bw(GB/s)")]
    assert docs == [
        "Time that MTE2 (global memory to L1 or UB) was busy on the cube cores.",
        "Bandwidth: ub read on the vector cores.",
    ]


def test_the_committed_page_is_the_generated_one() -> None:
    page = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    assert page == formats_page(), "run: python -m tb_npu_plugin.schema.docgen > docs/formats.md"


def test_files_from_documents_are_those_without_a_recorded_one() -> None:
    """torch_npu copies msprof's files: those with the same columns back each other."""
    found = scan({"recorded": FIXTURES / "recorded", "real": recording("")})
    seen = {
        (span.format, spec.id): spec.columns
        for span in (place.span for place in found.places())
        for file in span.files
        if (spec := FORMATS[span.format].file(file.name)) is not None
    }
    of_cann = [columns for (format, _), columns in seen.items() if format in (TORCH_NPU.id, MSPROF.id) and columns]
    for format in FORMATS.values():
        is_of_cann = format in (TORCH_NPU, MSPROF)
        backed = {
            spec.id for spec in format.files if (format.id, spec.id) in seen or (is_of_cann and spec.columns in of_cann)
        }
        unseen = {one for one in format.from_documents if "." not in one}
        assert {spec.id for spec in format.files} - backed == unseen, format.id


@pytest.mark.parametrize("format", [TORCH_NPU, MSPROF], ids=lambda format: format.id)
def test_columns_from_documents_are_those_that_no_recorded_file_has(format: Format) -> None:
    headers: dict[str, set[str]] = {}
    for place in scan({"": recording("")}).places():
        for file in place.span.files if place.span.format == format.id else ():
            spec = format.file(file.name)
            if spec is not None and file.name.endswith(".csv"):
                with (place.span.folder / file.relative).open(newline="", encoding="utf-8") as text:
                    headers.setdefault(spec.id, set()).update(map(normalise_header, next(csv.reader(text))))
    missing = {
        f"{spec.id}.{column.key}"
        for spec in format.files
        if spec.id in headers
        for column in spec.columns
        if headers[spec.id].isdisjoint(map(normalise_header, column.headers))
    }
    assert headers and missing == {one for one in format.from_documents if "." in one}


def test_the_samples_that_back_versions_are_there() -> None:
    assert VERSIONS.keys() == FORMATS.keys()
    places = [FIXTURES, FIXTURES / "results", REAL_DATA]
    samples = [version.sample for known in VERSIONS.values() for version in known if version.sample]
    missing = [sample for sample in samples if not any((place / sample).is_dir() for place in places)]
    assert samples and (missing == [] or not REAL_DATA.is_dir())
