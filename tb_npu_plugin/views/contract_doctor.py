"""JSON of the view that tells what became of each file."""

from __future__ import annotations

from typing import Literal, TypedDict

from tb_npu_plugin.views.base import ProblemJson
from tb_npu_plugin.views.contract_span import CaptureJson


class FilledJson(TypedDict):
    """A logical table that a file filled, maybe with others, and the rows that it gave; of a trace: its events."""

    table: str
    rows: int


class DoctorFileJson(TypedDict):
    """A file of the result. `file` is relative to the result folder. `state`: "read" whole; "damaged", read in part, see
    `problems`; "lost", nothing could be used; "settings", it tells how the span was recorded; "unused", what it holds is
    in another file too; "unread", no view of this version shows what it holds. `views`: ids of the views that show it."""

    file: str
    title: str
    bytes: int
    state: Literal["read", "damaged", "lost", "settings", "unused", "unread"]
    filled: list[FilledJson]
    problems: list[ProblemJson]
    views: list[str]


class DoctorJson(TypedDict):
    """What a folder is and what became of each of its files. What is missing stands in ViewJson.missing. `others`:
    problems of no single file; `more`: how many files that nothing reads are not in `files`."""

    path: str
    capture: CaptureJson
    files: list[DoctorFileJson]
    more: int
    others: list[ProblemJson]
