from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.mock import run


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A copy of a sound database."""
    (folder,) = run("db_only")[0].glob("*_ascend_pt")
    (found,) = (folder / "ASCEND_PROFILER_OUTPUT").glob("ascend_pytorch_profiler_*.db")
    return Path(shutil.copyfile(found, tmp_path / "profiler.db"))
