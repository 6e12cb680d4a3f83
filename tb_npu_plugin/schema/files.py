"""The kinds of result files, declared in files.csv. Files that are alike in two producers are made of one of these.

files.csv has a row for each kind:
    file: Producer and `ResultFile.id`, for `result_file`.
    name, pattern, unit, doc: As in `ResultFile`.
    settings: The option of its `Condition`; codes of messages.json stand for settings in words. "a; b" needs both, "a | b" one.
    written: The text of its condition, a message `written.…`.
    table: Table of columns.csv that has its columns, or empty.
    sizes: Bytes of size units, "MB=1048576".
    fills, stages, beside: As in `ResultFile`; several are separated by "; ".
    flags: in_root, settings, fallback, line_feed; metric: its other headers are metrics; seldom: its condition does not always write it.
"""

from __future__ import annotations

import csv
import re
from functools import cache
from pathlib import Path
from typing import Any, cast

from tb_npu_plugin.messages import CATALOGUE, Message
from tb_npu_plugin.schema.columns import columns_of
from tb_npu_plugin.schema.core import Condition, ResultFile, Stage, join_settings


def result_file(file: str, **more: Any) -> ResultFile:
    """A row of files.csv, with other fields. Raises KeyError for another name."""
    row = declared_files()[file]
    flags = _several(row["flags"])
    settings = join_settings(*map(_setting, _several(row["settings"])))
    fields: dict[str, Any] = {
        "condition": Condition(settings, Message(f"written.{row['written']}"), "seldom" not in flags),
        "columns": columns_of(row["table"]) if row["table"] else (),
        "extra": "metric" if "metric" in flags else "ignore",
        "pattern": re.compile(row["pattern"]) if row["pattern"] else None,
        "sizes": tuple((unit, int(size)) for unit, size in (one.split("=") for one in _several(row["sizes"]))),
        "fills": _several(row["fills"]),
        "stages": cast("tuple[Stage, ...]", _several(row["stages"]) or ("tables",)),
        "beside": _several(row["beside"]),
        **{flag: flag in flags for flag in ("in_root", "settings", "fallback", "line_feed")},
        **more,
    }
    return ResultFile(file.rpartition(".")[2], row["name"], doc=row["doc"], unit=row["unit"], **fields)


def _several(cell: str) -> tuple[str, ...]:
    return tuple(cell.split("; ")) if cell else ()


def _setting(text: str) -> str:
    one, _, other = text.partition(" | ")
    if other:
        return Message("option.either", one=_setting(one), other=_setting(other))
    return Message(text) if text in CATALOGUE else text


@cache
def declared_files() -> dict[str, dict[str, str]]:
    """The rows of files.csv, by file."""
    with (Path(__file__).parent / "files.csv").open(newline="", encoding="utf-8") as file:
        return {row["file"]: row for row in csv.DictReader(file)}
