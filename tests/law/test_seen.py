"""What a file holds is shown or told: the counts that Doctor shows, over every fixture."""

from __future__ import annotations

from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.faults.test_broken_formats import read_all
from tests.support.fixtures import FIXTURES

#: Files whose readers do not count yet.
NOT_COUNTED = (
    "*.json",
    "*.json.gz",
    "*.db",
    "*.txt",
    "minddata*",
    "aicore*",
    "framework*",
    "hccl*",
    "*summary*",
    "cpu_*",
    "cluster_step*",
)
FOLDERS = sorted(
    folder for kind in ("results", "recorded", "broken") for folder in (FIXTURES / kind).iterdir() if folder.is_dir()
)


def counts(meta: dict[str, Any]) -> dict[str, dict[tuple[str, str], tuple[int, int, int]]]:
    return {file: {(kind, part): tuple(found) for kind, part, *found in rows} for file, rows in meta["seen"].items()}


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_what_was_seen_is_shown_or_told(tmp_path: Path, folder: Path) -> None:
    for meta in read_all(folder, tmp_path):
        named = {file.rpartition("/")[2] for problem in meta["problems"] for file in problem["file"].split(", ")}
        for file, found in counts(meta).items():
            for key, (seen, shown, told) in found.items():
                assert min(seen, shown, told) >= 0 and seen == shown + told, (file, key, seen, shown, told)
                assert not told or file.rpartition("/")[2] in named, f"{file} {key}: told by no problem"
        names = {file.rpartition("/")[2] for file in meta["seen"]}
        sources = {
            file for file in meta.get("sources", {}).values() if not any(map(partial(fnmatch, file), NOT_COUNTED))
        }
        assert not sources - names, f"without counts: {sources - names}"
