"""What tb-npu says of the installation."""

from __future__ import annotations

from pathlib import Path

import pytest

from tb_npu_plugin import installation


@pytest.mark.parametrize(
    ("release", "has_pkg_resources", "starts"),
    [("2.20.0", False, False), ("2.11.2", False, False), ("2.20.0", True, True), ("2.21.0", False, True)],
)
def test_a_tensorboard_that_lacks_pkg_resources(
    monkeypatch: pytest.MonkeyPatch, release: str, has_pkg_resources: bool, starts: bool
) -> None:
    monkeypatch.setattr(installation, "version", lambda name: release)
    monkeypatch.setattr(installation, "find_spec", lambda name: object() if has_pkg_resources else None)
    defect = installation.tensorboard_defect()
    assert (defect == "") is starts
    assert starts or (f"TensorBoard {release}" in defect and "setuptools<82" in defect)


def test_a_scanner_that_was_not_built_is_reported_with_what_builds_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(installation, "__file__", str(tmp_path / "installation.py"))
    assert installation.scanner_in_use() == "python"
    assert "C compiler" in installation.describe_scanner()
