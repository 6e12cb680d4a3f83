"""Names of the Summary event files of MindSpore, and of the folders that hold them converted.
Source: docs/facts/summary.md, File names.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple, Optional

_NAME = re.compile(r".+\.out\.events\.summary\.(?P<second>\d{1,12})(?:\.(?P<rank>\d{1,9}))?\..+", re.DOTALL)
#: A file in each folder of converted events; the process that writes there keeps it locked.
LOCK_FILE = "summary.lock"
_LINEAGE, _EXPLAIN = "_lineage", "_explain"


class SummaryName(NamedTuple):
    """What the name of a Summary file says: second of its creation since the epoch, rank (0 in old names, which have
    none), and whether it holds lineage."""

    second: int
    rank: int
    is_lineage: bool


def parse_summary_name(name: str) -> Optional[SummaryName]:
    """Parts of the name of a Summary file; None for other files."""
    match = _NAME.fullmatch(name)
    if match is None or name.endswith(_EXPLAIN):
        return None
    return SummaryName(int(match["second"]), int(match["rank"] or 0), name.endswith(_LINEAGE))


def is_converted(folder: Path) -> bool:
    """Whether the folder holds converted Summary events."""
    return (folder / LOCK_FILE).is_file()
