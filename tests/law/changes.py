"""Damage to a file of any kind, and what the modules of CSV, JSON and databases share."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any, Optional

#: Changes a file; returns what was done, or None where the file has nothing of the kind.
Change = Callable[[Path, Random], Optional[str]]
#: Figures that no recording has.
IMPOSSIBLE = (-1e30, 1e25, -5_000_000.0, -0.001)
#: Files that not all releases, settings or networks write, so that nothing misses them.
_OF_SOME = re.compile(
    r"(?:task_time|communication_statistic|fusion_op|nic\.|roce\.|pcie\.|hccs\.|minddata_aicpu|device_queue"
    r"|profiler_metadata|aicpu_intermediate|flops_\d|step_trace_point_info\."
    r"|(?:api_statistic|l2_cache|step_trace|op_summary)_2025).*"
)
#: The last piece of a file that msprof cut: nothing counts them.
_LAST_PIECE = "_slice_2_"
#: Results of one file: nothing is left to miss it.
_WHOLE = re.compile(r".*\.pt\.trace\..*|cluster_analysis\.db|msprof_\d+\.db")


def read(path: Path) -> bytes:
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data


def write(path: Path, data: bytes) -> None:
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _cut(path: Path, random: Random) -> str | None:
    data = path.read_bytes()
    size = random.randrange(1, len(data))
    if data[size - 1 : size] in (b"\r", b"\n") or not data[size:].strip():
        return None  # after a whole row: nothing shows that there was more
    path.write_bytes(data[:size])
    return f"first {size} bytes of {len(data)}"


def _empty(path: Path, random: Random) -> str:
    path.write_bytes(b"")
    return "no bytes"


def _twice(path: Path, random: Random) -> str:
    data = path.read_bytes()
    path.write_bytes(data + data)
    return "its content twice"


def _remove(path: Path, random: Random) -> str | None:
    if _WHOLE.fullmatch(path.name) or _OF_SOME.fullmatch(path.name) or _LAST_PIECE in path.name:
        return None
    if path.name == "data_preprocess.csv" and len(list(path.parents[2].iterdir())) == 1:  # no other rank has it
        return None
    path.unlink()
    return "deleted"


def _break(path: Path, random: Random) -> str | None:
    """Delete, double or replace a byte that separates values."""
    data = read(path)
    places = [place for place, byte in enumerate(data) if byte in _structure(path, data)]
    if path.name.endswith((".json", ".json.gz", ".csv")):
        places = _outside_strings(data, places)
    if path.suffix == ".db" or not places:
        return None
    place = random.choice(places)
    new = random.choice((b"", data[place : place + 1] * 2, b"\x00", b"#"))
    write(path, data[:place] + new + data[place + 1 :])
    return f"byte {place} {data[place : place + 1]!r} became {new!r} after {data[max(0, place - 20) : place]!r}"


def _structure(path: Path, data: bytes) -> bytes:
    return b'{}[]:,"' if data[:1] in b"{[" and b"json" in path.name.encode() else b",\n"


def _outside_strings(data: bytes, places: Sequence[int]) -> list[int]:
    chosen, found, is_inside, is_escaped = set(places), [], False, False
    for place, byte in enumerate(data):
        if not is_inside and place in chosen:
            found.append(place)
        if byte == 0x22 and not is_escaped:
            is_inside = not is_inside
        is_escaped = byte == 0x5C and not is_escaped
    return found


OF_ANY: dict[str, Change] = {"cut": _cut, "emptied": _empty, "doubled": _twice, "removed": _remove, "broken": _break}
