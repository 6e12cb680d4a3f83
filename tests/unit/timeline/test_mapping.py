"""Arrays of a timeline outlive their files and hold no descriptors."""

from __future__ import annotations

import gc
from pathlib import Path

import numpy as np
import pytest

from tb_npu_plugin.store.timeline.files import MAP_FROM, load, save


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.parametrize("count", [0, 1, MAP_FROM // 8, 100_000])
def test_an_array_outlives_its_file_without_a_descriptor(count: int, tmp_path: Path) -> None:
    written = np.arange(count, dtype=np.int64)
    save(tmp_path, "a", written)
    gc.collect()  # what other tests left open must not be closed meanwhile
    before = descriptors()
    found = load(tmp_path, "a")
    assert descriptors() == before
    (tmp_path / "a.npy").unlink()
    assert np.array_equal(found, written) and found.dtype == written.dtype and not found.flags.writeable


def test_memory_is_unmapped_with_the_last_array(tmp_path: Path) -> None:
    save(tmp_path, "a", np.arange(100_000))
    path = str(tmp_path / "a.npy")
    part = load(tmp_path, "a")[5:9]
    assert path in Path("/proc/self/maps").read_text() and part.tolist() == [5, 6, 7, 8]
    del part
    assert path not in Path("/proc/self/maps").read_text()


@pytest.mark.parametrize("damage", ["cut", "header", "other"])
def test_a_damaged_array_is_no_array(damage: str, tmp_path: Path) -> None:
    save(tmp_path, "a", np.arange(100_000))
    path = tmp_path / "a.npy"
    data = path.read_bytes()
    path.write_bytes({"cut": data[:-8], "header": data[:100], "other": b"x" * 200}[damage])
    with pytest.raises(ValueError, match=r"a\.npy"):
        load(tmp_path, "a")
