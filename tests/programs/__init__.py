"""Environments of other programs, as tools/ensure_programs.sh makes them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest


def python_of(program: str) -> Path:
    """The Python that has the program; skips where it could not be installed."""
    folder = Path(sys.prefix) / f"program-{program}"
    if not (folder / "installed").exists():
        pytest.skip(f"no {program} here: sh tools/ensure_programs.sh {sys.executable}")
    return folder / "bin" / "python"
