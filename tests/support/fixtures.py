"""Paths of the fixtures, and the generator that makes them."""

from __future__ import annotations

import importlib.util
from pathlib import Path

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"


def folders(group: str) -> list[Path]:
    """Result folders (`*_ascend_pt`) of "demo", "results" or "broken", in order."""
    return sorted(path for path in (FIXTURES / group).rglob("*_ascend_pt") if path.is_dir())


def label(folder: Path) -> str:
    """Short test id of a result folder: fixture name, and rank or timestamp where there are several."""
    return "/".join(folder.relative_to(FIXTURES).parts[1:]) if FIXTURES in folder.parents else folder.name


def build() -> dict[str, dict[str, bytes]]:
    """What fixtures/make.py writes, without writing it: group -> path -> bytes."""
    spec = importlib.util.spec_from_file_location("fixtures_make", FIXTURES / "make.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made: dict[str, dict[str, bytes]] = module.build()
    return made
