"""Only result folders are ever deleted.

An empty path is the working directory: with `Path("")`, a capture whose folder could not be made once deleted all that
the user had there.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tb_npu_plugin.capture.api import paths


@pytest.mark.parametrize("path", ["", ".", "results", "host_1_20260101000000000_ascend_pt"])
def test_leaves_what_is_no_result_folder_of_ours(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("results", "host_1_20260101000000000_ascend_pt"):
        (tmp_path / name).mkdir()
    (tmp_path / "train.py").write_text("precious")
    paths.remove(Path(path))
    paths.remove(tmp_path)
    kept = {"train.py", "results", "host_1_20260101000000000_ascend_pt"}
    assert {entry.name for entry in tmp_path.iterdir()} == kept


def test_ranks_that_share_a_folder_of_temporary_ones_do_not_trouble_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    place = paths.Place()
    place.configure(export_only=True)
    mine, _ = place.create()
    theirs, _ = place.create()
    paths.remove(mine)
    assert theirs.is_dir()
    paths.remove(theirs)

    # Another rank removes the folder above between the making of it and of this rank's own below it.
    real, left = Path.mkdir, [1]

    def mkdir(path: Path, mode: int = 0o777, parents: bool = False, exist_ok: bool = False) -> None:
        # With parents, mkdir calls itself: for the folder above, and then for the folder.
        if left and path.parent.name == paths.EXPORT_ONLY_FOLDER and path.parent.exists():
            left.pop()
            path.parent.rmdir()
        real(path, mode, parents, exist_ok)

    monkeypatch.setattr(Path, "mkdir", mkdir)
    folder, temporary = place.create()
    assert folder.is_dir() and temporary
    assert left == []
    assert capsys.readouterr().out == ""
