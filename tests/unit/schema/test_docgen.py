from __future__ import annotations

from tb_npu_plugin.schema.docgen import formats_page
from tb_npu_plugin.schema.registry import RESULT_FILES, TABLES
from tests.conftest import ROOT


def test_the_committed_page_is_the_generated_one() -> None:
    page = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    assert page == formats_page(), "run: python -m tb_npu_plugin.schema.docgen > docs/formats.md"


def test_every_file_and_table_is_on_the_page() -> None:
    page = formats_page()
    assert all(f"## {spec.name}" in page for spec in RESULT_FILES)
    assert all(f"Table `{table}`" in page for table in TABLES)
