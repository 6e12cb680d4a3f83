"""Counts the content of files: what was seen = what is shown + what problems report (told)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

SeenKind = Literal["rows", "columns", "cells", "events", "entries"]


@dataclass
class Seen:
    """Counts of one kind of content.

    seen   found in the file, as far as it could be read
    shown  loaded into the tables or the timeline
    told   left out or set to unknown; a problem of the file reports why
    """

    seen: int = 0
    shown: int = 0
    told: int = 0


@dataclass
class SeenFiles:
    """Counts of the files of a span.

    Attributes:
        files: Path below the folder -> (kind, part) -> counts. part: table of a database, list in a JSON file, or "".
    """

    files: dict[str, dict[tuple[SeenKind, str], Seen]] = field(default_factory=dict)

    def add(self, file: str, kind: SeenKind, part: str = "", *, seen: int = 0, shown: int = 0, told: int = 0) -> None:
        """Add to the counts of a file. A list of files, "a.csv, b.csv", counts for the first one."""
        counts = self.files.setdefault(_first(file), {}).setdefault((kind, part), Seen())
        counts.seen += seen
        counts.shown += shown
        counts.told += told

    def of(self, file: str) -> Mapping[tuple[SeenKind, str], Seen]:
        """The counts of a file; of a list of files, those of the first one."""
        return self.files.get(_first(file), {})

    def extend(self, other: SeenFiles, places: Mapping[str, str], default: str) -> None:
        """Add the counts of `other`. places: its file names -> paths; default: path of all other names."""
        for name, found in other.files.items():
            for (kind, part), counts in found.items():
                file = places.get(name, default)
                self.add(file, kind, part, seen=counts.seen, shown=counts.shown, told=counts.told)

    def lose(self, file: str, kind: SeenKind) -> None:
        """Count all content of a kind as told: one problem reports why none of it is shown."""
        for (found, _), counts in self.of(file).items():
            if found == kind:
                counts.shown, counts.told = 0, counts.seen

    def as_json(self) -> dict[str, Any]:
        """The counts for meta.json of a cache entry."""
        return {
            file: [[kind, part, counts.seen, counts.shown, counts.told] for (kind, part), counts in found.items()]
            for file, found in self.files.items()
        }

    @staticmethod
    def from_json(*values: Mapping[str, Sequence[Any]]) -> SeenFiles:
        """Inverse of `as_json`; adds up several values."""
        out = SeenFiles()
        for value in values:
            for file, found in value.items():
                for kind, part, seen, shown, told in found:
                    out.add(file, kind, part, seen=seen, shown=shown, told=told)
        return out


def _first(file: str) -> str:
    return file.partition(", ")[0]
