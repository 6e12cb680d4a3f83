"""What tb-npu says of the installation, what it does without of the system, and whether others can change what a user loads."""

from __future__ import annotations

import grp
import os
import pwd
import subprocess
import sys
from pathlib import Path

import pytest

from tb_npu_plugin import installation, user_cache
from tb_npu_plugin.user_cache import open_to_others


@pytest.mark.parametrize(
    ("release", "has_pkg_resources", "starts"),
    [("2.20.0", False, False), ("2.11.2", False, False), ("2.20.0", True, True), ("2.21.0", False, True)],
)
def test_a_tensorboard_that_lacks_pkg_resources(
    monkeypatch: pytest.MonkeyPatch, release: str, has_pkg_resources: bool, starts: bool
) -> None:
    monkeypatch.setattr("importlib.metadata.version", lambda name: release)
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


@pytest.mark.parametrize(
    "code",
    [
        "import os; del os.sched_getaffinity\n"
        "from tb_npu_plugin.scan.threads import thread_count; assert thread_count(1 << 40) >= 1",
        "import concurrent.futures.process, duckdb, multiprocessing, numpy, os, random, rich.console, sys, tempfile\n"
        "from tensorboard.plugins import base_plugin\n"
        "del os.register_at_fork, os.geteuid\n"
        "sys.modules.update(fcntl=None, pwd=None, grp=None, resource=None, termios=None)\n"
        "import tb_npu_plugin.api, tb_npu_plugin.cli, tb_npu_plugin.plugin, tb_npu_plugin.server.app\n"
        "import tb_npu_plugin.capture.api.parsing, tb_npu_plugin.capture.pytorch",
    ],
    ids=["macOS: a large trace is scanned", "Windows: everything is imported"],
)
def test_other_systems(code: str) -> None:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


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


# In a folder with the sticky bit others touch nothing of ours.
@pytest.mark.parametrize(("up", "mode", "is_open"), [(0, 0o775, 1), (1, 0o757, 1), (2, 0o777, 1), (2, 0o1777, 0)])
def test_others_can_write_to_it_or_above(file: Path, up: int, mode: int, is_open: bool) -> None:
    part = [file, *file.parents][up]
    part.chmod(mode)
    assert open_to_others(file) == (part if is_open else None)


def test_the_users_own_group_is_nobody_else(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cause: where umask is 002, ~/.cache can be written by it."""
    file.parent.parent.chmod(0o775)
    members(monkeypatch)
    assert open_to_others(file) is None


def test_what_is_another_users(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_cache, "_ROOT", -1)  # the tests may be run by root, who may
    monkeypatch.setattr(os, "geteuid", lambda: file.stat().st_uid + 1)
    assert open_to_others(file) == file
