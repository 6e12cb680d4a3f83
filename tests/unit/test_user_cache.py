"""Whether others can change what this user loads."""

from __future__ import annotations

import grp
import os
import pwd
from pathlib import Path

import pytest

from tb_npu_plugin import user_cache
from tb_npu_plugin.user_cache import open_to_others


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file in a folder in a folder, all of them of this user alone. Their group has another member."""
    members(monkeypatch, "somebody")
    found = tmp_path.resolve() / "above" / "folder" / "file"
    found.parent.mkdir(mode=0o700, parents=True)
    found.parent.parent.chmod(0o755)
    found.write_text("")
    found.chmod(0o755)
    assert open_to_others(found) is None
    return found


def members(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Every group has the name of the user, and these members."""
    user = pwd.struct_passwd(("me", "x", os.geteuid(), 7, "", "/", ""))
    monkeypatch.setattr(pwd, "getpwuid", lambda number: user)
    monkeypatch.setattr(grp, "getgrgid", lambda number: grp.struct_group(("me", "x", number, list(names))))


def test_the_users_own_group_is_nobody_else(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cause: where umask is 002, ~/.cache can be written by it."""
    file.parent.parent.chmod(0o775)
    members(monkeypatch)
    assert open_to_others(file) is None
    file.parent.parent.chmod(0o777)
    assert open_to_others(file) == file.parent.parent


@pytest.mark.parametrize("mode", [0o775, 0o757, 0o777])
@pytest.mark.parametrize("up", [0, 1, 2])
def test_others_can_write_to_it_or_above(file: Path, mode: int, up: int) -> None:
    part = [file, *file.parents][up]
    part.chmod(mode)
    assert open_to_others(file) == part


def test_in_a_folder_with_the_sticky_bit_others_touch_nothing_of_ours(file: Path) -> None:
    file.parent.parent.chmod(0o1777)
    assert open_to_others(file) is None


def test_what_is_another_users(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_cache, "_ROOT", -1)  # the tests may be run by root, who may
    monkeypatch.setattr(os, "geteuid", lambda: file.stat().st_uid + 1)
    assert open_to_others(file) == file
