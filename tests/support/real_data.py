"""Profiles recorded on real devices: optional data beside the project. Tests that need them skip where they are absent."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

#: Folder of the recorded data; may be absent.
REAL_DATA = Path(os.environ.get("NPU_REAL_DATA") or Path(__file__).parents[3] / "shared" / "real-data")


def _reason(path: Path) -> str:
    return f"no recorded data at {path}: set NPU_REAL_DATA to the folder that holds ascend_pt_text_level1"


def skip_without(path: Path) -> Path:
    """The path; skips the test if it lies in REAL_DATA and is absent."""
    if is_absent(path):
        pytest.skip(_reason(path))
    return path


def is_absent(path: Path) -> bool:
    """Whether a path lies in REAL_DATA and does not exist."""
    return path.is_relative_to(REAL_DATA) and not path.exists()


def recording(name: str) -> Path:
    """A folder or file of REAL_DATA; skips the test if it is absent."""
    return skip_without(REAL_DATA / name)


def marks_of(path: Path) -> tuple[pytest.MarkDecorator, ...]:
    """Marks of a test parameter: the test is skipped if the path lies in REAL_DATA and is absent."""
    return (pytest.mark.skip(reason=_reason(path)),) if is_absent(path) else ()
