"""JSON of the view that tells what became of each file."""

from __future__ import annotations

from typing import Literal, TypedDict

from tb_npu_plugin.views.base import ProblemJson
from tb_npu_plugin.views.contract_span import CaptureJson


class FilledJson(TypedDict):
    """A logical table that a file filled, and its rows; of a trace: its events."""

    table: str
    rows: int


class DoctorFileJson(TypedDict):
    """A file of the result. `file` is relative to the result folder. `state`: "read" whole; "damaged", read in part, see
    `problems`; "lost", nothing could be used; "settings", it tells how the span was recorded; "unused", what it holds is
    in another file too. `views`: ids of the views that show it."""

    file: str
    title: str
    bytes: int
    state: Literal["read", "damaged", "lost", "settings", "unused"]
    filled: list[FilledJson]
    problems: list[ProblemJson]
    views: list[str]


class DoctorJson(TypedDict):
    """What a folder is and what became of each of its files. What is missing stands in ViewJson.missing. `others`:
    problems of no single file."""

    path: str
    capture: CaptureJson
    files: list[DoctorFileJson]
    others: list[ProblemJson]
