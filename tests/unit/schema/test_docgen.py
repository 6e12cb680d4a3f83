from __future__ import annotations

from tb_npu_plugin.schema.docgen import formats_page
from tb_npu_plugin.schema.formats import FORMATS
from tb_npu_plugin.schema.registry import RESULT_FILES, TABLES
from tb_npu_plugin.schema.versions import VERSIONS
from tests.conftest import FIXTURES, ROOT, real_data


def test_the_committed_page_is_the_generated_one() -> None:
    page = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    assert page == formats_page(), "run: python -m tb_npu_plugin.schema.docgen > docs/formats.md"


def test_every_file_and_table_is_on_the_page() -> None:
    page = formats_page()
    assert all(f"## {spec.name}" in page for spec in RESULT_FILES)
    assert all(f"Table `{table}`" in page for table in TABLES)


def test_page_has_the_versions_of_each_format() -> None:
    assert VERSIONS.keys() == FORMATS.keys()
    page = formats_page()
    versions = [version for known in VERSIONS.values() for version in known]
    assert all(f"| {version.name} | {version.marker} |" in page for version in versions)
    assert page.count("| from documentation |") == sum(not version.sample for version in versions)


def test_the_samples_that_back_versions_are_there() -> None:
    data = real_data()
    places = [FIXTURES, FIXTURES / "results", *([data] if data is not None else [])]
    samples = [version.sample for known in VERSIONS.values() for version in known if version.sample]
    missing = [sample for sample in samples if not any((place / sample).is_dir() for place in places)]
    assert samples and (data is None or missing == [])
