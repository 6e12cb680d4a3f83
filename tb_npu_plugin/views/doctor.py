"""Doctor: the result, the state of each file, and missing data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Optional, TypedDict, cast

from tb_npu_plugin.analysis.kernels.meaning import coverage
from tb_npu_plugin.messages import MessageJson, messages_of
from tb_npu_plugin.model import Cost, SpanData
from tb_npu_plugin.problems import Problem
from tb_npu_plugin.schema.core import ResultFile
from tb_npu_plugin.schema.formats import FORMATS
from tb_npu_plugin.schema.kernel_meaning import user_table
from tb_npu_plugin.schema.other_files import find_other
from tb_npu_plugin.views.base import ProblemJson, View, ViewInput, ViewResult, fields_of
from tb_npu_plugin.views.capture import CaptureJson, capture_json
from tb_npu_plugin.views.uses import USES


class FilledJson(TypedDict):
    """A logical table and the rows that one file added to it."""

    table: str
    """Name of the table."""
    rows: int
    """Rows from this file; of a trace, the events that the timeline shows."""


class SeenJson(TypedDict):
    """Content of one kind in a file. What is neither shown nor told is a defect of this program."""

    kind: Literal["rows", "columns", "cells", "events", "entries"]
    """Kind of content. "cells": those with a value, of the columns that are read; not counted for databases. "columns" of a
    database: those of all its tables; no reader takes the ones that are told, as they repeat others, or describe the database
    itself, or only newer versions know them."""
    part: str
    """Table of a database, list in a JSON file; "" for the file. Events of a database: rows of that table that become events;
    "" for all events made of the file, with names, flows and computed ones."""
    seen: int
    """In the file, as far as it could be read."""
    shown: int
    """In tables or the timeline. Rows of a database that complete rows of other tables, such as texts of ids, count once they are
    used, as do rows that the timeline shows."""
    told: int
    """Left out or set to unknown; `problems` say why."""


class StageCostJson(TypedDict):
    """What reading a stage cost, and its limits, which grow with the sizes of its files."""

    stage: str
    """ "tables" or "trace"."""
    total: Cost
    """What was spent on all of it."""
    most_memory_bytes: int
    """Limit of the memory, without mapped files."""
    most_written_bytes: int
    """Limit of the bytes below the folder that it writes."""
    most_cpu_ms: int
    """Limit of the CPU time."""


class DoctorFileJson(TypedDict):
    """A file of the result."""

    file: str
    """Path below the result folder."""
    title: str
    """Title of the file."""
    texts: dict[str, MessageJson]
    """Code and parameters of `title`, if it is a message."""
    is_from_documents: bool
    """Its form is known from documentation alone: no recorded file was compared with it."""
    bytes: int
    """Size."""
    state: Literal["read", "damaged", "lost", "settings", "unused", "unread"]
    """ "damaged": partly read, see `problems`. "lost": nothing could be read. "settings": says how the span was recorded.
    "unused": another file holds the same. "unread": no view of this version shows it."""
    filled: list[FilledJson]
    """Tables that it filled."""
    seen: list[SeenJson]
    """What it held, and what came of it. The first piece of a split file counts for all."""
    problems: list[ProblemJson]
    """Problems of this file."""
    views: list[str]
    """Ids of the views that show it."""
    cost: Optional[Cost]
    """What reading it cost; None: unknown, or it was not read."""


class UnknownKernelJson(TypedDict):
    """A kernel that the table of meanings does not know."""

    name: str
    """Name, without what differs by call."""
    total_ns: int
    """Sum of its durations."""


class KernelCoverageJson(TypedDict):
    """Device time by whether the table of meanings knows the kernel."""

    known_share: float
    """Share of the time in kernels that it knows, 0 to 1."""
    unknown: list[UnknownKernelJson]
    """The largest of the others."""


class DoctorJson(TypedDict):
    """A result folder and the state of each of its files. ViewJson.missing has what is missing."""

    path: str
    """The result folder."""
    capture: CaptureJson
    """How the span was recorded."""
    files: list[DoctorFileJson]
    """Files that are read, then files that are not."""
    costs: list[StageCostJson]
    """What reading the stages cost."""
    more: int
    """Number of unread files that `files` leaves out."""
    kernels: Optional[KernelCoverageJson]
    """How much of the device time is known by name; null without kernels."""
    others: list[ProblemJson]
    """Problems of no single file."""


State = Literal["read", "damaged", "lost", "settings", "unused", "unread"]


def build(source: ViewInput) -> ViewResult:
    """See DoctorJson."""
    span = source.spans[0]
    data: DoctorJson = {
        "path": span.path,
        "capture": capture_json(span),
        "files": [*(_file(span, file) for file in span.files), *(_unused_file(*file) for file in span.unread.files)],
        "costs": [fields_of(StageCostJson, cost) for cost in span.costs],
        "more": span.unread.more,
        "kernels": _coverage(span),
        "others": [
            *(_json(problem) for problem in span.problems if not _of_any(problem, span.files)),
            *(_json(problem) for problem in user_table()[1]),
        ],
    }
    return ViewResult(data, {}, span.base_ns)


def _coverage(span: SpanData) -> Optional[KernelCoverageJson]:
    kernels = span.table("kernels")
    if kernels is None or span.rows("op_totals"):
        kernels = span.table("op_statistic")
    if kernels is None:
        return None
    found = coverage(kernels)
    return {"known_share": found.share, "unknown": [{"name": name, "total_ns": total} for name, total in found.unknown]}


def _file(span: SpanData, file: str) -> DoctorFileJson:
    spec = FORMATS[span.format].file(span.kinds[file])
    title = "" if spec is None else spec.title
    filled = _filled_tables(span, file, spec)
    problems = [problem for problem in span.problems if _is_of(problem, file)]
    return {
        "file": file,
        "title": title,
        "texts": messages_of({"title": title}),
        "is_from_documents": spec is not None and FORMATS[span.format].is_from_documents(spec),
        "bytes": span.sizes.get(file, 0),
        "state": _state(spec, filled or _with_others(span, file, spec), problems),
        "filled": filled,
        "seen": _seen(span, file),
        "problems": [_json(problem) for problem in problems],
        "views": _views(spec, filled),
        "cost": next((stage.files[file] for stage in span.costs if file in stage.files), None),
    }


def _unused_file(file: str, size: int) -> DoctorFileJson:
    other = find_other(file.rpartition("/")[2])
    title = "" if other is None else other.title
    return {
        "file": file,
        "title": title,
        "texts": messages_of({"title": title}),
        "is_from_documents": False,
        "bytes": size,
        "state": "unread",
        "filled": [],
        "seen": [],
        "problems": [],
        "views": [],
        "cost": None,
    }


def _views(spec: ResultFile | None, filled: Sequence[FilledJson]) -> list[str]:
    """Views that show a file; for a database, the views of the tables that it filled."""
    if spec is None:
        return []
    use = USES.get(spec.id)
    if use is not None:
        return list(use.views)
    tables = [entry["table"] for entry in filled if entry["table"] in USES]
    return list(dict.fromkeys(view for table in tables for view in USES[table].views))


def _filled_tables(span: SpanData, file: str, spec: ResultFile | None) -> list[FilledJson]:
    """Rows read from a file, by table; a table counts for its source file."""
    if spec is None:
        return []
    name = file.rpartition("/")[2]
    out: list[FilledJson] = []
    for table in spec.tables:
        if table == "trace":
            timeline = span.timeline
            rows = timeline.event_count if timeline is not None and timeline.source == name else None
        else:
            rows = span.rows_by_file(table).get(name)
        if rows is not None:
            out.append({"table": table, "rows": rows})
    return out


def _seen(span: SpanData, file: str) -> list[SeenJson]:
    return [
        {"kind": kind, "part": part, "seen": one.seen, "shown": one.shown, "told": one.told}
        for (kind, part), one in span.seen.of(file).items()
    ]


def _with_others(span: SpanData, file: str, spec: ResultFile | None) -> bool:
    """Whether the file is a later piece of a split file, whose rows count with the first piece."""
    if spec is None or spec.piece(span.kinds[file]) is None:
        return False
    if "trace" in spec.tables:
        return span.timeline is not None and spec.matches(span.timeline.source)
    return any(span.rows(table) is not None and spec.matches(span.source(table)) for table in spec.tables)


def _state(spec: ResultFile | None, filled: Sequence[FilledJson] | bool, problems: Sequence[Problem]) -> State:
    lost = any(problem.severity == "error" for problem in problems)
    if spec is not None and spec.settings:
        return "damaged" if lost else "settings"
    if filled:
        return "damaged" if lost else "read"
    return "lost" if lost else "unused"


def _of_any(problem: Problem, files: Sequence[str]) -> bool:
    return any(_is_of(problem, file) for file in files)


def _is_of(problem: Problem, file: str) -> bool:
    """Whether the problem names this file."""
    return file in problem.file.split(", ")


def _json(problem: Problem) -> ProblemJson:
    return cast(ProblemJson, problem.as_json())


VIEW = View(id="doctor", scope="span", needs=(), build=build, contract=DoctorJson, examines=True)
