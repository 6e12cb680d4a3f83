"""Known versions of each format, declared in versions.csv: how to recognise them, and the evidence.

Source: docs/facts/ascend_pt.md, Differences between versions; docs/facts/ascend_ms.md, Generations, Folder name;
docs/facts/mindinsight.md.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Version:
    """A version of a format.

    name     profiler and version
    marker   recognised by
    sample   recorded result that tests read if it exists (folder of the real data, or of fixtures/); "" if the version
             is only known from documentation
    """

    name: str
    marker: str
    sample: str = ""


def _versions() -> dict[str, tuple[Version, ...]]:
    found: dict[str, tuple[Version, ...]] = {}
    with (Path(__file__).parent / "versions.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            format = row.pop("format")
            found[format] = (*found.get(format, ()), Version(**row))
    return found


#: By id of schema.formats.FORMATS, the oldest first.
VERSIONS = _versions()
