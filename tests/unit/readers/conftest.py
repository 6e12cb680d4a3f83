from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.readers.databases import database_of


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A copy of a sound database."""
    return database_of("db_only", tmp_path).rename(tmp_path / "profiler.db")
